//! Rates of false positives: measured against each layout's formula, with both variances counted.
//!
//! **The bound.** Of a filter that answers r of all absent keys with "maybe", Q queries find a binomial number of false
//! positives, with variance r(1 − r)/Q of their share. And r itself differs from filter to filter: the formula gives the
//! expectation over all sets of keys, and [`spread`] the variance V around it, from the theory of each layout. Over eight
//! filters pooled, the measured share has variance p(1 − p)/(8·Q) + V/8, and must lie within 4 standard deviations of p.
//! V is not taken on trust: `the_spread_is_right` compares it with what many filters show. Where a filter has so few
//! blocks that the theory does not hold (10 to 1,000 keys), hundreds to thousands of filters are made, and the variance
//! of their mean is estimated from themselves; the share of each, queries included, is one observation.
//!
//! Seeds are fixed: what passes once passes always. That the bound can fail is tested too (`wrong_formulas_are_rejected`).
//!
//! `BLOOMLINE_TEST_SCALE=small` lessens the numbers of queries and of filters, for slow machines; no case is left out.

#[path = "common/random.rs"]
mod random;

use bloomline::{
    Contains, Digest, Filter, Layout, for_each_layout,
    hash::{Hashes, Xxh3},
    sizing::{Geometry, Model},
};
use random::Random;
use std::sync::LazyLock;

/// Eight seeds: of the keys and of their hasher.
const SEEDS: [u64; 8] = [1, 2, 3, 5, 8, 13, 21, 34];
/// Keys of the design, n.
const KEYS: usize = 20_000;
/// Standard deviations allowed.
const SIGMAS: f64 = 4.0;

fn small() -> bool {
    cfg!(miri) || std::env::var("BLOOMLINE_TEST_SCALE").is_ok_and(|scale| scale == "small")
}

/// A number of samples.
fn samples(n: usize) -> usize {
    if small() { n.div_ceil(10) } else { n }
}

/// What keys look like.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Keys {
    Sequential,
    Random,
    Words,
    Dictionary,
}

/// Debian's largest word list, where it is installed.
static DICTIONARY: LazyLock<Option<String>> =
    LazyLock::new(|| std::fs::read_to_string("/usr/share/dict/american-english-insane").ok());

/// A word for each number below 2²⁴, of syllables: the digits of a numeral with base 64.
fn word(number: u64) -> String {
    let (consonants, vowels) = (b"bdfghklmnprstvwz", b"aeio");
    let digits = (0..4).rev().map(|place| number >> (6 * place) & 63).skip_while(|&digit| digit == 0);
    let letters = digits.flat_map(|digit| [consonants[(digit / 4) as usize], vowels[(digit % 4) as usize]]);
    letters.map(char::from).chain(['s']).collect()
}

impl Keys {
    /// Digests of `n` different keys; another seed gives other keys and another hasher.
    fn digests(self, seed: u64, n: usize) -> Vec<Digest> {
        let hasher = Xxh3::with_seed(seed);
        match self {
            Self::Sequential => (0..n as u64).map(|i| hasher.digest(&(seed * 1_000_000_007 + i))).collect(),
            Self::Random => Random(seed << 40).take(n).map(|key| hasher.digest(&key)).collect(),
            Self::Words => {
                // An odd factor permutes the numbers below 2²⁴.
                let number = |i: u64| (seed * 7919 + i).wrapping_mul(0x5851_f42d) & 0xff_ffff;
                assert!(n <= 1 << 24);
                (0..n as u64).map(|i| hasher.digest(word(number(i)).as_str())).collect()
            }
            Self::Dictionary => {
                let words: Vec<&str> = DICTIONARY.as_deref().unwrap_or_default().lines().collect();
                // A prime beyond any list's length permutes it.
                let step = |i: usize| (i + seed as usize) * 1_000_000_007 % words.len();
                assert!(n <= words.len(), "the list is long");
                (0..n).map(|i| hasher.digest(words[step(i)])).collect()
            }
        }
    }

