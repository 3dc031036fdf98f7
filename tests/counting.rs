//! Counting filters: their rules, each against counters of a whole byte or more; all levels and memory models alike.

#[path = "common/random.rs"]
mod random;
#[path = "common/reference.rs"]
#[expect(dead_code, reason = "counters need the positions only")]
mod reference;

use bloomline::{
    Blocked128, Classic, Contains, CounterLayout, CountingBloom, CountingView, Design, Digest, Filter, FilterKind,
    Layout, Level, PlainCountingBloom,
    error::{AllocError, BuildError, CombineError, NotPresent, SizingError},
    hash::{PreHashedTrusted, Xxh3},
    sizing::{Geometry, counter_overflow_bound},
};
use proptest::prelude::*;
use random::Random;
use reference::positions;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

fn scale(n: usize) -> usize {
    let small = cfg!(miri) || std::env::var("BLOOMLINE_TEST_SCALE").is_ok_and(|scale| scale == "small");
    if small { n.div_ceil(20) } else { n }
}

/// Counters as the rules tell of them, one to a byte.
#[derive(Clone, Debug)]
struct Model<L> {
    geometry: Geometry,
    counters: Vec<u8>,
    layout: std::marker::PhantomData<L>,
}

impl<L: CounterLayout> Model<L> {
    fn new(geometry: Geometry) -> Self {
        Self { geometry, counters: vec![0; geometry.bits as usize], layout: std::marker::PhantomData }
    }

    /// Each counter of a key once.
    fn of(&self, digest: Digest) -> BTreeSet<u64> {
        positions(L::KIND, self.geometry, digest).into_iter().collect()
    }

    fn insert(&mut self, digest: Digest) -> bool {
        let mut changed = false;
        for at in self.of(digest) {
            let counter = &mut self.counters[at as usize];
            changed |= *counter < 15;
            *counter = (*counter + 1).min(15);
        }
        changed
    }

    fn contains(&self, digest: Digest) -> bool {
        self.of(digest).iter().all(|&at| self.counters[at as usize] > 0)
    }

    fn remove(&mut self, digest: Digest) -> Result<(), NotPresent> {
        if !self.contains(digest) {
            return Err(NotPresent);
        }
        for at in self.of(digest) {
            let counter = &mut self.counters[at as usize];
            *counter -= u8::from(*counter < 15);
        }
        Ok(())
    }

    fn bytes(&self) -> Vec<u8> {
        self.counters.chunks(2).map(|pair| pair[0] | pair[1] << 4).collect()
    }
}

type Plain<L> = PlainCountingBloom<L, PreHashedTrusted>;

fn empty<L: CounterLayout>(geometry: Geometry, level: Level) -> Plain<L> {
    let builder = CountingBloom::<L>::builder(1).geometry(geometry).hasher(PreHashedTrusted).level(level);
    builder.build_plain().expect("a valid geometry")
}

fn geometry<L: Layout>(units: u64, k: u32) -> Geometry {
    Geometry { bits: units * L::MODEL.unit_bits(k), k }
}

fn digests(seed: u64, n: usize) -> Vec<Digest> {
    let extremes = [0, 1, u64::MAX, 1 << 63, 1 << 32, (1 << 32) - 1, u64::MAX << 32];
    extremes.into_iter().chain(Random(seed)).take(n).map(Digest).collect()
}

