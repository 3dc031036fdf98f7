//! Whether a filter earns its place, and how large it should be.

use crate::{
    error::{EconomicsError, SizingError},
    sizing::{Geometry, Model},
};

/// What a segment's lookups are like, and what they cost. A filter earns its place when
///
/// share of negative queries × avoided cost > cost of a probe + cost of false positives + cost of the memory,
///
/// all for one query. Costs are nanoseconds; memory may be given a price in the same coin.
///
/// ```
/// use bloomline::{gate::Economics, sizing::Model};
///
/// // Nine queries in ten are for absent keys, a wasted read takes 80 µs, a probe 100 ns.
/// let segment = Economics::new(0.9, 80_000.0, 100.0)?;
/// assert!(segment.benefit(0.01, 0.0) > 70_000.0); // nanoseconds saved for each query, at 1 %
/// assert!(segment.break_even(0.01, 0.0) < 0.002); // worth it from 1 negative query in 500 on
///
/// // Were holding a byte to cost a nanosecond for every 1,000 queries, the best size would be:
/// let best = segment.best_bits_per_key(Model::Block { block_bits: 512, max_k: 16 }, 1_000_000, 0.001 / 1_000.0)?;
/// assert!((8.0..40.0).contains(&best.bits_per_key));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Economics {
    negative_share: f64,
    avoided_ns: f64,
    probe_ns: f64,
}

/// A size, and what a query costs with it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BestSize {
    /// Bits for each key; 0 when no filter is best.
    pub bits_per_key: f64,
    /// The filter; `None` when none is best.
    pub geometry: Option<Geometry>,
    /// Its expected rate; 1 without a filter.
    pub fpr: f64,
    /// Expected cost of a query, in nanoseconds: probe, wasted reads and memory.
    pub cost_ns: f64,
}

impl Economics {
    /// Of all queries `negative_share` (0 to 1) are for absent keys; a read in vain takes `avoided_ns`, a lookup in the
    /// filter `probe_ns`.
    ///
    /// # Errors
    /// When the share is none, or a cost is negative, infinite or not a number.
    pub fn new(negative_share: f64, avoided_ns: f64, probe_ns: f64) -> Result<Self, EconomicsError> {
        if !(0.0..=1.0).contains(&negative_share) {
            return Err(EconomicsError::Share { share: negative_share });
        }
        for (what, ns) in [("avoided read", avoided_ns), ("probe", probe_ns)] {
            check(what, ns)?;
        }
        Ok(Self { negative_share, avoided_ns, probe_ns })
    }

    /// Expected cost of a query with a filter of this rate, whose memory costs `memory_ns` for each query.
    fn cost(&self, fpr: f64, memory_ns: f64) -> f64 {
        self.probe_ns + self.negative_share * fpr * self.avoided_ns + memory_ns
    }

    /// Nanoseconds that the filter saves for each query, on average; negative when it costs more than it saves.
    /// `memory_ns` is what its memory costs for each query: 0 where memory is free.
    pub fn benefit(&self, fpr: f64, memory_ns: f64) -> f64 {
        self.negative_share * self.avoided_ns - self.cost(fpr, memory_ns)
    }

    /// The share of negative queries from which on a filter of this rate earns its place; more than 1 when it never
    /// does.
    pub fn break_even(&self, fpr: f64, memory_ns: f64) -> f64 {
        (self.probe_ns + memory_ns) / ((1.0 - fpr) * self.avoided_ns)
    }

    /// The size at which a query costs least, for `keys` keys, when holding a byte costs `byte_ns` for each query (0:
    /// memory is free, and the best size is then the largest that is looked at, 64 bits a key, or where the rate ends to
    /// fall). By the layout's own formula, to a hundredth of a bit.
    ///
    /// # Errors
    /// When there are no keys, or `byte_ns` is no cost.
    pub fn best_bits_per_key(&self, model: Model, keys: u64, byte_ns: f64) -> Result<BestSize, EconomicsError> {
        check("byte", byte_ns)?;
        if keys == 0 {
            return Err(SizingError::ZeroKeys.into());
        }
        let none =
            BestSize { bits_per_key: 0.0, geometry: None, fpr: 1.0, cost_ns: self.negative_share * self.avoided_ns };
        let sized = |hundredths: u32| -> Option<BestSize> {
            let geometry = model.size_for_bits_per_key(keys, f64::from(hundredths) / 100.0).ok()?;
            let fpr = model.fpr(keys, geometry);
            let cost_ns = self.cost(fpr, geometry.bits as f64 / 8.0 * byte_ns);
            let bits_per_key = geometry.bits as f64 / keys as f64;
            Some(BestSize { bits_per_key, geometry: Some(geometry), fpr, cost_ns })
        };
        let best_of = |from: u32, to: u32, step: usize, best: (u32, BestSize)| {
            (from..=to)
                .step_by(step)
                .filter_map(|at| Some((at, sized(at)?)))
                .fold(best, |best, next| if next.1.cost_ns < best.1.cost_ns { next } else { best })
        };
        // The rate falls and the price of memory rises, but for steps where k changes: a coarse grid, then a fine one.
        let coarse = best_of(25, 6_400, 25, (0, none));
        let (_, best) = best_of(coarse.0.saturating_sub(25).max(1), coarse.0 + 25, 1, coarse);
        Ok(best)
    }
}

fn check(what: &'static str, ns: f64) -> Result<(), EconomicsError> {
    if ns.is_finite() && ns >= 0.0 { Ok(()) } else { Err(EconomicsError::Cost { what, ns }) }
}
