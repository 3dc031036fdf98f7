//! A memory budget over the levels of a tree.

use crate::sizing::{Geometry, Model};
use alloc::{vec, vec::Vec};

/// What a level of the tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelKeys {
    /// Keys of the level, in all its runs.
    pub keys: u64,
    /// Runs that a lookup has to ask, each with a filter of its own: 1 in a leveled tree, more in a tiered one.
    pub runs: u64,
}

/// What the filters of a level get.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LevelBudget {
    /// The filter of each run; `None` where the level is better off without one.
    pub geometry: Option<Geometry>,
    /// Bits of all its filters.
    pub bits: u64,
    /// Bits for each key.
    pub bits_per_key: f64,
    /// Expected false positive rate of each; 1 without a filter.
    pub fpr: f64,
}

/// A budget shared out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BudgetPlan {
    /// In the order of the levels.
    pub levels: Vec<LevelBudget>,
    /// Bits of all filters: at most the budget.
    pub bits: u64,
    /// Segment reads in vain that a lookup of an absent key costs on average: Σ runs · rate.
    pub wasted_reads: f64,
    /// The same if every level had the same number of bits for each key.
    pub uniform_wasted_reads: f64,
}

/// Steps of a quarter of a bit, up to 48 bits for each key.
const STEPS: u32 = 4 * 48;
const BITS_PER_STEP: f64 = 0.25;

/// Beyond so many keys of a run the rate at so many bits per key no longer moves.
const LARGE: u64 = 1 << 18;

/// Shares out `budget` bits such that lookups of absent keys read as few segments in vain as possible: large levels get
/// fewer bits for each key, since one bit there costs most and a wasted read is the same anywhere (Dayan, Athanassoulis
/// and Idreos 2017, "Monkey: Optimal Navigable Key-Value Store", SIGMOD). Their closed form is for the classic formula and
/// any number of bits; here each layout's own formula is followed, in whole filters.
///
/// Every level climbs the convex hull of its own curve of rates; the next quarter of a bit goes where it saves most for
/// each bit of memory, until the budget is spent. What a level can't use whole goes to the next in line.
///
/// ```
/// use bloomline::{gate::{LevelKeys, share_budget}, sizing::Model};
///
/// let tree = [1_000_000, 10_000_000, 100_000_000].map(|keys| LevelKeys { keys, runs: 1 });
/// let budget = 10 * 111_000_000; // ten bits for each key
/// let plan = share_budget(Model::Block { block_bits: 512, max_k: 16 }, &tree, budget);
/// assert!(plan.bits <= budget);
/// assert!(plan.levels[0].bits_per_key > plan.levels[2].bits_per_key);
/// assert!(plan.wasted_reads < 0.6 * plan.uniform_wasted_reads);
/// ```
pub fn share_budget(model: Model, levels: &[LevelKeys], budget: u64) -> BudgetPlan {
    let mut curves: Vec<(u64, Vec<f64>)> = Vec::new();
    // Segments of all hulls: (saved reads for each bit of memory, level, bits per key at its end).
    let mut climbs: Vec<(f64, usize, f64)> = Vec::new();
    for (l, level) in levels.iter().enumerate().filter(|(_, level)| level.keys > 0) {
        let of = run_keys(level).min(LARGE);
        let curve = match curves.iter().position(|(keys, _)| *keys == of) {
            Some(at) => at,
            None => {
                curves.push((of, curve(model, of)));
                curves.len() - 1
            }
        };
        for (to, slope) in hull(&curves[curve].1) {
            climbs.push((slope * level.runs.max(1) as f64 / level.keys as f64, l, f64::from(to) * BITS_PER_STEP));
        }
    }
    climbs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.total_cmp(&b.2)));

    let mut at = vec![0.0; levels.len()];
    let mut left = budget as f64;
    let mut full = vec![false; levels.len()];
    for (_, l, to) in climbs {
        let cost = (to - at[l]) * levels[l].keys as f64;
        if full[l] || cost <= 0.0 {
            continue;
        }
        if cost <= left {
            left -= cost;
            at[l] = to;
        } else {
            // The last bits go as far as they do here; smaller levels may still climb whole steps.
            full[l] = true;
        }
    }
    // What is left: all of it where it saves most.
    let best = (0..levels.len())
        .filter(|&l| levels[l].keys > 0)
        .map(|l| {
            let more = at[l] + left / levels[l].keys as f64;
            let reads = |bits| levels[l].runs.max(1) as f64 * sized(model, &levels[l], bits).fpr;
            (reads(at[l]) - reads(more), l, more)
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, l, more)) = best.filter(|(saved, ..)| *saved > 0.0) {
        at[l] = more;
    }

    let plan = |bits_per_key: &dyn Fn(usize) -> f64| -> (Vec<LevelBudget>, f64) {
        let plans: Vec<_> = (0..levels.len()).map(|l| sized(model, &levels[l], bits_per_key(l))).collect();
        let reads = plans.iter().zip(levels).filter(|(_, level)| level.keys > 0);
        let reads = reads.map(|(plan, level)| level.runs.max(1) as f64 * plan.fpr).sum();
        (plans, reads)
    };
    let keys: u128 = levels.iter().map(|level| u128::from(level.keys)).sum();
    let even = if keys == 0 { 0.0 } else { budget as f64 / keys as f64 };
    let (uniform, uniform_wasted_reads) = plan(&|_| even);
    let (shared, shared_reads) = plan(&|l| at[l]);
    let sum = |plans: &[LevelBudget]| plans.iter().fold(0u64, |sum, plan| sum.saturating_add(plan.bits));
    // Rounding to whole filters can make the even split the better one, in trees of a few keys.
    let (levels, wasted_reads) = match shared_reads <= uniform_wasted_reads && sum(&shared) <= budget {
        true => (shared, shared_reads),
        false => (uniform, uniform_wasted_reads),
    };
    BudgetPlan { bits: sum(&levels), levels, wasted_reads, uniform_wasted_reads }
}