/// Random insertions and removals, some of keys that are not there; the same bytes and answers as the model's.
fn behaves_as_the_model<L: CounterLayout>() {
    for &level in Level::available() {
        for k in 1..=L::MODEL.max_k().min(11) {
            for units in [1, 2, 5, 33] {
                let geometry = geometry::<L>(units, k);
                let (mut plain, mut model) = (empty::<L>(geometry, level), Model::<L>::new(geometry));
                let shared = empty::<L>(geometry, level).into_shared();
                let keys = digests(units, (geometry.bits / u64::from(k)).clamp(8, 200) as usize);
                let mut random = Random(u64::from(k));
                for _ in 0..scale(400) {
                    let word = random.next().expect("endless");
                    let digest = keys[(word >> 8) as usize % keys.len()];
                    if word % 5 < 3 {
                        let changed = model.insert(digest);
                        assert_eq!(plain.insert_digest(digest), changed);
                        assert_eq!(shared.insert_digest(digest), changed);
                    } else {
                        let removed = model.remove(digest);
                        assert_eq!(plain.remove_digest(digest), removed);
                        assert_eq!(shared.remove_digest(digest), removed);
                    }
                }
                let bytes = model.bytes();
                assert!(plain.as_bytes() == bytes, "{level} k = {k}, {units} units");
                assert!(shared.to_plain().expect("memory").as_bytes() == bytes);
                // Lookups, one by one and in batches of every length around whole words and groups.
                let asked = digests(99, 700);
                let expected: Vec<bool> = asked.iter().map(|&digest| model.contains(digest)).collect();
                for n in [0, 1, 7, 8, 9, 63, 64, 65, 127, 511, 512, 513, 700] {
                    let mut out = [vec![u64::MAX; 12], vec![u64::MAX; 12]];
                    plain.contains_batch(&asked[..n], &mut out[0]).expect("room");
                    shared.contains_batch(&asked[..n], &mut out[1]).expect("room");
                    for (i, &expected) in expected[..n].iter().enumerate() {
                        assert!(
                            out.iter().all(|out| (out[i / 64] >> (i % 64) & 1 != 0) == expected),
                            "{level} {i} of {n}"
                        );
                        assert_eq!(plain.contains_digest(asked[i]), expected);
                        assert_eq!(shared.contains_digest(asked[i]), expected);
                    }
                    assert!(n % 64 == 0 || out.iter().all(|out| out[n / 64] >> (n % 64) == 0));
                    assert!(out.iter().all(|out| out[n.div_ceil(64)..].iter().all(|&word| word == u64::MAX)));
                }
                // What is read of the whole memory.
                let mut histogram = [0; 16];
                model.counters.iter().for_each(|&counter| histogram[usize::from(counter)] += 1);
                assert_eq!((plain.histogram(), shared.histogram()), (histogram, histogram));
                assert_eq!(plain.stuck_counters(), histogram[15]);
                assert_eq!(plain.occupancy(), 1.0 - histogram[0] as f64 / geometry.bits as f64);
                let bits: Vec<u8> = model
                    .counters
                    .chunks(8)
                    .map(|byte| byte.iter().rev().fold(0, |bits, &counter| bits << 1 | u8::from(counter > 0)))
                    .collect();
                assert_eq!(plain.to_bloom().expect("memory").as_bytes(), bits);
                assert_eq!(shared.to_bloom().expect("memory").as_bytes(), bits);
            }
        }
    }
}

#[test]
fn counting_behaves_as_the_model() {
    behaves_as_the_model::<Classic>();
}

#[test]
fn blocked_counting_behaves_as_the_model() {
    behaves_as_the_model::<Blocked128>();
}

/// Batches are one operation after the other.
fn batches<L: CounterLayout>() {
    for &level in Level::available() {
        for (units, k) in [(3, 5), (40, 7), (1_025, 4)] {
            let geometry = geometry::<L>(units, k);
            let keys = digests(5, 300);
            let (mut one, mut many) = (empty::<L>(geometry, level), empty::<L>(geometry, level));
            let shared = empty::<L>(geometry, level).into_shared();
            keys.iter().for_each(|&digest| assert!(one.insert_digest(digest) | true));
            many.insert_batch(&keys);
            shared.insert_batch(&keys);
            assert_eq!(one.as_bytes(), many.as_bytes());
            assert_eq!(one.as_bytes(), shared.to_plain().expect("memory").as_bytes());
            // Every second key, strangers between them, and a key more often than it is there.
            let gone: Vec<Digest> =
                keys.iter().copied().step_by(2).chain(digests(77, 90)).chain([keys[0]; 20]).collect();
            let expected: Vec<bool> = gone.iter().map(|&digest| one.remove_digest(digest).is_ok()).collect();
            let mut out = [vec![u64::MAX; 6], vec![u64::MAX; 6]];
            many.remove_batch(&gone, &mut out[0]).expect("room");
            shared.remove_batch(&gone, &mut out[1]).expect("room");
            for (i, &expected) in expected.iter().enumerate() {
                assert!(out.iter().all(|out| (out[i / 64] >> (i % 64) & 1 != 0) == expected), "{level} {i}");
            }
            assert!(expected.contains(&false) || units < 1_000, "something is refused");
            assert_eq!(one.as_bytes(), many.as_bytes());
            assert_eq!(one.as_bytes(), shared.freeze().as_bytes());
            let mut short = [7; 4];
            let error = many.remove_batch(&gone, &mut short).expect_err("five words are needed");
            assert_eq!((error.words, error.needed, short), (4, 5, [7; 4]));
            assert_eq!(one.as_bytes(), many.as_bytes(), "nothing is removed then");
        }
    }
}

