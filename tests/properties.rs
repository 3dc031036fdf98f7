//! Laws that hold for every set of keys, every geometry and every level: random ones are tried, and the smallest that
//! breaks a law is reported.

#[path = "common/reference.rs"]
mod reference;

use bloomline::{
    BulkOptions, Digest, Filter, FilterView, Layout, Level, for_each_layout,
    hash::{Hashes, PreHashedTrusted, Xxh3},
    mem::Owned,
    sizing::Geometry,
};
use proptest::{prelude::*, sample::select};
use reference::Reference;
use std::collections::HashSet;

type Plain<L> = Filter<L, Owned<<L as Layout>::Unit>, PreHashedTrusted>;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 192 },
        // Counterexamples are printed; nothing is written beside the sources.
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Any valid geometry of up to `most` units, tiny ones included.
fn geometry<L: Layout>(most: u64) -> impl Strategy<Value = Geometry> {
    let fits = |k: &u32| L::MODEL.validate(Geometry { bits: L::MODEL.unit_bits(*k), k: *k }).is_ok();
    let probes: Vec<u32> = (1..=L::MODEL.max_k()).filter(fits).collect();
    let units = prop_oneof![1 => Just(1), 2 => 1..=8u64, 4 => 1..=most];
    (units, select(probes)).prop_map(|(units, k)| Geometry { bits: units * L::MODEL.unit_bits(k), k })
}

fn level() -> impl Strategy<Value = Level> {
    select(Level::available())
}

/// Digests, with the ends of the range and with small numbers among them.
fn digests(n: usize) -> impl Strategy<Value = Vec<Digest>> {
    let digest = prop_oneof![
        8 => any::<u64>(),
        1 => any::<u32>().prop_map(u64::from),
        1 => any::<u32>().prop_map(|high| u64::from(high) << 32),
        1 => select(&[0, 1, u64::MAX, 1 << 63, 1 << 32][..]),
    ];
    prop::collection::vec(digest.prop_map(Digest), 0..n)
}

fn empty<L: Layout>(geometry: Geometry, level: Level) -> Plain<L> {
    Filter::<L>::builder(1).geometry(geometry).hasher(PreHashedTrusted).level(level).build().expect("a valid geometry")
}

fn of<L: Layout>(geometry: Geometry, level: Level, members: &[Digest]) -> Plain<L> {
    let mut filter = empty::<L>(geometry, level);
    filter.insert_batch(members);
    filter
}

/// Against a set: no member is ever absent, keys repeat, and "new" is never said of a member.
fn no_member_is_absent<L: Layout>(keys: &[Vec<u8>], fpr: f64, level: Level) -> Result<(), TestCaseError> {
    let mut filter = Filter::<L>::builder(keys.len().max(1) as u64).fpr(fpr).level(level).build().expect("a filter");
    let mut set = HashSet::new();
    for key in keys {
        let new = set.insert(key.as_slice());
        prop_assert!(new || !filter.contains(key) || !filter.insert(key));
        let absent = !filter.contains(key);
        prop_assert!(new || !absent);
        // What was reported absent is new; what was reported present sets nothing.
        prop_assert_eq!(filter.insert(key), absent);
        prop_assert!(filter.contains(key));
    }
    prop_assert!(set.iter().all(|key| filter.contains(*key)));
    let mut out = vec![0; keys.len().div_ceil(64)];
    filter.contains_keys(keys, &mut out).expect("the output is long enough");
    prop_assert!((0..keys.len()).all(|i| out[i / 64] >> (i % 64) & 1 == 1));
    let mut indices = vec![];
    filter.select_keys(keys, &mut indices);
    prop_assert!(indices.into_iter().eq(0..keys.len()));
    Ok(())
}

/// An insertion says true exactly when the bytes changed, and the bytes are the reference's.
fn insert_tells_the_truth<L: Layout>(g: Geometry, members: &[Digest], level: Level) -> Result<(), TestCaseError> {
    let mut reference = Reference::new(L::KIND, g);
    let mut filter = empty::<L>(g, level);
    let shared = empty::<L>(g, level).into_shared();
    for &digest in members {
        let absent = !filter.contains_digest(digest);
        let expected = reference.insert(digest);
        prop_assert_eq!(absent, expected);
        prop_assert_eq!(filter.insert_digest(digest), expected);
        prop_assert_eq!(shared.insert_digest(digest), expected);
        prop_assert!(reference.contains(digest) && filter.contains_digest(digest) && shared.contains_digest(digest));
    }
    prop_assert_eq!(filter.as_bytes(), reference.bytes());
    let shared = shared.freeze();
    prop_assert_eq!(shared.as_bytes(), filter.as_bytes());
    Ok(())
}

