//! Faults that users of Bloom filter libraries have met, as whole classes: bad input, combinations that must not be,
//! folding, hashing, threads.

#[path = "common/random.rs"]
mod random;

use bloomline::{
    AnyFilter, BulkOptions, Contains, Design, Digest, Filter, FilterView, Layout, LayoutKind, Level,
    error::{AllocError, BuildError, CombineError, FoldError, LevelError, SizingError, WriteError},
    for_each_layout,
    hash::{
        AnyHasher, Blake2b, HasherId, Hashes, KeyBytes, KeyHasher, KeyLengthError, PreHashed, PreHashedTrusted, Xxh3,
        Xxh64,
    },
    mem::Owned,
    sizing::{Geometry, Model},
};
use random::Random;
use std::{
    borrow::Cow,
    sync::{Arc, Barrier, mpsc},
    thread,
};

type Plain<L, H = Xxh3> = Filter<L, Owned<<L as Layout>::Unit>, H>;

/// A valid geometry with about so many bits, and k as near to `k` as the layout takes.
fn geometry<L: Layout>(bits: u64, k: u32) -> Geometry {
    let fits = |k: u32| L::MODEL.validate(Geometry { bits: L::MODEL.unit_bits(k), k }).is_ok();
    let k = (1..=32).filter(|&k| fits(k)).min_by_key(|other| other.abs_diff(k)).expect("some k fits");
    let unit = L::MODEL.unit_bits(k);
    Geometry { bits: (bits / unit).max(1) * unit, k }
}

fn filter<L: Layout>(geometry: Geometry) -> Plain<L> {
    Filter::<L>::builder(100).geometry(geometry).build().expect("a valid geometry")
}

fn filled<L: Layout>(geometry: Geometry, keys: impl IntoIterator<Item = u64>) -> Plain<L> {
    let mut filter = filter::<L>(geometry);
    for key in keys {
        filter.insert(&key);
    }
    filter
}

/// No keys, one key, no rate: a typed error that names the value, or a small valid filter.
fn sizes_that_are_none<L: Layout>() {
    let builder = |keys| Filter::<L>::builder(keys);
    let zero = Some(BuildError::Sizing(SizingError::ZeroKeys));
    assert_eq!(builder(0).fpr(0.01).sized().err(), zero);
    assert_eq!(builder(0).bits_per_key(10.0).build().err(), zero);
    assert_eq!(builder(0).with_byte_budget(1 << 20).build_shared().err(), zero);
    assert_eq!(builder(0).estimated_bytes().err(), zero);
    assert_eq!(builder(0).build_from_digests(&[], BulkOptions::default()).err(), zero);

    let rates = [0.0, -0.0, -0.1, 1.0, 1.5, 2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::MIN_POSITIVE];
    for fpr in rates {
        let error = builder(1000).fpr(fpr).build().expect_err("no rate");
        match error {
            BuildError::Sizing(SizingError::FprOutOfRange { fpr: named }) => {
                assert_eq!(named.to_bits(), fpr.to_bits());
                assert!(error.to_string().contains(&format!("{fpr:?}")), "{error}");
            }
            other => panic!("{fpr}: {other:?}"),
        }
    }
    for fpr in [5e-324, f64::MIN_POSITIVE, 1e-300, 1e-17] {
        let error = builder(1000).fpr(fpr).build().expect_err("below the floor of 64 bits");
        assert!(matches!(error, BuildError::Sizing(SizingError::FprBelowDigestFloor { keys: 1000, .. })), "{error:?}");
    }
    for bits in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = builder(1000).bits_per_key(bits).build().expect_err("no number of bits");
        match error {
            BuildError::Sizing(SizingError::BitsPerKeyOutOfRange { bits_per_key }) => {
                assert_eq!(bits_per_key.to_bits(), bits.to_bits());
            }
            other => panic!("{bits}: {other:?}"),
        }
    }
    // The smallest positive number of bits is one unit.
    assert_eq!(builder(1).bits_per_key(5e-324).sized().map(|g| L::MODEL.validate(g)), Ok(Ok(())));

    // One key with room for a million bits: k within the layout's range, and a filter that works.
    for sized in [builder(1).with_byte_budget(1 << 17), builder(1).bits_per_key(1048576.0), builder(1).fpr(0.999_999)] {
        let mut filter = sized.build().expect("a filter");
        let g = filter.geometry();
        assert!((1..=L::MODEL.max_k()).contains(&g.k), "{g:?}");
        assert_eq!(L::MODEL.validate(g), Ok(()));
        assert!(filter.size_in_bytes() <= 1 << 17);
        assert!(filter.insert("one"));
        assert!(filter.contains("one"));
    }
}

/// Geometries that hold no filter of the layout.
fn geometries_that_are_none<L: Layout>() {
    let max_k = L::MODEL.max_k();
    let good = geometry::<L>(4096, 7);
    let unit = L::MODEL.unit_bits(good.k);
    let wrong = [
        Geometry { bits: 0, ..good },
        Geometry { bits: 1, ..good },
        Geometry { bits: good.bits - 1, ..good },
        Geometry { bits: good.bits + 8, ..good },
        Geometry { bits: unit / 2, ..good },
        Geometry { bits: u64::MAX, ..good },
        Geometry { bits: (u64::MAX / unit) * unit, ..good },
        Geometry { k: 0, ..good },
        Geometry { k: max_k + 1, ..good },
        Geometry { k: 1000, ..good },
        Geometry { k: u32::MAX, ..good },
        Geometry { bits: 0, k: 0 },
    ];
    let design = Design { keys: 1, fpr: 0.1 };
    for g in wrong {
        let expected = BuildError::Sizing(L::MODEL.validate(g).expect_err("not a geometry"));
        assert_eq!(Filter::<L>::builder(1).geometry(g).build().err(), Some(expected), "{g:?}");
        assert_eq!(Filter::<L>::builder(1).geometry(g).sized().err(), Some(expected), "{g:?}");
        let bytes = [0u8; 512];
        assert_eq!(FilterView::<L>::from_bytes(&bytes, g, design, Xxh3::default()).err(), Some(expected), "{g:?}");
        let hasher = || AnyHasher::from(Xxh3::default());
        assert_eq!(AnyFilter::from_bytes(L::KIND, &bytes, g, design, hasher()).err(), Some(expected), "{g:?}");
        assert_eq!(AnyFilter::with_geometry(L::KIND, g, design, hasher(), Level::get()).err(), Some(expected));
    }
    for n in [0, 1, 7, good.bits / 8 - 1, good.bits / 8 + 1, 2 * good.bits / 8] {
        let bytes = vec![0; n as usize];
        let expected = Some(BuildError::Length { bytes: n, needed: good.bits / 8 });
        assert_eq!(FilterView::<L>::from_bytes(&bytes, good, design, Xxh3::default()).err(), expected);
        assert_eq!(AnyFilter::from_bytes(L::KIND, &bytes, good, design, Xxh3::default().into()).err(), expected);
    }
}

