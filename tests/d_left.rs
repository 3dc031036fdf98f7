//! d-left counting filters: their rules, how far a table can be filled, and the rate.

#[path = "common/random.rs"]
mod random;

use bloomline::{
    DLeftCountingBloom, DLeftView, Design, Digest, Level,
    error::{BuildError, CombineError, DLeftMergeError, NotPresent, SizingError},
    hash::{PreHashedTrusted, Xxh3},
    mem::Owned,
    sizing::{DLeft, Geometry},
};
use proptest::prelude::*;
use random::Random;
use std::collections::HashMap;

type Table = DLeftCountingBloom<Owned<[u8; 64]>, PreHashedTrusted>;

const SLOTS: [u32; 5] = [16, 20, 24, 28, 32];

fn scale(n: usize) -> usize {
    let small = cfg!(miri) || std::env::var("BLOOMLINE_TEST_SCALE").is_ok_and(|scale| scale == "small");
    if small { n.div_ceil(20) } else { n }
}

fn table(buckets: u64, slot_bits: u32, level: Level) -> Table {
    let geometry = Geometry { bits: buckets * 1024, k: slot_bits };
    let builder = DLeftCountingBloom::builder(1).geometry(geometry).hasher(PreHashedTrusted).level(level);
    builder.build().expect("a small table")
}

/// Random insertions and removals, with keys that come often: exact counts, the same bytes at every level, and an empty
/// table when all has gone.
#[test]
fn every_level_keeps_the_same_multiset() {
    for slot_bits in SLOTS {
        for buckets in [1, 2, 5, 40] {
            let levels = Level::available();
            let mut tables: Vec<Table> = levels.iter().map(|&level| table(buckets, slot_bits, level)).collect();
            let keys: Vec<Digest> = Random(buckets).take(buckets as usize * 20).map(Digest).collect();
            let mut there = HashMap::<u64, u32>::new();
            let mut random = Random(slot_bits.into());
            for _ in 0..scale(3_000) {
                let word = random.next().expect("endless");
                // A tenth of the keys come half of the time.
                let of = if word & 1 == 0 { keys.len() } else { keys.len().div_ceil(10) };
                let key = keys[(word >> 8) as usize % of];
                let count = there.entry(key.0).or_default();
                if word % 7 < 4 {
                    let results: Vec<bool> = tables.iter_mut().map(|table| table.insert_digest(key).is_ok()).collect();
                    assert!(results.iter().all(|&result| result == results[0]));
                    *count += u32::from(results[0]);
                } else {
                    for table in &mut tables {
                        assert_eq!(table.remove_digest(key), if *count > 0 { Ok(()) } else { Err(NotPresent) });
                    }
                    *count = count.saturating_sub(1);
                }
            }
            let total: u64 = there.values().map(|&count| u64::from(count)).sum();
            let distinct = there.values().filter(|&&count| count > 0).count();
            for table in &tables {
                assert!(table.as_bytes() == tables[0].as_bytes(), "{} {slot_bits} bits", table.level());
                assert_eq!(table.total(), total);
                assert!(table.slots_taken() >= distinct as u64);
                for key in &keys {
                    assert_eq!(table.contains_digest(*key), there.get(&key.0).is_some_and(|&count| count > 0));
                }
            }
            for (&key, &count) in &there {
                for table in &mut tables {
                    (0..count).for_each(|_| assert_eq!(table.remove_digest(Digest(key)), Ok(())));
                    assert_eq!(table.remove_digest(Digest(key)), Err(NotPresent));
                }
            }
            assert!(tables.iter().all(|table| table.as_bytes().iter().all(|&byte| byte == 0)));
        }
    }
}