    /// Those there are.
    fn all() -> Vec<Self> {
        let dictionary = DICTIONARY.is_some().then_some(Self::Dictionary);
        [Self::Sequential, Self::Random, Self::Words].into_iter().chain(dictionary).collect()
    }
}

/// Mean and variance, over random sets of n keys.
#[derive(Clone, Copy, Debug)]
struct Moments {
    mean: f64,
    variance: f64,
}

/// Of the mean over `cells` cells, of which key after key chooses one at random, where a cell with i keys has a value of
/// these first two moments.
///
/// With Poisson loads of mean λ the cells would be independent, and the variance that of one cell over their number. But
/// the loads add up to n, which takes away what the value owes to its load linearly: Var f − Cov(f, i)²/λ.
fn over_cells(cells: f64, load: f64, value: impl Fn(usize) -> (f64, f64), limit: usize) -> Moments {
    let (mut first, mut second, mut with_load) = (0.0, 0.0, 0.0);
    let mut weight = (-load).exp();
    for i in 0..=limit {
        let (mean, square) = value(i);
        first += weight * mean;
        second += weight * square;
        with_load += weight * mean * (i as f64 - load);
        weight *= load / (i + 1) as f64;
    }
    Moments { mean: first, variance: (second - first * first - with_load * with_load / load) / cells }
}

/// E[(X/B)^power] and the same with twice the power, X the distinct bits of B after k·i throws, for i = 0, 1, … `limit`.
fn throws(block_bits: u32, k: u32, power: u32, limit: usize) -> Vec<(f64, f64)> {
    let bits = block_bits as usize;
    let mut chances = vec![0.0; bits + 1];
    chances[0] = 1.0;
    let share = |set: usize| (set as f64 / bits as f64).powi(power as i32);
    (0..=limit)
        .map(|_| {
            let first = chances.iter().enumerate().map(|(set, chance)| chance * share(set)).sum();
            let second = chances.iter().enumerate().map(|(set, chance)| chance * share(set).powi(2)).sum();
            for _ in 0..k {
                for set in (0..=bits).rev() {
                    let new = if set == 0 { 0.0 } else { chances[set - 1] * (bits - set + 1) as f64 / bits as f64 };
                    chances[set] = chances[set] * set as f64 / bits as f64 + new;
                }
            }
            (first, second)
        })
        .collect()
}

/// What filters of n keys scatter around: their rate, and their share of bits set.
fn spread(model: Model, n: usize, g: Geometry) -> (Moments, Moments) {
    let (n, m, k) = (n as f64, g.bits as f64, g.k as f64);
    // Bits as cells: set from one throw on.
    let bits = |bits: f64, load: f64| over_cells(bits, load, |i| if i == 0 { (0.0, 0.0) } else { (1.0, 1.0) }, 200);
    match model {
        Model::Scattered => {
            let set = bits(m, k * n / m);
            let slope = k * set.mean.powf(k - 1.0);
            (Moments { mean: set.mean.powf(k), variance: slope * slope * set.variance }, set)
        }
        Model::Partitioned => {
            let region = bits(m / k, k * n / m);
            let rate = region.mean.powf(k);
            let slope = rate / region.mean;
            let rates = Moments { mean: rate, variance: k * slope * slope * region.variance };
            (rates, Moments { variance: region.variance / k, ..region })
        }
        Model::Block { block_bits, .. } => {
            let blocks = m / block_bits as f64;
            let load = n / blocks;
            let limit = (load + 12.0 * load.sqrt() + 20.0) as usize;
            let over = |power| {
                let values = throws(block_bits, g.k, power, limit);
                over_cells(blocks, load, |i| values[i], limit)
            };
            (over(g.k), over(1))
        }
        Model::Lanes { lanes, lane_bits } => {
            let (blocks, bits, lanes) = (m / (lanes * lane_bits) as f64, lane_bits as f64, lanes as f64);
            let load = n / blocks;
            let limit = (load + 12.0 * load.sqrt() + 20.0) as usize;
            // Of a lane with i keys: one random bit set, two random bits set.
            let one = |i: usize| 1.0 - (1.0 - 1.0 / bits).powi(i as i32);
            let two = |i: usize| {
                let both_clear = (1.0 - 1.0 / bits) * (1.0 - 2.0 / bits).powi(i as i32) + (1.0 - one(i)) / bits;
                2.0 * one(i) - 1.0 + both_clear
            };
            let rates = over_cells(blocks, load, |i| (one(i).powf(lanes), two(i).powf(lanes)), limit);
            let square = |i| two(i) / lanes + (1.0 - 1.0 / lanes) * one(i).powi(2);
            (rates, over_cells(blocks, load, |i| (one(i), square(i)), limit))
        }
        _ => panic!("write the spread of {model:?} here"),
    }
}