/// More keys than memory, or than numbers.
fn sizes_beyond_the_cap<L: Layout>() {
    for keys in [u64::MAX, u64::MAX - 1, 1 << 63, 1 << 58] {
        let error = Filter::<L>::builder(keys).fpr(0.01).build().expect_err("too many");
        match error {
            BuildError::Sizing(SizingError::FprBelowDigestFloor { keys: named, .. }) => assert_eq!(named, keys),
            BuildError::Sizing(SizingError::TooManyBits { bits, max_bits }) => assert!(bits > u128::from(max_bits)),
            BuildError::Alloc(AllocError::OverCap { bytes, cap }) => assert!(bytes > cap),
            other => panic!("{other:?}"),
        }
        assert!(Filter::<L>::builder(keys).bits_per_key(10.0).build().is_err());
        assert!(Filter::<L>::builder(keys).bits_per_key(f64::MAX).build().is_err());
    }
    // One byte over the cap is refused, the cap itself is not.
    let bytes = Filter::<L>::builder(5000).estimated_bytes().expect("a size");
    let error = Filter::<L>::builder(5000).memory_cap(bytes - 1).build().expect_err("over the cap");
    assert_eq!(error, BuildError::Alloc(AllocError::OverCap { bytes, cap: bytes - 1 }));
    let line = error.to_string();
    assert!(line.contains(&bytes.to_string()) && line.contains(&(bytes - 1).to_string()), "{line}");
    let filter = Filter::<L>::builder(5000).memory_cap(bytes).build().expect("within the cap");
    assert_eq!(filter.size_in_bytes(), bytes);
    assert_eq!(filter.as_bytes().len() as u64, bytes);
    assert!(Filter::<L>::builder(1).memory_cap(0).build().is_err());
    assert_eq!(Filter::<L>::builder(5000).memory_cap(0).estimated_bytes(), Ok(bytes), "no cap applies to estimates");
    // The budget is kept.
    for budget in [64, 512, 1000, 4096, 99_999] {
        if let Ok(g) = Filter::<L>::builder(1000).with_byte_budget(budget).sized() {
            assert!(g.bits / 8 <= budget);
        }
    }
    let error = Filter::<L>::builder(1000).with_byte_budget(7).sized().expect_err("no unit fits");
    assert!(matches!(error, BuildError::Sizing(SizingError::BudgetTooSmall { bytes: 7, min_bytes: 8.. })), "{error:?}");
}

/// Filters that differ can't be combined: the error names the field, and the receiver keeps its bytes.
fn combining_what_differs<L: Layout>() {
    let g = geometry::<L>(8192, 5);
    let ours = || filled::<L>(g, 0..50);
    let bytes = ours().as_bytes().to_vec();

    #[track_caller]
    fn refused<L: Layout, H: KeyHasher>(mut ours: Plain<L>, theirs: &Plain<L, H>, error: CombineError) {
        let before = ours.as_bytes().to_vec();
        assert_eq!(ours.union_with(theirs), Err(error));
        assert_eq!(ours.intersect_with(theirs), Err(error));
        assert_eq!(ours.as_bytes(), before, "the receiver is as it was");
    }

    let larger = Geometry { bits: 2 * g.bits, ..g };
    refused(ours(), &filled::<L>(larger, 0..50), CombineError::Bits { left: g.bits, right: larger.bits });
    for k in 1..=L::MODEL.max_k() {
        // The same bits where the unit allows, so that k alone differs.
        let (other, unit) = (Geometry { k, ..g }, L::MODEL.unit_bits(k) * L::MODEL.unit_bits(g.k));
        let (a, b) = if L::MODEL == Model::Partitioned {
            (Geometry { bits: unit, k: g.k }, Geometry { bits: unit, k })
        } else {
            (g, other)
        };
        if k != g.k && L::MODEL.validate(b).is_ok() {
            let error = CombineError::Probes { left: g.k, right: k };
            refused(filled::<L>(a, 0..50), &filled::<L>(b, 0..50), error);
        }
    }
    let builder = || Filter::<L>::builder(100).geometry(g);
    let other = builder().hasher(Xxh64::default()).build().expect("a filter");
    refused(ours(), &other, CombineError::Hasher { left: HasherId::Xxh3, right: HasherId::Xxh64 });
    let other = builder().hasher(PreHashed).build().expect("a filter");
    refused(ours(), &other, CombineError::Hasher { left: HasherId::Xxh3, right: HasherId::PreHashed });
    let other = builder().hasher(Xxh3::with_seed(9)).build().expect("a filter");
    refused(ours(), &other, CombineError::Seed { left: 0, right: 9 });

    // Two secret keys are told apart by their checks.
    let keyed = |key: &[u8]| builder().hasher(Blake2b::new(key).expect("a key")).build().expect("a filter");
    let (mut a, b) = (keyed(b"one secret"), keyed(b"other secret"));
    let (left, right) = (a.hasher().seed(), b.hasher().seed());
    assert_eq!(a.union_with(&b), Err(CombineError::Seed { left, right }));
    assert_eq!(a.union_with(&keyed(b"one secret")), Ok(()));

    // Layouts are told apart at run time only.
    for &kind in LayoutKind::ALL.iter().filter(|&&kind| kind != L::KIND) {
        let design = Design { keys: 1, fpr: 0.5 };
        let any = |kind: LayoutKind, g: Geometry| {
            AnyFilter::with_geometry(kind, g, design, Xxh3::default().into(), Level::get()).expect("a filter")
        };
        let mut mine = any(L::KIND, g);
        let k = kind.model().max_k();
        let theirs = any(kind, Geometry { bits: kind.model().unit_bits(k), k });
        let error = CombineError::Layout { left: L::KIND.name(), right: kind.name() };
        assert_eq!(mine.union_with(&theirs), Err(error));
        assert_eq!(mine.intersect_with(&theirs), Err(error));
    }

    // A view is nobody's to write.
    let design = Design { keys: 1, fpr: 0.5 };
    let mut view = AnyFilter::from_bytes(L::KIND, &bytes, g, design, Xxh3::default().into()).expect("a view");
    let other = AnyFilter::from_bytes(L::KIND, &bytes, g, design, Xxh3::default().into()).expect("a view");
    assert_eq!(view.union_with(&other), Err(CombineError::ReadOnly));
    assert_eq!(view.intersect_with(&other), Err(CombineError::ReadOnly));
    assert_eq!(view.insert_bulk(&[Digest(1)], BulkOptions::default()), Err(WriteError::ReadOnly));
    assert_eq!(view.as_bytes(), bytes);
}