/// Batches are one operation after the other.
#[test]
fn batches() {
    for &level in Level::available() {
        for slot_bits in SLOTS {
            let (mut one, mut many) = (table(40, slot_bits, level), table(40, slot_bits, level));
            let keys: Vec<Digest> = Random(3).take(1_000).map(Digest).collect();
            keys.iter().for_each(|&key| one.insert_digest(key).expect("room"));
            many.insert_batch(&keys).expect("room");
            assert_eq!(one.as_bytes(), many.as_bytes());
            let asked: Vec<Digest> = keys.iter().copied().step_by(3).chain(Random(4).take(400).map(Digest)).collect();
            for n in [0, 1, 63, 64, 65, 700] {
                let mut out = [u64::MAX; 12];
                one.contains_batch(&asked[..n], &mut out).expect("room");
                for (i, &key) in asked[..n].iter().enumerate() {
                    assert_eq!(out[i / 64] >> (i % 64) & 1 != 0, one.contains_digest(key));
                }
                assert!(n % 64 == 0 || out[n / 64] >> (n % 64) == 0);
                assert!(out[n.div_ceil(64)..].iter().all(|&word| word == u64::MAX));
            }
            let mut out = [u64::MAX; 12];
            many.remove_batch(&asked, &mut out).expect("room");
            for (i, &key) in asked.iter().enumerate() {
                assert_eq!(out[i / 64] >> (i % 64) & 1 != 0, one.remove_digest(key).is_ok());
            }
            assert_eq!(one.as_bytes(), many.as_bytes());
            assert!(many.remove_batch(&asked, &mut out[..11]).is_err() && one.as_bytes() == many.as_bytes());
            // A batch ends where there is no room, and says where.
            let mut full = table(1, slot_bits, level);
            let done = full.insert_batch(&keys).expect_err("a thousand keys in two buckets").inserted;
            assert_eq!(full.total(), done as u64);
            assert!(keys[..done].iter().all(|&key| full.contains_digest(key)));
        }
    }
}

/// Tables of every size hold the keys that they are made for, also when keys come and go; and more, until both buckets of a
/// key are full.
#[test]
fn a_table_holds_what_it_is_made_for() {
    for slot_bits in SLOTS {
        for buckets in [1, 2, 3, 7, 50, 2_000].into_iter().filter(|&buckets| buckets <= scale(2_000) as u64) {
            let mut table = table(buckets, slot_bits, Level::get());
            let capacity = DLeft::capacity(table.geometry()) as usize;
            let mut keys: Vec<Digest> = Random(buckets ^ 77).take(capacity).map(Digest).collect();
            for (i, &key) in keys.iter().enumerate() {
                assert!(table.insert_digest(key).is_ok(), "{slot_bits} bits, {buckets} buckets: key {i} of {capacity}");
            }
            let mut random = Random(buckets ^ 99);
            for turn in 0..4 * capacity {
                let word = random.next().expect("endless");
                let at = word as usize % capacity;
                assert_eq!(table.remove_digest(keys[at]), Ok(()));
                keys[at] = Digest(random.next().expect("endless"));
                let room = table.insert_digest(keys[at]);
                assert!(room.is_ok(), "{slot_bits} bits, {buckets} buckets: exchange {turn} of {capacity} keys");
            }
            assert!(keys.iter().all(|&key| table.contains_digest(key)));
            assert_eq!(table.total(), capacity as u64);
            // Until it is full: refused, and nothing is lost.
            let mut more = Random(buckets ^ 1_234).map(Digest);
            let refused = loop {
                let key = more.next().expect("endless");
                match table.insert_digest(key) {
                    Ok(()) => keys.push(key),
                    Err(full) => {
                        assert_eq!((table.total(), full.slots), (keys.len() as u64, 2 * (512 / slot_bits)));
                        break key;
                    }
                }
            };
            assert!(!table.contains_digest(refused) || table.current_fpr() > 1e-6);
            assert!(keys.iter().all(|&key| table.contains_digest(key)));
            assert!(table.occupancy() > 0.75, "{slot_bits} bits, {buckets} buckets: full at {}", table.occupancy());
        }
    }
}

/// Digests that come sorted, or bucket after bucket from another table, fill a table as well as random ones.
#[test]
fn sorted_digests() {
    for slot_bits in SLOTS {
        let mut table = table(1_000, slot_bits, Level::get());
        let capacity = DLeft::capacity(table.geometry()) as usize;
        let mut keys: Vec<Digest> = Random(5).take(capacity).map(Digest).collect();
        keys.sort_unstable();
        table.insert_batch(&keys).expect("room");
        let mut merged = self::table(1_000, slot_bits, Level::get());
        merged.merge(&table).expect("room");
        assert_eq!(merged.total(), capacity as u64);
        assert!(keys.iter().all(|&key| merged.contains_digest(key)));
        assert!(keys.iter().all(|&key| merged.remove_digest(key).is_ok()));
    }
}

