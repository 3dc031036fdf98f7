//! The rate of one model at one number of probes, as a function of keys and size.

use super::chain::{Chain, Marks};
use super::{Model, math};

/// False-positive rate of a model with k probes. Keeps what does not depend on keys and size.
pub(super) struct Rate {
    k: u32,
    kind: Kind,
}

#[expect(clippy::large_enum_variant, reason = "lives on the stack, one at a time; sizing never allocates")]
enum Kind {
    Scattered,
    Partitioned,
    Blocks(Chain),
}

impl Rate {
    /// The model and k must have passed `Model::check_k`.
    pub(super) fn new(model: Model, k: u32) -> Self {
        let kind = match model {
            Model::Scattered => Kind::Scattered,
            Model::Partitioned => Kind::Partitioned,
            Model::Block { block_bits, .. } => {
                Kind::Blocks(Chain::new(Marks::Free { probes: k }, f64::from(block_bits)))
            }
            Model::Lanes { lanes, lane_bits } => Kind::Blocks(Chain::new(Marks::Lanes { lanes }, f64::from(lane_bits))),
        };
        Self { k, kind }
    }

    /// The rate after n keys. `size` is m for `Scattered`, the bits of a region for `Partitioned`, the number of blocks
    /// otherwise: a whole number, at least 1.
    pub(super) fn at(&mut self, n: u64, size: f64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        match &mut self.kind {
            Kind::Scattered => scattered(n, self.k, size),
            Kind::Partitioned => math::powi(-math::exp_m1(n as f64 * math::ln_1p(-1.0 / size)), self.k),
            Kind::Blocks(chain) => chain.rate(n, size),
        }
    }
}

/// Whether [`scattered_large`] is within 1e-7 of the exact rate.
pub(super) fn is_large(n: u64, k: u32, m: f64) -> bool {
    let k = f64::from(k);
    // Two errors of the expansion: k³/m² from its second order, k²/(12·m·n) from the skew of few keys.
    k == 1.0 || (m >= 4096.0 * k * math::sqrt(k) && m * n as f64 >= 1e7 * k * k)
}

/// k free probes over m bits, E[(X/m)^k] with X the number of one-bits (Bose et al. 2008, who count the same chain).
fn scattered(n: u64, k: u32, m: f64) -> f64 {
    if is_large(n, k, m) {
        scattered_large(n, k, m)
    } else if scattered_floor(n, k, m) == 1.0 {
        1.0
    } else {
        Chain::new(Marks::Free { probes: k }, m).rate_of_one(n)
    }
}

/// (E[X]/m)^k: below the exact rate whatever m (Jensen), and its limit for large m.
pub(super) fn scattered_floor(n: u64, k: u32, m: f64) -> f64 {
    math::powi(-math::exp_m1(f64::from(k) * n as f64 * math::ln_1p(-1.0 / m)), k)
}

/// (E[X]/m)^k · exp(C(k, 2)·Var[X]/E[X]²): the classic formula and the next term in 1/m, with the exact mean and
/// variance of X.
pub(super) fn scattered_large(n: u64, k: u32, m: f64) -> f64 {
    let throws = f64::from(k) * n as f64;
    let log_zero = throws * math::ln_1p(-1.0 / m);
    let zero = math::exp(log_zero);
    let one = -math::exp_m1(log_zero);
    // Cov of two bits: (1 − 2/m)^N − (1 − 1/m)^2N, both factors written without cancellation.
    let pair = zero * zero * math::exp_m1(throws * math::ln_1p(-1.0 / ((m - 1.0) * (m - 1.0))));
    let variance = (zero * one + (m - 1.0) * pair) / m;
    let pairs = f64::from(k) * f64::from(k - 1) / 2.0;
    let corrected = math::powi(one, k) * math::exp(pairs * (variance / (one * one)).max(0.0));
    corrected.clamp(0.0, 1.0)
}