/// The union is bit for bit the filter of all members, whoever owns the other's bits; the intersection keeps what is in
/// both.
fn combining_what_matches<L: Layout>()
where
    AnyFilter<'static>: From<Plain<L>>,
{
    for k in [1, 4, 8, 13] {
        let g = geometry::<L>(20_000, k);
        let (a, b) = (|| filled::<L>(g, 0..400), || filled::<L>(g, 300..700));
        let all = filled::<L>(g, 0..700);
        let (bytes, design) = (b().as_bytes().to_vec(), Design { keys: 1, fpr: 0.5 });
        let view = FilterView::<L>::from_bytes(&bytes, g, design, Xxh3::default()).expect("a view");
        let shared = b().into_shared();

        let mut with_owned = a();
        with_owned.union_with(&b()).expect("they match");
        assert_eq!(with_owned.as_bytes(), all.as_bytes());
        let mut with_view = a();
        with_view.union_with(&view).expect("they match");
        assert_eq!(with_view.as_bytes(), all.as_bytes());
        let mut with_shared = a();
        with_shared.union_with(&shared).expect("they match");
        assert_eq!(with_shared.as_bytes(), all.as_bytes());
        let mut any: AnyFilter<'_> = a().into();
        any.union_with(&b().into()).expect("they match");
        assert_eq!(any.as_bytes(), all.as_bytes());
        let mut any: AnyFilter<'_> = a().into();
        let viewed = AnyFilter::from_bytes(L::KIND, &bytes, g, design, Xxh3::default().into()).expect("a view");
        any.union_with(&viewed).expect("they match");
        assert_eq!(any.as_bytes(), all.as_bytes());
        let mut again = with_owned;
        again.union_with(&a()).expect("they match");
        assert_eq!(again.as_bytes(), all.as_bytes(), "a union with a part changes nothing");

        let expected: Vec<u8> = a().as_bytes().iter().zip(b().as_bytes()).map(|(a, b)| a & b).collect();
        let mut common = a();
        common.intersect_with(&view).expect("they match");
        assert_eq!(common.as_bytes(), expected);
        assert!((300..400u64).all(|key| common.contains(&key)));
        assert!(common.current_fpr() <= a().current_fpr().min(b().current_fpr()));
        let mut common = a();
        common.intersect_with(&shared).expect("they match");
        assert_eq!(common.as_bytes(), expected);
        let mut common: AnyFilter<'_> = a().into();
        common.intersect_with(&viewed).expect("they match");
        assert_eq!(common.as_bytes(), expected);
        let mut none = a();
        none.intersect_with(&filter::<L>(g)).expect("they match");
        assert_eq!(none.occupancy(), 0.0);
    }
}