/// Keys of the largest run of a level.
fn run_keys(level: &LevelKeys) -> u64 {
    level.keys.div_ceil(level.runs.max(1))
}

/// The filters of a level that has so many bits for each key: as many as fit.
fn sized(model: Model, level: &LevelKeys, bits_per_key: f64) -> LevelBudget {
    let none = LevelBudget { geometry: None, bits: 0, bits_per_key: 0.0, fpr: if level.keys == 0 { 0.0 } else { 1.0 } };
    let (keys, runs) = (run_keys(level), level.runs.max(1));
    // Runs share the level's bits evenly.
    let bits = bits_per_key * level.keys as f64 / runs as f64;
    let Ok(geometry) = model.size_for_bits_per_key(keys, bits / keys as f64) else { return none };
    let fpr = model.fpr(keys, geometry);
    if fpr >= 1.0 {
        return none;
    }
    let bits = geometry.bits.saturating_mul(runs);
    LevelBudget { geometry: Some(geometry), bits, bits_per_key: bits as f64 / level.keys as f64, fpr }
}

/// Rates at 0, ¼, ½, … bits for each of `keys` keys.
fn curve(model: Model, keys: u64) -> Vec<f64> {
    let level = LevelKeys { keys, runs: 1 };
    (0..=STEPS).map(|step| sized(model, &level, f64::from(step) * BITS_PER_STEP).fpr).collect()
}

/// The lower convex hull of a curve: (next corner, what each bit for each key saves on the way to it), steepest first.
fn hull(curve: &[f64]) -> Vec<(u32, f64)> {
    let mut corners: Vec<u32> = Vec::new();
    let slope = |a: u32, b: u32| (curve[a as usize] - curve[b as usize]) / (f64::from(b - a) * BITS_PER_STEP);
    for next in 0..curve.len() as u32 {
        while let [.., a, b] = corners[..] {
            if slope(a, b) > slope(b, next) {
                break;
            }
            corners.pop();
        }
        corners.push(next);
    }
    corners.windows(2).map(|pair| (pair[1], slope(pair[0], pair[1]))).filter(|(_, slope)| *slope > 0.0).collect()
}
