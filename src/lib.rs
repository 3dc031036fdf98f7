//! Bloom filters and filters that can delete, over every instruction set, as fast as the memory system allows.
//!
//! A filter answers "may this key be in the set?" with a few bits for each key. "No" is exact, so it can keep a reader
//! away from a file, a network or a hash table; "yes" is wrong at a rate that is chosen beforehand.
//!
//! ```
//! use bloomline::{Blocked, Filter};
//!
//! let mut filter = Filter::<Blocked>::builder(100_000).fpr(0.01).build()?;
//! for key in 0..100_000u64 {
//!     filter.insert(&key);
//! }
//! assert!((0..100_000u64).all(|key| filter.contains(&key)));
//! let wrong = (100_000..200_000u64).filter(|key| filter.contains(key)).count();
//! assert!(wrong < 1_200); // about 1,000 of 100,000
//! # Ok::<(), bloomline::error::BuildError>(())
//! ```
//!
//! # Which layout
//!
//! A layout says which bits a key means. It is a type parameter of [`Filter`]; [`LayoutKind`] lists them and [`AnyFilter`]
//! holds any.
//!
//! | layout | a lookup touches | bits per key at 1 % | at 0.1 % |
//! |---|---|---|---|
//! | [`Classic`] | up to k lines | 9.59 | 14.38 |
//! | [`Partitioned`] | up to k lines | 9.59 | 14.38 |
//! | [`Blocked`] | one line of 64 bytes | 9.92 | 15.55 |
//! | [`SplitLine`] | one line of 64 bytes | 10.10 | 15.72 |
//! | [`SplitBlock`] | a block of 32 bytes | 10.53 | 16.89 |
//! | [`Word`] | a word of 8 bytes | 12.14 | 24.00 |
//!
//! [`Blocked`] beyond the caches, [`SplitBlock`] within them, [`Classic`] when memory is dearer than lookups, [`Word`] when
//! a rate of a few per cent will do: a rule to begin with. [`machine::Machine::tier`] tells where a filter of a size lives.
//! Sizes come from each layout's own formula ([`sizing`]); the classic one is wrong for all the others. A seventh, [`Blocked128`],
//! is what a blocked counting filter freezes to.
//!
//! # Filters that can delete
//!
//! | filter | a key takes | bits per key at 1 % | writes |
//! |---|---|---|---|
//! | [`CountingBloom`] over [`Classic`] | k counters of 4 bits, anywhere | 38.4 | `&self`, many threads |
//! | [`CountingBloom`] over [`Blocked128`] | k counters of one line | 43.4 | `&self`, many threads |
//! | [`DLeftCountingBloom`] | a fingerprint and a small counter in one of two lines | 19.0, at 0.33 % | `&mut self` |
//!
//! They are no gates: removing what was never inserted makes them lie. [`CountingBloom::to_bloom`] makes a gate of what is
//! present. [`AnyCounting`] holds any of them, [`FilterKind`] names every kind of filter.
//!
//! # Keys and digests
//!
//! A key is hashed once, to a [`Digest`] of 64 bits, and every filter with the same hasher understands it:
//! [`Filter::digest`], then [`Filter::contains_digest`] of as many filters as there are. The default hasher is seeded XXH3;
//! [`hash`] has the others, among them keyed BLAKE2b for keys that an adversary may choose, and two for engines that have
//! a hash already.
//!
//! # One key, many keys, all keys
//!
//! | | lookups | insertions |
//! |---|---|---|
//! | one | [`Filter::contains`] | [`Filter::insert`] |
//! | many | [`Filter::contains_batch`], [`Filter::select_batch`] | [`Filter::insert_batch`] |
//! | all, into a filter beyond the caches | | [`Filter::insert_bulk`] |
//! | in a loop of the caller's | [`Filter::with_kernel`] | |
//!
//! Batches take digests, or keys as [`Filter::contains_keys`] does. They run ahead of the memory and are several times
//! faster than one lookup after the other.
//!
//! # Levels
//!
//! A [`Level`] is an instruction set: `scalar`, `portable`, `neon`, `avx2`, `avx512`, `avx512vbmi`. The best of the machine
//! is found once, when the first filter is made, and each filter keeps a pointer to its kernels. The environment variable
//! `BLOOMLINE_ISA` lowers it, [`Builder::level`] sets it for one filter. Every level sets and tests the same bits.
//!
//! # Memory models
//!
//! | filter | bits | writes |
//! |---|---|---|
//! | [`Filter`] | its own | `&mut self` |
//! | [`SharedFilter`] | its own, atomic words | `&self`, any number of threads |
//! | [`FilterView`] | somebody else's bytes, at any alignment | none |
//! | [`CountingBloom`], [`PlainCountingBloom`], [`CountingView`] | counters: atomic, its own, somebody else's | `&self`, `&mut self`, none |
//!
//! A writer of a shared filter that has published (released) is seen whole by a reader that has acquired; the argument
//! stands at [`mem::Atomic`]. [`SharedFilter::freeze`] makes it a plain filter again, without copying.
//!
//! # Guarantees
//!
//! * A key that was inserted is never reported absent. The types for which this holds are [`NegativeGate`]s, and
//!   `dyn NegativeGate + Send + Sync` is what an engine holds that has filters of several layouts.
//! * The same geometry and the same digest mean the same bits on every machine; bytes are little-endian.
//! * Whatever can be refused is a typed error ([`error`]) that names the value and its limit, before anything is allocated.
//! * Filters larger than half of the machine's memory are refused, unless [`Builder::memory_cap`] says otherwise.
//!
//! # Features
//!
//! `std` (default) detects instruction sets when the program runs and knows the [`machine`]; `rayon` (default) inserts in
//! bulk on all threads; `cli` builds the program `bloomline`. Without default features the crate is `no_std` with `alloc`:
//! its level is the best that the whole program was compiled for, and no memory cap applies. It needs 64-bit atomics.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod block;
mod dispatch;
pub mod error;
mod filters;
pub mod format;
pub mod gate;
pub mod hash;
mod isa;
mod layout;
#[cfg(feature = "std")]
pub mod machine;
pub mod mem;
mod nibbles;
pub mod sizing;

pub use dispatch::{BulkOptions, Kernel, Level, LoadLoop};
pub use filters::{
    AnyCounting, AnyFilter, Blocked, Blocked128, Builder, Classic, Contains, CountingBloom, CountingBuilder,
    CountingView, DLeftBuilder, DLeftCountingBloom, DLeftView, Design, Filter, FilterKind, FilterView, LayoutKind,
    NegativeGate, Partitioned, PlainCountingBloom, SharedFilter, SplitBlock, SplitLine, Word,
};
pub use hash::Digest;
pub use layout::{CounterLayout, CounterUnit, Layout};

/// The examples of README.md are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
