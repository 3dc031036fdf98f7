//! The filter of a segment, from its keys to the answers over its bytes.

#[path = "common/random.rs"]
mod random;

use bloomline::{
    Contains, Digest, LayoutKind,
    error::{BuildError, FormatError, PartitionError, SizingError},
    gate::{FrameKind, PartitionIndex, PartitionedBuilder, SegmentFilter, SegmentPolicy, Segments},
    hash::{Blake2b, PreHashed, Xxh3, Xxh64},
};
use random::Random;
use std::{num::NonZero, sync::Arc};

fn policies() -> Vec<SegmentPolicy> {
    let full = LayoutKind::ALL.iter().map(|&kind| SegmentPolicy::new(kind, Xxh3::with_seed(3)));
    let compact = LayoutKind::ALL.iter().map(|&kind| SegmentPolicy::new(kind, Xxh64::default()).compact());
    full.chain(compact).collect()
}

#[test]
fn members_are_found_whatever_the_number_of_keys() {
    for policy in policies() {
        for policy in [policy.clone().bits_per_key(10.0), policy.fpr(0.02)] {
            for keys in (0..140u64).chain([1_000, 20_000]) {
                let mut builder = policy.builder();
                for key in 0..keys {
                    builder.add_key(&key.to_le_bytes());
                    builder.add_key(&key.to_le_bytes()); // a second version of the key
                }
                assert_eq!(builder.len() as u64, keys);
                let bytes = builder.finish().expect("a size");
                let plan = policy.plan(keys).expect("a size");
                assert_eq!(bytes.len() as u64, plan.bytes, "{} of {keys} keys", policy.name());
                policy.verify(&bytes).expect("nothing changed");
                let filter = policy.open(bytes.clone()).expect("nothing changed");
                assert_eq!((filter.layout(), filter.geometry()), (plan.layout, plan.geometry));
                assert_eq!(filter.frame_bytes(), bytes.len() as u64);
                for key in 0..keys {
                    let key = key.to_le_bytes();
                    assert!(filter.contains_bytes(&key) && policy.probe(&bytes, policy.digest(&key).expect("bytes")));
                }
                let others: Vec<Digest> = Random(keys).take(500).map(Digest).collect();
                let mut out = [0; 8];
                filter.contains_batch(&others, &mut out).expect("room");
                for (i, &digest) in others.iter().enumerate() {
                    let answer = filter.contains_digest(digest);
                    assert_eq!(out[i / 64] >> (i % 64) & 1 == 1, answer);
                    assert_eq!(policy.probe(&bytes, digest), answer);
                }
                assert!(filter.contains_batch(&others, &mut [0; 7]).is_err());
            }
        }
    }
}

/// Filters of 17 keys, many of them: their rate is that of the formula for so few bits, and what the frame takes is told.
#[test]
fn small_filters_keep_their_rate() {
    let policy = SegmentPolicy::new(LayoutKind::SplitBlock, Xxh3::default()).compact();
    let plan = policy.plan(17).expect("a size");
    assert_eq!((plan.layout, plan.geometry.bits, plan.bytes), (LayoutKind::Classic, 168, 24));
    let mut random = Random(17);
    let (filters, probes) = (4_000u64, 1_000u64);
    let mut rates = Vec::new();
    for _ in 0..filters {
        let mut builder = policy.builder();
        random.by_ref().take(17).for_each(|key| builder.add_digest(Digest(key)));
        let bytes = builder.finish().expect("a size");
        let hits = random.by_ref().take(probes as usize).filter(|&key| policy.probe(&bytes, Digest(key))).count();
        rates.push(hits as f64 / probes as f64);
    }
    // Filters differ among themselves as well as queries do: the spread of their rates has both.
    let mean = rates.iter().sum::<f64>() / filters as f64;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (filters - 1) as f64;
    let sigma = (variance / filters as f64).sqrt();
    assert!((mean - plan.fpr).abs() < 4.0 * sigma, "{mean} where {} was expected, σ = {sigma}", plan.fpr);
}

#[test]
fn sizes_that_are_none_are_refused() {
    for policy in policies() {
        let finish = |policy: SegmentPolicy| {
            let mut builder = policy.builder();
            (0..5).for_each(|key: u64| builder.add_digest(Digest(key << 60)));
            builder.finish()
        };
        for bits in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = finish(policy.clone().bits_per_key(bits)).expect_err("no size");
            assert!(matches!(error, BuildError::Sizing(SizingError::BitsPerKeyOutOfRange { .. })), "{bits}: {error}");
        }
        for fpr in [0.0, -0.1, 1.0, 1.5, f64::NAN] {
            let error = finish(policy.clone().fpr(fpr)).expect_err("no rate");
            assert!(matches!(error, BuildError::Sizing(SizingError::FprOutOfRange { .. })), "{fpr}: {error}");
        }
        assert!(finish(policy.clone().bits_per_key(1e-9)).is_ok(), "the least filter there is");
        assert!(matches!(
            finish(policy.bits_per_key(1e15)).expect_err("too large"),
            BuildError::Alloc(_) | BuildError::Sizing(_)
        ));
    }
}

