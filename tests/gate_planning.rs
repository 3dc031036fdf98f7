//! Counters, economics and budgets, against counting by hand and brute force.

use bloomline::{
    Contains, Digest, Filter, LayoutKind, SplitBlock,
    error::{BudgetError, EconomicsError, SizingError},
    gate::{
        BudgetPlan, Count, Counted, CounterSnapshot, Counters, Economics, SegmentPolicy, Segments, TreeLevel,
        share_budget,
    },
    hash::Xxh3,
    sizing::{DIGEST_FLOOR, Model, classic_bits_per_key},
};
use std::sync::Arc;

#[test]
fn nothing_is_lost_between_threads() {
    let counters = Counters::default();
    std::thread::scope(|scope| {
        for thread in 1..=20u64 {
            let counters = &counters;
            scope.spawn(move || {
                for _ in 0..1_000 {
                    counters.record(100 * thread, 10 * thread);
                    counters.report_false(thread);
                    let seen = counters.snapshot(); // never panics, whatever is half counted
                    assert!(seen.negatives() <= seen.probes && (seen.observed_fpr() >= 0.0 || seen.probes == 0));
                }
            });
        }
    });
    let expected = CounterSnapshot { probes: 21_000_000, positives: 2_100_000, false_positives: 210_000 };
    assert_eq!(counters.snapshot(), expected);
}

#[test]
fn intervals_hold_what_they_should() {
    let seen = |probes, positives, false_positives| CounterSnapshot { probes, positives, false_positives };
    assert_eq!(seen(0, 0, 0).fpr_interval(), (0.0, 1.0));
    assert!(seen(0, 0, 0).observed_fpr().is_nan());
    // 10 of 1,000: Wilson's interval is 0.545 % to 1.831 %.
    let (low, high) = seen(1_000, 10, 10).fpr_interval();
    assert!((low - 0.005_447).abs() < 1e-5 && (high - 0.018_311).abs() < 1e-5, "{low} {high}");
    assert!(seen(1_000, 10, 10).agrees_with(0.01) && !seen(1_000, 10, 10).agrees_with(0.03));
    // None of 1,000: the interval begins at 0 and does not end there.
    let (low, high) = seen(1_000, 0, 0).fpr_interval();
    assert!(low < 1e-12 && (0.003..0.005).contains(&high), "{low} {high}");
    // Reports that came before the lookups they are about, and more of them than there are.
    let odd = seen(5, 9, 30);
    assert_eq!((odd.negatives(), odd.true_positives()), (0, 0));
    assert!(odd.fpr_interval().1 <= 1.0);
}

#[test]
fn gates_count_what_they_answer() {
    let policy = SegmentPolicy::new(LayoutKind::SplitBlock, Xxh3::default());
    let filters = (0..70u64).map(|segment| {
        let mut builder = policy.builder();
        (0..50).for_each(|key| builder.add_key(&(segment * 50 + key).to_le_bytes()));
        Arc::new(policy.open(builder.finish().expect("a size")).expect("a filter"))
    });
    let counters = Arc::new(Counters::default());
    let segments = Segments::new(filters.collect::<Vec<_>>()).with_counters(counters.clone());
    let keys: Vec<[u8; 8]> = (0..1_000u64).map(u64::to_le_bytes).collect();
    let mut positives = 0;
    for key in &keys {
        let mut out = [0; 3];
        segments.contains(key, &mut out).expect("room");
        positives += out.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
    }
    assert!(positives >= 1_000);
    let once = CounterSnapshot { probes: 70_000, positives, false_positives: 0 };
    assert_eq!(counters.snapshot(), once);
    let mut out = vec![u64::MAX; 70 * 16 + 5];
    segments.contains_batch(&keys, &mut out).expect("room");
    assert_eq!(counters.snapshot(), CounterSnapshot { probes: 140_000, positives: 2 * positives, false_positives: 0 });
    assert!(segments.contains_batch(&keys, &mut [0]).is_err());
    assert_eq!(counters.snapshot().probes, 140_000, "a refused call counts nothing");

    let mut filter = Filter::<SplitBlock>::builder(100).build().expect("a filter");
    filter.insert("in");
    let gate = Counted::new(filter, Counters::default());
    assert!(gate.contains_bytes(b"in"));
    let digests: Vec<Digest> = (0..130u64).map(|i| Digest(i << 40)).collect();
    let mut out = [u64::MAX; 4];
    gate.contains_batch(&digests, &mut out).expect("room");
    let hits: u32 = out[..3].iter().map(|word| word.count_ones()).sum();
    let expected = CounterSnapshot { probes: 131, positives: 1 + u64::from(hits), false_positives: 0 };
    assert_eq!(gate.counters().snapshot(), expected);
    ().record(1, 1); // counts nothing
}