#[test]
fn batches_are_one_after_the_other() {
    batches::<Classic>();
    batches::<Blocked128>();
}

/// A key that was inserted 20 times and removed 16 times in 4-bit counters is still there, and for ever.
fn stuck<L: CounterLayout>() {
    let filter = CountingBloom::<L>::builder(100).build().expect("a small filter");
    for i in 0..20 {
        assert_eq!(filter.insert("often"), i < 15, "insertion {i}");
    }
    let positions = positions(L::KIND, filter.geometry(), filter.digest("often")).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(filter.stuck_counters(), positions.len() as u64);
    for _ in 0..100 {
        assert_eq!(filter.remove("often"), Ok(()));
        assert!(filter.contains("often"));
    }
    // Fourteen times are not too often.
    let filter = CountingBloom::<L>::builder(100).build().expect("a small filter");
    (0..14).for_each(|_| assert!(filter.insert("often")));
    assert_eq!(filter.stuck_counters(), 0);
    (0..14).for_each(|_| assert_eq!(filter.remove("often"), Ok(())));
    assert!(!filter.contains("often"));
    assert_eq!(filter.histogram()[0], filter.geometry().bits);
}

/// Removals of keys that the filter says are absent: every one refused, no counter changed, no member lost.
fn strangers<L: CounterLayout>() {
    let filter = CountingBloom::<L>::builder(1_000).fpr(0.01).build().expect("a small filter");
    (0..1_000u64).for_each(|key| assert!(filter.insert(&key)));
    let before = filter.to_plain().expect("memory");
    let absent: Vec<u64> = (1_000..).filter(|key| !filter.contains(key)).take(1_000).collect();
    for key in &absent {
        assert!(filter.remove(key).is_err());
    }
    assert_eq!(filter.to_plain().expect("memory").as_bytes(), before.as_bytes());
    assert!((0..1_000u64).all(|key| filter.contains(&key)));
    (0..1_000u64).for_each(|key| assert_eq!(filter.remove(&key), Ok(())));
    assert_eq!(filter.freeze().as_bytes().iter().filter(|&&byte| byte != 0).count(), 0);
}

/// A key two of whose probes fall on one counter: inserted, found and removed as any other.
fn coincident<L: CounterLayout>() {
    let geometry = geometry::<L>(1, 8);
    let digest = digests(3, 10_000)
        .into_iter()
        .find(|&digest| positions(L::KIND, geometry, digest).into_iter().collect::<BTreeSet<_>>().len() < 7)
        .expect("one of many");
    for &level in Level::available() {
        let mut filter = empty::<L>(geometry, level);
        for times in 1..=3 {
            assert!(filter.insert_digest(digest));
            assert_eq!(filter.histogram()[times] + filter.histogram()[0], geometry.bits, "each is raised once");
        }
        for left in [2, 1, 0] {
            assert_eq!(filter.remove_digest(digest), Ok(()));
            assert_eq!(filter.contains_digest(digest), left > 0);
        }
        assert!(filter.remove_digest(digest).is_err());
        assert_eq!(filter.histogram()[0], geometry.bits);
        assert!(filter.insert_unique_digest(digest) && !filter.insert_unique_digest(digest));
        assert_eq!(filter.remove_digest(digest), Ok(()));
        assert!(!filter.contains_digest(digest));
    }
}

