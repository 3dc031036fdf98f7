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

    // Where a step no longer fits, its level may take a part of it and end the climb, or stay and let the others go on:
    // every such end is a candidate.
    let mut candidates: Vec<Vec<f64>> = Vec::new();
    let mut at = vec![0.0; levels.len()];
    let mut left = budget as f64;
    let mut full = vec![false; levels.len()];
    for (_, l, to) in climbs {
        let keys = levels[l].keys as f64;
        let cost = (to - at[l]) * keys;
        if full[l] {
            continue;
        }
        if cost <= left {
            left -= cost;
            at[l] = to;
        } else {
            let mut end = at.clone();
            end[l] += left / keys;
            candidates.push(end);
            full[l] = true;
        }
    }
    candidates.push(at);
    for at in &mut candidates {
        let reads = |l: usize, bits: f64| {
            let level = &levels[l];
            let of = run_keys(level).min(LARGE);
            let curve = curves.iter().find(|(keys, _)| *keys == of).map_or(&[][..], |(_, curve)| curve);
            level.runs.max(1) as f64 * read_off(curve, bits / level.keys as f64)
        };
        trade(levels, budget, at, reads);
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
    let sum = |plans: &[LevelBudget]| plans.iter().fold(0u64, |sum, plan| sum.saturating_add(plan.bits));
    // The even split is a candidate too: in trees of a few keys, rounding to whole filters can make it the best.
    let shared = candidates.iter().map(|at| plan(&|l| at[l])).filter(|(plans, _)| sum(plans) <= budget);
    let even = core::iter::once((uniform, uniform_wasted_reads));
    let best = shared.chain(even).min_by(|a, b| a.1.total_cmp(&b.1));
    let (levels, wasted_reads) = best.unwrap_or_default();
    BudgetPlan { bits: sum(&levels), levels, wasted_reads, uniform_wasted_reads }
}

/// Moves bits from level to level while that saves reads: where curves are not convex, the climb over their hulls ends
/// between corners. `reads` are those of a level with so many bits.
fn trade(levels: &[LevelKeys], budget: u64, at: &mut [f64], reads: impl Fn(usize, f64) -> f64) {
    let bits = |at: &[f64], l: usize| at[l] * levels[l].keys as f64;
    let pairs = || (0..levels.len()).flat_map(|i| (0..levels.len()).map(move |j| (i, j)));
    let used: f64 = (0..levels.len()).map(|l| bits(at, l)).sum();
    let mut spare = budget as f64 - used;
    // From large to small amounts; twice, since a small trade can open the way for a large one.
    for amount in (1..=12).chain(1..=12).map(|halvings| budget as f64 / f64::from(1 << halvings)) {
        for (from, to) in pairs().filter(|&(i, j)| levels[i].keys > 0 && levels[j].keys > 0) {
            // A level may also give what was spared.
            let given = if from == to { spare.min(amount) } else { bits(at, from).min(amount) };
            if given <= 0.0 {
                continue;
            }
            let (has, gets) = (bits(at, from), bits(at, to));
            let gain = reads(to, gets) - reads(to, gets + given);
            let loss = if from == to { 0.0 } else { reads(from, has - given) - reads(from, has) };
            if gain > loss * (1.0 + 1e-9) + 1e-300 {
                match from == to {
                    true => spare -= given,
                    false => at[from] = (has - given) / levels[from].keys as f64,
                }
                at[to] = (gets + given) / levels[to].keys as f64;
            }
        }
    }
}

/// A rate between two points of a curve.
fn read_off(curve: &[f64], bits_per_key: f64) -> f64 {
    let step = bits_per_key / BITS_PER_STEP;
    let low = step as usize; // saturates
    match (curve.get(low), curve.get(low + 1)) {
        (Some(a), Some(b)) => a + (b - a) * (step - low as f64),
        _ => curve.last().copied().unwrap_or(1.0),
    }
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
    let whole = geometry.bits.saturating_mul(runs);
    // The smallest filter may be larger than that.
    if fpr >= 1.0 || whole as f64 > bits_per_key * level.keys as f64 {
        return none;
    }
    let bits = whole;
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
