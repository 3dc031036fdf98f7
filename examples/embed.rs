//! A filter in front of each immutable segment of a storage engine.
//!
//! The engine writes sorted segments, newest last, and a key may be in any of them. Before it reads a segment it asks
//! the segment's gate, and an exact "absent" saves the read. Small new segments and large old ones get different
//! layouts; the engine holds them behind one trait. The key is hashed once for all gates.
//!
//!     cargo run --release --example embed

use bloomline::{
    AnyFilter, Blocked, Builder, BulkOptions, Classic, Digest, Filter, Layout, NegativeGate, SplitBlock,
    error::BuildError,
    hash::{Hashes, Xxh3},
};
use std::collections::BTreeMap;

/// Every filter of one engine has the same hasher, so that one digest serves all of them.
const SEED: u64 = 0x5eed;

/// An immutable run of entries, as an engine would have it in a file.
struct Segment {
    entries: BTreeMap<String, String>,
    gate: Box<dyn NegativeGate + Send + Sync>,
    reads: usize,
}

/// The gate of a segment that has just been written: all keys are known, so its size is exact, and bulk insertion
/// builds it region by region.
fn gate<L: Layout>(entries: &BTreeMap<String, String>, fpr: f64) -> Result<Filter<L>, BuildError> {
    let hasher = Xxh3::with_seed(SEED);
    let digests: Vec<Digest> = entries.keys().map(|key| hasher.digest(key)).collect();
    let builder: Builder<L> = Filter::<L>::builder(digests.len() as u64).fpr(fpr).hasher(hasher);
    builder.build_from_digests(&digests, BulkOptions::default().scratch_bytes(64 << 20))
}

impl Segment {
    fn new(entries: BTreeMap<String, String>, gate: impl NegativeGate + Send + Sync + 'static) -> Self {
        Self { entries, gate: Box::new(gate), reads: 0 }
    }

    /// What costs: reading the segment.
    fn read(&mut self, key: &str) -> Option<&str> {
        self.reads += 1;
        self.entries.get(key).map(String::as_str)
    }
}

/// The value of a key, from the newest segment that has it.
fn get(segments: &mut [Segment], key: &str) -> Option<String> {
    let digest = Xxh3::with_seed(SEED).digest(key);
    for segment in segments.iter_mut().rev() {
        if segment.gate.contains_digest(digest)
            && let Some(value) = segment.read(key)
        {
            return Some(value.to_owned());
        }
    }
    None
}

fn entries(first: u32, n: u32) -> BTreeMap<String, String> {
    (first..first + n).map(|i| (format!("user/{i:08}"), format!("value {i}"))).collect()
}

fn main() -> Result<(), BuildError> {
    // The oldest segment is the largest: the fewest bits for the rate. One line a lookup for the one above it, and the
    // fewest instructions for the newest, which stays in cache. A gate read from a file would be an `AnyFilter`.
    let (old, middle, new) = (entries(0, 200_000), entries(200_000, 20_000), entries(220_000, 2_000));
    let (a, b, c) = (gate::<Classic>(&old, 0.01)?, gate::<Blocked>(&middle, 0.005)?, gate::<SplitBlock>(&new, 0.005)?);
    for (name, kind, design, bytes) in [
        ("old", a.kind(), a.design(), a.size_in_bytes()),
        ("middle", b.kind(), b.design(), b.size_in_bytes()),
        ("new", c.kind(), c.design(), c.size_in_bytes()),
    ] {
        println!(
            "{name:<7} {kind:<12} {:>7} keys {bytes:>8} bytes, expected rate {:.3} %",
            design.keys,
            100.0 * design.fpr
        );
    }
    let mut segments = [Segment::new(old, a), Segment::new(middle, b), Segment::new(new, AnyFilter::from(c))];

    // Every key that was written is found.
    for i in (0..222_000).step_by(37) {
        let key = format!("user/{i:08}");
        assert_eq!(get(&mut segments, &key), Some(format!("value {i}")));
    }
    // Keys that were never written cost a read now and then, instead of three each.
    segments.iter_mut().for_each(|segment| segment.reads = 0);
    let absent = 100_000;
    for i in 0..absent {
        assert_eq!(get(&mut segments, &format!("nobody/{i}")), None);
    }
    let reads: usize = segments.iter().map(|segment| segment.reads).sum();
    println!("{absent} lookups of absent keys read {reads} segments instead of {}", 3 * absent);
    assert!(reads < 3 * absent / 50);

    // Many keys at a time: a bit for each, without hashing again.
    let digests: Vec<Digest> = (0..1_000).map(|i| Xxh3::with_seed(SEED).digest(&format!("nobody/{i}"))).collect();
    let mut maybe = vec![0; digests.len().div_ceil(64)];
    if segments[0].gate.contains_batch(&digests, &mut maybe).is_ok() {
        let left: u32 = maybe.iter().map(|word| word.count_ones()).sum();
        println!("a batch of {} keys leaves {left} to look for in the old segment", digests.len());
    }
    Ok(())
}
