//! Counters, economics and budgets, against counting by hand and brute force.

use bloomline::{
    Contains, Digest, Filter, LayoutKind, SplitBlock,
    error::EconomicsError,
    gate::{Count, Counted, CounterSnapshot, Counters, Economics, LevelKeys, SegmentPolicy, Segments, share_budget},
    hash::Xxh3,
    sizing::Model,
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

fn models() -> impl Iterator<Item = Model> {
    LayoutKind::ALL.iter().map(|kind| kind.model())
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

/// The wasted reads of the best of all ways to give each level a multiple of `step` bits for each key.
fn brute_force(model: Model, levels: &[LevelKeys], budget: u64, step: f64, most: u32) -> f64 {
    let reads = |level: &LevelKeys, steps: u32| -> (f64, f64) {
        let keys = level.keys.div_ceil(level.runs);
        match model.size_for_bits_per_key(keys, f64::from(steps) * step) {
            Ok(g) => ((g.bits * level.runs) as f64, level.runs as f64 * model.fpr(keys, g)),
            Err(_) => (0.0, level.runs as f64),
        }
    };
    let tables: Vec<Vec<(f64, f64)>> =
        levels.iter().map(|level| (0..=most).map(|steps| reads(level, steps)).collect()).collect();
    fn best(tables: &[Vec<(f64, f64)>], left: f64) -> f64 {
        let Some((first, rest)) = tables.split_first() else { return 0.0 };
        let within = first.iter().filter(|(bits, _)| *bits <= left);
        within.map(|(bits, reads)| reads + best(rest, left - bits)).fold(f64::INFINITY, f64::min)
    }
    best(&tables, budget as f64)
}

#[test]
fn budgets_are_shared_as_well_as_brute_force_does() {
    // Under emulation brute force takes minutes.
    let small = std::env::var_os("BLOOMLINE_TEST_SCALE").is_some_and(|scale| scale == "small");
    let budgets: &[u64] = if small { &[3] } else { &[1, 3, 6, 10, 14] };
    let level = |keys, runs| LevelKeys { keys, runs };
    let trees = [
        vec![level(10_000, 1), level(100_000, 1), level(1_000_000, 1)],
        vec![level(30_000, 3), level(500_000, 1)],
        vec![level(40_000, 4), level(40_000, 1), level(160_000, 2)],
    ];
    for model in models() {
        for tree in &trees {
            let keys: u64 = tree.iter().map(|level| level.keys).sum();
            for &bits_per_key in budgets {
                let budget = keys * bits_per_key;
                let plan = share_budget(model, tree, budget);
                assert!(plan.bits <= budget, "{} of {budget}", plan.bits);
                assert!(plan.wasted_reads <= plan.uniform_wasted_reads);
                let brute = brute_force(model, tree, budget, 0.5, 50);
                assert!(
                    plan.wasted_reads <= brute * 1.005,
                    "{model:?} {tree:?} {bits_per_key}: {} where {brute} can be had",
                    plan.wasted_reads
                );
                let (bits, reads) = plan.levels.iter().zip(tree).fold((0, 0.0), |(bits, reads), (plan, level)| {
                    (bits + plan.bits, reads + level.runs as f64 * plan.fpr)
                });
                assert_eq!((bits, reads), (plan.bits, plan.wasted_reads), "the sums are those of the levels");
            }
        }
    }
}

/// With the classic formula and continuous bits, rates are proportional to the keys of a level.
#[test]
fn the_classic_budget_follows_the_closed_form() {
    let tree = [1_000_000, 10_000_000, 100_000_000].map(|keys| LevelKeys { keys, runs: 1 });
    let plan = share_budget(Model::Scattered, &tree, 8 * 111_000_000);
    for pair in plan.levels.windows(2) {
        let ratio = pair[1].fpr / pair[0].fpr;
        assert!((8.0..12.5).contains(&ratio), "rates {} and {}", pair[0].fpr, pair[1].fpr);
    }
    // Σ n·ln(p) = −bits·ln²2 and p = c·n give the wasted reads of the optimum.
    let n = [1e6, 1e7, 1e8];
    let sum: f64 = n.iter().map(|n| n * f64::ln(*n)).sum();
    let c = f64::exp((-8.0 * 1.11e8 * std::f64::consts::LN_2.powi(2) - sum) / 1.11e8);
    let optimum = c * 1.11e8;
    assert!((plan.wasted_reads / optimum - 1.0).abs() < 0.02, "{} beside {optimum}", plan.wasted_reads);
}

#[test]
fn odd_budgets() {
    let model = Model::Block { block_bits: 512, max_k: 16 };
    let level = |keys, runs| LevelKeys { keys, runs };
    let empty = share_budget(model, &[], 1_000);
    assert_eq!((empty.bits, empty.wasted_reads, empty.levels.len()), (0, 0.0, 0));
    let none = share_budget(model, &[level(1_000, 2), level(0, 1)], 0);
    assert_eq!((none.bits, none.wasted_reads), (0, 2.0));
    assert_eq!((none.levels[0].geometry, none.levels[1].fpr), (None, 0.0));
    assert_eq!(share_budget(model, &[level(1_000, 1)], 511).bits, 0);
    let huge = share_budget(model, &[level(1_000, 1), level(1_000_000, 0)], u64::MAX);
    assert!(huge.wasted_reads < 1e-6 && huge.bits > 0);
    let most = share_budget(Model::Scattered, &[level(u64::MAX, 1), level(u64::MAX, 9)], u64::MAX);
    assert!(most.wasted_reads <= 10.0);
    let many = share_budget(model, &vec![level(1_000_000, 1); 64], 640_000_000);
    assert!(many.wasted_reads <= many.uniform_wasted_reads && many.bits <= 640_000_000);
}