/// Merges add and clamp, in every position of a word and of a window of words.
fn merged<L: CounterLayout>() {
    for units in [1, 3, 130] {
        let geometry = geometry::<L>(units, 4);
        let (mut a, mut b) = (Model::<L>::new(geometry), Model::<L>::new(geometry));
        let mut random = Random(units);
        let (mut left, mut right) = (empty::<L>(geometry, Level::get()), empty::<L>(geometry, Level::get()));
        for _ in 0..geometry.bits {
            let digest = Digest(random.next().expect("endless"));
            for _ in 0..random.next().expect("endless") % 6 {
                assert_eq!(a.insert(digest), left.insert_digest(digest));
            }
            for _ in 0..random.next().expect("endless") % 6 {
                assert_eq!(b.insert(digest), right.insert_digest(digest));
            }
        }
        let mut sum = Model::<L>::new(geometry);
        sum.counters = a.counters.iter().zip(&b.counters).map(|(a, b)| (a + b).min(15)).collect();
        assert!(sum.counters.contains(&15) && sum.counters.iter().any(|&counter| (1..15).contains(&counter)));
        let shared = right.to_plain().expect("memory").into_shared();
        for level in Level::available() {
            let mut plain = left.to_plain().expect("memory").with_level(*level);
            plain.merge(&shared).expect("alike");
            assert_eq!(plain.as_bytes(), sum.bytes());
            let mut other = left.to_plain().expect("memory").with_level(*level).into_shared();
            other.merge(&right).expect("alike");
            assert_eq!(other.freeze().as_bytes(), sum.bytes());
        }
    }
    // What differs is named, and nothing has changed.
    let g = geometry::<L>(4, 4);
    let of = |geometry, hasher| {
        let builder = CountingBloom::<L>::builder(1).geometry(geometry).hasher(hasher);
        builder.build_plain().expect("a small filter")
    };
    let mut filter = of(g, Xxh3::with_seed(1));
    filter.insert("key");
    let before = filter.as_bytes().to_vec();
    let wide = geometry::<L>(8, 4);
    let error = filter.merge(&of(wide, Xxh3::with_seed(1)));
    assert_eq!(error, Err(CombineError::Bits { left: g.bits, right: wide.bits }));
    let error = filter.merge(&of(Geometry { k: 3, ..g }, Xxh3::with_seed(1)));
    assert_eq!(error, Err(CombineError::Probes { left: 4, right: 3 }));
    let error = filter.merge(&of(g, Xxh3::with_seed(2)));
    assert_eq!(error, Err(CombineError::Seed { left: 1, right: 2 }));
    let error = filter.merge(&empty::<L>(g, Level::get()));
    assert!(matches!(error, Err(CombineError::Hasher { .. })));
    assert_eq!(filter.as_bytes(), before);
    filter.clear();
    assert!(!filter.contains("key") && filter.as_bytes().iter().all(|&byte| byte == 0));
}

/// The bit filter of a counting filter is that of the layout, and a gate.
fn frozen<L: CounterLayout>() {
    let counting = CountingBloom::<L>::builder(5_000).fpr(0.02).build().expect("a small filter");
    let mut bits = Filter::<L>::builder(5_000).fpr(0.02).build().expect("a small filter");
    (0..7_000u64).for_each(|key| assert!(counting.insert(&key)));
    (0..2_000u64).for_each(|key| assert_eq!(counting.remove(&key), Ok(())));
    (2_000..7_000u64).for_each(|key| assert!(bits.insert(&key) | true));
    let frozen = counting.to_bloom().expect("memory");
    assert_eq!(counting.stuck_counters(), 0);
    assert_eq!(frozen.as_bytes(), bits.as_bytes());
    assert_eq!((frozen.geometry(), frozen.design()), (counting.geometry(), counting.design()));
    assert_eq!(counting.size_in_bytes(), 4 * frozen.size_in_bytes());
    let gate: Box<dyn bloomline::NegativeGate + Send + Sync> = Box::new(frozen);
    assert!((2_000..7_000u64).all(|key| gate.contains_digest(counting.digest(&key))));
    let estimate = counting.estimated_cardinality();
    assert!((4_700.0..5_300.0).contains(&estimate), "{estimate}");
    assert!(!counting.is_past_design());
    (10_000..12_000u64).for_each(|key| assert!(counting.insert(&key)));
    assert!(counting.is_past_design());
}

#[test]
fn a_stuck_counter_is_stuck_for_ever() {
    stuck::<Classic>();
    stuck::<Blocked128>();
}