/// A key that is there twenty times goes as often as it came.
#[test]
fn often() {
    let mut filter = DLeftCountingBloom::builder(100).build().expect("a small table");
    for times in 1..=20u64 {
        filter.insert("often").expect("room");
        assert_eq!((filter.total(), filter.slots_taken()), (times, times.div_ceil(3)));
    }
    for left in (0..20u64).rev() {
        assert_eq!(filter.remove("often"), Ok(()));
        assert_eq!((filter.contains("often"), filter.total()), (left > 0, left));
    }
    assert_eq!(filter.remove("often"), Err(NotPresent));
    assert_eq!(filter.insert_unique("once"), Ok(true));
    assert_eq!(filter.insert_unique("once"), Ok(false));
    assert_eq!((filter.remove("once"), filter.contains("once")), (Ok(()), false));
}

/// A thousand removals of keys that the filter says are absent: every one refused, nothing changed, no member lost.
#[test]
fn strangers_are_refused_and_change_nothing() {
    let mut filter = DLeftCountingBloom::builder(1_000).fpr(0.01).build().expect("a small table");
    (0..1_000u64).for_each(|key| filter.insert(&key).expect("room"));
    let before = filter.as_bytes().to_vec();
    let absent: Vec<u64> = (1_000..).filter(|key| !filter.contains(key)).take(1_000).collect();
    assert!(absent.iter().all(|key| filter.remove(key) == Err(NotPresent)));
    assert_eq!(filter.as_bytes(), before);
    assert!((0..1_000u64).all(|key| filter.contains(&key)));
}

#[test]
fn merges() {
    for slot_bits in SLOTS {
        let (mut a, mut b) = (table(40, slot_bits, Level::get()), table(40, slot_bits, Level::get()));
        let keys: Vec<Digest> = Random(8).take(900).map(Digest).collect();
        a.insert_batch(&keys[..500]).expect("room");
        b.insert_batch(&keys[400..]).expect("room");
        a.merge(&b).expect("room for both");
        assert_eq!(a.total(), 1_000);
        for (i, &key) in keys.iter().enumerate() {
            assert_eq!(a.remove_digest(key), Ok(()));
            assert_eq!(a.remove_digest(key).is_ok(), (400..500).contains(&i), "{slot_bits} bits, key {i}");
        }
        assert!(a.as_bytes().iter().all(|&byte| byte == 0));
        // What does not fit leaves the receiver as it was.
        let mut full = table(40, slot_bits, Level::get());
        let room = DLeft::capacity(full.geometry()) as usize;
        full.insert_batch(&Random(9).take(room).map(Digest).collect::<Vec<_>>()).expect("room");
        let before = full.as_bytes().to_vec();
        assert!(matches!(full.merge(&b), Err(DLeftMergeError::Full(_))));
        assert_eq!(full.as_bytes(), before);
        let other = table(41, slot_bits, Level::get());
        let bits = CombineError::Bits { left: full.geometry().bits, right: other.geometry().bits };
        assert_eq!(full.merge(&other), Err(DLeftMergeError::Combine(bits)));
        assert_eq!(full.as_bytes(), before);
        full.clear();
        assert_eq!(full.total(), 0);
    }
}

