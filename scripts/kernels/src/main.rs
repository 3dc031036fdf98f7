//! Every kernel of every layout in one program: what `scripts/check-asm` disassembles.
//!
//! It also runs: each kernel is called once, through the table and through `with_kernel`, and must find what it
//! inserted.

use bloomline::{BulkOptions, Design, Filter, FilterView, Layout, for_each_layout, hash::Digest, hash::Xxh3};
use std::hint::black_box;

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

fn all<L: Layout>() -> Result<(), Box<dyn std::error::Error>> {
    let digests: Vec<Digest> =
        (0..black_box(1_000u64)).map(|i| Digest(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut out = vec![0; digests.len().div_ceil(64)];

    let mut plain = Filter::<L>::builder(1_000).build()?;
    plain.insert_digest(digests[0]);
    plain.insert_batch(&digests[..500]);
    plain.insert_bulk(&digests, BulkOptions::default())?;
    plain.contains_batch(&digests, &mut out)?;
    assert!(plain.contains_digest(digests[0]));
    assert_eq!(out.iter().map(|word| word.count_ones()).sum::<u32>(), 1_000);
    assert_eq!(count(&plain, &digests), 1_000);

    let design: Design = plain.design();
    let view = FilterView::<L>::from_bytes(plain.as_bytes(), plain.geometry(), design, Xxh3::default())?;
    assert_eq!(count(&view, &digests), 1_000);

    let shared = Filter::<L>::builder(1_000).build_shared()?;
    shared.insert_digest(digests[0]);
    shared.insert_batch(&digests);
    shared.contains_batch(&digests, &mut out)?;
    assert!(shared.contains_digest(digests[0]));
    assert_eq!(out.iter().map(|word| word.count_ones()).sum::<u32>(), 1_000);
    assert_eq!(count(&shared, &digests), 1_000);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    macro_rules! each {
        ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
            all::<bloomline::$Layout>()?;
            println!("{}", $printed);
        )* };
    }
    for_each_layout!(each);
    Ok(())
}