/// However a stream is cut into batches, and whichever way each goes in: the same bits, and the same answers.
fn batches_are_singles<L: Layout>(
    g: Geometry,
    members: &[Digest],
    asked: &[Digest],
    cuts: &[usize],
    level: Level,
) -> Result<(), TestCaseError> {
    let mut single = empty::<L>(g, level);
    for &digest in members {
        single.insert_digest(digest);
    }
    let mut batched = empty::<L>(g, level);
    let shared = empty::<L>(g, level).into_shared();
    let (mut rest, mut way) = (members, 0);
    for &cut in cuts.iter().chain([&usize::MAX]) {
        let (batch, after) = rest.split_at(cut.min(rest.len()));
        let keys: Vec<u64> = batch.iter().map(|digest| digest.0).collect();
        match way % 3 {
            0 => batched.insert_batch(batch),
            1 => batched.insert_keys(&keys),
            _ => batched.insert_bulk(batch, BulkOptions::default()).expect("memory for the partition"),
        }
        if way % 2 == 0 {
            shared.insert_batch(batch)
        } else {
            shared.insert_keys(&keys)
        }
        (rest, way) = (after, way + 1);
    }
    prop_assert_eq!(batched.as_bytes(), single.as_bytes());
    let expected: Vec<bool> = asked.iter().map(|&digest| single.contains_digest(digest)).collect();
    let view = FilterView::<L, _>::from_bytes(single.as_bytes(), g, single.design(), PreHashedTrusted)
        .expect("as many bytes as it needs")
        .with_level(level);
    let mut rest = 0..asked.len();
    for &cut in cuts.iter().chain([&usize::MAX]) {
        let range = rest.start..rest.start + cut.min(rest.len());
        rest.start = range.end;
        let batch = &asked[range.clone()];
        let mut outs = [(); 3].map(|()| vec![u64::MAX; batch.len().div_ceil(64)]);
        batched.contains_batch(batch, &mut outs[0]).expect("the output is long enough");
        shared.contains_batch(batch, &mut outs[1]).expect("the output is long enough");
        view.contains_batch(batch, &mut outs[2]).expect("the output is long enough");
        let mut words = vec![0u64; batch.len().div_ceil(64)];
        for (i, _) in expected[range.clone()].iter().enumerate().filter(|(_, answer)| **answer) {
            words[i / 64] |= 1 << (i % 64);
        }
        prop_assert!(outs.iter().all(|out| *out == words), "{:?} {:?}", outs, words);
        let mut indices = vec![];
        view.select_batch(batch, &mut indices);
        let selected: Vec<usize> = (0..batch.len()).filter(|i| expected[range.start + i]).collect();
        prop_assert_eq!(indices, selected);
    }
    let shared = shared.freeze();
    prop_assert_eq!(shared.as_bytes(), single.as_bytes());
    Ok(())
}

/// The union of filters is the filter of the union: whatever the order, however often. The intersection is within both
/// and keeps what is common.
fn unions<L: Layout>(
    g: Geometry,
    a: &[Digest],
    b: &[Digest],
    common: &[Digest],
    level: Level,
) -> Result<(), TestCaseError> {
    let (left, right) = ([a, common].concat(), [b, common].concat());
    let all = of::<L>(g, level, &[a, b, common].concat());
    let (left, right) = (of::<L>(g, level, &left), of::<L>(g, Level::Scalar, &right));
    let union = |x: &Plain<L>, y: &Plain<L>| {
        let mut union = x.to_owned_filter().expect("memory");
        union.union_with(y).expect("they match");
        union
    };
    let ab = union(&left, &right);
    prop_assert_eq!(ab.as_bytes(), all.as_bytes());
    for same in [union(&right, &left), union(&ab, &left)] {
        prop_assert_eq!(same.as_bytes(), all.as_bytes());
    }
    let mut both = left.to_owned_filter().expect("memory");
    both.intersect_with(&right).expect("they match");
    prop_assert!(common.iter().all(|&digest| both.contains_digest(digest)));
    for ((&both, &l), &r) in both.as_bytes().iter().zip(left.as_bytes()).zip(right.as_bytes()) {
        prop_assert_eq!(both, l & r);
    }
    // Absorption: a ∪ (a ∩ b) = a.
    let absorbed = union(&left, &both);
    prop_assert_eq!(absorbed.as_bytes(), left.as_bytes());
    Ok(())
}

/// A fold is the filter that was built small; folds follow each other like their product; and the fold of a union is the
/// union of the folds.
fn folds<L: Layout>(
    g: Geometry,
    factors: (u64, u64),
    a: &[Digest],
    b: &[Digest],
    level: Level,
) -> Result<(), TestCaseError> {
    let large = Geometry { bits: g.bits * factors.0 * factors.1, ..g };
    let mut filter = of::<L>(large, level, a);
    let product = filter.fold(factors.0 * factors.1).expect("a divisor");
    prop_assert_eq!(product.geometry(), g);
    let small = of::<L>(g, level, a);
    prop_assert_eq!(product.as_bytes(), small.as_bytes());
    let twice = filter.fold(factors.0).expect("a divisor").fold(factors.1).expect("a divisor");
    prop_assert_eq!(twice.as_bytes(), product.as_bytes());
    let other = of::<L>(large, level, b);
    let mut folds = product;
    folds.union_with(&other.fold(factors.0 * factors.1).expect("a divisor")).expect("they match");
    filter.union_with(&other).expect("they match");
    let union = filter.fold(factors.0 * factors.1).expect("a divisor");
    prop_assert_eq!(union.as_bytes(), folds.as_bytes());
    let same = filter.fold(1).expect("a divisor");
    prop_assert_eq!(same.as_bytes(), filter.as_bytes());
    Ok(())
}

