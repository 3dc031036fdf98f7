//! Filters that count, in each tier: batched insertions, removals and lookups, and two threads beside one.
//!
//! `cargo bench --bench counting -- d-left/4MiB` runs a part; names are filter/tier/what. What is stored is checked before
//! it is timed: members present, the rate near its formula's, every removal granted. Lookups stand beside a bit filter of
//! as many lines and beside the fastest loop that only loads lines of the same memory. Ten counters a key, but `d-left`,
//! which is filled to its capacity.
//!
//! Pinned to one processor the group `threads` is left out: two threads need two.

use bloomline::{
    Blocked, Blocked128, Classic, Contains, CounterLayout, CountingBloom, DLeftCountingBloom, Digest, Filter, Level,
    LoadLoop, PlainCountingBloom,
    sizing::{DLeft, Geometry},
};
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput, measurement::WallTime};
use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Counters for each key, and bits for each key of the bit filter.
const PER_KEY: u64 = 10;
/// Absent keys that the rate is measured with.
const ABSENT: u64 = 1 << 18;

struct Tier {
    name: &'static str,
    bytes: u64,
    /// Digests of a batch: no more than half of the keys of any filter here.
    batch: u64,
    /// Batches that take turns. Beyond the caches one batch has too few lines: they would be found in a cache the next time.
    batches: u64,
}

const TIERS: [Tier; 3] = [
    Tier { name: "256KiB", bytes: 256 << 10, batch: 1 << 14, batches: 1 },
    Tier { name: "4MiB", bytes: 4 << 20, batch: 1 << 17, batches: 1 },
    Tier { name: "256MiB", bytes: 256 << 20, batch: 1 << 20, batches: 4 },
];

/// A bijection of counters: distinct digests, members and absent ones from different counters.
fn digest(i: u64) -> Digest {
    let x = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Digest(x ^ (x >> 31))
}

fn digests(first: u64, count: u64) -> Vec<Digest> {
    (first..).take(count as usize).map(digest).collect()
}

/// Members 0 to `keys`, some at a time: all their digests together would be larger than the filter.
fn fill(keys: u64, mut insert: impl FnMut(&[Digest])) {
    const AT_ONCE: u64 = 1 << 16;
    for first in (0..keys).step_by(AT_ONCE as usize) {
        insert(&digests(first, AT_ONCE.min(keys - first)));
    }
}

fn hits(out: &[u64]) -> u64 {
    out.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// The digests that are inserted, removed and looked up, in batches that take turns.
struct Batches {
    present: Vec<Digest>,
    absent: Vec<Digest>,
    batch: usize,
}

impl Batches {
    fn new(tier: &Tier) -> Self {
        let count = tier.batch * tier.batches;
        Self { present: digests(0, count), absent: digests(1 << 63, count.max(ABSENT)), batch: tier.batch as usize }
    }

    fn present(&self) -> impl Iterator<Item = &[Digest]> {
        self.present.chunks_exact(self.batch).cycle()
    }

    fn absent(&self) -> impl Iterator<Item = &[Digest]> {
        self.absent[..self.present.len()].chunks_exact(self.batch).cycle()
    }

    fn out(&self) -> Vec<u64> {
        vec![0; self.batch / 64]
    }
}

/// A filter whose keys come and go. Shared ones are written through `&self`, which `&mut self` gives too.
trait Changing: Contains {
    fn insert(&mut self, digests: &[Digest]);
    fn remove(&mut self, digests: &[Digest], out: &mut [u64]);
}

macro_rules! changing {
    ([$($generic:tt)*] $Filter:ty: $($done:tt)*) => {
        impl<$($generic)*> Changing for $Filter {
            fn insert(&mut self, digests: &[Digest]) {
                self.insert_batch(digests)$($done)*;
            }
            fn remove(&mut self, digests: &[Digest], out: &mut [u64]) {
                self.remove_batch(digests, out).expect("a word for 64 digests");
            }
        }
    };
}
changing!([L: CounterLayout] CountingBloom<L>:);
changing!([L: CounterLayout] PlainCountingBloom<L>:);
changing!([] DLeftCountingBloom: .expect("room for its capacity"));

/// Nothing is worth timing in a filter that denies a member, or whose rate is not the formula's.
fn check(name: &str, filter: &impl Contains, batches: &Batches, expected: f64) {
    let found = |digests: &[Digest]| {
        let mut out = vec![0; digests.len() / 64];
        filter.contains_batch(digests, &mut out).expect("a word for 64 digests");
        hits(&out)
    };
    assert_eq!(found(&batches.present), batches.present.len() as u64, "{name}: a member denied");
    let rate = found(&batches.absent) as f64 / batches.absent.len() as f64;
    println!("{name}: {} bytes, fpr {:.3} %, expected {:.3} %", filter.size_in_bytes(), 100.0 * rate, 100.0 * expected);
    assert!((0.75..1.33).contains(&(rate / expected)), "{name}: a rate of {rate} where {expected} was expected");
}

fn group<'c>(c: &'c mut Criterion, name: &str, elements: usize) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(name);
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(elements as u64));
    group
}

