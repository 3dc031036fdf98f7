//! Every kernel of every layout in one program: what `scripts/check-asm` disassembles.
//!
//! It also runs, as itself and under Miri: each kernel of each level is called, through the table and through
//! `with_kernel`, and must find what it inserted.

use bloomline::{
    Blocked128, BulkOptions, Classic, CounterLayout, CountingBloom, DLeftCountingBloom, Design, Filter, FilterView,
    Layout, Level, for_each_layout, hash::Digest, hash::Xxh3,
};
use std::hint::black_box;

/// Fewer where each instruction is looked at; a batch of more than two words and a bit in any case.
const KEYS: u64 = if cfg!(miri) { 141 } else { 1_000 };

/// A caller's loop, as `with_kernel` is meant to be used.
fn count<L: Layout, S: bloomline::mem::Store<Unit = L::Unit>>(filter: &Filter<L, S>, digests: &[Digest]) -> usize {
    filter.with_kernel(|kernel| {
        let mut hits = 0;
        for &digest in digests {
            hits += kernel.contains(digest) as usize;
        }
        hits
    })
}

fn all<L: Layout>(level: Level) -> Result<(), Box<dyn std::error::Error>> {
    let digests: Vec<Digest> = (0..black_box(KEYS)).map(|i| Digest(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut out = vec![0; digests.len().div_ceil(64)];

    let mut plain = Filter::<L>::builder(KEYS).level(level).build()?;
    plain.insert_digest(digests[0]);
    plain.insert_batch(&digests[..digests.len() / 2]);
    plain.insert_bulk(&digests, BulkOptions::default())?;
    plain.contains_batch(&digests, &mut out)?;
    assert!(plain.contains_digest(digests[0]));
    assert_eq!(out.iter().map(|word| word.count_ones()).sum::<u32>() as u64, KEYS);
    assert_eq!(count(&plain, &digests) as u64, KEYS);

    let design: Design = plain.design();
    let view =
        FilterView::<L>::from_bytes(plain.as_bytes(), plain.geometry(), design, Xxh3::default())?.with_level(level);
    assert_eq!(count(&view, &digests) as u64, KEYS);

    let shared = Filter::<L>::builder(KEYS).level(level).build_shared()?;
    shared.insert_digest(digests[0]);
    shared.insert_batch(&digests);
    shared.contains_batch(&digests, &mut out)?;
    assert!(shared.contains_digest(digests[0]));
    assert_eq!(out.iter().map(|word| word.count_ones()).sum::<u32>() as u64, KEYS);
    assert_eq!(count(&shared, &digests) as u64, KEYS);
    // The same memory as plain words again, and as atomic ones once more.
    let frozen = shared.freeze();
    assert_eq!(count(&frozen, &digests) as u64, KEYS);
    assert!(!frozen.into_shared().insert_digest(digests[0]));
    Ok(())
}

/// The same of counters, in both memory models.
fn counters<L: CounterLayout>(level: Level) -> Result<(), Box<dyn std::error::Error>> {
    let digests: Vec<Digest> = (0..black_box(KEYS)).map(|i| Digest(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut out = vec![0; digests.len().div_ceil(64)];
    let found = |out: &[u64]| out.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();

    let mut plain = CountingBloom::<L>::builder(KEYS).level(level).build_plain()?;
    plain.insert_digest(digests[0]);
    plain.insert_batch(&digests);
    plain.remove_digest(digests[0])?;
    plain.contains_batch(&digests, &mut out)?;
    assert!(plain.contains_digest(digests[0]) && found(&out) == KEYS);

    let mut shared = CountingBloom::<L>::builder(KEYS).level(level).build()?;
    shared.insert_digest(digests[0]);
    shared.insert_batch(&digests);
    shared.remove_digest(digests[0])?;
    shared.contains_batch(&digests, &mut out)?;
    assert!(shared.contains_digest(digests[0]) && found(&out) == KEYS);
    shared.merge(&plain)?;
    assert_eq!(shared.to_bloom()?.as_bytes(), plain.to_bloom()?.as_bytes());
    assert_eq!(shared.histogram().iter().sum::<u64>(), shared.geometry().bits);
    shared.remove_batch(&digests, &mut out)?;
    plain.remove_batch(&digests, &mut out)?;
    assert_eq!(found(&out), KEYS);
    Ok(())
}

/// And of buckets.
fn buckets(level: Level) -> Result<(), Box<dyn std::error::Error>> {
    let digests: Vec<Digest> = (0..black_box(KEYS)).map(|i| Digest(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut out = vec![0; digests.len().div_ceil(64)];
    let mut table = DLeftCountingBloom::builder(KEYS).fpr(black_box(1e-4)).level(level).build()?;
    table.insert_digest(digests[0])?;
    table.insert_batch(&digests)?;
    table.remove_digest(digests[0])?;
    table.contains_batch(&digests, &mut out)?;
    assert!(table.contains_digest(digests[0]));
    assert_eq!(out.iter().map(|word| u64::from(word.count_ones())).sum::<u64>(), KEYS);
    table.remove_batch(&digests, &mut out)?;
    assert_eq!(table.total(), 0);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    macro_rules! each {
        ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
            for &level in Level::available() {
                all::<bloomline::$Layout>(level)?;
                println!("{} {level}", $printed);
            }
        )* };
    }
    for_each_layout!(each);
    for &level in Level::available() {
        counters::<Classic>(level)?;
        counters::<Blocked128>(level)?;
        buckets(level)?;
        println!("counters and buckets {level}");
    }
    Ok(())
}