/// More members never make fewer bits, a higher estimate is never below, and no number is ever not a number.
fn loads_only_grow<L: Layout>(g: Geometry, members: &[Digest], level: Level) -> Result<(), TestCaseError> {
    let mut filter = empty::<L>(g, level);
    let mut before = (0.0, 0.0, 0.0);
    for chunk in members.chunks(7) {
        filter.insert_batch(chunk);
        let now = (filter.occupancy(), filter.current_fpr(), filter.estimated_cardinality());
        prop_assert!(now.0 >= before.0 && now.1 >= before.1 && now.2 >= before.2, "{:?} {:?}", before, now);
        prop_assert!((0.0..=1.0).contains(&now.0) && (0.0..=1.0).contains(&now.1));
        before = now;
    }
    let best = filter.best_fold(0.5);
    prop_assert!(filter.fold(best).is_ok(), "the best fold, {}, is none", best);
    Ok(())
}

/// Sizes that a builder chooses are geometries of the layout that keep the rate they were asked for.
fn sizes_keep_their_rate<L: Layout>(keys: u64, fpr: f64, bits_per_key: f64) -> Result<(), TestCaseError> {
    let sized = Filter::<L>::builder(keys).fpr(fpr).sized();
    if let Ok(g) = sized {
        prop_assert_eq!(L::MODEL.validate(g), Ok(()));
        prop_assert!(L::MODEL.fpr(keys, g) <= fpr);
        prop_assert_eq!(Filter::<L>::builder(keys).fpr(fpr).estimated_bytes(), Ok(g.bits / 8));
    }
    let g = Filter::<L>::builder(keys).bits_per_key(bits_per_key).sized();
    let g = g.map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(L::MODEL.validate(g), Ok(()));
    prop_assert!(g.bits as f64 <= (keys as f64 * bits_per_key).max(L::MODEL.unit_bits(g.k) as f64));
    Ok(())
}

/// A key has one digest, and a filter asks its hasher.
fn keys_are_their_digests<L: Layout>(key: &[u8], seed: u64) -> Result<(), TestCaseError> {
    let hasher = Xxh3::with_seed(seed);
    let mut filter = Filter::<L>::builder(10).hasher(hasher).build().expect("a filter");
    prop_assert_eq!(filter.digest(key), hasher.digest(key));
    filter.insert(key);
    prop_assert!(filter.contains_digest(hasher.digest(key)));
    Ok(())
}

macro_rules! stamp {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
        mod $name {
            use super::*;
            use bloomline::$Layout;

            proptest! {
                #![proptest_config(config())]

                #[test]
                fn no_member_is_absent(
                    keys in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..200),
                    fpr in 1e-6..0.9,
                    level in level(),
                ) {
                    super::no_member_is_absent::<$Layout>(&keys, fpr, level)?;
                }

                #[test]
                fn insert_tells_the_truth(g in geometry::<$Layout>(40), members in digests(300), level in level()) {
                    super::insert_tells_the_truth::<$Layout>(g, &members, level)?;
                }

                #[test]
                fn batches_are_singles(
                    g in geometry::<$Layout>(100),
                    (members, asked) in (digests(600), digests(600)),
                    cuts in prop::collection::vec(0..300usize, 0..8),
                    level in level(),
                ) {
                    let asked = [&members[..members.len() / 2], &asked].concat();
                    super::batches_are_singles::<$Layout>(g, &members, &asked, &cuts, level)?;
                }

                #[test]
                fn unions(
                    g in geometry::<$Layout>(50),
                    (a, b, common) in (digests(100), digests(100), digests(50)),
                    level in level(),
                ) {
                    super::unions::<$Layout>(g, &a, &b, &common, level)?;
                }

                #[test]
                fn folds(
                    g in geometry::<$Layout>(9),
                    factors in (1..=12u64, 1..=5u64),
                    (a, b) in (digests(200), digests(200)),
                    level in level(),
                ) {
                    super::folds::<$Layout>(g, factors, &a, &b, level)?;
                }

                #[test]
                fn loads_only_grow(g in geometry::<$Layout>(30), members in digests(300), level in level()) {
                    super::loads_only_grow::<$Layout>(g, &members, level)?;
                }

                #[test]
                fn sizes_keep_their_rate(keys in 1..100_000u64, fpr in 1e-8..0.999, bits in 0.01..64.0) {
                    super::sizes_keep_their_rate::<$Layout>(keys, fpr, bits)?;
                }

                #[test]
                fn keys_are_their_digests(key in prop::collection::vec(any::<u8>(), 0..400), seed in any::<u64>()) {
                    super::keys_are_their_digests::<$Layout>(&key, seed)?;
                }
            }
        }
    )* };
}
for_each_layout!(stamp);