/// A fold is bit for bit the filter that the keys would have made at the smaller size.
fn folding<L: Layout>() {
    for k in [1, 3, 7, 8, 16] {
        let unit = geometry::<L>(64, k);
        for units in [1u64, 2, 7, 24, 360, 1024] {
            let g = Geometry { bits: units * unit.bits, ..unit };
            let keys = || 0..(units * 8).min(900);
            let large = filled::<L>(g, keys());
            for factor in (1..=units).filter(|factor| units.is_multiple_of(*factor)) {
                let small = large.fold(factor).expect("a divisor");
                let expected = filled::<L>(Geometry { bits: g.bits / factor, ..g }, keys());
                assert_eq!(small.geometry(), expected.geometry());
                assert_eq!(small.as_bytes(), expected.as_bytes(), "{} {g:?} by {factor}", L::KIND);
                assert!(keys().all(|key| small.contains(&key)));
                assert_eq!((small.level(), small.hasher().seed()), (large.level(), large.hasher().seed()));
            }
            for factor in [0, units + 1, 2 * units, u64::MAX].into_iter().chain((units > 2).then_some(units - 1)) {
                let error = large.fold(factor).expect_err("no divisor");
                assert_eq!(error, FoldError::NotADivisor { factor, units });
                assert!(error.to_string().contains(&factor.to_string()));
            }
        }
    }
    // Shared filters and views fold too, and so do filters whose layout is known at run time.
    let g = geometry::<L>(64 * 720, 8);
    let g = Geometry { bits: L::MODEL.unit_bits(g.k) * 12, ..g };
    let expected = filled::<L>(Geometry { bits: g.bits / 4, ..g }, 0..50);
    let large = filled::<L>(g, 0..50);
    let view = FilterView::<L>::from_bytes(large.as_bytes(), g, large.design(), Xxh3::default()).expect("a view");
    assert_eq!(view.fold(4).expect("a divisor").as_bytes(), expected.as_bytes());
    let any = AnyFilter::from_bytes(L::KIND, large.as_bytes(), g, large.design(), Xxh3::default().into());
    let any = any.expect("a view");
    assert_eq!(any.fold(4).expect("a divisor").as_bytes(), expected.as_bytes());
    assert_eq!(any.fold(5).expect_err("no divisor"), FoldError::NotADivisor { factor: 5, units: 12 });
    assert_eq!(filled::<L>(g, 0..50).into_shared().fold(4).expect("a divisor").as_bytes(), expected.as_bytes());
}

/// A filter ten times too large folds to a quarter or less, keeps its rate, and answers as one built small.
fn ten_times_too_large<L: Layout>() {
    let keys = 20_000u64;
    let mut large = Filter::<L>::builder(10 * keys).fpr(0.01).build().expect("a filter");
    for key in 0..keys {
        large.insert(&key);
    }
    let factor = large.best_fold(0.01);
    assert!(factor >= 4, "{}: {factor}", L::KIND);
    let small = large.fold(factor).expect("the best fold is one");
    assert!(small.size_in_bytes() * 4 <= large.size_in_bytes());
    let built = filled::<L>(small.geometry(), 0..keys);
    assert_eq!(small.as_bytes(), built.as_bytes());
    let expected = L::MODEL.fpr(keys, small.geometry());
    assert!(expected <= 0.01 * 1.01, "{}: {expected}", L::KIND);
    assert!((small.current_fpr() / expected - 1.0).abs() < 0.1);
    for key in 0..2 * keys {
        assert_eq!(small.contains(&key), built.contains(&key));
    }
    // The fold is sized for what it can hold at the rate.
    assert!(small.design().keys >= keys, "{:?}", small.design());
    assert!(small.design().fpr <= 1.03 * large.design().fpr, "what it holds is an estimate");
    assert!(small.estimated_cardinality() <= small.design().keys as f64 && !small.is_past_design());

    // No room, no fold; nothing in it, any fold; and never a rate that was not asked for.
    let mut filter = Filter::<L>::builder(keys).fpr(0.01).build().expect("a filter");
    assert!(filter.best_fold(0.01) >= 1);
    for key in 0..keys {
        filter.insert(&key);
    }
    assert_eq!(filter.best_fold(0.01), 1);
    assert_eq!(filter.best_fold(f64::NAN), 1);
    assert_eq!(filter.best_fold(0.0), 1);
    for fpr in [0.02, 0.1, 0.5, 0.9] {
        let folded = filter.fold(filter.best_fold(fpr)).expect("the best fold is one");
        assert!(folded.current_fpr() <= fpr * 1.1, "{}: {} for {fpr}", L::KIND, folded.current_fpr());
    }
    let everything = filter.best_fold(1.0);
    assert!(filter.fold(everything).is_ok());
}

/// Clearing, freezing, copying, and a change of level.
fn whole_filters<L: Layout>() {
    let g = geometry::<L>(50_000, 7);
    let mut filter = filled::<L>(g, 0..1000);
    let bytes = filter.as_bytes().to_vec();
    let copy = filter.to_owned_filter().expect("memory");
    assert_eq!(copy.as_bytes(), bytes);
    assert_eq!((copy.geometry(), copy.design(), copy.level()), (filter.geometry(), filter.design(), filter.level()));
    let shared = filter.into_shared();
    assert_eq!(shared.geometry(), g);
    assert_eq!(shared.to_owned_filter().expect("memory").as_bytes(), bytes);
    assert!((0..1000u64).all(|key| shared.contains(&key)));
    assert!(!shared.insert(&5u64));
    shared.insert_keys(&[1000u64, 1001]);
    filter = shared.freeze();
    assert_eq!(filter.as_bytes(), filled::<L>(g, 0..1002).as_bytes());
    assert_eq!(filter.design(), copy.design());
    filter.clear();
    assert!(filter.as_bytes().iter().all(|&byte| byte == 0));
    assert!(!(0..1000u64).any(|key| filter.contains(&key)));
    assert_eq!(filter.geometry(), g);
    assert!(filter.insert(&1u64) && filter.contains(&1u64));
    let view = FilterView::<L>::from_bytes(&bytes, g, copy.design(), Xxh3::default()).expect("a view");
    assert_eq!(view.to_owned_filter().expect("memory").as_bytes(), bytes);
    assert_eq!(view.occupancy(), copy.occupancy());
    assert_eq!(view.current_fpr(), copy.current_fpr());
    assert_eq!((view.kind(), view.size_in_bytes(), view.design()), (L::KIND, g.bits / 8, copy.design()));
}

