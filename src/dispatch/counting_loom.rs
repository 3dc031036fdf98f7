//! Loom models of one word and of one line of counters, with the code of this room: every interleaving of the steps that
//! threads make, and every value that a load may return.

use super::{InLine, LineWords, Place, Words};
use crate::{hash::Digest, mem::Atomic, nibbles};
use loom::{
    model,
    sync::{Arc, atomic::AtomicU64},
    thread,
};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

type Line = [AtomicU64; 8];

fn line(words: [u64; 8]) -> Arc<Line> {
    Arc::new(words.map(AtomicU64::new))
}

/// Counters of chosen words, in the place of a digest's.
struct Of(&'static [(usize, u64)]);

impl Words for Of {
    fn each(&self, mut visit: impl FnMut(usize, usize, u64) -> bool) -> bool {
        self.0.iter().enumerate().all(|(i, &(at, ones))| visit(i, at, ones))
    }
}

fn insert(line: &Line, key: &impl Words) -> bool {
    InLine::<Atomic>(line).raise(key)
}

fn remove(line: &Line, key: &impl Words) -> bool {
    InLine::<Atomic>(line).lower(key)
}

fn contains(line: &Line, key: &impl Words) -> bool {
    key.each(|_, at, ones| ones & !nibbles::nonzero(InLine::<Atomic>(line).update(at, |_| None).unwrap_err()) == 0)
}

fn word(line: &Line, at: usize) -> u64 {
    InLine::<Atomic>(line).update(at, |_| None).unwrap_err()
}

/// Two counters of one word.
const A: Of = Of(&[(0, 0x11)]);
/// One in common with `A`, and one of its own in another word.
const B: Of = Of(&[(0, 0x10), (1, 0x1)]);
/// Both words, one counter each.
const C: Of = Of(&[(0, 0x10), (1, 0x10)]);

#[test]
fn two_insertions_lose_nothing() {
    model(|| {
        let shared = line([0; 8]);
        let theirs = shared.clone();
        let other = thread::spawn(move || insert(&theirs, &A));
        assert!(insert(&shared, &B));
        assert!(other.join().unwrap());
        assert_eq!((word(&shared, 0), word(&shared, 1)), (0x21, 0x1));
    });
}

#[test]
fn an_insertion_and_a_removal_lose_nothing() {
    model(|| {
        let shared = line([0; 8]);
        insert(&shared, &A);
        let theirs = shared.clone();
        let other = thread::spawn(move || remove(&theirs, &A));
        assert!(insert(&shared, &B));
        assert!(contains(&shared, &B), "a key that was inserted is absent while another is removed");
        assert!(other.join().unwrap(), "a removal of what is there is refused");
        assert_eq!((word(&shared, 0), word(&shared, 1)), (0x10, 0x1));
    });
}

#[test]
fn two_removals_take_one_each() {
    model(|| {
        let shared = line([0; 8]);
        insert(&shared, &A);
        insert(&shared, &C);
        let theirs = shared.clone();
        let other = thread::spawn(move || remove(&theirs, &A));
        assert!(remove(&shared, &C));
        assert!(other.join().unwrap());
        assert_eq!((word(&shared, 0), word(&shared, 1)), (0, 0));
    });
}

/// Of two removals of a key that is there once, one is refused and leaves no trace.
#[test]
fn of_two_removals_of_one_key_one_is_refused() {
    model(|| {
        let shared = line([0; 8]);
        insert(&shared, &C);
        let theirs = shared.clone();
        let other = thread::spawn(move || remove(&theirs, &C));
        let ours = remove(&shared, &C);
        let theirs = other.join().unwrap();
        // Both may have found a counter lowered by the other, in which case neither of them takes the key.
        assert!(!(ours && theirs), "one key was taken twice");
        let left = u64::from(!ours && !theirs) * 0x10;
        assert_eq!((word(&shared, 0), word(&shared, 1)), (left, left));
    });
}

/// A counter at 14 that two threads raise is stuck at 15, and no removal lowers it again.
#[test]
fn a_counter_saturates_once() {
    model(|| {
        let shared = line([0xe0, 0, 0, 0, 0, 0, 0, 0]);
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            insert(&theirs, &B);
            remove(&theirs, &B)
        });
        insert(&shared, &A);
        assert!(other.join().unwrap());
        let counter = word(&shared, 0) >> 4 & 15;
        assert!(counter == 15, "{counter}");
        assert_eq!((word(&shared, 0) & 15, word(&shared, 1)), (1, 0));
    });
}

/// What the documents say of strangers: while one's removal is refused, a key that is there may be reported absent for a
/// moment. Without strangers it never is (the other models).
#[test]
fn a_stranger_can_hide_a_key_for_a_moment() {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let record = seen.clone();
    model(move || {
        // The key A is there; so is one that has the second counter of the stranger B, and that is removed meanwhile.
        const OTHER: Of = Of(&[(1, 0x1)]);
        let shared = line([0; 8]);
        insert(&shared, &A);
        insert(&shared, &OTHER);
        let (first, second) = (shared.clone(), shared.clone());
        let stranger = thread::spawn(move || remove(&first, &B));
        let owner = thread::spawn(move || remove(&second, &OTHER));
        let third = shared.clone();
        let reader = thread::spawn(move || contains(&third, &A));
        let (taken, _) = (stranger.join().unwrap(), owner.join().unwrap());
        let found = reader.join().unwrap();
        if !taken {
            assert!(contains(&shared, &A), "a refused removal left a trace");
        }
        record.lock().unwrap_or_else(PoisonError::into_inner).insert((taken, found));
    });
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(seen.contains(&(false, true)) && seen.contains(&(false, false)), "{seen:?}");
}

/// The counters of real digests: two in common, in one line.
#[test]
fn keys_of_one_line() {
    let mut bounded = model::Builder::new();
    bounded.preemption_bound = Some(2);
    bounded.check(|| {
        let keys = [LineWords::new(Digest(1), 3), LineWords::new(Digest(0x9e37_79b9_7f4a_7c15), 3)];
        let shared = line([0; 8]);
        insert(&shared, &keys[0]);
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let key = LineWords::new(Digest(0x9e37_79b9_7f4a_7c15), 3);
            insert(&theirs, &key) && contains(&theirs, &key) && remove(&theirs, &key)
        });
        assert!(contains(&shared, &keys[0]) && remove(&shared, &keys[0]));
        assert!(other.join().unwrap());
        assert!((0..8).all(|i| word(&shared, i) == 0));
    });
}
