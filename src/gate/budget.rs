//! Memory for the filters of a tree, shared out over its levels so that the fewest reads are wasted.

use super::steps::{Step, Steps};
use crate::{
    error::BudgetError,
    sizing::{Geometry, Model},
};
use alloc::{vec, vec::Vec};

/// The most levels of a tree.
const MAX_LEVELS: usize = 64;
/// Partial plans that a search keeps from level to level; between searches, the steps around the best plan are cut in
/// four. The first plan has only to be near: the next ones are pruned by it.
///
/// On 900 random trees of 2 or 3 small levels and 360 of 4 or 5, searches of 16 missed the best plan by 7e-6 at most,
/// and searches of 4 once by 2 %. Levels of little memory under layouts of a fixed number of probes, whose curves bend
/// most, need more: 64 missed the best of a grid by 2e-4, where 128 did not.
const WIDTHS: [usize; 4] = [1, 128, 128, 128];
/// A plan that would be better by less than this share is not looked for.
const TOLERANCE: f64 = 1e-5;

/// A level of an LSM tree.
///
/// ```
/// use bloomline::gate::TreeLevel;
///
/// assert_eq!(TreeLevel::new(1_000_000), TreeLevel { keys: 1_000_000, runs: 1 });
/// assert_eq!(TreeLevel::new(1_000_000).with_runs(4).runs, 4); // of 250,000 keys each
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeLevel {
    /// Keys of the level, all its runs together.
    pub keys: u64,
    /// Sorted runs that a lookup must search: 1 when levelled, whatever the number of files; up to the size ratio when
    /// tiered. The keys are spread evenly, ⌈keys/runs⌉ to a run, and no run is empty: more runs than keys count as many
    /// as there are keys.
    pub runs: u64,
}

impl TreeLevel {
    /// A level of one run.
    pub const fn new(keys: u64) -> Self {
        Self { keys, runs: 1 }
    }

    /// The same keys in so many runs.
    pub const fn with_runs(self, runs: u64) -> Self {
        Self { keys: self.keys, runs }
    }

    /// Runs, and keys of one; `None` where there are none.
    fn split(self) -> Option<(u64, u64)> {
        let runs = self.runs.min(self.keys);
        (runs > 0).then(|| (runs, self.keys.div_ceil(runs)))
    }
}

/// What one level gets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LevelPlan {
    /// The filter of each of its runs; `None`: no filter.
    pub geometry: Option<Geometry>,
    /// Bits of the level, all its runs together.
    pub bits: u64,
    /// Bits of a run's filter for each of its keys; 0 without a filter.
    pub bits_per_key: f64,
    /// Expected rate of false positives of one run: 1 without a filter, 0 where there is no run to read.
    pub fpr: f64,
}

/// A spread of memory over the levels of a tree: [`share_budget`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BudgetPlan {
    /// The levels, in the order in which they were given.
    pub levels: Vec<LevelPlan>,
    /// Bits of all filters, at most the budget.
    pub bits: u64,
    /// Expected reads that a lookup of an absent key wastes: Σ runs·fpr.
    pub wasted_reads: f64,
    /// The same if every key, of whatever level, got the same number of bits, as far as whole units allow and up to the
    /// digest floor.
    pub uniform_wasted_reads: f64,
}