/// A 32-bit hash that was zero-extended, or sits in the high half, spreads over the whole filter.
fn pre_hashed<L: Layout>() {
    let g = geometry::<L>(80_000, 4);
    for shift in [0, 32] {
        let mut filter = Filter::<L>::builder(100).geometry(g).hasher(PreHashed).build().expect("a filter");
        let hashes: Vec<u64> = Random(4).take(4000).map(|hash| u64::from(hash as u32) << shift).collect();
        filter.insert_keys(&hashes);
        let ones = |bytes: &[u8]| bytes.iter().map(|byte| f64::from(byte.count_ones())).sum::<f64>();
        let parts: Vec<f64> = filter.as_bytes().chunks(filter.as_bytes().len().div_ceil(8)).map(ones).collect();
        let mean = parts.iter().sum::<f64>() / parts.len() as f64;
        for part in &parts[..7] {
            assert!((part / mean - 1.0).abs() < 0.25, "{} shift {shift}: {parts:?}", L::KIND);
        }
        assert!(hashes.iter().all(|hash| filter.contains(hash)));
        // Small numbers in a row do too.
        filter.clear();
        filter.insert_keys(&(0..4000u64).map(|hash| hash << shift).collect::<Vec<_>>());
        assert!(filter.as_bytes().chunks(filter.as_bytes().len().div_ceil(8)).all(|part| ones(part) > 100.0));
    }
}

/// Eight threads, a million different keys: nothing is lost, and the bytes are those of one thread.
fn eight_threads<L: Layout>() {
    const THREADS: u64 = 8;
    let keys = if cfg!(miri) { 80 } else { 1_000_000 };
    // Dense enough that threads meet in words.
    let builder = || Filter::<L>::builder(keys).bits_per_key(8.0);
    let shared = builder().build_shared().expect("a filter");
    let barrier = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for t in 0..THREADS {
            let (shared, barrier) = (&shared, &barrier);
            scope.spawn(move || {
                // Interleaved ranges; half of the threads key by key, half in batches.
                let mine = (0..keys / THREADS).map(|i| shared.digest(&(i * THREADS + t)));
                barrier.wait();
                if t % 2 == 0 {
                    for digest in mine {
                        shared.insert_digest(digest);
                    }
                } else {
                    shared.insert_batch(&mine.collect::<Vec<_>>());
                }
            });
        }
    });
    let digests: Vec<Digest> = (0..keys).map(|key| shared.digest(&key)).collect();
    let mut out = vec![0; digests.len().div_ceil(64)];
    shared.contains_batch(&digests, &mut out).expect("the output is long enough");
    assert_eq!(out.iter().map(|word| u64::from(word.count_ones())).sum::<u64>(), keys, "a key was lost");
    let mut serial = builder().build().expect("a filter");
    serial.insert_batch(&digests);
    assert!(shared.freeze().as_bytes() == serial.as_bytes());
}

/// Two threads insert the same keys in the same order. Of each key, at least one is told that it is new if it would have
/// been new to one thread alone, and neither if not: when the first of the two comes to a key, exactly the keys before it
/// are in, and each bit of it that is missing is set first by the one or by the other. Both may be told so, when each
/// set some of the bits; that is the documented contract, and no test can force it.
fn two_threads_one_key<L: Layout>() {
    let (rounds, keys) = if cfg!(miri) { (1, 30) } else { (10, 5000) };
    for round in 0..rounds {
        let g = geometry::<L>(keys * 6, 6);
        let digests: Vec<Digest> = Random(round).take(keys as usize).map(Digest).collect();
        let mut serial = filter::<L>(g);
        let new: Vec<bool> = digests.iter().map(|&digest| serial.insert_digest(digest)).collect();
        assert!(new.contains(&false), "some keys find all their bits set");
        let shared = filter::<L>(g).into_shared();
        let barrier = Barrier::new(2);
        let insert = || {
            barrier.wait();
            let told = digests.iter().enumerate().map(|(i, &digest)| {
                if i % 64 == 63 {
                    thread::yield_now();
                }
                shared.insert_digest(digest)
            });
            told.collect::<Vec<bool>>()
        };
        let (a, b) = thread::scope(|scope| {
            let (a, b) = (scope.spawn(insert), scope.spawn(insert));
            (a.join().expect("no panic"), b.join().expect("no panic"))
        });
        for (i, &new) in new.iter().enumerate() {
            assert_eq!(a[i] || b[i], new, "{} key {i}: {} and {}", L::KIND, a[i], b[i]);
        }
        assert!(shared.freeze().as_bytes() == serial.as_bytes());
    }
}

/// A reader that was told of a key through a channel finds it, single and in batches, whatever else is being written.
fn published_keys<L: Layout>() {
    let keys = if cfg!(miri) { 40 } else { 30_000u64 };
    let shared = Filter::<L>::builder(2 * keys).build_shared().expect("a filter");
    thread::scope(|scope| {
        let shared = &shared;
        let readers: Vec<mpsc::Sender<Digest>> = (0..2)
            .map(|_| {
                let (sender, receiver) = mpsc::channel::<Digest>();
                scope.spawn(move || {
                    let mut recent = vec![];
                    for digest in receiver {
                        assert!(shared.contains_digest(digest), "{}: published and absent", L::KIND);
                        recent.push(digest);
                        if recent.len() == 100 {
                            let mut out = [0; 2];
                            shared.contains_batch(&recent, &mut out).expect("the output is long enough");
                            assert_eq!(out.map(u64::count_ones).iter().sum::<u32>(), 100);
                            recent.clear();
                        }
                    }
                });
                sender
            })
            .collect();
        for (half, sender) in readers.into_iter().enumerate() {
            scope.spawn(move || {
                for key in 0..keys {
                    let digest = shared.digest(&(2 * key + half as u64));
                    shared.insert_digest(digest);
                    sender.send(digest).expect("the reader listens");
                }
            });
        }
    });
}

