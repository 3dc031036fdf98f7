//! The filter of a segment, from its keys to the answers over its bytes.

#[path = "common/random.rs"]
mod random;

use bloomline::{
    Contains, Digest, LayoutKind,
    error::{BuildError, FormatError, SizingError},
    gate::{FrameKind, SegmentFilter, SegmentPolicy},
    hash::{Blake2b, PreHashed, Xxh3, Xxh64},
};
use random::Random;
use std::sync::Arc;

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
    assert_eq!((plan.layout, plan.geometry.bits, plan.bytes), (LayoutKind::Classic, 168, 27));
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