/// Eight filters, what they said and what they say of themselves.
struct Measured {
    /// Share of false positives among the queries of all.
    share: f64,
    /// Queries of all.
    queries: f64,
    /// The rate of each by its own bits.
    rates: Vec<f64>,
    /// The share of bits set of each.
    occupancies: Vec<f64>,
    /// The estimate of each of its keys.
    estimates: Vec<f64>,
}

/// How many of the digests may be present.
fn positives(filter: &impl Contains, digests: &[Digest]) -> usize {
    let mut out = vec![0; digests.len().div_ceil(64)];
    filter.contains_batch(digests, &mut out).expect("the output is long enough");
    out.iter().map(|word| word.count_ones() as usize).sum()
}

/// Fills eight filters with n keys each, finds all of them again, and asks for `queries` others.
fn measure<L: Layout>(geometry: Geometry, keys: Keys, n: usize, queries: usize) -> Measured {
    let mut filter = Filter::<L>::builder(n as u64).geometry(geometry).build().expect("a valid geometry");
    let mut measured = Measured {
        share: 0.0,
        queries: (SEEDS.len() * queries) as f64,
        rates: vec![],
        occupancies: vec![],
        estimates: vec![],
    };
    let mut hits = 0;
    for seed in SEEDS {
        let digests = keys.digests(seed, n + queries);
        let (members, strangers) = digests.split_at(n);
        filter.clear();
        filter.insert_batch(members);
        assert_eq!(positives(&filter, members), n, "{}: a member is absent", L::KIND);
        hits += positives(&filter, strangers);
        measured.rates.push(filter.current_fpr());
        measured.occupancies.push(filter.occupancy());
        measured.estimates.push(filter.estimated_cardinality());
    }
    measured.share = hits as f64 / measured.queries;
    measured
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Variance of the mean of observations, estimated from their own spread.
fn variance_of_mean(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values));
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0) / n
}

/// How many standard deviations the measured share is from the rate `p`, both variances counted.
fn deviations(measured: &Measured, p: f64, between: Moments) -> f64 {
    let variance = p * (1.0 - p) / measured.queries + between.variance / SEEDS.len() as f64;
    (measured.share - p).abs() / variance.sqrt()
}

fn geometry<L: Layout>() -> Geometry {
    L::MODEL.size_for_fpr(KEYS as u64, 0.01).expect("a size")
}

/// At half of, at and at twice the design load.
fn measured_is_expected<L: Layout>() {
    let geometry = geometry::<L>();
    for load in [50, 100, 200] {
        let n = KEYS * load / 100;
        let p = L::MODEL.fpr(n as u64, geometry);
        let (rates, occupancy) = spread(L::MODEL, n, geometry);
        for keys in Keys::all() {
            let context = format!("{} at {load} %, {keys:?} keys", L::KIND);
            let measured = measure::<L>(geometry, keys, n, samples(125_000));
            let off = deviations(&measured, p, rates);
            assert!(off <= SIGMAS, "{context}: measured {}, expected {p}: {off:.1} sigmas", measured.share);

            // By their own bits the filters know their rates: only the queries scatter around them.
            let own = mean(&measured.rates);
            let sigma = (own * (1.0 - own) / measured.queries).sqrt();
            let off = (measured.share - own).abs() / sigma;
            assert!(off <= SIGMAS, "{context}: measured {}, by the bits {own}: {off:.1} sigmas", measured.share);
            // And they scatter around the formula by their own variance alone, which is a far narrower bound.
            let off = (own - p).abs() / (rates.variance / SEEDS.len() as f64).sqrt();
            assert!(off <= SIGMAS, "{context}: by the bits {own}, expected {p}: {off:.1} sigmas");

            let set = L::MODEL.occupancy(n as u64, geometry);
            for &seen in &measured.occupancies {
                let off = (seen - set).abs() / occupancy.variance.sqrt();
                assert!(off <= SIGMAS, "{context}: occupancy {seen}, expected {set}: {off:.1} sigmas");
            }
        }
    }
}