/// All layouts; under emulation, where the mathematics takes minutes and shows nothing new, two.
fn kinds() -> impl Iterator<Item = LayoutKind> {
    let all = LayoutKind::ALL.iter().copied();
    all.take(if is_small() { 2 } else { LayoutKind::ALL.len() })
}

fn models() -> impl Iterator<Item = Model> {
    kinds().map(LayoutKind::model)
}

#[test]
fn a_filter_earns_what_the_formula_says() {
    let segment = Economics::new(0.5, 10_000.0, 100.0).expect("costs");
    assert_eq!(segment.benefit(0.01, 0.0), 5_000.0 - 100.0 - 50.0);
    assert_eq!(segment.benefit(0.01, 10.0), 4_840.0);
    // At the break-even share there is nothing to win or to lose.
    for (fpr, memory) in [(0.01, 0.0), (0.2, 30.0), (0.5, 0.0)] {
        let share = segment.break_even(fpr, memory);
        let even = Economics::new(share, 10_000.0, 100.0).expect("costs");
        assert!(even.benefit(fpr, memory).abs() < 1e-9, "{}", even.benefit(fpr, memory));
    }
    for share in [-0.1, 1.1, f64::NAN] {
        assert!(matches!(Economics::new(share, 1.0, 1.0), Err(EconomicsError::Share { .. })));
    }
    for cost in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Economics::new(0.5, cost, 1.0), Err(EconomicsError::Cost { what: "avoided read", .. })));
        assert!(matches!(Economics::new(0.5, 1.0, cost), Err(EconomicsError::Cost { what: "probe", .. })));
        assert!(segment.best_bits_per_key(Model::Scattered, 10, cost).is_err());
    }
    assert!(matches!(segment.best_bits_per_key(Model::Scattered, 0, 0.0), Err(EconomicsError::Sizing(_))));
}

#[test]
fn the_best_size_is_the_best() {
    for model in models() {
        for (keys, byte_ns) in [(100_000, 1e-6), (1_000_000, 1e-5), (5_000, 1e-3), (1_000_000, 1e-8)] {
            let segment = Economics::new(0.8, 50_000.0, 50.0).expect("costs");
            let best = segment.best_bits_per_key(model, keys, byte_ns).expect("a size");
            // Every size on a grid that the search does not use.
            for i in 1..2_000 {
                let Ok(g) = model.size_for_bits_per_key(keys, f64::from(i) * 0.031) else { continue };
                let cost = 50.0 + 0.8 * 50_000.0 * model.fpr(keys, g) + g.bits as f64 / 8.0 * byte_ns;
                assert!(best.cost_ns <= cost * 1.002, "{model:?}, {keys} keys: {best:?}, but {g:?} costs {cost}");
            }
        }
        // A filter that can never pay: memory is dear, or there is nothing to avoid.
        let segment = Economics::new(0.001, 100.0, 50.0).expect("costs");
        let best = segment.best_bits_per_key(model, 1_000, 0.0).expect("a size");
        assert_eq!((best.geometry, best.fpr, best.bits_per_key), (None, 1.0, 0.0));
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): a stream for each seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// In `low` ..= `high`.
    fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }
}