/// Measured against the formula, with 4 standard deviations, at 50, 100 and as much of 150 % of the design as there is room
/// for: beyond the design a table is full before its rate has risen by a third.
#[test]
fn the_rate_is_that_of_the_formula() {
    for (slot_bits, keys) in [(16, 40_000u64), (16, 700), (20, 40_000)] {
        let geometry = DLeft::size_for_bytes(keys, {
            let slots = Geometry { bits: 1024, k: slot_bits };
            keys.div_ceil(DLeft::capacity(slots)) * 128
        });
        let geometry = Geometry { k: slot_bits, ..geometry.expect("a size") };
        for percent in [50, 100, 150] {
            let queries = scale(4_000_000);
            let (mut wrong, mut expected) = (0u64, 0.0);
            for seed in 0..4 {
                let builder = DLeftCountingBloom::builder(keys).geometry(geometry).hasher(Xxh3::with_seed(seed));
                let mut filter = builder.build().expect("a table");
                let n = (0..keys * percent / 100).take_while(|key| filter.insert(key).is_ok()).count() as u64;
                assert!(n == keys * percent / 100 || percent == 150, "{n}");
                let asked = (1 << 40..).take(queries / 4);
                wrong += asked.filter(|key: &u64| filter.contains(key)).count() as u64;
                expected += DLeft::fpr(n, geometry) * (queries / 4) as f64;
                assert!((filter.estimated_cardinality() / n as f64 - 1.0).abs() < 3e-3);
                assert_eq!(filter.is_past_design(), n > keys);
            }
            // The rate itself spreads by far less: which elements are members does not matter, only how many.
            let error = (wrong as f64 - expected).abs();
            assert!(error < 4.0 * expected.sqrt() + 2.0, "{slot_bits} bits, {percent} %: {wrong} where {expected:.0}");
        }
    }
}

/// Half of a counting filter's memory at the same rate, by both formulas.
#[test]
fn half_the_memory_of_counters() {
    for fpr in [0.01, 0.003, 0.001, 0.0001] {
        let d_left = DLeft::size_for_fpr(1_000_000, fpr).expect("a size").bits as f64;
        let counters = bloomline::LayoutKind::Classic.model().size_for_fpr(1_000_000, fpr).expect("a size").bits as f64;
        assert!(d_left < 0.51 * 4.0 * counters, "{fpr}: {}", d_left / (4.0 * counters));
    }
}

#[test]
fn sizes_and_views() {
    let builder = DLeftCountingBloom::builder(10_000).fpr(0.01);
    assert_eq!(builder.estimated_bytes(), Ok(builder.sized().expect("a size").bits / 8));
    assert!(matches!(builder.clone().memory_cap(100).build(), Err(BuildError::Alloc(_))));
    assert!(matches!(DLeftCountingBloom::builder(0).build(), Err(BuildError::Sizing(SizingError::ZeroKeys))));
    assert!(DLeftCountingBloom::builder(1_000).with_byte_budget(1_000).build().is_err());
    let mut filter = builder.build().expect("a table");
    (0..10_000u64).for_each(|key| filter.insert(&key).expect("room"));
    for offset in [0, 1, 7] {
        let mut bytes = vec![0xff; offset];
        bytes.extend_from_slice(filter.as_bytes());
        let view = DLeftView::from_bytes(&bytes[offset..], filter.geometry(), filter.design(), Xxh3::default());
        let view = view.expect("a table");
        assert!((0..10_000u64).all(|key| view.contains(&key)));
        assert_eq!(view.total(), 10_000);
        assert!(
            DLeftView::from_bytes(&bytes, filter.geometry(), filter.design(), Xxh3::default()).is_err() == (offset > 0)
        );
    }
    let design = Design { keys: 1, fpr: 0.5 };
    for geometry in [Geometry { bits: 1024, k: 17 }, Geometry { bits: 512, k: 16 }, Geometry { bits: 0, k: 16 }] {
        assert!(DLeftView::from_bytes(&[0; 128], geometry, design, Xxh3::default()).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 64 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a map of keys and how often each is there; a stranger's removal is refused unless it is a false positive.
    #[test]
    fn d_left_is_a_multiset(ops in prop::collection::vec((any::<u8>(), any::<bool>()), 0..300), slot in 0..5usize) {
        let mut filter = table(4, SLOTS[slot], Level::get());
        let mut there = HashMap::<u8, u32>::new();
        let digest = |key: u8| Digest(Random(key.into()).next().expect("endless"));
        for (key, insert) in ops {
            let count = there.entry(key).or_default();
            if insert {
                *count += u32::from(filter.insert_digest(digest(key)).is_ok());
            } else if *count > 0 {
                prop_assert!(filter.remove_digest(digest(key)).is_ok());
                *count -= 1;
            } else if !filter.contains_digest(digest(key)) {
                prop_assert!(filter.remove_digest(digest(key)).is_err());
            }
            for (&key, _) in there.iter().filter(|(_, count)| **count > 0) {
                prop_assert!(filter.contains_digest(digest(key)));
            }
        }
    }
}