/// A filter that left a key out would deny it.
#[test]
fn keys_for_a_hasher_of_hashes_are_refused() {
    let policy = SegmentPolicy::new(LayoutKind::Word, PreHashed);
    let mut builder = policy.builder();
    builder.add_key(b"key");
    assert!(matches!(builder.finish(), Err(BuildError::NoKeys { .. })));
    builder.clear();
    builder.add_digest(Digest(5));
    let filter = policy.open(builder.finish().expect("a size")).expect("a filter");
    assert!(filter.contains_digest(Digest(5)));
    assert!(filter.contains_bytes(b"key"), "maybe: it can't be hashed");
}

#[test]
fn filters_of_another_policy_are_refused() {
    let policy = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::with_seed(1));
    let mut builder = policy.builder();
    builder.add_key(b"key");
    let bytes = builder.finish().expect("a size");
    let open = |policy: SegmentPolicy| {
        (policy.open(bytes.clone()).map(|_| ()), policy.probe(&bytes, Digest(0)), policy.name())
    };
    let other_seed = open(SegmentPolicy::new(LayoutKind::Blocked, Xxh3::with_seed(2)));
    assert_eq!(other_seed.0, Err(FormatError::KeyDiffers { stored: 1, given: 2 }));
    let other_hasher = open(SegmentPolicy::new(LayoutKind::Blocked, Blake2b::new(b"k").expect("a key")));
    assert!(matches!(other_hasher.0, Err(FormatError::HasherDiffers { .. })));
    let other_frame = open(SegmentPolicy::new(LayoutKind::Blocked, Xxh3::with_seed(1)).compact());
    assert!(other_frame.0.is_err());
    for (_, probe, name) in [other_seed, other_hasher, other_frame] {
        assert!(probe, "maybe, where the filter can't be read");
        assert_ne!(name, policy.name());
    }
    // The layout of a file is the file's: a store may change its policy's and still read what it wrote before.
    assert!(open(SegmentPolicy::new(LayoutKind::Word, Xxh3::with_seed(1))).0.is_ok());
}