macro_rules! stamp {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
        mod $name {
            use bloomline::$Layout;

            #[test]
            fn sizes_that_are_none() {
                super::sizes_that_are_none::<$Layout>();
            }
            #[test]
            fn geometries_that_are_none() {
                super::geometries_that_are_none::<$Layout>();
            }
            #[test]
            fn sizes_beyond_the_cap() {
                super::sizes_beyond_the_cap::<$Layout>();
            }
            #[test]
            fn combining_what_differs() {
                super::combining_what_differs::<$Layout>();
            }
            #[test]
            fn combining_what_matches() {
                super::combining_what_matches::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "many filters")]
            fn folding() {
                super::folding::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "a large filter")]
            fn ten_times_too_large() {
                super::ten_times_too_large::<$Layout>();
            }
            #[test]
            fn whole_filters() {
                super::whole_filters::<$Layout>();
            }
            #[test]
            fn pre_hashed() {
                super::pre_hashed::<$Layout>();
            }
            #[test]
            fn eight_threads() {
                super::eight_threads::<$Layout>();
            }
            #[test]
            fn two_threads_one_key() {
                super::two_threads_one_key::<$Layout>();
            }
            #[test]
            fn published_keys() {
                super::published_keys::<$Layout>();
            }
        }
    )* };
}
for_each_layout!(stamp);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that Parquet's own implementations write for one block: XXH64 with seed 0, integers as little-endian bytes.
#[test]
fn split_block_is_that_of_parquet() {
    let geometry = Geometry { bits: 256, k: 8 };
    let empty = |level| {
        let builder = Filter::<bloomline::SplitBlock>::builder(5).geometry(geometry).level(level);
        builder.hasher(Xxh64::with_seed(0)).build().expect("a filter")
    };
    for &level in Level::available() {
        let mut filter = empty(level);
        for key in 1..=5i64 {
            filter.insert(&key);
        }
        assert_eq!(
            hex(filter.as_bytes()),
            "1080180804080402020580020000260860014004014002884040002020094000",
            "{level}"
        );
        let mut filter = empty(level);
        for key in ["a", "bb", "ccc", "", "é"] {
            filter.insert(key);
        }
        assert_eq!(
            hex(filter.as_bytes()),
            "0040246001080b000b00000204100090004126000000644100608028000040c1",
            "{level}"
        );
        let mut batch = empty(level);
        batch.insert_keys(&["a", "bb", "ccc", "", "é"]);
        assert_eq!(batch.as_bytes(), filter.as_bytes(), "{level}");
    }
}

/// The input of xxHash's own sanity checks (its `xsum_sanity_check.c`).
fn sanity_buffer(n: usize) -> Vec<u8> {
    let mut generator = 2_654_435_761u64;
    let next = || {
        let byte = (generator >> 56) as u8;
        generator = generator.wrapping_mul(11_400_714_785_074_694_797);
        byte
    };
    std::iter::repeat_with(next).take(n).collect()
}

/// Vectors that xxHash publishes with its code.
#[test]
fn xxhash_gives_published_digests() {
    let xxh64 = |seed: u64, key: &[u8]| Xxh64::with_seed(seed).digest(key).0;
    let xxh3 = |seed: u64, key: &[u8]| Xxh3::with_seed(seed).digest(key).0;
    assert_eq!(xxh64(0, b""), 0xef46_db37_51d8_e999);
    assert_eq!(xxh64(0, b"a"), 0xd24e_c4f1_a98c_6e5b);
    assert_eq!(xxh64(0, b"abc"), 0x44bc_2cf5_ad77_0999);
    assert_eq!(xxh64(0, b"Nobody inspects the spammish repetition"), 0xfbce_a83c_8a37_8bf1);
    assert_eq!(xxh3(0, b""), 0x2d06_8005_38d3_94c2);
    assert_eq!(xxh3(0, b"a"), 0xe6c6_32b6_1e96_4e1f);
    assert_eq!(xxh3(0, b"abc"), 0x78af_5f94_892f_3950);

    const SEED64: u64 = 2_654_435_761;
    for (n, seed, digest) in [
        (0, SEED64, 0xac75_fda2_929b_17ef),
        (1, 0, 0xe934_a84a_db05_2768),
        (1, SEED64, 0x5014_6076_43a9_b4c3),
        (4, 0, 0x9136_a0dc_a574_57ee),
        (14, 0, 0x8282_dcc4_994e_35c8),
        (14, SEED64, 0xc3bd_6bf6_3deb_6df0),
        (222, 0, 0xb641_ae8c_b691_c174),
        (222, SEED64, 0x20cb_8ab7_ae10_c14a),
    ] {
        assert_eq!(xxh64(seed, &sanity_buffer(n)), digest, "{n} bytes, seed {seed}");
    }
    const SEED3: u64 = 11_400_714_785_074_694_797;
    // One for each of the lengths at which the algorithm changes.
    for (n, seed, digest) in [
        (0, SEED3, 0xa8a6_b918_b2f0_364a),
        (1, 0, 0xc44b_dff4_074e_ecdb),
        (1, SEED3, 0x032b_e332_dd76_6ef8),
        (6, 0, 0x27b5_6a84_cd2d_7325),
        (6, SEED3, 0x8458_9c11_6ab5_9ab9),
        (12, 0, 0xa713_daf0_dfbb_77e7),
        (12, SEED3, 0xe730_3e1b_2336_de0e),
        (24, 0, 0xa3fe_70bf_9d35_10eb),
        (24, SEED3, 0x850e_80fc_35bd_d690),
        (48, 0, 0x397d_a259_ecba_1f11),
        (48, SEED3, 0xadc2_cbaa_44ac_c616),
        (80, 0, 0xbcde_fbbb_2c47_c90a),
        (80, SEED3, 0xc6dd_0cb6_9953_2e73),
        (195, 0, 0xcd94_217e_e362_ec3a),
        (195, SEED3, 0xba68_003d_370c_b3d9),
        (403, 0, 0xcdeb_804d_65c6_dea4),
        (403, SEED3, 0x6259_f6ec_fd64_43fd),
        (512, 0, 0x617e_4959_9013_cb6b),
        (512, SEED3, 0x3ce4_57de_14c2_7708),
        (2048, 0, 0xdd59_e2c3_a5f0_38e0),
        (2048, SEED3, 0x66f8_1670_669a_babc),
        (2240, 0, 0x6e73_a905_39cf_2948),
        (2240, SEED3, 0x757b_a848_7d1b_5247),
        (2367, 0, 0xcb37_aeb9_e5d3_61ed),
        (2367, SEED3, 0xd2db_3415_b942_b42a),
    ] {
        assert_eq!(xxh3(seed, &sanity_buffer(n)), digest, "{n} bytes, seed {seed}");
    }
}