/// Spreads `bits` of filter memory over the levels of a tree so that a lookup of an absent key wastes the fewest reads,
/// Σ runs·fpr.
///
/// A bit buys more in a small level, which few keys share: levels get rates in proportion to their keys, and the largest
/// may get no filter at all (Dayan, Athanassoulis and Idreos 2017, "Monkey: Optimal Navigable Key-Value Store", SIGMOD,
/// doi:10.1145/3035918.3064054). Their closed form, p ∝ keys of a run, clamped at 1, holds for the classic layout and
/// sizes that are no whole numbers. Here every rate is that of a filter as it would be built, by the layout's own
/// formula, with the best number of probes and whole units.
///
/// The plan never exceeds the budget, never wastes more reads than the uniform spread, and where the budget buys no
/// filter it has none. No level grows beyond the digest floor ([`crate::sizing::DIGEST_FLOOR`]): bits that would do
/// nothing are not spent.
///
/// Method: each level has a list of sizes. Level after level, the 128 partial plans with the best lower bound are kept,
/// the bound being what the levels to come would waste if sizes between those on the convex hull of their lists could be
/// had (the linear relaxation of the multiple-choice knapsack: Sinha and Zoltners 1979, Operations Research 27(3)). Then
/// the lists are made finer around the plan, and what is left of the budget goes where it saves most. The tests hold
/// the result to 0.1 % above the best plan found by trying all, on small trees, and on a grid, for larger ones.
///
/// The formula is evaluated at up to a hundred sizes of each level, unless the budget is far beyond use. That takes 5 to
/// 40 ms for seven levels, and about 100 ms for [`crate::Blocked`], whose formula is the slowest.
///
/// # Errors
///
/// * [`BudgetError::TooManyLevels`]: more than 64.
/// * [`BudgetError::Sizing`]: the model itself is out of range.
///
/// ```
/// use bloomline::{LayoutKind, gate::{TreeLevel, share_budget}};
///
/// let levels = [TreeLevel::new(100_000), TreeLevel::new(1_000_000), TreeLevel::new(10_000_000)];
/// let plan = share_budget(LayoutKind::Blocked.model(), &levels, 8 * 11_100_000)?; // 8 bits per key
/// assert!(plan.levels[0].bits_per_key > 15.0 && plan.levels[2].bits_per_key < 8.0);
/// assert!(plan.wasted_reads < 0.6 * plan.uniform_wasted_reads);
/// assert!(plan.bits <= 88_800_000);
/// # Ok::<(), bloomline::error::BudgetError>(())
/// ```
pub fn share_budget(model: Model, levels: &[TreeLevel], bits: u64) -> Result<BudgetPlan, BudgetError> {
    if levels.len() > MAX_LEVELS {
        return Err(BudgetError::TooManyLevels { levels: levels.len(), max: MAX_LEVELS });
    }
    model.size_for_bits_per_key(1, 1.0)?; // for trees that have nothing to size
    let mut curves = Vec::with_capacity(levels.len());
    for (runs, keys) in levels.iter().filter_map(|level| level.split()) {
        curves.push(Curve { runs, steps: Steps::new(model, keys, bits / runs)? });
    }
    let uniform = uniform(&curves, bits);
    let uniform_wasted_reads = wasted_reads(&curves, &uniform);

    let mut best = uniform;
    let mut least = uniform_wasted_reads;
    for (round, width) in WIDTHS.into_iter().enumerate() {
        if round > 0 {
            let mut finer = false;
            for (curve, &step) in curves.iter_mut().zip(&best) {
                finer |= curve.steps.refine(step);
            }
            if !finer && round > 1 {
                break;
            }
        }
        if let Some(plan) = search(&curves, bits, width, least * (1.0 - TOLERANCE)) {
            least = wasted_reads(&curves, &plan);
            best = plan;
        }
    }
    spend_rest(&curves, &mut best, bits);

    let wasted_reads = wasted_reads(&curves, &best);
    let mut filters = curves.iter().zip(&best);
    let levels: Vec<LevelPlan> = levels
        .iter()
        .map(|level| match level.split().and_then(|_| filters.next()) {
            Some((curve, step)) => LevelPlan {
                geometry: step.geometry,
                bits: curve.bits(*step),
                bits_per_key: step.bits() as f64 / curve.steps.keys() as f64,
                fpr: step.fpr,
            },
            None => LevelPlan { geometry: None, bits: 0, bits_per_key: 0.0, fpr: 0.0 },
        })
        .collect();
    let bits = levels.iter().map(|level| level.bits).sum();
    Ok(BudgetPlan { levels, bits, wasted_reads, uniform_wasted_reads })
}

/// A level that has runs.
struct Curve {
    runs: u64,
    steps: Steps,
}

impl Curve {
    /// Bits of all runs. Steps that are looked at fit the budget and so do their runs together.
    fn bits(&self, step: Step) -> u64 {
        step.bits().saturating_mul(self.runs)
    }

    fn wasted_reads(&self, step: Step) -> f64 {
        self.runs as f64 * step.fpr
    }
}

fn wasted_reads(curves: &[Curve], plan: &[Step]) -> f64 {
    // An empty sum would be -0.0.
    curves.iter().zip(plan).fold(0.0, |sum, (curve, &step)| sum + curve.wasted_reads(step))
}

/// The same bits for every key.
fn uniform(curves: &[Curve], bits: u64) -> Vec<Step> {
    let keys = |curve: &Curve| u128::from(curve.runs) * u128::from(curve.steps.keys());
    let all: u128 = curves.iter().map(keys).sum();
    let of_run = |curve: &Curve| {
        // 128 bits hold the product of two 64-bit numbers, and a run's share is at most `bits`.
        let share = u128::from(bits) * u128::from(curve.steps.keys()) / all.max(1);
        curve.steps.at_most(share as u64)
    };
    curves.iter().map(of_run).collect()
}

/// A plan of the first levels.
#[derive(Clone)]
struct Partial {
    left: u64,
    wasted: f64,
    plan: Vec<Step>,
}