fn lookups(group: &mut BenchmarkGroup<'_, WallTime>, filter: &impl Contains, batches: &Batches) {
    let mut out = batches.out();
    let mut turn = batches.absent();
    group.bench_function("lookup 0%", |b| {
        b.iter(|| filter.contains_batch(black_box(turn.next().unwrap_or_default()), &mut out));
    });
    let mut turn = batches.present();
    group.bench_function("lookup 100%", |b| {
        b.iter(|| filter.contains_batch(black_box(turn.next().unwrap_or_default()), &mut out));
    });
}

/// Takes members out and puts them back, and times one of the two: the filter is as full after as before.
fn changes(group: &mut BenchmarkGroup<'_, WallTime>, filter: &mut impl Changing, batches: &Batches) {
    let mut out = batches.out();
    for timed in ["remove", "insert"] {
        let mut turn = batches.present();
        group.bench_function(timed, |b| {
            b.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                for batch in turn.by_ref().take(iterations as usize) {
                    let start = Instant::now();
                    filter.remove(black_box(batch), &mut out);
                    let removed = Instant::now();
                    filter.insert(black_box(batch));
                    spent += if timed == "remove" { removed - start } else { removed.elapsed() };
                    assert_eq!(hits(&out), batch.len() as u64, "a member was not there to be removed");
                }
                spent
            });
        });
    }
}

fn changes_and_lookups(c: &mut Criterion, name: &str, filter: &mut impl Changing, batches: &Batches, expected: f64) {
    check(name, filter, batches, expected);
    let mut group = group(c, name, batches.batch);
    changes(&mut group, filter, batches);
    lookups(&mut group, filter, batches);
    group.finish();
    check(name, filter, batches, expected);
}

fn counting<L: CounterLayout>(c: &mut Criterion, name: &str, k: u32, tier: &Tier, batches: &Batches) {
    let counters = tier.bytes * 2;
    let keys = counters / PER_KEY;
    let builder = CountingBloom::<L>::builder(keys).geometry(Geometry { bits: counters, k });
    let mut plain = builder.build_plain().expect("256 MiB at most");
    fill(keys, |members| plain.insert_batch(members));
    let expected = plain.design().fpr;
    changes_and_lookups(c, &format!("{name}/plain/{}", tier.name), &mut plain, batches, expected);
    let mut shared = plain.into_shared(); // the same memory
    changes_and_lookups(c, &format!("{name}/shared/{}", tier.name), &mut shared, batches, expected);
    threads(c, &format!("{name}/threads/{}", tier.name), &mut shared, batches);
}

/// One thread inserts a batch into an empty filter, or each of two one half of it.
fn threads<L: CounterLayout>(c: &mut Criterion, name: &str, filter: &mut CountingBloom<L>, batches: &Batches) {
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
        println!("{name}: left out on one processor");
        return;
    }
    filter.clear();
    let filter = &*filter;
    let mut group = group(c, name, batches.batch);
    for threads in [1, 2] {
        group.bench_function(BenchmarkId::new("insert", threads), |b| {
            b.iter_custom(|iterations| insert_by(threads, filter, batches, iterations as usize));
        });
    }
    group.finish();
    // But for counters that got stuck it is empty again.
    assert!(filter.occupancy() < 1e-3, "{name}: what was inserted was not removed");
}

