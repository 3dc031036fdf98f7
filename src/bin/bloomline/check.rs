//! What a measured rate of false positives must lie between.
//!
//! A formula gives the expectation over filters and queries. One filter's own rate differs from it (which bits its keys
//! share is luck), and so does the share of hits among a finite number of queries. Both variances are counted; a rate
//! that is over [`SIGMAS`] standard deviations off means that the filter or the formula is wrong.

use bloomline::sizing::{Geometry, Model};

/// Standard deviations: by luck, one check in 16,000 is further off.
const SIGMAS: f64 = 4.0;

/// Bytes of a filter that are enough to estimate how much its blocks differ.
const ENOUGH: usize = 16 << 20;

/// The range of the measured rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// For an expected rate, the variance of a filter's own rate around it, and so many queries.
    ///
    /// Where hardly any hit is expected a normal distribution says little: there is room for four hits more.
    pub(crate) fn new(expected: f64, variance: f64, queries: u64) -> Self {
        let queries = queries.max(1) as f64;
        let width = SIGMAS * (variance + expected * (1.0 - expected) / queries).sqrt();
        Self { low: (expected - width - 4.0 / queries).max(0.0), high: (expected + width + 4.0 / queries).min(1.0) }
    }

    pub(crate) fn holds(self, measured: f64) -> bool {
        self.low <= measured && measured <= self.high
    }
}

/// The 95 % interval of a rate of which so many hits were seen (Wilson 1927), when the filter's own rate varies around the
/// expected one by `variance`: that of as many queries as would have the variance of both together.
pub(crate) fn interval(hits: u64, queries: u64, expected: f64, variance: f64) -> Range {
    const Z: f64 = 1.959_963_984_540_054;
    let (hits, all) = (hits as f64, queries.max(1) as f64);
    let sampling = expected * (1.0 - expected) / all;
    let n = if sampling > 0.0 { all * sampling / (sampling + variance) } else { all };
    let share = hits / all;
    let spread = Z * Z / n;
    let centre = (share + spread / 2.0) / (1.0 + spread);
    let half = Z * (share * (1.0 - share) / n + spread / (4.0 * n)).sqrt() / (1.0 + spread);
    // What is 0 or 1 but for rounding is 0 or 1.
    Range {
        low: if hits == 0.0 { 0.0 } else { (centre - half).max(0.0) },
        high: if hits == all { 1.0 } else { (centre + half).min(1.0) },
    }
}

/// The variance of the rates of filters with n keys, of which this is one.
///
/// * Scattered: the bits that are set after kn throws into m have a variance of m·e^−c·(1 − (1 + c)·e^−c), c = kn/m
///   (occupancy, Kolchin et al. 1978), and the rate is the k-th power of their share. So in each region of
///   `partitioned`, with c = kn/m and m/k bits.
/// * Blocks: the rate is a mean over z blocks; the variance of their rates in this filter, divided by z, less what can't
///   vary since their loads add up to n.
pub(crate) fn variance(model: Model, g: Geometry, keys: u64, bytes: &[u8]) -> f64 {
    let m = g.bits as f64;
    let k = f64::from(g.k);
    let load = k * keys as f64 / m;
    let empty = (-load).exp();
    let of_share = |cells: f64| (empty * (1.0 - (1.0 + load) * empty) / cells).max(0.0);
    let share = 1.0 - empty;
    // The variance of share^k to first order.
    let of_power = |of_share: f64| (k * share.powf(k - 1.0)).powi(2) * of_share;
    // Loads that add up to n: of independent (Poisson) loads' variance, the part that comes from their sum is
    // n·(d rate / d n)², since the covariance of a function of a Poisson load with the load is λ·(d mean / dλ).
    let given_the_keys = |independent: Option<f64>| match independent {
        None => 0.25,
        Some(variance) => {
            let step = (keys / 1_000).max(1);
            let slope = (model.fpr(keys + step, g) - model.fpr(keys.saturating_sub(step), g)) / (2 * step) as f64;
            // One small filter tells little of a small difference: at least a quarter is left.
            (variance - keys as f64 * slope * slope).max(variance / 4.0)
        }
    };
    match model {
        Model::Scattered => of_power(of_share(m)),
        Model::Partitioned => of_power(of_share(m / k)) / k,
        Model::Block { block_bits, .. } => {
            let rate = |block: &[u8]| (f64::from(ones(block)) / f64::from(block_bits)).powi(g.k.cast_signed());
            given_the_keys(of_mean(bytes, block_bits as usize / 8, rate))
        }
        Model::Lanes { lanes, lane_bits } => {
            let share = |lane: &[u8]| f64::from(ones(lane)) / f64::from(lane_bits);
            let rate = |block: &[u8]| block.chunks(lane_bits as usize / 8).map(share).product();
            given_the_keys(of_mean(bytes, (lanes * lane_bits) as usize / 8, rate))
        }
        // A model that is not known here: no bound but that of any rate.
        _ => 0.25,
    }
}

fn ones(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| byte.count_ones()).sum()
}