/// The bound is no formality: formulas that are not the layout's own are outside of it, by the same data.
fn wrong_formulas_are_rejected<L: Layout>() {
    let geometry = geometry::<L>();
    let (rates, _) = spread(L::MODEL, KEYS, geometry);
    // Not lessened for slow machines: what must be seen needs them.
    let measured = measure::<L>(geometry, Keys::Random, KEYS, 125_000);
    let own = L::MODEL.fpr(KEYS as u64, geometry);
    assert!(deviations(&measured, own, rates) <= SIGMAS);
    // A twelfth more or less than the right rate.
    let part = 1.0 / 12.0;
    for wrong in [own * (1.0 - part), own * (1.0 + part)] {
        assert!(deviations(&measured, wrong, rates) > SIGMAS, "{} for {own}", L::KIND);
    }
    match L::MODEL {
        Model::Scattered | Model::Partitioned => {}
        _ => {
            // The classic formula, with which block layouts have long been sized.
            let classic = Model::Scattered.fpr(KEYS as u64, geometry);
            let off = deviations(&measured, classic, rates);
            assert!(off > SIGMAS, "{}: {classic} passes for {own}, {off:.1} sigmas", L::KIND);
        }
    }
    if let Model::Block { block_bits, .. } = L::MODEL {
        // Blocks of unequal load, but the mean occupancy within each load: too low by little, and only the filters' own
        // rates are sharp enough to show it.
        let blocks = (geometry.bits / u64::from(block_bits)) as f64;
        let load = KEYS as f64 / blocks;
        let k = geometry.k as i32;
        let at = |i: usize| (1.0 - (1.0 - 1.0 / f64::from(block_bits)).powi(k * i as i32)).powi(k);
        let usual = over_cells(blocks, load, |i| (at(i), 0.0), (load + 12.0 * load.sqrt() + 20.0) as usize).mean;
        let off = (mean(&measured.rates) - usual).abs() / (rates.variance / SEEDS.len() as f64).sqrt();
        if block_bits == 64 {
            assert!(off > SIGMAS, "{}: {usual} passes for {own}, {off:.1} sigmas", L::KIND);
        }
    }
}

/// The variance between filters, which the bound stands on, is what many filters show; and so is the formula, recomputed
/// here in another way.
fn the_spread_is_right<L: Layout>() {
    let filters = samples(400).max(60);
    let keys = 4000;
    let geometry = L::MODEL.size_for_fpr(keys as u64, 0.01).expect("a size");
    let (rates, occupancy) = spread(L::MODEL, keys, geometry);
    let mut filter = Filter::<L>::builder(1).geometry(geometry).build().expect("a valid geometry");
    let (mut own, mut set) = (vec![], vec![]);
    for seed in 0..filters as u64 {
        filter.clear();
        filter.insert_batch(&Keys::Random.digests(1000 + seed, keys));
        own.push(filter.current_fpr());
        set.push(filter.occupancy());
    }
    let formula = L::MODEL.fpr(keys as u64, geometry);
    // Poisson loads for binomial ones, and the first order for all: within a few thousandths.
    assert!((rates.mean / formula - 1.0).abs() < 5e-3, "{}: {} for {formula}", L::KIND, rates.mean);
    for (seen, expected) in [(own, rates), (set, occupancy)] {
        let ratio = variance_of_mean(&seen) * filters as f64 / expected.variance;
        // Of a variance estimated from f filters the standard deviation is √(2/f) of it, more when the tails are heavy.
        let allowed = 6.0 * (2.0 / filters as f64).sqrt();
        assert!((ratio - 1.0).abs() < allowed, "{}: the variance is {ratio:.3} times the theory's", L::KIND);
    }
}

