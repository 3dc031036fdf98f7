//! Sixty-four segments whose filters together exceed the caches: what a key costs for each, beside the random-line limit.
//!
//! `cargo bench --bench gate` prints, for each layout, nanoseconds for one key and one segment, as a ratio to the fastest
//! load-only loop over as many bytes of the same kind of memory in the same run. All loops take turns; medians of the
//! rounds are compared. The last column is a batch with counters, as a ratio to one without. Hits and rates are checked before anything is timed.

use bloomline::{
    Digest, Filter, LayoutKind, Level, LoadLoop, SplitLine,
    gate::{Counters, SegmentPolicy, Segments},
    hash::PreHashedTrusted,
    sizing::Geometry,
};
use std::{hint::black_box, sync::Arc, time::Instant};

const SEGMENTS: usize = 64;
/// Keys of each segment: filters of 2.5 MB, 160 MB in all.
const KEYS: u64 = 2_000_000;
/// Keys looked up in a round, none of them twice.
const QUERIES: usize = 1 << 14;
const ROUNDS: usize = 9;

/// A bijection of counters: distinct digests.
fn digest(i: u64) -> Digest {
    let x = (i ^ (i >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Digest(x ^ (x >> 31))
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Nanoseconds for each of `lookups`.
fn time(lookups: usize, body: impl FnOnce()) -> f64 {
    let start = Instant::now();
    body();
    start.elapsed().as_nanos() as f64 / lookups as f64
}

fn segments(layout: LayoutKind, loaded: bool) -> Segments {
    let policy = SegmentPolicy::new(layout, PreHashedTrusted);
    let filters = (0..SEGMENTS as u64).map(|segment| {
        let mut builder = policy.builder();
        (0..KEYS).for_each(|i| builder.add_digest(digest(segment * KEYS + i)));
        let bytes = builder.finish().expect("2.5 MB");
        let filter = if loaded { policy.load(&bytes) } else { policy.open(bytes) };
        Arc::new(filter.expect("what was built"))
    });
    Segments::new(filters.collect::<Vec<_>>())
}

fn main() {
    // A benchmark target is also run by `cargo test`, which asks for nothing to be measured.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    println!("{SEGMENTS} segments of {KEYS} keys at 10 bits, {QUERIES} absent keys, median of {ROUNDS} rounds");
    println!("layout       bytes    fpr %  limit ns  key ns  ratio  batch ns  ratio  counted");
    for (&layout, loaded) in LayoutKind::ALL.iter().flat_map(|layout| [(layout, true), (layout, false)]) {
        let segments = segments(layout, loaded);
        let expected = segments.filters()[0].design().expect("a full frame").fpr;
        let bytes = segments.filters().iter().map(|filter| filter.frame_bytes() as usize).sum();
        // Memory of the same kind: a filter's own, or a vector.
        let bits = Geometry { bits: bytes as u64 / 64 * 512, k: 8 };
        let mut own = Filter::<SplitLine>::builder(1).geometry(bits).build().expect("160 MB");
        own.insert_batch(&(0..1 << 22).map(digest).collect::<Vec<_>>()); // touches every page
        let vector = vec![1u8; bytes];
        let memory = if loaded { own.as_bytes() } else { &vector };
        let lookups = SEGMENTS * QUERIES;
        let words = QUERIES / 64;
        let mut out = vec![0u64; SEGMENTS * words];

        for segment in 0..SEGMENTS as u64 {
            let member = digest(segment * KEYS + 5);
            let mut mask = [0];
            segments.contains_digest(member, &mut mask).expect("room");
            assert!(mask[0] >> segment & 1 == 1, "a member denied");
        }
        let counted = segments.clone().with_counters(Counters::default());
        let (mut limit, mut one, mut batch, mut counting) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut hits = 0;
        for round in 0..ROUNDS as u64 {
            let first = (1 << 62) + round * QUERIES as u64;
            let queries: Vec<Digest> = (first..).take(QUERIES).map(digest).collect();
            let lines: Vec<Digest> = (1 << 61..).take(lookups).map(|i| digest(i + (round << 32))).collect();
            let of = |run: LoadLoop| {
                time(lookups, || {
                    black_box(run.run(memory, &lines, Level::get()).expect("lines"));
                })
            };
            limit.push(LoadLoop::ALL.into_iter().map(of).fold(f64::INFINITY, f64::min));
            one.push(time(lookups, || {
                for &query in &queries {
                    let mut mask = [0];
                    segments.contains_digest(query, &mut mask).expect("room");
                    black_box(mask);
                }
            }));
            batch.push(time(lookups, || {
                segments.contains_digests(&queries, &mut out).expect("room");
            }));
            let without = batch[batch.len() - 1];
            counting.push(
                time(lookups, || {
                    counted.contains_digests(&queries, &mut out).expect("room");
                }) / without,
            );
            hits += out.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        let fpr = hits as f64 / (lookups * ROUNDS) as f64;
        assert!((0.9..1.1).contains(&(fpr / expected)), "{layout}: a rate of {fpr} where {expected} was expected");
        let (limit, one, batch) = (median(limit), median(one), median(batch));
        println!(
            "{layout:<12} {:<7} {:>6.3}  {limit:>8.2}  {one:>6.2}  {:>5.2}  {batch:>8.2}  {:>5.2}  {:>7.2}",
            if loaded { "loaded" } else { "held" },
            100.0 * fpr,
            one / limit,
            batch / limit,
            median(counting)
        );
    }
}