/// The variance of the mean over all blocks if they were independent, from (at most [`ENOUGH`] bytes of) them; `None` when there are
/// too few.
fn of_mean(bytes: &[u8], block: usize, rate: impl Fn(&[u8]) -> f64) -> Option<f64> {
    let blocks = (bytes.len() / block.max(1)).max(1) as f64;
    let (mut count, mut sum, mut squares) = (0.0_f64, 0.0, 0.0);
    for block in bytes[..bytes.len().min(ENOUGH)].chunks_exact(block.max(1)) {
        let rate = rate(block);
        (count, sum, squares) = (count + 1.0, sum + rate, squares + rate * rate);
    }
    let variance = (squares - sum * sum / count) / (count - 1.0);
    (count >= 2.0).then(|| variance.max(0.0) / blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variance of the mean of some measured rates, from the rates themselves.
    fn variance_of_mean(rates: &[f64]) -> f64 {
        let n = rates.len() as f64;
        let mean = rates.iter().sum::<f64>() / n;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        if n < 2.0 { 0.25 } else { squares / (n - 1.0) / n }
    }
    use crate::measure::Digests;
    use crate::subject;
    use bloomline::LayoutKind;
    use bloomline::hash::Xxh3;

    #[test]
    fn ranges() {
        let range = Range::new(0.01, 0.0, 1_000_000);
        assert!(range.holds(0.01) && range.holds(0.0103) && !range.holds(0.0105) && !range.holds(0.0095));
        // A wide filter variance widens it; a rate that is not met in a lifetime allows a handful of hits.
        assert!(Range::new(0.01, 1e-6, 1_000_000).holds(0.0135));
        let rare = Range::new(1e-12, 0.0, 1_000_000);
        assert!(rare.holds(0.0) && rare.holds(4e-6) && !rare.holds(6e-6));
        assert_eq!(Range::new(0.5, 1.0, 1), Range { low: 0.0, high: 1.0 });
    }

    #[test]
    fn intervals() {
        // The formula, worked out apart from this program.
        let close =
            |range: Range, low: f64, high: f64| (range.low - low).abs() < 1e-6 && (range.high - high).abs() < 1e-6;
        assert!(close(interval(10, 1_000, 0.01, 0.0), 0.005_440_75, 0.018_309_47));
        assert!(close(interval(0, 100, 0.01, 0.0), 0.0, 0.036_993_50));
        assert!(close(interval(100, 100, 0.5, 0.0), 0.963_006_5, 1.0));
        // A filter's variance as large as that of the sample: half the queries.
        let halved = interval(5, 500, 0.01, 0.0);
        assert!(close(interval(10, 1_000, 0.01, 0.01 * 0.99 / 1_000.0), halved.low, halved.high));
        assert_eq!(interval(0, 10, 0.0, 0.1).low, 0.0);
    }

    /// The own rates of 200 filters of every layout scatter as the variance says.
    #[test]
    fn the_variance_is_that_of_filters() {
        const KEYS: u64 = 8_000;
        for &kind in LayoutKind::ALL {
            let geometry = kind.model().size_for_bits_per_key(KEYS, 8.0).unwrap();
            let expected = kind.model().fpr(KEYS, geometry);
            let (mut rates, mut told, mut outside) = (Vec::new(), 0.0, 0);
            for seed in 0..200u64 {
                let digests = Digests::new(seed);
                let mut filter = subject::new(kind.into(), KEYS, geometry, Xxh3::default()).unwrap();
                let members: Vec<_> = (0..KEYS).map(|i| digests.member(i)).collect();
                filter.insert_batch(&members);
                let absent: Vec<_> = (0..1_000_000).map(|i| digests.absent(i)).collect();
                let hits = filter.batch(&absent);
                let own = variance(kind.model(), geometry, KEYS, filter.bytes());
                let Range { low, high } = interval(hits, 1_000_000, expected, own);
                outside += u32::from(!(low..=high).contains(&expected));
                rates.push(hits as f64 / 1e6);
                told += own / 200.0;
            }
            let seen = variance_of_mean(&rates) * 200.0 - expected * (1.0 - expected) / 1e6;
            // One in 20 is expected outside, give or take three; fewer where the variance is told too large.
            assert!(outside <= 20, "{kind}: the formula is outside of {outside} of 200 intervals");
            // A variance from 200 values has a relative deviation of 10 %.
            assert!(told > seen * 0.6 && told < seen * 4.0, "{kind}: told {told:e}, seen {seen:e}");
            let mean = rates.iter().sum::<f64>() / 200.0;
            assert!(Range::new(expected, told / 200.0, 200 * 1_000_000).holds(mean), "{kind}: {mean} {expected}");
        }
    }

    #[test]
    fn few_blocks_tell_nothing() {
        let model = Model::Block { block_bits: 512, max_k: 16 };
        assert_eq!(variance(model, Geometry { bits: 512, k: 6 }, 5, &[0xff; 64]), 0.25);
        assert_eq!(variance_of_mean(&[0.5]), 0.25);
        assert_eq!(variance_of_mean(&[0.5, 0.5]), 0.0);
    }
}