/// Filters of 10 to 1,000 keys, many of them. Probes that depend on each other show here first, and the more the lower
/// the rate.
fn small_filters<L: Layout>(target: f64) {
    for (n, filters) in [(10, 3000), (20, 3000), (100, 1500), (1000, 400)] {
        let (filters, queries) = (samples(filters), 500);
        let geometry = L::MODEL.size_for_fpr(n as u64, target).expect("a size");
        let p = L::MODEL.fpr(n as u64, geometry);
        assert!(p <= target);
        let mut filter = Filter::<L>::builder(n as u64).geometry(geometry).build().expect("a valid geometry");
        for keys in [Keys::Sequential, Keys::Random, Keys::Words] {
            let (mut shares, mut own) = (vec![], vec![]);
            for seed in 1..=filters as u64 {
                let digests = keys.digests(seed, n + queries);
                let (members, strangers) = digests.split_at(n);
                filter.clear();
                filter.insert_batch(members);
                assert_eq!(positives(&filter, members), n, "{}: a member is absent", L::KIND);
                shares.push(positives(&filter, strangers) as f64 / queries as f64);
                own.push(filter.current_fpr());
            }
            let queries = (filters * queries) as f64;
            for (what, seen, queries) in [("measured", shares, queries), ("by the bits", own, f64::INFINITY)] {
                // No less than what the queries alone scatter: where hardly any is positive, all shares may be equal.
                let variance = variance_of_mean(&seen).max(p * (1.0 - p) / queries);
                let off = (mean(&seen) - p).abs() / variance.sqrt();
                let mean = mean(&seen);
                assert!(off <= SIGMAS, "{} for {n} {keys:?}: {what} {mean}, expected {p}: {off:.1} sigmas", L::KIND);
            }
        }
    }
}

/// A million keys at three rates: what the layout's own sizing promises is what it keeps.
fn a_million_keys<L: Layout>() {
    let n = 1_000_000;
    let queries = samples(1_000_000);
    for keys in [Keys::Sequential, Keys::Words] {
        let digests = keys.digests(99, n + queries);
        let (members, strangers) = digests.split_at(n);
        for target in [0.1, 0.01, 0.001] {
            let mut filter = Filter::<L>::builder(n as u64).fpr(target).build().expect("a filter");
            filter.insert_batch(members);
            assert_eq!(positives(&filter, members), n, "{}: a member is absent", L::KIND);
            let share = positives(&filter, strangers) as f64 / queries as f64;
            let p = filter.design().fpr;
            assert!(p <= target, "{}: sized for {target}, expects {p}", L::KIND);
            let (rates, _) = spread(L::MODEL, n, filter.geometry());
            let off = (share - p).abs() / (p * (1.0 - p) / queries as f64 + rates.variance).sqrt();
            assert!(off <= SIGMAS, "{} {keys:?}: measured {share}, expected {p}: {off:.1} sigmas", L::KIND);
            // The same target with a tenth of the queries has an error of a tenth of its own.
            let slack = if small() { 1.4 } else { 1.15 };
            assert!(share <= slack * target, "{} {keys:?}: measured {share}, asked for {target}", L::KIND);
        }
    }
}