fn keys(levels: &[TreeLevel]) -> u64 {
    levels.iter().map(|level| level.keys).sum()
}

/// What must hold of every plan.
fn check(model: Model, levels: &[TreeLevel], budget: u64, plan: &BudgetPlan) {
    let context = format!("{model:?}, {levels:?}, {budget} bits: {plan:?}");
    assert_eq!(plan.levels.len(), levels.len(), "{context}");
    assert!(plan.bits <= budget, "{context}");
    assert!(plan.wasted_reads <= plan.uniform_wasted_reads, "{context}");
    let (mut bits, mut wasted) = (0, 0.0);
    for (level, got) in levels.iter().zip(&plan.levels) {
        let runs = level.runs.min(level.keys);
        let Some(keys) = level.keys.checked_div(runs).map(|_| level.keys.div_ceil(runs)) else {
            assert_eq!((got.geometry, got.bits, got.bits_per_key, got.fpr), (None, 0, 0.0, 0.0), "{context}");
            continue;
        };
        match got.geometry {
            Some(g) => {
                model.validate(g).expect("a geometry of the model");
                assert_eq!((got.bits, got.fpr), (g.bits * runs, model.fpr(keys, g)), "{context}");
                assert_eq!(got.bits_per_key, g.bits as f64 / keys as f64, "{context}");
                assert!(got.fpr < 1.0, "{context}");
            }
            None => assert_eq!((got.bits, got.bits_per_key, got.fpr), (0, 0.0, 1.0), "{context}"),
        }
        // Nothing is left that would help this level, unless its rate is as low as digests let it be.
        let more = (got.bits / runs).saturating_add((budget - plan.bits) / runs) / 8;
        if got.fpr > keys as f64 * DIGEST_FLOOR {
            let larger = model.size_for_bytes(keys, more);
            assert!(!larger.is_ok_and(|g| model.fpr(keys, g) < got.fpr), "{larger:?}, {context}");
        }
        bits += got.bits;
        wasted += runs as f64 * got.fpr;
    }
    assert_eq!(bits, plan.bits, "{context}");
    assert!((wasted - plan.wasted_reads).abs() <= 1e-12 * wasted, "{context}");
}

/// (bits of all runs, wasted reads) for filters of 0, 1, 2, … times `stride` bytes, as far as the budget goes.
fn curve(model: Model, level: TreeLevel, stride: u64, budget: u64) -> Vec<(u64, f64)> {
    let keys = level.keys.div_ceil(level.runs);
    let mut points = vec![(0, level.runs as f64)];
    for bytes in (1..).map(|i| i * stride) {
        if bytes * 8 * level.runs > budget {
            return points;
        }
        let Ok(g) = model.size_for_bytes(keys, bytes) else { continue };
        points.push((g.bits * level.runs, level.runs as f64 * model.fpr(keys, g)));
    }
    unreachable!()
}

/// The least that any choice of one point of each curve wastes.
fn brute_force(curves: &[Vec<(u64, f64)>], budget: u64) -> f64 {
    let Some((first, rest)) = curves.split_first() else { return 0.0 };
    let affordable = first.iter().filter(|point| point.0 <= budget);
    if rest.is_empty() {
        return affordable.map(|point| point.1).fold(f64::INFINITY, f64::min);
    }
    affordable.map(|&(bits, wasted)| wasted + brute_force(rest, budget - bits)).fold(f64::INFINITY, f64::min)
}