/// A partial plan with one more level.
struct Next {
    from: usize,
    step: Step,
    left: u64,
    wasted: f64,
    bound: f64,
}

/// The best plan found that wastes less than `limit`: a beam search over the levels, ordered by lower bound.
fn search(curves: &[Curve], bits: u64, width: usize, limit: f64) -> Option<Vec<Step>> {
    let mut beam = vec![Partial { left: bits, wasted: 0.0, plan: Vec::with_capacity(curves.len()) }];
    for (i, curve) in curves.iter().enumerate() {
        let rest = Relaxed::new(&curves[i + 1..]);
        let is_last = i + 1 == curves.len();
        let steps = curve.steps.as_slice();
        let mut all = Vec::new();
        for (from, partial) in beam.iter().enumerate() {
            let affordable = steps.partition_point(|&step| curve.bits(step) <= partial.left);
            // Nothing comes after the last level that could use what it leaves.
            let first = if is_last { affordable - 1 } else { 0 };
            for &step in &steps[first..affordable] {
                let left = partial.left - curve.bits(step);
                let wasted = partial.wasted + curve.wasted_reads(step);
                let bound = wasted + rest.wasted_reads(left);
                if bound < limit {
                    all.push(Next { from, step, left, wasted, bound });
                }
            }
        }
        // Of two plans, one that has no more left and wastes no less is of no use.
        all.sort_unstable_by(|a, b| b.left.cmp(&a.left).then(a.wasted.total_cmp(&b.wasted)));
        let mut least = f64::INFINITY;
        all.retain(|next| {
            next.wasted < least && {
                least = next.wasted;
                true
            }
        });
        all.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        all.truncate(width);
        beam = all
            .iter()
            .map(|next| {
                let mut plan = beam[next.from].plan.clone();
                plan.push(next.step);
                Partial { left: next.left, wasted: next.wasted, plan }
            })
            .collect();
    }
    beam.into_iter().next().filter(|best| best.wasted < limit).map(|best| best.plan)
}

/// What levels waste at least: the lower convex hulls of their steps, their edges from the steepest on.
struct Relaxed {
    /// Bits, and reads that are wasted, after each edge. Falls ever less steeply.
    corners: Vec<(f64, f64)>,
}

impl Relaxed {
    fn new(curves: &[Curve]) -> Self {
        let mut edges: Vec<(f64, f64)> = curves.iter().flat_map(hull_edges).collect();
        edges.sort_by(|a, b| (b.1 / b.0).total_cmp(&(a.1 / a.0)));
        let mut at = (0.0, curves.iter().map(|curve| curve.runs as f64).sum::<f64>());
        let mut corners = vec![at];
        for (bits, saved) in edges {
            at = (at.0 + bits, at.1 - saved);
            corners.push(at);
        }
        Self { corners }
    }

    fn wasted_reads(&self, bits: u64) -> f64 {
        let bits = bits as f64;
        let after = self.corners.partition_point(|corner| corner.0 <= bits);
        let low = self.corners[after - 1]; // the first corner is at 0 bits
        match self.corners.get(after) {
            Some(high) => low.1 + (high.1 - low.1) * (bits - low.0) / (high.0 - low.0),
            None => low.1,
        }
    }
}

/// The edges of the lower convex hull of a level: bits, and reads that they save (Andrew 1979).
fn hull_edges(curve: &Curve) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &step in curve.steps.as_slice() {
        let new = (curve.bits(step) as f64, curve.wasted_reads(step));
        while let [.., a, b] = hull[..] {
            // b stays where it lies below the line from a to new.
            if (b.1 - a.1) * (new.0 - a.0) < (new.1 - a.1) * (b.0 - a.0) {
                break;
            }
            hull.pop();
        }
        hull.push(new);
    }
    hull.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[0].1 - pair[1].1)).collect()
}

/// Gives what is left of the budget to the level that it saves most in, as long as it saves anything.
fn spend_rest(curves: &[Curve], plan: &mut [Step], bits: u64) {
    for _ in 0..2 * curves.len() {
        let used: u64 = curves.iter().zip(plan.iter()).map(|(curve, &step)| curve.bits(step)).sum();
        let left = bits.saturating_sub(used);
        let mut best = (0.0, 0, Step::NO_FILTER);
        for (i, (curve, &old)) in curves.iter().zip(plan.iter()).enumerate() {
            let more = left / curve.runs;
            if more < curve.steps.unit() {
                continue;
            }
            let new = curve.steps.at_most(old.bits().saturating_add(more));
            let saved = curve.wasted_reads(old) - curve.wasted_reads(new);
            if saved > best.0 {
                best = (saved, i, new);
            }
        }
        if best.0 == 0.0 {
            break;
        }
        plan[best.1] = best.2;
    }
}