/// The estimate of the number of keys, from a tenth of the design load to three times it.
fn cardinality_is_estimated<L: Layout>() {
    let geometry = geometry::<L>();
    for load in [10, 50, 100, 150, 200, 300] {
        let n = KEYS * load / 100;
        let (_, occupancy) = spread(L::MODEL, n, geometry);
        let at = |n: usize| L::MODEL.occupancy(n as u64, geometry);
        let slope = (at(n + n / 100) - at(n - n / 100)) / (2 * (n / 100)) as f64;
        let sigma = occupancy.variance.sqrt() / slope;
        if L::MODEL == Model::Scattered {
            // The standard error that the documentation of `Model::cardinality` gives.
            let (m, k) = (geometry.bits as f64, f64::from(geometry.k));
            let rho = k * n as f64 / m;
            let documented = (m * (rho.exp() - 1.0 - rho)).sqrt() / k;
            assert!((sigma / documented - 1.0).abs() < 0.01, "{sigma} keys, documented {documented}");
        }
        let measured = measure::<L>(geometry, Keys::Sequential, n, 64);
        for &estimate in &measured.estimates {
            let off = (estimate - n as f64).abs() / sigma;
            assert!(off <= SIGMAS, "{} at {load} %: {estimate} for {n}: {off:.1} sigmas", L::KIND);
        }
        let off = (mean(&measured.estimates) - n as f64).abs() / sigma * (SEEDS.len() as f64).sqrt();
        assert!(off <= SIGMAS, "{} at {load} %: {off:.1} sigmas off on average", L::KIND);
    }
}

/// A filter knows when it holds more than it was sized for.
fn past_design<L: Layout>() {
    for (n, percent) in [(200, 40), (KEYS, 5)] {
        let digests = Keys::Words.digests(7, n + n * percent / 100);
        let mut filter = Filter::<L>::builder(n as u64).build().expect("a filter");
        assert!(!filter.is_past_design());
        assert_eq!((filter.occupancy(), filter.current_fpr(), filter.estimated_cardinality()), (0.0, 0.0, 0.0));
        filter.insert_batch(&digests[..n - n * percent / 100]);
        assert!(!filter.is_past_design(), "{} with {percent} % of {n} to go", L::KIND);
        assert!(filter.current_fpr() < filter.design().fpr);
        filter.insert_batch(&digests);
        assert!(filter.is_past_design(), "{} with {percent} % over {n}", L::KIND);
        assert!(filter.current_fpr() > filter.design().fpr);
        assert_eq!(filter.design().keys, n as u64);
    }
    // With exactly its keys the estimate lies above them as often as below, and that alone says nothing.
    for seed in SEEDS {
        let mut filter = Filter::<L>::builder(KEYS as u64).build().expect("a filter");
        filter.insert_batch(&Keys::Random.digests(seed, KEYS));
        assert!(!filter.is_past_design(), "{}: {} of {KEYS}", L::KIND, filter.estimated_cardinality());
    }
}

/// A filter without a zero bit says "maybe" to everything and any number of keys.
fn full<L: Layout>() {
    let k = L::MODEL.max_k();
    let geometry = Geometry { bits: L::MODEL.unit_bits(k), k };
    let mut filter = Filter::<L>::builder(1).geometry(geometry).build().expect("a valid geometry");
    filter.insert_batch(&Random(1).take(20_000).map(Digest).collect::<Vec<_>>());
    assert_eq!(filter.occupancy(), 1.0);
    assert_eq!(filter.current_fpr(), 1.0);
    assert_eq!(filter.estimated_cardinality(), f64::INFINITY);
    assert!(filter.is_past_design());
    assert!(filter.contains("anything"));
}

macro_rules! stamp {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
        mod $name {
            use bloomline::$Layout;

            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn measured_is_expected() {
                super::measured_is_expected::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn wrong_formulas_are_rejected() {
                super::wrong_formulas_are_rejected::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn the_spread_is_right() {
                super::the_spread_is_right::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn small_filters() {
                super::small_filters::<$Layout>(0.01);
            }
            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn small_filters_of_low_rates() {
                super::small_filters::<$Layout>(0.000_1);
            }
            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn a_million_keys() {
                super::a_million_keys::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn cardinality_is_estimated() {
                super::cardinality_is_estimated::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "statistics")]
            fn past_design() {
                super::past_design::<$Layout>();
            }
            #[test]
            fn full() {
                super::full::<$Layout>();
            }
        }
    )* };
}
for_each_layout!(stamp);