#[test]
fn small_trees_get_the_best_plan_of_all() {
    let mut random = Random(1);
    let mut better_than_uniform = 0;
    for kind in kinds() {
        let model = kind.model();
        for _ in 0..if is_small() { 4 } else { 12 } {
            // Of every size down to a single unit, which is where rounding bites.
            let levels: Vec<TreeLevel> = (0..random.within(2, 3))
                .map(|_| {
                    let keys = random.within(1, 200);
                    TreeLevel::new(keys).with_runs(random.within(1, 3.min(keys)))
                })
                .collect();
            let budget = keys(&levels) * random.within(4, 120) / 8;
            let curves: Vec<_> =
                levels.iter().map(|&level| curve(model, level, model.unit_bits(1).min(512) / 8, budget)).collect();
            let best = brute_force(&curves, budget);
            let plan = share_budget(model, &levels, budget).unwrap();
            check(model, &levels, budget, &plan);
            assert!(plan.wasted_reads <= 1.001 * best, "{kind} {levels:?} {budget}: {plan:?}, at best {best}");
            better_than_uniform += u32::from(plan.wasted_reads < 0.99 * plan.uniform_wasted_reads);
        }
    }
    assert!(better_than_uniform > if is_small() { 2 } else { 30 }, "{better_than_uniform} of 72");
}

/// Under emulation brute force takes minutes.
fn is_small() -> bool {
    std::env::var_os("BLOOMLINE_TEST_SCALE").is_some_and(|scale| scale == "small")
}

/// A handful of keys beside many: what the many can't use is a feast for the few.
#[test]
fn a_level_of_one_key() {
    let model = LayoutKind::SplitBlock.model();
    let levels = [TreeLevel::new(1), TreeLevel::new(937)];
    for budget in [256, 512, 13_173, 14_000] {
        let curves: Vec<_> = levels.iter().map(|&level| curve(model, level, 32, budget)).collect();
        let best = brute_force(&curves, budget);
        let plan = share_budget(model, &levels, budget).expect("two levels");
        check(model, &levels, budget, &plan);
        assert!(plan.wasted_reads <= 1.001 * best, "{budget}: {plan:?}, at best {best}");
    }
}

#[test]
fn large_trees_get_a_plan_as_good_as_the_best_on_a_grid() {
    let mut random = Random(2);
    for kind in kinds() {
        let model = kind.model();
        for _ in 0..if is_small() { 1 } else { 2 } {
            let smallest = random.within(2_000, 30_000);
            let levels: Vec<TreeLevel> = (0..if is_small() { 2 } else { 3 })
                .map(|i| TreeLevel::new(smallest * random.within(2, 10).pow(i)).with_runs(random.within(1, 4)))
                .collect();
            let budget = keys(&levels) * random.within(2, 14);
            // An eighth of a bit per key; small levels, which may have many, get coarser steps.
            let curves: Vec<_> = levels
                .iter()
                .map(|&level| {
                    let per_run = level.keys.div_ceil(level.runs);
                    curve(model, level, per_run / 64 + 1, budget.min(48 * level.keys))
                })
                .collect();
            let best = brute_force(&curves, budget);
            let plan = share_budget(model, &levels, budget).unwrap();
            check(model, &levels, budget, &plan);
            assert!(plan.wasted_reads <= 1.001 * best, "{kind} {levels:?} {budget}: {plan:?}, at best {best}");
        }
    }
}

/// Monkey for sizes and probes that need not be whole: p = c·keys of a run, clamped at 1.
fn closed_form(levels: &[TreeLevel], budget: u64) -> f64 {
    let rates = |c: f64| levels.iter().map(move |level| (c * (level.keys / level.runs) as f64).min(1.0));
    let bits =
        |c: f64| -> f64 { rates(c).zip(levels).map(|(p, level)| level.keys as f64 * classic_bits_per_key(p)).sum() };
    let (mut low, mut high) = (-60.0_f64, 10.0_f64); // ln c
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if bits(middle.exp()) > budget as f64 { low = middle } else { high = middle }
    }
    rates(high.exp()).zip(levels).map(|(p, level)| p * level.runs as f64).sum()
}