#[test]
fn strangers_are_refused_and_change_nothing() {
    strangers::<Classic>();
    strangers::<Blocked128>();
}

#[test]
fn coincident_probes_count_once() {
    coincident::<Classic>();
    coincident::<Blocked128>();
}

#[test]
fn merges_clamp_and_refuse_what_differs() {
    merged::<Classic>();
    merged::<Blocked128>();
}

#[test]
fn to_bloom_is_the_bit_filter_of_the_members() {
    frozen::<Classic>();
    frozen::<Blocked128>();
}

#[test]
fn sizes_and_names() {
    let builder = CountingBloom::<Classic>::builder(1_000_000).counters_per_key(10.0);
    let sized = builder.sized().expect("a size");
    assert!(sized.bits <= 10_000_000 && sized.bits > 9_990_000 && sized.k == 7);
    assert_eq!(builder.estimated_bytes(), Ok(sized.bits / 2)); // 5 MB beside 1.25 MB of bits
    let budget = CountingBloom::<Blocked128>::builder(1_000).with_byte_budget(4_096);
    assert_eq!(budget.estimated_bytes(), Ok(4_096));
    let capped = CountingBloom::<Classic>::builder(1_000_000).memory_cap(1_000_000).build();
    assert!(matches!(capped, Err(BuildError::Alloc(AllocError::OverCap { cap: 1_000_000, .. }))));
    let none = CountingBloom::<Classic>::builder(0).build();
    assert!(matches!(none, Err(BuildError::Sizing(SizingError::ZeroKeys))));
    let names: Vec<&str> = FilterKind::all().map(FilterKind::name).collect();
    assert!(names.contains(&"counting") && names.contains(&"blocked-counting"));
    for kind in FilterKind::all() {
        assert_eq!(FilterKind::from_name(kind.name()), Some(kind));
        assert_eq!(FilterKind::from_tag(kind.tag()), Some(kind));
    }
    assert_eq!((FilterKind::from_name("none"), FilterKind::from_tag(0)), (None, None));
    let filter = CountingBloom::<Blocked128>::builder(100).build().expect("a small filter");
    assert_eq!((filter.kind().name(), <Blocked128 as CounterLayout>::COUNTING), ("blocked-counting", filter.kind()));
    // The bound of Fan et al.: 3.06e-14 for each counter where ln 2 probes fall on one.
    let g = Geometry { bits: 1_000_000_000, k: 7 };
    let n = (1e9 * std::f64::consts::LN_2 / 7.0) as u64;
    assert!((counter_overflow_bound(n, g, 15) / 3.06e-5 - 1.0).abs() < 1e-2);
    assert_eq!(counter_overflow_bound(1_000, Geometry { bits: 64, k: 7 }, 15), 1.0);
    assert_eq!((counter_overflow_bound(u64::MAX, g, 15), counter_overflow_bound(0, g, 0)), (1.0, 1.0));
    assert_eq!(counter_overflow_bound(0, g, 15), 0.0);
}

/// Measured against the formula at 50, 100 and 150 % of the design, in filters that as many keys have left as are there: the
/// answers are those of the bit filter of what is there, whose rates `tests/rates.rs` measures closely.
fn rates<L: CounterLayout>() {
    const KEYS: u64 = 20_000;
    for percent in [50, 100, 150] {
        let n = KEYS * percent / 100;
        let (mut wrong, mut by_bits, queries) = (0, 0, scale(1_000_000) as u64);
        let mut expected = 0.0;
        for seed in 0..4 {
            let builder = CountingBloom::<L>::builder(KEYS).fpr(0.01).hasher(Xxh3::with_seed(seed));
            let filter = builder.build().expect("a small filter");
            (0..2 * n).for_each(|key| assert!(filter.insert(&key)));
            (0..n).for_each(|key| assert_eq!(filter.remove(&key), Ok(())));
            assert!((n..2 * n).all(|key| filter.contains(&key)));
            assert_eq!(filter.stuck_counters(), 0);
            let bits = filter.to_bloom().expect("memory");
            for key in (1u64 << 40..).take(queries as usize) {
                wrong += u64::from(filter.contains(&key));
                by_bits += u64::from(bits.contains(&key));
            }
            expected += L::MODEL.fpr(n, filter.geometry()) * queries as f64;
        }
        assert_eq!(wrong, by_bits);
        // Queries are binomial; a filter's own rate differs from the mean of all by 1 % of it or less at this size.
        let error = (wrong as f64 - expected).abs();
        let allowed = 4.0 * (expected + (0.01 * expected).powi(2)).sqrt();
        assert!(error < allowed, "{} at {percent} %: {wrong} where {expected:.0} +- {allowed:.0}", L::COUNTING);
    }
}