/// Computed by Python: `int.from_bytes(hashlib.blake2b(message, key=key, digest_size=8).digest(), "little")`.
#[test]
fn blake2b_is_that_of_the_rfc() {
    let ascending: Vec<u8> = (0..200).collect();
    let secret = b"sixteen or more secret bytes";
    for (key, message, digest) in [
        (&secret[..], &b""[..], "561f302b58e7470d"),
        (secret, b"abc", "61e79082d6844b8c"),
        (secret, &ascending, "292a008fc73ca863"),
        (&ascending[..64], b"abc", "0bd4368fdd682d28"),
        (b"k", b"", "2111189c0e723b49"),
    ] {
        let hasher = Blake2b::new(key).expect("a key");
        assert_eq!(hex(&hasher.digest(message).0.to_le_bytes()), digest);
    }
    for bytes in [0, 65, 1000] {
        let error = Blake2b::new(&vec![1; bytes]).expect_err("no key");
        assert_eq!(error, KeyLengthError { bytes });
        assert!(error.to_string().contains(&bytes.to_string()));
    }
}

/// The same key has the same digest each time, by every hasher; another seed gives another.
#[test]
fn digests_repeat() {
    let hashers: Vec<AnyHasher> = vec![
        Xxh3::default().into(),
        Xxh3::with_seed(1).into(),
        Xxh64::default().into(),
        Xxh64::with_seed(1).into(),
        Blake2b::new(b"secret").expect("a key").into(),
        Blake2b::new(b"other").expect("a key").into(),
    ];
    let long = vec![7u8; 1 << 20];
    for key in [&b""[..], b"\0", b"key", b"\xff\xfe no text", &long] {
        let digests: Vec<Digest> = hashers.iter().map(|h| h.digest_bytes(key).expect("takes bytes")).collect();
        for _ in 0..3 {
            assert!(hashers.iter().map(|h| h.digest_bytes(key)).eq(digests.iter().map(|&digest| Some(digest))));
        }
        let mut distinct = digests;
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), hashers.len());
    }
    for (id, name) in HasherId::ALL.iter().zip(["xxh3", "xxh64", "blake2b", "prehashed", "prehashed-trusted"]) {
        assert_eq!(id.to_string(), name);
    }
    assert_eq!(HasherId::ALL.map(|id| id as u8), [1, 2, 3, 4, 5]);
    assert_eq!(Xxh3::with_seed(5).seed(), 5);
    assert_eq!(PreHashed.digest_bytes(b"bytes"), None);
    assert_eq!(PreHashedTrusted.digest(&77), Digest(77));
    // A bijection: no two hashes meet, and none stays in the low half.
    let mut mixed: Vec<u64> = (0..10_000u64).map(|hash| PreHashed.digest(&hash).0).collect();
    assert!(mixed[1..].iter().all(|digest| digest >> 32 != 0));
    mixed.sort_unstable();
    mixed.dedup();
    assert_eq!(mixed.len(), 10_000);
    // A filter whose hasher takes no bytes says "maybe" to bytes.
    let filter = Filter::<bloomline::Word>::builder(1).hasher(PreHashed).build().expect("a filter");
    assert!(filter.contains_bytes(b"anything"));
    assert!(!filter.contains(&1u64));
}

/// Integers hash as the little-endian bytes of their width, text as its UTF-8 bytes, pointers as what they point to.
#[test]
fn keys_hash_as_documented() {
    let hasher = Xxh3::with_seed(11);
    let bytes = |bytes: &[u8]| hasher.digest_bytes(bytes).expect("takes bytes");
    macro_rules! integers {
        ($($t:ty)*) => { $(
            for key in [0, 1, 77, <$t>::MAX, <$t>::MIN, <$t>::MAX / 3] {
                assert_eq!(hasher.digest(&key), bytes(&key.to_le_bytes()), stringify!($t));
                key.with_bytes(|seen| assert_eq!(seen, key.to_le_bytes()));
            }
        )* };
    }
    integers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128);
    assert_ne!(hasher.digest(&1u32), hasher.digest(&1u64));
    assert_eq!(hasher.digest(&-1i32), hasher.digest(&u32::MAX));
    assert_eq!(hasher.digest(&0x0403_0201u32), bytes(&[1, 2, 3, 4]));

    let text = "schlüssel 🔑";
    let expected = bytes(text.as_bytes());
    assert_eq!(hasher.digest(text), expected);
    assert_eq!(hasher.digest(&text), expected);
    assert_eq!(hasher.digest(&text.to_owned()), expected);
    assert_eq!(hasher.digest(text.as_bytes()), expected);
    assert_eq!(hasher.digest(&text.as_bytes().to_vec()), expected);
    assert_eq!(hasher.digest(&Box::<str>::from(text)), expected);
    assert_eq!(hasher.digest(&Arc::<str>::from(text)), expected);
    assert_eq!(hasher.digest(&Cow::Borrowed(text)), expected);
    assert_eq!(hasher.digest(&Cow::<str>::Owned(text.to_owned())), expected);
    assert_eq!(hasher.digest(b"abc"), bytes(b"abc"));
    assert_eq!(hasher.digest(&[1u8, 2, 3]), bytes(&[1, 2, 3]));
    assert_eq!(hasher.digest(""), bytes(&[]));
    // Arguments of filters may be borrowed, owned, sized or not.
    let mut filter = Filter::<bloomline::Classic>::builder(10).hasher(hasher).build().expect("a filter");
    assert!(filter.insert(text));
    assert!(
        filter.contains(&text.to_owned()) && filter.contains(text.as_bytes()) && filter.contains_bytes(text.as_bytes())
    );
}