/// The time from when all threads are ready to when the last has inserted its part of a batch, of all iterations.
fn insert_by<L: CounterLayout>(threads: usize, filter: &CountingBloom<L>, batches: &Batches, count: usize) -> Duration {
    let barrier = &Barrier::new(threads);
    let part = batches.batch / threads;
    let work = |thread: usize| {
        let mut out = vec![0; part / 64];
        let mut spent = Duration::ZERO;
        for batch in batches.present().take(count) {
            let mine = &batch[thread * part..][..part];
            barrier.wait();
            let start = Instant::now();
            filter.insert_batch(black_box(mine));
            barrier.wait();
            spent += start.elapsed();
            filter.remove_batch(mine, &mut out).expect("a word for 64 digests");
            assert_eq!(hits(&out), part as u64, "a member was not there to be removed");
        }
        spent
    };
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        workers.into_iter().map(|worker| worker.join().expect("the assertion above")).max().unwrap_or_default()
    })
}

fn d_left(c: &mut Criterion, tier: &Tier, batches: &Batches) {
    let geometry = Geometry { bits: tier.bytes * 8, k: 16 };
    let keys = DLeft::capacity(geometry);
    let mut filter = DLeftCountingBloom::builder(keys).geometry(geometry).build().expect("256 MiB at most");
    fill(keys, |members| filter.insert_batch(members).expect("room for its capacity"));
    let expected = filter.design().fpr;
    changes_and_lookups(c, &format!("d-left/{}", tier.name), &mut filter, batches, expected);
}

/// What lookups are compared with: a bit filter of as many lines, and loads of lines without a filter.
fn bits_and_limit(c: &mut Criterion, tier: &Tier, batches: &Batches) {
    let geometry = Geometry { bits: tier.bytes * 8, k: 7 };
    let keys = geometry.bits / PER_KEY;
    let mut filter = Filter::<Blocked>::builder(keys).geometry(geometry).build().expect("256 MiB at most");
    fill(keys, |members| filter.insert_batch(members));
    let name = format!("blocked/{}", tier.name);
    check(&name, &filter, batches, filter.design().fpr);
    let mut of_bits = group(c, &name, batches.batch);
    lookups(&mut of_bits, &filter, batches);
    of_bits.finish();

    // The memory of the filter, which is full: pages that were never written would all be one page of zeros.
    let memory = filter.as_bytes();
    assert!(memory.chunks(4096).all(|page| page.iter().any(|&byte| byte != 0)), "{name}: a page was never written");
    let mut turn = batches.absent();
    let mut run = |which: LoadLoop| which.run(memory, black_box(turn.next().unwrap_or_default()), Level::get());
    let mut time = |which: LoadLoop| {
        let once = |_| {
            let start = Instant::now();
            black_box(run(which).expect("whole lines"));
            start.elapsed()
        };
        (0..5).map(once).min()
    };
    let fastest = LoadLoop::ALL.into_iter().min_by_key(|&which| time(which)).expect("there are loops");
    println!("limit/{}: {fastest}", tier.name);
    let mut of_limit = group(c, &format!("limit/{}", tier.name), batches.batch);
    of_limit.bench_function("load", |b| b.iter(|| run(fastest)));
    of_limit.finish();
}

fn main() {
    // A benchmark target is also run by `cargo test`, for which filters larger than the caches take too long.
    let measured = std::env::args().any(|arg| arg == "--bench");
    let mut c = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(300))
        .configure_from_args();
    for tier in &TIERS[..if measured { TIERS.len() } else { 1 }] {
        let batches = &Batches::new(tier);
        counting::<Classic>(&mut c, "counting", 7, tier, batches);
        counting::<Blocked128>(&mut c, "blocked-counting", 5, tier, batches);
        d_left(&mut c, tier, batches);
        bits_and_limit(&mut c, tier, batches);
    }
    c.final_summary();
}
