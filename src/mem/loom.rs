//! Loom models of the [`Atomic`] memory model: its own code over loom's atomics, in every interleaving and with every
//! value that the C++ memory model lets a load return.
//!
//! Only units are modelled. A whole filter holds them in memory that is cast to atomics, which loom's do not fit, so no
//! other test of the crate runs under `--cfg loom`.

use super::units::{Atomic, Memory};
use crate::{
    block::Unit,
    isa::{Isa, Scalar},
};
use loom::{
    model,
    sync::{
        Arc,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread,
};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// Two keys of a 32-byte block: bits in every word, some of them common.
const KEYS: [[u64; 4]; 2] = [[0b0011, 1 << 63, 0b0101, 1], [0b0110, 1 << 63, 0b1010, 1 << 32]];

type Block = <[u8; 32] as Unit>::Atomic;
type Line = <[u8; 64] as Unit>::Atomic;

fn block() -> Arc<Block> {
    Arc::new(core::array::from_fn(|_| AtomicU64::new(0)))
}

fn line() -> Arc<Line> {
    Arc::new(core::array::from_fn(|_| AtomicU64::new(0)))
}

fn insert(block: &Block, key: [u64; 4]) -> bool {
    Atomic::or_block(Scalar, block, Scalar.block_from(key))
}

fn contains(block: &Block, key: [u64; 4]) -> bool {
    Scalar.block_covers(Atomic::block(Scalar, block), Scalar.block_from(key))
}

#[test]
fn two_writers_of_two_keys_lose_nothing() {
    model(|| {
        let shared = block();
        let theirs = shared.clone();
        let other = thread::spawn(move || insert(&theirs, KEYS[1]));
        let first = insert(&shared, KEYS[0]);
        let second = other.join().unwrap();
        // Each key has a bit that the other lacks, so each of them is new to its writer.
        assert!(first && second);
        assert!(contains(&shared, KEYS[0]) && contains(&shared, KEYS[1]));
        for i in 0..4 {
            assert_eq!(Atomic::word::<[u8; 32]>(&shared, i), KEYS[0][i] | KEYS[1][i], "word {i}");
        }
    });
}

#[test]
fn two_writers_of_one_key_hear_of_it_at_least_once() {
    let outcomes = Mutex::new(BTreeSet::new());
    let seen = std::sync::Arc::new(outcomes);
    let record = seen.clone();
    model(move || {
        let shared = block();
        let theirs = shared.clone();
        let other = thread::spawn(move || insert(&theirs, KEYS[0]));
        let first = insert(&shared, KEYS[0]);
        let second = other.join().unwrap();
        assert!(first || second, "neither writer was told that the key is new");
        assert!(contains(&shared, KEYS[0]));
        record.lock().unwrap_or_else(PoisonError::into_inner).insert((first, second));
    });
    // Both may be: each set some of the bits. The documents say so, and here it is.
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(*seen, BTreeSet::from([(false, true), (true, false), (true, true)]));
}

#[test]
fn of_two_writers_of_one_bit_exactly_one_set_it() {
    model(|| {
        let shared = block();
        let theirs = shared.clone();
        let other = thread::spawn(move || Atomic::or_word::<[u8; 32]>(&mut &*theirs, 2, 1 << 17));
        let first = Atomic::or_word::<[u8; 32]>(&mut &*shared, 2, 1 << 17);
        assert!(first ^ other.join().unwrap());
        assert_eq!(Atomic::word::<[u8; 32]>(&shared, 2), 1 << 17);
    });
}

#[test]
fn two_writers_of_a_line_lose_nothing() {
    // 16 atomic ORs: all interleavings with up to 2 preemptions.
    let mut bounded = model::Builder::new();
    bounded.preemption_bound = Some(2);
    bounded.check(|| {
        let keys: [[u64; 8]; 2] = [core::array::from_fn(|i| 1 << i), core::array::from_fn(|i| 3 << i)];
        let shared = line();
        let theirs = shared.clone();
        let other = thread::spawn(move || Atomic::or_line(Scalar, &theirs, Scalar.line_from(keys[1])));
        Atomic::or_line(Scalar, &shared, Scalar.line_from(keys[0]));
        assert!(other.join().unwrap(), "the other key has bits of its own");
        let bits = Scalar.line_words(Atomic::line(Scalar, &shared));
        assert_eq!(bits, core::array::from_fn(|i| keys[0][i] | keys[1][i]));
    });
}

/// A writer inserts a key and raises a flag; a reader that sees the flag must see the key.
fn publish(ordering_of_the_writer: core::sync::atomic::Ordering) {
    model(move || {
        let shared = block();
        let flag = Arc::new(AtomicBool::new(false));
        let (theirs, raised) = (shared.clone(), flag.clone());
        let writer = thread::spawn(move || {
            insert(&theirs, KEYS[0]);
            raised.store(true, ordering_of_the_writer);
        });
        if flag.load(Acquire) {
            assert!(contains(&shared, KEYS[0]), "a published key is not seen whole");
        }
        writer.join().unwrap();
        // Joining a thread publishes what it did.
        assert!(contains(&shared, KEYS[0]));
    });
}

#[test]
fn a_published_key_is_seen_whole() {
    publish(Release);
}

/// The model can fail: without the release nothing orders the bits before the flag.
#[test]
#[should_panic(expected = "a published key is not seen whole")]
fn without_a_release_it_is_not() {
    publish(Relaxed);
}

#[test]
fn a_key_that_is_not_published_may_be_seen_in_part() {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let record = seen.clone();
    model(move || {
        let shared = block();
        let theirs = shared.clone();
        let writer = thread::spawn(move || insert(&theirs, KEYS[0]));
        let mut parts = 0u32;
        for (i, &bits) in KEYS[0].iter().enumerate() {
            // What is promised without an order: a word's bits come together, and what was seen stays seen.
            let word = Atomic::word::<[u8; 32]>(&shared, i);
            assert!(word == 0 || word == bits, "word {i} is torn");
            parts |= ((word == bits) as u32) << i;
            assert_eq!(Atomic::word::<[u8; 32]>(&shared, i) & word, word, "word {i} lost bits");
        }
        record.lock().unwrap_or_else(PoisonError::into_inner).insert(parts);
        writer.join().unwrap();
        assert!(contains(&shared, KEYS[0]));
    });
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(seen.contains(&0) && seen.contains(&0b1111), "nothing and all are possible: {seen:?}");
    assert!(seen.iter().any(|&parts| parts != 0 && parts != 0b1111), "so is a part: {seen:?}");
}