/// Keys of no bytes and of a megabyte, and bytes that are no text, are keys like others.
#[test]
fn unusual_keys() {
    let mut filter = Filter::<bloomline::Blocked>::builder(10).fpr(1e-6).build().expect("a filter");
    let long = vec![0u8; 1 << 20];
    for key in [&b""[..], b"\xff\xfe\x80", b"\0\0", &long] {
        assert!(!filter.contains(key));
        assert!(filter.insert(key));
        assert!(filter.contains(key));
    }
    assert!(!filter.contains(&long[1..]));
}

/// An empty batch is a batch.
#[test]
fn nothing_to_do() {
    let mut filter = Filter::<bloomline::SplitLine>::builder(10).build().expect("a filter");
    filter.insert_batch(&[]);
    filter.insert_keys::<u64>(&[]);
    filter.insert_bulk(&[], BulkOptions::default()).expect("nothing to do");
    assert_eq!(filter.occupancy(), 0.0);
    assert_eq!(filter.contains_batch(&[], &mut []), Ok(()));
    let mut indices = vec![1, 2, 3];
    filter.select_batch(&[], &mut indices);
    assert!(indices.is_empty());
}

/// Names of levels and layouts that are none.
#[test]
fn names_that_are_none() {
    for name in ["", "sse9", "avx-512", "AVX2 ", "neon\0"] {
        assert_eq!(name.parse::<Level>(), Err(LevelError::Unknown { name: name.into() }));
    }
    assert_eq!("AVX2".parse(), Ok(Level::Avx2));
    assert_eq!(Level::available().first(), Some(&Level::Scalar));
    assert!(Level::available().is_sorted());
    assert_eq!(Level::available().last(), Some(&Level::best()));
}

/// This test runs twice: here, with whatever the environment says, and in the processes that the test below starts. It
/// prints the level that new filters use.
#[test]
#[cfg(feature = "std")]
fn new_filters_use_the_chosen_level() {
    let level = Level::get();
    assert!(level.is_available());
    macro_rules! each {
        ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
            let mut filter = Filter::<bloomline::$Layout>::builder(500).build().expect("a filter");
            assert_eq!(filter.level(), level);
            let mut scalar = Filter::<bloomline::$Layout>::builder(500).level(Level::Scalar).build().expect("a filter");
            let keys: Vec<u64> = (0..500).collect();
            filter.insert_keys(&keys);
            scalar.insert_keys(&keys);
            assert_eq!(filter.as_bytes(), scalar.as_bytes());
            let (mut answers, mut expected) = (vec![], vec![]);
            let asked: Vec<u64> = (400..2000).collect();
            filter.select_keys(&asked, &mut answers);
            scalar.select_keys(&asked, &mut expected);
            assert_eq!(answers, expected);
            assert!(filter.with_kernel(|kernel| keys.iter().all(|key| kernel.contains(scalar.digest(key)))));
        )* };
    }
    for_each_layout!(each);
    println!("level: {level}");
    println!("asked: {}", Level::from_env().map_or_else(|error| error.to_string(), |level| format!("{level:?}")));
}

/// The environment variable chooses among the levels of this machine; a level that it lacks, or a name that is none, is
/// passed over for the best, and reported by `from_env`; no instruction runs that is not there.
#[test]
#[cfg(feature = "std")]
#[cfg_attr(miri, ignore = "starts processes")]
fn the_environment_lowers_the_level() {
    let program = std::env::current_exe().expect("this test");
    // Where tests run under an emulator, so do the processes they start.
    let (prefix, suffix) = ("CARGO_TARGET_", "_RUNNER");
    let arch = std::env::consts::ARCH.to_uppercase();
    let runner = std::env::vars()
        .find(|(name, _)| name.starts_with(prefix) && name.ends_with(suffix) && name.contains(&arch))
        .map(|(_, runner)| runner);
    let run = |isa: Option<&str>| {
        let mut words = runner.iter().flat_map(|runner| runner.split_whitespace()).map(Into::into);
        let mut command = std::process::Command::new(words.next().unwrap_or_else(|| program.clone().into_os_string()));
        command.args(words);
        if runner.is_some() {
            command.arg(&program);
        }
        command.args(["--exact", "new_filters_use_the_chosen_level", "--nocapture", "--test-threads=1"]);
        match isa {
            Some(isa) => command.env("BLOOMLINE_ISA", isa),
            None => command.env_remove("BLOOMLINE_ISA"),
        };
        let output = command.output().expect("the test starts itself");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{isa:?}: {} {stdout}", output.status);
        let line = |prefix: &str| {
            // The harness writes its own words before the first line.
            let at = stdout.find(prefix).unwrap_or_else(|| panic!("{isa:?}: {stdout}")) + prefix.len();
            stdout[at..].lines().next().unwrap_or_default().to_owned()
        };
        (line("level: "), line("asked: "))
    };
    let best = Level::best();
    assert_eq!(run(None), (best.to_string(), "None".into()));
    assert_eq!(run(Some("")), (best.to_string(), "None".into()));
    for level in Level::ALL {
        let (chosen, asked) = run(Some(level.name()));
        if level.is_available() {
            assert_eq!((chosen, asked), (level.to_string(), format!("Some({level:?})")));
        } else {
            let error = LevelError::Unavailable { level, best };
            assert_eq!((chosen, asked), (best.to_string(), error.to_string()));
        }
    }
    let error = LevelError::Unknown { name: "quantum".into() };
    assert_eq!(run(Some("quantum")), (best.to_string(), error.to_string()));
}