/// The bytes live as long as the filter, in whatever keeps them, and no longer.
#[test]
fn an_open_filter_keeps_its_holder() {
    struct Counted(Vec<u8>, #[expect(dead_code, reason = "counts who is alive")] Arc<()>);
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    for policy in [SegmentPolicy::new(LayoutKind::SplitLine, Xxh3::default()), policies()[9].clone()] {
        let mut builder = policy.builder();
        Random(1).take(1_000).for_each(|key| builder.add_digest(Digest(key)));
        let alive = Arc::new(());
        let holder = Counted(builder.finish().expect("a size"), alive.clone());
        let filter: SegmentFilter = policy.open(holder).expect("a filter");
        assert_eq!(Arc::strong_count(&alive), 2);
        // On another thread, after a move.
        let filter = std::thread::spawn(move || {
            assert!(Random(1).take(1_000).all(|key| filter.contains_digest(Digest(key))));
            filter
        });
        drop(filter.join().expect("members are present"));
        assert_eq!(Arc::strong_count(&alive), 1);
    }
    assert_ne!(FrameKind::Full, FrameKind::Compact);
}

/// Filters of different size, layout, hasher and frame, among them one that takes no bytes, together.
fn mixed(count: usize) -> Vec<Arc<SegmentFilter>> {
    (0..count)
        .map(|s| {
            let policy = match s % 5 {
                0 => SegmentPolicy::new(LayoutKind::Classic, Xxh3::default()),
                1 => SegmentPolicy::new(LayoutKind::SplitBlock, Xxh3::with_seed(8)),
                2 => SegmentPolicy::new(LayoutKind::Blocked, Xxh64::default()).compact(),
                3 => SegmentPolicy::new(LayoutKind::Word, PreHashed),
                _ => SegmentPolicy::new(LayoutKind::SplitLine, Xxh3::default()),
            };
            let mut builder = policy.builder();
            for key in (s as u64 * 37..).step_by(7).take([12, 300, 5_000][s % 3]) {
                match policy.digest(&key.to_le_bytes()) {
                    Some(digest) => builder.add_digest(digest),
                    None => builder.add_digest(Digest(key)),
                }
            }
            Arc::new(policy.open(builder.finish().expect("a size")).expect("a filter"))
        })
        .collect()
}

#[test]
fn many_segments_answer_as_each_by_itself() {
    for count in [0, 1, 5, 63, 64, 65, 200] {
        let filters = mixed(count);
        let segments = Segments::new(filters.clone());
        assert_eq!((segments.len(), segments.filters().len()), (count, count));
        for keys in [0, 1, 63, 64, 65, 511, 512, 513, 1_300] {
            let keys: Vec<[u8; 8]> = (0..keys).map(|key: u64| key.to_le_bytes()).collect();
            let words = keys.len().div_ceil(64);
            let mut by_segment = vec![u64::MAX; count * words + 1];
            segments.contains_batch(&keys, &mut by_segment).expect("room");
            assert_eq!(by_segment[count * words], u64::MAX, "words beyond are left alone");
            for (i, key) in keys.iter().enumerate() {
                let mut one = vec![u64::MAX; count.div_ceil(64)];
                segments.contains(key, &mut one).expect("room");
                for (s, filter) in filters.iter().enumerate() {
                    let expected = filter.contains_bytes(key);
                    assert_eq!(by_segment[s * words + i / 64] >> (i % 64) & 1 == 1, expected, "segment {s}, key {i}");
                    assert_eq!(one[s / 64] >> (s % 64) & 1 == 1, expected, "segment {s}, key {i}");
                }
            }
            for s in 0..count {
                let answers: u32 = by_segment[s * words..][..words].iter().map(|word| word.count_ones()).sum();
                assert!(answers as usize <= keys.len(), "bits after the last key");
            }
            if count * words > 0 {
                assert!(segments.contains_batch(&keys, &mut by_segment[..count * words - 1]).is_err());
            }
        }
        let digests: Vec<Digest> = Random(5).take(700).map(Digest).collect();
        let mut by_segment = vec![0; count * 11];
        segments.contains_digests(&digests, &mut by_segment).expect("room");
        for (i, &digest) in digests.iter().enumerate() {
            let mut one = vec![0; count.div_ceil(64)];
            segments.contains_digest(digest, &mut one).expect("room");
            for (s, filter) in filters.iter().enumerate() {
                let expected = filter.contains_digest(digest);
                assert_eq!(by_segment[s * 11 + i / 64] >> (i % 64) & 1 == 1, expected);
                assert_eq!(one[s / 64] >> (s % 64) & 1 == 1, expected);
            }
        }
        if count > 64 {
            assert!(segments.contains(b"key", &mut [0]).is_err());
        }
    }
}

#[test]
fn partitions_find_every_key_where_the_index_says() {
    let policy = SegmentPolicy::new(LayoutKind::SplitBlock, Xxh3::default());
    for (keys, per_partition) in [(0, 10), (1, 10), (9, 10), (10, 10), (11, 10), (1_000, 10), (5_000, 999), (50, 1)] {
        let mut builder = PartitionedBuilder::new(&policy, NonZero::new(per_partition).expect("not 0"));
        let key = |i: usize| format!("key{:06}", 2 * i);
        for i in 0..keys {
            for _version in 0..i % 3 + 1 {
                builder.add_key(key(i).as_bytes()).expect("in order");
            }
        }
        let bytes = builder.finish().expect("a size");
        let index = PartitionIndex::open(&bytes.index).expect("nothing changed");
        assert_eq!(index.len(), keys.div_ceil(per_partition).max(1));
        assert_eq!(index.filters().last().map(|range| range.end), Some(bytes.filters.len() as u64));
        let probe = |key: &str| {
            index.locate(key.as_bytes()).is_some_and(|range| {
                let filter = &bytes.filters[range.start as usize..range.end as usize];
                policy.verify(filter).expect("a whole filter");
                policy.probe(filter, policy.digest(key.as_bytes()).expect("bytes"))
            })
        };
        assert!((0..keys).all(|i| probe(&key(i))));
        let wrong = (0..keys).filter(|&i| probe(&format!("key{:06}", 2 * i + 1))).count();
        assert!(wrong <= 5 + keys / 20, "{wrong} of {keys}"); // 1.3 % expected, 5 % is never seen
        assert!(!probe("zzz"));

        for bit in 0..8 * bytes.index.len() {
            let mut index = bytes.index.clone();
            index[bit / 8] ^= 1 << (bit % 8);
            assert!(PartitionIndex::open(&index).is_err(), "bit {bit}");
        }
        for length in 0..bytes.index.len() {
            assert!(PartitionIndex::open(&bytes.index[..length]).is_err(), "cut to {length}");
        }
    }
}

#[test]
fn partitions_need_keys_in_order() {
    let policy = SegmentPolicy::new(LayoutKind::Word, Xxh3::default());
    let mut builder = PartitionedBuilder::new(&policy, NonZero::new(2).expect("not 0"));
    builder.add_key(b"b").expect("the first");
    builder.add_key(b"b").expect("a version of it");
    assert_eq!(builder.add_key(b"a"), Err(PartitionError::Order));
    builder.add_key(b"").expect_err("less than b");
    builder.add_key(b"c").expect("in order");
    let no_bytes = SegmentPolicy::new(LayoutKind::Word, PreHashed);
    let mut builder = PartitionedBuilder::new(&no_bytes, NonZero::new(2).expect("not 0"));
    builder.add_key(b"a").expect("told at the end");
    assert!(matches!(builder.finish(), Err(PartitionError::Build(BuildError::NoKeys { .. }))));
}