#[test]
fn classic_filters_follow_the_closed_form() {
    for runs in [1, 4] {
        let levels: Vec<TreeLevel> = (0..5).map(|i| TreeLevel::new(100_000 * 10_u64.pow(i)).with_runs(runs)).collect();
        for bits_per_key in [6, 8, 12, 20] {
            let budget = bits_per_key * keys(&levels);
            let plan = share_budget(LayoutKind::Classic.model(), &levels, budget).unwrap();
            check(LayoutKind::Classic.model(), &levels, budget, &plan);
            let closed = closed_form(&levels, budget);
            // Whole probes cost up to some per cent; nothing is gained on the bound.
            let ratio = plan.wasted_reads / closed;
            assert!((0.9999..1.03).contains(&ratio), "{runs} runs, {bits_per_key} bits per key: {ratio}");
        }
        // Little memory: the largest level has no filter at all, as the clamp says.
        let plan = share_budget(LayoutKind::Classic.model(), &levels, keys(&levels) / 2).unwrap();
        assert_eq!(plan.levels[4].geometry, None);
        assert!(plan.levels[..4].iter().all(|level| level.geometry.is_some()));
    }
}

#[test]
fn plans_hold_at_the_edges() {
    let odd = [
        Model::Block { block_bits: 13, max_k: 3 },
        Model::Block { block_bits: 1, max_k: 1 },
        Model::Lanes { lanes: 3, lane_bits: 7 },
        Model::Lanes { lanes: 1, lane_bits: 65_536 },
    ];
    let models = models().chain(odd);
    let empty = [TreeLevel::new(0), TreeLevel::new(1).with_runs(0), TreeLevel::new(0).with_runs(u64::MAX)];
    let strange =
        [TreeLevel::new(3).with_runs(u64::MAX), TreeLevel::new(0), TreeLevel::new(1), TreeLevel::new(u64::MAX)];
    let tree = [TreeLevel::new(1_000), TreeLevel::new(0), TreeLevel::new(10_000).with_runs(3)];
    for model in models {
        for levels in [&[][..], &empty, &strange, &tree] {
            for budget in [0, 1, 7, 63, 64, 100, 1_000, 1 << 20, u64::MAX] {
                let plan = share_budget(model, levels, budget).unwrap();
                check(model, levels, budget, &plan);
                if budget < model.unit_bits(1) {
                    assert_eq!(plan.bits, 0);
                    assert_eq!(plan.wasted_reads, plan.uniform_wasted_reads);
                }
            }
        }
    }
    // Beyond the floor of the digests there is nothing to buy.
    let plan = share_budget(LayoutKind::Blocked.model(), &tree, 1 << 50).unwrap();
    for (i, keys) in [(0, 1_000.0), (2, 3_334.0)] {
        assert!(plan.levels[i].fpr <= keys * DIGEST_FLOOR, "{plan:?}");
        assert!(plan.levels[i].bits_per_key < 1_000.0, "{plan:?}");
    }
    let levels = [TreeLevel::new(100); 64];
    check(LayoutKind::Word.model(), &levels, 70_000, &share_budget(LayoutKind::Word.model(), &levels, 70_000).unwrap());
}

#[test]
fn impossible_trees_are_refused() {
    let model = LayoutKind::Classic.model();
    assert_eq!(
        share_budget(model, &[TreeLevel::new(1); 65], 1_000),
        Err(BudgetError::TooManyLevels { levels: 65, max: 64 })
    );
    let none = Model::Block { block_bits: 0, max_k: 8 };
    let error = SizingError::BlockOutOfRange { block_bits: 0, max_block_bits: 65_536 };
    for levels in [&[][..], &[TreeLevel::new(5)]] {
        assert_eq!(share_budget(none, levels, 1_000), Err(BudgetError::Sizing(error)));
    }
    assert_eq!(BudgetError::Sizing(error).to_string(), error.to_string());
}
