//! Layouts by levels by tiers: batched lookups, single lookups and insertions, each checked before it is timed.
//!
//! `cargo bench --bench layouts -- split-block/avx2` runs a part; names are layout/level/tier/what. Speeds beside the
//! limit and beside each other in one run are what `bloomline compare` prints; these are for the one who changes a
//! kernel.

use bloomline::{BulkOptions, Digest, Filter, Layout, Level, for_each_layout, sizing::Geometry};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;

/// Bits for each key in every filter.
const BITS_PER_KEY: u64 = 10;
const QUERIES: u64 = 1 << 16;
const TIERS: [(&str, u64); 3] = [("16KiB", 16 << 10), ("256KiB", 256 << 10), ("4MiB", 4 << 20)];

/// A bijection of counters: distinct digests, members and absent ones from different counters.
fn digest(i: u64) -> Digest {
    let x = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Digest(x ^ (x >> 31))
}

fn layout<L: Layout>(c: &mut Criterion) {
    let absent: Vec<Digest> = (0..QUERIES).map(|i| digest(i | 1 << 63)).collect();
    let mut out = vec![0; absent.len() / 64];
    for (tier, bytes) in TIERS {
        let keys = bytes * 8 / BITS_PER_KEY;
        let k = L::MODEL.best_k(keys, bytes * 8);
        let unit = L::MODEL.unit_bits(k);
        let geometry = Geometry { bits: bytes * 8 / unit * unit, k };
        let members: Vec<Digest> = (0..keys).map(digest).collect();
        for &level in Level::available() {
            let build = || Filter::<L>::builder(keys).geometry(geometry).level(level).build();
            let mut filter = build().expect("a few MiB are there");
            filter.insert_bulk(&members, BulkOptions::default()).expect("a few MiB are there");

            // No member absent, and the rate within a factor of the formula's: a wrong kernel is not worth timing.
            assert!(members.iter().all(|&member| filter.contains_digest(member)), "{} {level}", L::KIND);
            filter.contains_batch(&absent, &mut out).expect("a word for 64 digests");
            let hits: u64 = out.iter().map(|word| u64::from(word.count_ones())).sum();
            let (rate, expected) = (hits as f64 / QUERIES as f64, L::MODEL.fpr(keys, geometry));
            assert!((0.75..1.33).contains(&(rate / expected)), "{} {level}: {rate} {expected}", L::KIND);

            let mut group = c.benchmark_group(format!("{}/{level}/{tier}", L::KIND));
            group.throughput(Throughput::Elements(QUERIES));
            group.bench_function("batched", |b| {
                b.iter(|| filter.contains_batch(black_box(&absent), &mut out));
            });
            group.bench_function("single", |b| {
                b.iter(|| absent.iter().filter(|&&digest| filter.contains_digest(digest)).count());
            });
            let mut filled = build().expect("a few MiB are there");
            let members = &members[..members.len().min(QUERIES as usize)];
            group.throughput(Throughput::Elements(members.len() as u64));
            group.bench_function("insert", |b| b.iter(|| filled.insert_batch(black_box(members))));
            group.finish();
        }
    }
}

macro_rules! layouts {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => {
        fn all(c: &mut Criterion) {
            $(layout::<bloomline::$Layout>(c);)*
        }
    };
}
for_each_layout!(layouts);

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(200));
    targets = all
}
criterion_main!(benches);