#[test]
fn the_rate_is_that_of_the_formula() {
    rates::<Classic>();
    rates::<Blocked128>();
}

/// Counters where they lie in somebody's bytes, at every alignment.
#[test]
fn views() {
    let mut filter = CountingBloom::<Blocked128>::builder(500).build_plain().expect("a small filter");
    (0..500u64).for_each(|key| assert!(filter.insert(&key)));
    for offset in [0, 1, 8, 33] {
        let mut bytes = vec![0xaa; offset];
        bytes.extend_from_slice(filter.as_bytes());
        let (geometry, design, hasher) = (filter.geometry(), filter.design(), Xxh3::default());
        let view = CountingView::<Blocked128>::from_bytes(&bytes[offset..], geometry, design, hasher);
        let view = view.expect("a filter");
        assert!((0..500u64).all(|key| view.contains(&key)));
        assert_eq!(view.histogram(), filter.histogram());
        assert_eq!((500..2_000u64).filter(|key| view.contains(key)).count(), {
            (500..2_000u64).filter(|key| filter.contains_bytes(&key.to_le_bytes())).count()
        });
        let short = CountingView::<Blocked128>::from_bytes(&bytes[offset + 1..], geometry, design, Xxh3::default());
        assert!(matches!(short, Err(BuildError::Length { .. })));
    }
    let wrong = CountingView::<Blocked128>::from_bytes(
        &[0; 64],
        Geometry { bits: 128, k: 9 },
        Design { keys: 1, fpr: 0.5 },
        Xxh3::default(),
    );
    assert!(matches!(wrong, Err(BuildError::Sizing(_))));
}

