//! A million keys at 1 %: the counting filters of bloomline beside the one of `fastbloom-rs`.
//!
//! `cargo bench --package bloomline-peers --bench counting` prints bytes and measured rate of each filter, then times
//! insertions, removals and lookups. All of them hash the same keys of eight bytes, one by one; `batched` hashes some
//! hundreds of them first, which the peer has no interface for.

use bloomline::{
    Blocked128, Classic, CountingBloom, DLeftCountingBloom, Digest,
    hash::{Hashes, Xxh3},
};
use criterion::{Criterion, SamplingMode, Throughput};
use fastbloom_rs::{Deletable, FilterBuilder, Membership};
use std::hint::black_box;
use std::time::{Duration, Instant};

const KEYS: u64 = 1_000_000;
const FPR: f64 = 0.01;
/// Keys that are hashed before any of them is looked for.
const AT_ONCE: usize = 512;

type Key = [u8; 8];

/// A bijection of counters: distinct keys, members and absent ones from different counters.
fn key(i: u64) -> Key {
    let x = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)).to_le_bytes()
}

/// A filter and what it does with keys.
struct Subject<F> {
    name: &'static str,
    bytes: u64,
    filter: F,
    insert: fn(&mut F, &[Key]),
    remove: fn(&mut F, &[Key]),
    /// How many it may have.
    count: fn(&F, &[Key]) -> usize,
}

fn measure<F>(c: &mut Criterion, (present, absent): (&[Key], &[Key]), mut subject: Subject<F>) {
    let Subject { name, bytes, insert, remove, count, ref mut filter } = subject;
    insert(filter, present);
    assert_eq!(count(filter, present), present.len(), "{name}: a member denied");
    let rate = count(filter, absent) as f64 / absent.len() as f64;
    println!("{name}: {bytes} bytes, {:.2} bits a key, fpr {:.3} %", 8.0 * bytes as f64 / KEYS as f64, 100.0 * rate);
    assert!(rate < 1.33 * FPR, "{name}: a rate of {rate} where {FPR} was asked for");

    let mut group = c.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(KEYS));
    group.bench_function("lookup 0%", |b| b.iter(|| count(filter, black_box(absent))));
    group.bench_function("lookup 100%", |b| b.iter(|| count(filter, black_box(present))));
    // All members go and come again; one of the two is timed.
    for timed in ["remove", "insert"] {
        group.bench_function(timed, |b| {
            b.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                for _ in 0..iterations {
                    let start = Instant::now();
                    remove(filter, black_box(present));
                    let removed = Instant::now();
                    insert(filter, black_box(present));
                    spent += if timed == "remove" { removed - start } else { removed.elapsed() };
                }
                spent
            });
        });
    }
    group.finish();
    assert_eq!(count(filter, present), present.len(), "{name}: a member denied");
    remove(filter, present);
    assert!(count(filter, absent) < absent.len() / 1000, "{name}: what was inserted was not removed");
}

/// Keys by their digests, some hundreds at a time.
fn in_batches(hasher: Xxh3, keys: &[Key], mut each: impl FnMut(&[Digest], &mut [u64])) {
    let (mut digests, mut out) = ([Digest(0); AT_ONCE], [0; AT_ONCE / 64]);
    for keys in keys.chunks(AT_ONCE) {
        for (place, key) in digests.iter_mut().zip(keys) {
            *place = hasher.digest(key);
        }
        each(&digests[..keys.len()], &mut out[..keys.len().div_ceil(64)]);
    }
}

/// Measures a filter of ours, one key at a time and then some hundreds.
macro_rules! ours {
    ($c:expr, $keys:expr, $name:literal, $build:expr, |$inserted:ident| $done:expr) => {{
        let filter = $build.expect("6 MB at most");
        let one_by_one = Subject {
            name: $name,
            bytes: filter.size_in_bytes(),
            filter,
            insert: |filter, keys| {
                for key in keys {
                    let $inserted = filter.insert(key);
                    $done;
                }
            },
            remove: |filter, keys| keys.iter().for_each(|key| filter.remove(key).expect("a member")),
            count: |filter, keys| keys.iter().filter(|&key| filter.contains(key)).count(),
        };
        measure($c, $keys, one_by_one);
        let filter = $build.expect("6 MB at most");
        let batched = Subject {
            name: concat!($name, "/batched"),
            bytes: filter.size_in_bytes(),
            filter,
            insert: |filter, keys| {
                in_batches(*filter.hasher(), keys, |digests, _| {
                    let $inserted = filter.insert_batch(digests);
                    $done;
                });
            },
            remove: |filter, keys| {
                in_batches(*filter.hasher(), keys, |digests, out| {
                    filter.remove_batch(digests, out).expect("a word for 64 digests");
                });
            },
            count: |filter, keys| {
                let mut count = 0;
                in_batches(*filter.hasher(), keys, |digests, out| {
                    filter.contains_batch(digests, out).expect("a word for 64 digests");
                    count += out.iter().map(|word| word.count_ones() as usize).sum::<usize>();
                });
                count
            },
        };
        measure($c, $keys, batched);
    }};
}

fn main() {
    let mut c = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    let c = &mut c;
    let present: Vec<Key> = (0..KEYS).map(key).collect();
    let absent: Vec<Key> = (1 << 63..).take(KEYS as usize).map(key).collect();
    let keys = (&present[..], &absent[..]);

    let filter = FilterBuilder::new(KEYS, FPR).build_counting_bloom_filter();
    let peer = Subject {
        name: "fastbloom-rs",
        bytes: filter.get_u8_array().len() as u64,
        filter,
        insert: |filter, keys| keys.iter().for_each(|key| filter.add(key)),
        remove: |filter, keys| keys.iter().for_each(|key| filter.remove(key)),
        count: |filter, keys| keys.iter().filter(|&key| filter.contains(key)).count(),
    };
    measure(c, keys, peer);
    ours!(c, keys, "counting/plain", CountingBloom::<Classic>::builder(KEYS).fpr(FPR).build_plain(), |changed| {
        black_box(changed)
    });
    ours!(c, keys, "counting/shared", CountingBloom::<Classic>::builder(KEYS).fpr(FPR).build(), |changed| {
        black_box(changed)
    });
    let blocked = CountingBloom::<Blocked128>::builder(KEYS).fpr(FPR);
    ours!(c, keys, "blocked-counting/plain", blocked.clone().build_plain(), |changed| black_box(changed));
    ours!(c, keys, "blocked-counting/shared", blocked.clone().build(), |changed| black_box(changed));
    ours!(c, keys, "d-left", DLeftCountingBloom::builder(KEYS).fpr(FPR).build(), |room| room.expect("room for all"));
    c.final_summary();
}