/// Eight threads insert and remove keys of their own and of each other, balanced: a key is removed only by who inserted it.
/// What a thread holds is present at every moment; at the end the counters are those of what is left.
fn threads<L: CounterLayout>(seed: u64) {
    const THREADS: u64 = 8;
    let geometry = geometry::<L>(8_192 / L::MODEL.unit_bits(5), 5);
    let filter = empty::<L>(geometry, Level::get()).into_shared();
    let (start, absent) = (Barrier::new(THREADS as usize), AtomicU64::new(0));
    let held: Vec<HashMap<u64, u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|t| {
                let (filter, start, absent) = (&filter, &start, &absent);
                scope.spawn(move || {
                    let mut held = HashMap::<u64, u64>::new();
                    let mut random = Random(seed * 100 + t);
                    start.wait();
                    for _ in 0..scale(20_000) {
                        let word = random.next().expect("endless");
                        // Keys that all threads share, so that they meet in every counter.
                        let key = reference_key(word >> 16);
                        let count = held.entry(key).or_default();
                        if *count > 0 && word & 1 == 0 || held.values().sum::<u64>() > 60 {
                            let Some((&key, count)) = held.iter_mut().find(|(k, count)| **k == key && **count > 0)
                            else {
                                continue;
                            };
                            absent.fetch_add(u64::from(filter.remove_digest(Digest(key)).is_err()), Relaxed);
                            *count -= 1;
                        } else {
                            filter.insert_digest(Digest(key));
                            *held.entry(key).or_default() += 1;
                        }
                        for (&key, _) in held.iter().filter(|(_, count)| **count > 0).take(3) {
                            absent.fetch_add(u64::from(!filter.contains_digest(Digest(key))), Relaxed);
                        }
                    }
                    held
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(absent.load(Relaxed), 0, "of a key that its thread holds");
    // An exact multiset of what is left. A counter that was stuck on the way stays so.
    let mut model = vec![0u64; geometry.bits as usize];
    for (&key, &count) in held.iter().flatten() {
        let of: BTreeSet<u64> = positions(L::KIND, geometry, Digest(key)).into_iter().collect();
        of.iter().for_each(|&at| model[at as usize] += count);
    }
    let bytes = filter.freeze();
    let stuck = bytes.stuck_counters();
    for (at, &expected) in model.iter().enumerate() {
        let counter = u64::from(bytes.as_bytes()[at / 2] >> (at % 2 * 4) & 15);
        assert!(counter == expected.min(15) || counter == 15, "counter {at}: {counter} where {expected} are left");
    }
    assert!(stuck < geometry.bits / 4, "most counters count: {stuck}");
}

/// One of 300 keys.
fn reference_key(word: u64) -> u64 {
    Random(word % 300 + 1_000).next().expect("endless")
}

#[test]
fn balanced_threads_lose_nothing() {
    for seed in 0..if cfg!(miri) { 1 } else { 4 } {
        threads::<Classic>(seed);
        threads::<Blocked128>(seed);
    }
}

/// Two threads that insert the same key, and eight that insert different ones.
fn inserted_at_once<L: CounterLayout>() {
    let filter = CountingBloom::<L>::builder(scale(80_000) as u64).build().expect("a filter");
    let each = scale(10_000) as u64;
    std::thread::scope(|scope| {
        for t in 0..8 {
            let filter = &filter;
            scope.spawn(move || {
                for key in t * each..(t + 1) * each {
                    assert!(filter.insert(&key), "an insertion changes something");
                    filter.insert(&u64::MAX);
                    assert_eq!(filter.remove(&u64::MAX), Ok(()));
                }
            });
        }
    });
    let mut one = CountingBloom::<L>::builder(scale(80_000) as u64).build_plain().expect("a filter");
    (0..8 * each).for_each(|key| assert!(one.insert(&key)));
    let differ = filter.freeze().as_bytes().iter().zip(one.as_bytes()).filter(|(a, b)| a != b).count();
    assert!(differ <= 10, "only counters of the key that came and went may be stuck: {differ}");
}

#[test]
fn nothing_is_lost_between_threads() {
    inserted_at_once::<Classic>();
    inserted_at_once::<Blocked128>();
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u8),
    Unique(u8),
    Remove(u8),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        any::<u8>().prop_map(Op::Insert),
        any::<u8>().prop_map(Op::Unique),
        any::<u8>().prop_map(Op::Remove)
    ];
    prop::collection::vec(op, 0..300)
}

/// Against a map of keys and how often each is there: what is there is found, as long as only that is removed.
fn as_a_multiset<L: CounterLayout>(ops: &[Op], units: u64, k: u32) -> Result<(), TestCaseError> {
    let filter = empty::<L>(geometry::<L>(units, k), Level::get()).into_shared();
    let mut there = HashMap::<u8, u32>::new();
    let digest = |key: u8| Digest(reference_key(u64::from(key)));
    for op in ops {
        match *op {
            Op::Insert(key) => {
                filter.insert_digest(digest(key));
                *there.entry(key).or_default() += 1;
            }
            Op::Unique(key) => {
                let known = filter.contains_digest(digest(key));
                prop_assert_eq!(filter.insert_unique_digest(digest(key)), !known);
                *there.entry(key).or_default() += u32::from(!known);
            }
            // Strangers are refused, or they would take others' counters; so only what is there is removed.
            Op::Remove(key) => match there.get_mut(&key).filter(|count| **count > 0) {
                Some(count) => {
                    prop_assert!(filter.remove_digest(digest(key)).is_ok());
                    *count -= 1;
                }
                None if !filter.contains_digest(digest(key)) => {
                    prop_assert!(filter.remove_digest(digest(key)).is_err());
                }
                None => {}
            },
        }
        for (&key, _) in there.iter().filter(|(_, count)| **count > 0) {
            prop_assert!(filter.contains_digest(digest(key)));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 64 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counting_is_a_multiset(ops in ops(), units in 1u64..40, k in 1u32..12) {
        as_a_multiset::<Classic>(&ops, units, k)?;
    }

    #[test]
    fn blocked_counting_is_a_multiset(ops in ops(), units in 1u64..20, k in 1u32..=8) {
        as_a_multiset::<Blocked128>(&ops, units, k)?;
    }
}
