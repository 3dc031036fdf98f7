//! How many bits, how many probes, at what rate of false positives: the mathematics of every bit layout.
//!
//! Nothing here allocates or touches a filter. A [`Model`] is the formula a layout obeys, a [`Geometry`] is what the
//! formula needs to know of a filter's memory. Each model is inverted through its own formula. A block layout sized by
//! the classic formula misses its rate: at 16 bits per key it is off by a factor of 1.8 to 2.9.
//!
//! | at 16 bits per key, large n | k | rate |
//! |---|---|---|
//! | [`Model::Scattered`] | 11 | 0.000459 |
//! | [`Model::Block`] of 512 bits | 9 | 0.000844 |
//! | [`Model::Lanes`], 8 of 64 bits | 8 | 0.000909 |
//! | [`Model::Lanes`], 8 of 32 bits | 8 | 0.001316 |
//!
//! All rates are expectations for keys and queries whose digests are uniform and independent. They are rates of the bit
//! layout alone: two keys of one 64-bit digest add n·2^−64, which [`DIGEST_FLOOR`] keeps small beside it.
//!
//! No function panics, whatever its arguments. The same arguments give the same bits on every platform.
//!
//! ```
//! use bloomline::sizing::{Geometry, Model};
//!
//! let line = Model::Block { block_bits: 512, max_k: 16 };
//! let g = line.size_for_fpr(1_000_000, 0.001)?;
//! assert!(line.fpr(1_000_000, g) <= 0.001);
//! assert_eq!(g, Geometry { bits: 15_548_416, k: 9 }); // 15.55 bits per key
//! # Ok::<(), bloomline::error::SizingError>(())
//! ```
//!
//! Sources, named again where they are used: Bloom 1970 (CACM 13(7)); Bose, Guo, Kranakis, Maheshwari, Morin, Morrison,
//! Smid and Tang 2008, "On the false-positive rate of Bloom filters" (IPL 108(4)), for finite m; Putze, Sanders and
//! Singler 2007, "Cache-, Hash- and Space-Efficient Bloom Filters" (WEA), for blocks; Almeida, Baquero, Preguiça and
//! Hutchison 2007, "Scalable Bloom Filters" (IPL 101(6)), for regions.

mod chain;
mod d_left;
mod math;
mod rate;
mod search;
#[cfg(test)]
mod tests;

pub use d_left::DLeft;

use crate::error::SizingError;
use chain::{MAX_BLOCK_BITS, MAX_K};
use rate::Rate;
use search::Seen;

/// 2^−60: a rate below n times this is refused.
///
/// A key that shares its 64-bit digest with one of n others is a false positive in every layout, with probability
/// n·2^−64. Down to n·2^−60 that adds at most a sixteenth to the rate that was asked for.
///
/// ```
/// use bloomline::sizing::{DIGEST_FLOOR, Model};
///
/// assert!(Model::Scattered.size_for_fpr(1 << 20, DIGEST_FLOOR * 1048576.0).is_ok());
/// assert!(Model::Scattered.size_for_fpr(1 << 20, DIGEST_FLOOR * 1048575.0).is_err());
/// ```
pub const DIGEST_FLOOR: f64 = 1.0 / (1_u64 << 60) as f64;

/// From this many units on, the number of units is a multiple of [`UNIT_STEP`].
const ROUND_FROM: u64 = 1024;
/// A filter whose number of units is a multiple of 8 can be folded to a half, a quarter or an eighth.
const UNIT_STEP: u64 = 8;
/// Beyond any number of units that a rate above the digest floor can need: z ≤ n/p ≤ 2^60.
const LAST_UNIT: u64 = 1 << 61;

/// Which false-positive formula a layout obeys.
///
/// Sizes and rates follow from this and a [`Geometry`]. At most 32 probes in every model; blocks and lanes of 1 to
/// 65,536 bits.
///
/// ```
/// use bloomline::sizing::Model;
///
/// let split_block = Model::Lanes { lanes: 8, lane_bits: 32 };
/// let n = 1_000_000;
/// let g = split_block.size_for_bits_per_key(n, 16.0)?;
/// assert_eq!(format!("{:.6}", split_block.fpr(n, g)), "0.001316");
/// # Ok::<(), bloomline::error::SizingError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Model {
    /// k free probes over all m bits (Bloom 1970): `classic`. Unit: one word of 64 bits.
    ///
    /// Rate: E\[(X/m)^k\], X the number of distinct bits after k·n throws (Bose et al. 2008). For large m this is
    /// (1 − (1 − 1/m)^kn)^k, about (1 − e^(−kn/m))^k.
    Scattered,
    /// k regions of m/k bits, one probe in each (Almeida et al. 2007): `partitioned`. Unit: k words of 64 bits, so that
    /// each region is a whole number of words.
    ///
    /// Rate: (1 − (1 − 1/r)^n)^k with r = m/k, exact for every m.
    Partitioned,
    /// One block for each key, and k free probes in it (Putze et al. 2007): `blocked` with 512 bits, `word` with 64. The
    /// probes are independent and may coincide. Unit: one block.
    ///
    /// Rate: Σ_i Bin(i; n, 1/z)·E\[(X_i/B)^k\], z the number of blocks of B bits, X_i the number of distinct bits after
    /// k·i throws. The common (1 − (1 − 1/B)^ki)^k in its place, with the mean occupancy, is too low.
    Block {
        /// Bits of a block.
        block_bits: u32,
        /// The most probes the layout makes. Beyond 32 it counts as 32.
        max_k: u32,
    },
    /// One block for each key, and one bit in each lane of it: `split-block` with 8 × 32, `split-line` with 8 × 64.
    /// Unit: one block of lanes·lane_bits bits. k is the number of lanes.
    ///
    /// Rate: Σ_i Bin(i; n, 1/z)·(1 − (1 − 1/B)^i)^W, z the number of blocks of W lanes of B bits.
    Lanes {
        /// Lanes of a block, W: 1 to 32.
        lanes: u32,
        /// Bits of a lane, B.
        lane_bits: u32,
    },
}

/// What a filter's memory looks like, to the mathematics.
///
/// ```
/// use bloomline::sizing::{Geometry, Model};
///
/// let g = Geometry { bits: 640, k: 7 };
/// assert_eq!(Model::Scattered.validate(g), Ok(()));
/// assert!(Model::Partitioned.validate(g).is_err()); // 640 is no multiple of 7 words
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// m, the number of bits.
    pub bits: u64,
    /// Probes for each key.
    pub k: u32,
}

impl Model {
    /// The most probes a key makes: 32 for the scattered kinds, at most that for a block, the number of lanes for lanes.
    ///
    /// ```
    /// # use bloomline::sizing::Model;
    /// assert_eq!(Model::Scattered.max_k(), 32);
    /// assert_eq!(Model::Block { block_bits: 512, max_k: 16 }.max_k(), 16);
    /// ```
    pub const fn max_k(self) -> u32 {
        match self {
            Self::Scattered | Self::Partitioned => MAX_K,
            Self::Block { max_k, .. } => {
                if max_k < MAX_K {
                    max_k
                } else {
                    MAX_K
                }
            }
            Self::Lanes { lanes, .. } => lanes,
        }
    }

    /// The least number of probes: 1, but the number of lanes for lanes.
    const fn min_k(self) -> u32 {
        match self {
            Self::Lanes { lanes, .. } => lanes,
            _ => 1,
        }
    }

    /// Bits of the unit that memory is counted in, for k probes. Only `Partitioned` depends on k.
    ///
    /// ```
    /// # use bloomline::sizing::Model;
    /// assert_eq!(Model::Partitioned.unit_bits(7), 7 * 64);
    /// assert_eq!(Model::Lanes { lanes: 8, lane_bits: 32 }.unit_bits(8), 256);
    /// ```
    pub const fn unit_bits(self, k: u32) -> u64 {
        match self {
            Self::Scattered => 64,
            Self::Partitioned => 64 * k as u64,
            Self::Block { block_bits, .. } => block_bits as u64,
            Self::Lanes { lanes, lane_bits } => lanes as u64 * lane_bits as u64,
        }
    }

    /// The most units a filter can have.
    ///
    /// 2^32 − 8 blocks, since 32 bits of the digest choose one and the number of them is a 32-bit factor; 2^50 words for `Scattered`, which is 2^56 bits; 2^45 units
    /// for `Partitioned`, which keeps 32 regions within 2^56 bits.
    ///
    /// ```
    /// # use bloomline::sizing::Model;
    /// assert_eq!(Model::Block { block_bits: 512, max_k: 16 }.max_units(), (1 << 32) - 8);
    /// ```
    pub const fn max_units(self) -> u64 {
        match self {
            Self::Scattered => 1 << 50,
            Self::Partitioned => 1 << 45,
            Self::Block { .. } | Self::Lanes { .. } => (1 << 32) - 8,
        }
    }

    /// Whether the model itself and k are in range.
    fn check_k(self, k: u32) -> Result<(), SizingError> {
        let block_bits = match self {
            Self::Scattered | Self::Partitioned => 1,
            Self::Block { block_bits, .. } => block_bits,
            Self::Lanes { lane_bits, .. } => lane_bits,
        };
        if block_bits == 0 || block_bits > MAX_BLOCK_BITS {
            return Err(SizingError::BlockOutOfRange { block_bits, max_block_bits: MAX_BLOCK_BITS });
        }
        let (min, max) = (self.min_k().max(1), self.max_k().min(MAX_K));
        if k < min || k > max {
            return Err(SizingError::ProbesOutOfRange { k, min, max });
        }
        Ok(())
    }

    /// Whether a geometry is one of this model.
    ///
    /// # Errors
    ///
    /// * [`SizingError::BlockOutOfRange`]: the model's block or lane has no bits or more than 65,536.
    /// * [`SizingError::ProbesOutOfRange`]: k is 0 or above [`Model::max_k`]; with lanes, k is not their number.
    /// * [`SizingError::BitsNotWholeUnits`]: the bits are none, or no multiple of [`Model::unit_bits`].
    /// * [`SizingError::TooManyBits`]: more than [`Model::max_units`] units.
    ///
    /// ```
    /// use bloomline::{error::SizingError, sizing::{Geometry, Model}};
    ///
    /// let refused = Model::Scattered.validate(Geometry { bits: 100, k: 7 });
    /// assert_eq!(refused, Err(SizingError::BitsNotWholeUnits { bits: 100, unit_bits: 64 }));
    /// ```
    pub fn validate(self, g: Geometry) -> Result<(), SizingError> {
        self.check_k(g.k)?;
        let unit_bits = self.unit_bits(g.k);
        if g.bits == 0 || !g.bits.is_multiple_of(unit_bits) {
            return Err(SizingError::BitsNotWholeUnits { bits: g.bits, unit_bits });
        }
        self.check_units(g.bits / unit_bits, unit_bits)
    }

    fn check_units(self, units: u64, unit_bits: u64) -> Result<(), SizingError> {
        if units > self.max_units() {
            let bits = u128::from(units) * u128::from(unit_bits);
            return Err(SizingError::TooManyBits { bits, max_bits: self.max_units() * unit_bits });
        }
        Ok(())
    }

    /// What the formulas call the size, for a number of units: m, the bits of a region, or the number of blocks.
    fn size(self, units: u64) -> f64 {
        match self {
            Self::Scattered | Self::Partitioned => units as f64 * 64.0,
            Self::Block { .. } | Self::Lanes { .. } => units as f64,
        }
    }

    /// The same for a geometry; `None` if the formulas cannot be applied. Bits beyond the last whole block or beyond k
    /// equal regions are not used by a filter and do not count; a scattered filter may have any number of bits.
    fn size_of(self, g: Geometry) -> Option<f64> {
        self.check_k(g.k).ok()?;
        let size = match self {
            Self::Scattered => g.bits,
            Self::Partitioned => g.bits / u64::from(g.k),
            Self::Block { .. } | Self::Lanes { .. } => g.bits / self.unit_bits(g.k),
        };
        (size > 0).then_some(size as f64)
    }

    /// Expected false-positive rate after n distinct keys, by the model's own formula (see the variants).
    ///
    /// Exact up to rounding, some twelve digits, but for `Scattered` with large m, where the next term in 1/m is taken
    /// along and the relative error is below 1e-7. n = 0 gives 0. A geometry the model has no formula for (k out of
    /// range, not one whole unit) gives 1: such a filter rejects nothing. For `Scattered` the bits need not be whole
    /// words. Never NaN.
    ///
    /// ```
    /// use bloomline::sizing::{Geometry, Model};
    ///
    /// // One key, one word, one probe: 1 in 64.
    /// assert!((Model::Scattered.fpr(1, Geometry { bits: 64, k: 1 }) - 1.0 / 64.0).abs() < 1e-15);
    /// // 10 bits per key and 7 probes: 0.82 %.
    /// let rate = Model::Scattered.fpr(1_000_000, Geometry { bits: 10_000_000, k: 7 });
    /// assert_eq!(format!("{rate:.5}"), "0.00819");
    /// ```
    pub fn fpr(self, n: u64, g: Geometry) -> f64 {
        match self.size_of(g) {
            _ if n == 0 => 0.0,
            Some(size) => Rate::new(self, g.k).at(n, size),
            None => 1.0,
        }
    }

    /// A bound that the rate cannot be below, cheap to have: occupancy^k, by Jensen's inequality. 0 where none is known.
    fn floor(self, n: u64, k: u32, size: f64) -> f64 {
        match self {
            Self::Scattered => rate::scattered_floor(n, k, size),
            Self::Block { .. } => math::powi(-math::exp_m1(n as f64 * self.log_zero(k, size)), k),
            Self::Partitioned | Self::Lanes { .. } => 0.0,
        }
    }

    /// The number of probes with the lowest rate for n keys in so many bits.
    ///
    /// All of them are tried, from 1 to [`Model::max_k`]; the smaller wins a tie. `Partitioned` rounds its regions down
    /// to whole words (and from 1,024 words on to multiples of 8) and leaves the rest unused. For lanes it is their
    /// number. Where there is nothing to choose (no keys, not one unit, a model out of range) it is the least number of
    /// probes, at least 1.
    ///
    /// ```
    /// use bloomline::sizing::Model;
    ///
    /// assert_eq!(Model::Scattered.best_k(1_000_000, 16_000_000), 11);
    /// assert_eq!(Model::Block { block_bits: 512, max_k: 16 }.best_k(1_000_000, 16_000_000), 9);
    /// assert_eq!(Model::Block { block_bits: 64, max_k: 16 }.best_k(1_000_000, 10_000_000), 5);
    /// ```
    pub fn best_k(self, n: u64, bits: u64) -> u32 {
        let least = self.min_k().max(1);
        if n == 0 || self.check_k(least).is_err() || self.max_k() <= least {
            return least;
        }
        let mut best = (least, f64::INFINITY);
        let guess = classic_optimal_k(bits as f64 / n as f64);
        for k in self.probes_from(guess) {
            let units = bits / self.unit_bits(k);
            let units = match self {
                Self::Partitioned => Self::round_units_down(units.min(self.max_units())),
                _ => units,
            };
            let size = if self == Self::Scattered { bits as f64 } else { self.size(units) };
            if size < 1.0 || self.floor(n, k, size) > best.1 * SLACK {
                continue;
            }
            let rate = Rate::new(self, k).at(n, size);
            if rate < best.1 || (rate == best.1 && k < best.0) {
                best = (k, rate);
            }
        }
        best.0
    }

    /// All numbers of probes, the one nearest to `guess` first: what comes after it is mostly ruled out cheaply.
    fn probes_from(self, guess: f64) -> impl Iterator<Item = u32> {
        let (min, max) = (self.min_k().max(1), self.max_k().min(MAX_K));
        let first = (guess as u32).max(min).min(max);
        core::iter::once(first).chain((min..=max).filter(move |&k| k != first))
    }

    /// The smallest filter for n keys at a false-positive rate, with the best number of probes for it.
    ///
    /// The model's own formula is searched for the least number of units at which some k reaches the rate; the units are
    /// rounded up by [`Model::round_units`], and the best k for the result is taken, so that the rate is met with a
    /// little to spare. `Partitioned` takes the k whose rounded size is
    /// least, and of several the one with the lowest rate. The result never shrinks as n grows.
    /// It takes under 1 ms for every layout of this crate (0.93 ms at worst: a scattered filter of 8,191 keys with 31
    /// probes; 0.01 to 0.15 ms as a rule), and under 5 ms for any model.
    ///
    /// # Errors
    ///
    /// * [`SizingError::ZeroKeys`]: n is 0.
    /// * [`SizingError::FprOutOfRange`]: the rate is not strictly between 0 and 1, or NaN.
    /// * [`SizingError::FprBelowDigestFloor`]: the rate is below n·2^−60.
    /// * [`SizingError::TooManyBits`]: more units are needed than [`Model::max_units`].
    /// * [`SizingError::BlockOutOfRange`], [`SizingError::ProbesOutOfRange`]: the model itself is out of range.
    ///
    /// ```
    /// use bloomline::sizing::Model;
    ///
    /// let g = Model::Scattered.size_for_fpr(1_000_000, 0.01)?;
    /// assert_eq!((g.bits / 10_000, g.k), (959, 7)); // 9.59 bits per key
    /// # Ok::<(), bloomline::error::SizingError>(())
    /// ```
    pub fn size_for_fpr(self, n: u64, fpr: f64) -> Result<Geometry, SizingError> {
        self.check_request(n)?;
        if !(fpr > 0.0 && fpr < 1.0) {
            return Err(SizingError::FprOutOfRange { fpr });
        }
        let floor = n as f64 * DIGEST_FLOOR;
        if fpr < floor {
            return Err(SizingError::FprBelowDigestFloor { fpr, keys: n, floor });
        }
        if self == Self::Partitioned {
            return Self::partitioned_for_fpr(n, fpr);
        }
        let units = Self::round_units(self.least_units(n, fpr));
        let unit_bits = self.unit_bits(1);
        self.check_units(units, unit_bits)?;
        let bits = units * unit_bits;
        Ok(Geometry { bits, k: self.best_k(n, bits) })
    }

    /// The least number of units at which some k reaches the rate, before rounding. Not for `Partitioned`.
    ///
    /// It does not fall as n grows: one more key raises the rate by about k/n of itself, 10^-11 at 2^40 keys, and what
    /// the computed rate of two neighbours can be off against each other is a hundredth of that.
    fn least_units(self, n: u64, fpr: f64) -> u64 {
        let guess = 1.1 * n as f64 * classic_bits_per_key(fpr) / self.unit_bits(1) as f64;
        let mut best = LAST_UNIT + 1;
        for k in self.probes_from(-math::ln(fpr) / core::f64::consts::LN_2) {
            // Every k after the first has to reach the rate with one unit less than the best before it.
            let last = best - 1;
            if last == 0 {
                break;
            }
            if self.floor(n, k, self.size(last)) > fpr * SLACK {
                continue;
            }
            let mut rate = Rate::new(self, k);
            if best <= LAST_UNIT && rate.at(n, self.size(last)) > fpr {
                continue;
            }
            let found = search::first(guess.min(last as f64), last, |units| {
                let at = rate.at(n, self.size(units));
                Seen { reached: at <= fpr, distance: math::ln(fpr) - math::ln(at) }
            });
            best = found.unwrap_or(best);
        }
        best
    }

    /// For each k, words of a region from the closed inverse, corrected by the formula; the least total wins.
    fn partitioned_for_fpr(n: u64, fpr: f64) -> Result<Geometry, SizingError> {
        let most = Self::Partitioned.max_units();
        let mut best: Option<Candidate> = None;
        for k in 1..=MAX_K {
            let words = Self::round_units(Self::least_region_words(n, fpr, k));
            let bits = u128::from(words) * 64 * u128::from(k);
            let rate = Rate::new(Self::Partitioned, k).at(n, Self::Partitioned.size(words));
            let new = Candidate { addressable: words <= most, bits, rate, k };
            if best.is_none_or(|old| new.is_better_than(old)) {
                best = Some(new);
            }
        }
        match best {
            Some(Candidate { addressable: true, bits, k, .. }) => Ok(Geometry { bits: bits as u64, k }),
            Some(Candidate { bits, k, .. }) => {
                Err(SizingError::TooManyBits { bits, max_bits: most * Self::Partitioned.unit_bits(k) })
            }
            None => Err(SizingError::ProbesOutOfRange { k: 0, min: 1, max: MAX_K }),
        }
    }

    fn least_region_words(n: u64, fpr: f64, k: u32) -> u64 {
        let each = math::exp(math::ln(fpr) / f64::from(k)); // the rate of one region
        let bits = -1.0 / math::exp_m1(math::ln_1p(-each) / n as f64);
        let mut rate = Rate::new(Self::Partitioned, k);
        let found = search::first(math::ceil(bits / 64.0), LAST_UNIT, |words| {
            let at = rate.at(n, Self::Partitioned.size(words));
            Seen { reached: at <= fpr, distance: math::ln(fpr) - math::ln(at) }
        });
        found.unwrap_or(LAST_UNIT)
    }

    /// What every sizing refuses first: no keys, a model out of range.
    fn check_request(self, n: u64) -> Result<(), SizingError> {
        self.check_k(self.min_k().max(1))?;
        if n == 0 { Err(SizingError::ZeroKeys) } else { Ok(()) }
    }

    /// The largest filter of at most n·`bits_per_key` bits, and at least one unit, with the best number of probes.
    ///
    /// From 1,024 units on the number of units is rounded down to a multiple of 8.
    ///
    /// # Errors
    ///
    /// * [`SizingError::ZeroKeys`]: n is 0.
    /// * [`SizingError::BitsPerKeyOutOfRange`]: not a positive finite number.
    /// * [`SizingError::TooManyBits`]: it would be more than [`Model::max_units`] units.
    /// * [`SizingError::BlockOutOfRange`], [`SizingError::ProbesOutOfRange`]: the model itself is out of range.
    ///
    /// ```
    /// use bloomline::sizing::{Geometry, Model};
    ///
    /// let g = Model::Scattered.size_for_bits_per_key(1_000_000, 16.0)?;
    /// assert_eq!(g, Geometry { bits: 16_000_000, k: 11 });
    /// # Ok::<(), bloomline::error::SizingError>(())
    /// ```
    pub fn size_for_bits_per_key(self, n: u64, bits_per_key: f64) -> Result<Geometry, SizingError> {
        self.check_request(n)?;
        if !(bits_per_key > 0.0 && bits_per_key.is_finite()) {
            return Err(SizingError::BitsPerKeyOutOfRange { bits_per_key });
        }
        let bits = (n as f64 * bits_per_key) as u128; // saturates
        let k = self.min_k();
        let max_bits = self.max_units() * self.unit_bits(if self == Self::Partitioned { MAX_K } else { k });
        match u64::try_from(bits) {
            Ok(bits) if bits / self.unit_bits(k) <= max_bits / self.unit_bits(k) => {
                Ok(self.fill(n, bits.max(self.unit_bits(k))))
            }
            _ => Err(SizingError::TooManyBits { bits, max_bits }),
        }
    }

    /// The largest filter of at most so many bytes, with the best number of probes for n keys.
    ///
    /// From 1,024 units on the number of units is rounded down to a multiple of 8. A budget beyond what the model can
    /// address gives the largest filter it can address.
    ///
    /// # Errors
    ///
    /// * [`SizingError::ZeroKeys`]: n is 0.
    /// * [`SizingError::BudgetTooSmall`]: not even one unit fits.
    /// * [`SizingError::BlockOutOfRange`], [`SizingError::ProbesOutOfRange`]: the model itself is out of range.
    ///
    /// ```
    /// use bloomline::{error::SizingError, sizing::{Geometry, Model}};
    ///
    /// let line = Model::Block { block_bits: 512, max_k: 16 };
    /// assert_eq!(line.size_for_bytes(100, 200)?, Geometry { bits: 3 * 512, k: 10 });
    /// assert_eq!(line.size_for_bytes(100, 63), Err(SizingError::BudgetTooSmall { bytes: 63, min_bytes: 64 }));
    /// # Ok::<(), SizingError>(())
    /// ```
    pub fn size_for_bytes(self, n: u64, bytes: u64) -> Result<Geometry, SizingError> {
        self.check_request(n)?;
        let bits = bytes.saturating_mul(8);
        let unit_bits = self.unit_bits(self.min_k());
        if bits < unit_bits {
            return Err(SizingError::BudgetTooSmall { bytes, min_bytes: unit_bits.div_ceil(8) });
        }
        Ok(self.fill(n, bits))
    }

    /// The largest geometry within so many bits, of which there is at least one unit.
    fn fill(self, n: u64, bits: u64) -> Geometry {
        let cut = |k: u32| {
            let unit_bits = self.unit_bits(k);
            Self::round_units_down((bits / unit_bits).min(self.max_units())) * unit_bits
        };
        if self == Self::Partitioned {
            let most = self.max_units() * self.unit_bits(MAX_K);
            let k = self.best_k(n, bits.min(most));
            return Geometry { bits: cut(k), k };
        }
        let bits = cut(self.min_k());
        Geometry { bits, k: self.best_k(n, bits) }
    }

    /// A number of units rounded up to a multiple of 8 from 1,024 on; below, it stays as it is.
    ///
    /// [`Model::size_for_fpr`] rounds so, which costs 0.7 % of the memory at most and lets a filter be folded to an
    /// eighth. Saturates at the largest multiple of 8.
    ///
    /// ```
    /// # use bloomline::sizing::Model;
    /// assert_eq!([1000, 1023, 1024, 1025].map(Model::round_units), [1000, 1023, 1024, 1032]);
    /// ```
    pub const fn round_units(units: u64) -> u64 {
        if units < ROUND_FROM { units } else { Self::round_units_down(units.saturating_add(UNIT_STEP - 1)) }
    }

    /// A number of units rounded down to a multiple of 8 from 1,024 on, as the budgets do.
    ///
    /// ```
    /// # use bloomline::sizing::Model;
    /// assert_eq!([1023, 1024, 1031].map(Model::round_units_down), [1023, 1024, 1024]);
    /// ```
    pub const fn round_units_down(units: u64) -> u64 {
        if units < ROUND_FROM { units } else { units - units % UNIT_STEP }
    }

    /// ln of the probability that one key leaves a given bit at zero.
    fn log_zero(self, k: u32, size: f64) -> f64 {
        match self {
            Self::Scattered => f64::from(k) * math::ln_1p(-1.0 / size),
            Self::Partitioned => math::ln_1p(-1.0 / size),
            Self::Block { block_bits, .. } => {
                let touched = -math::exp_m1(f64::from(k) * math::ln_1p(-1.0 / f64::from(block_bits)));
                math::ln_1p(-touched / size)
            }
            Self::Lanes { lane_bits, .. } => math::ln_1p(-1.0 / (f64::from(lane_bits) * size)),
        }
    }

    /// Expected share of one-bits after n distinct keys.
    ///
    /// 1 − (1 − q)^n, where q is the probability that a key sets a given bit: 1 − (1 − 1/m)^k for `Scattered`, 1/r for
    /// `Partitioned`, (1 − (1 − 1/B)^k)/z for `Block`, 1/(B·z) for `Lanes`. Exact. n = 0 gives 0; a geometry the model has
    /// no formula for gives 1 for any other n. Never NaN.
    ///
    /// ```
    /// use bloomline::sizing::{Geometry, Model};
    ///
    /// let half = Model::Scattered.occupancy(1_000_000, Geometry { bits: 9_592_955, k: 7 });
    /// assert!((half - 0.518).abs() < 0.001); // an optimal filter is about half full
    /// ```
    pub fn occupancy(self, n: u64, g: Geometry) -> f64 {
        match self.size_of(g) {
            _ if n == 0 => 0.0,
            Some(size) => -math::exp_m1(n as f64 * self.log_zero(g.k, size)),
            None => 1.0,
        }
    }

    /// Estimate of the number of distinct keys, from the observed share X of one-bits.
    ///
    /// [`Model::occupancy`] solved for n: n̂ = ln(1 − X)/ln(1 − q), about −(m/k)·ln(1 − X). For blocks q accounts for keys
    /// whose probes coincide and for blocks of unequal load. The estimate is that of a moment: the n at which X is
    /// the expected share. Its bias is below its standard error by far.
    ///
    /// Standard error, scattered kinds: √(m·(e^ρ − 1 − ρ))/k keys with ρ = kn/m (Whang, Vander-Zanden and Taylor 1990, who
    /// count with k = 1). At the design load that is about 0.23·√n keys, 0.02 % of a million; past it, it grows as
    /// e^(ρ/2). Blocks of unequal load add to it. Observed at 12 bits per key over 200 filters: 0.28·√n for words of 64
    /// bits, 0.25·√n for 8 lanes of 32, nothing above the flat formula for blocks of 512.
    ///
    /// X ≤ 0 gives 0. X ≥ 1 gives +∞: a full filter is compatible with any number of keys beyond some. So does X that is
    /// not a number, and a geometry the model has no formula for (unless X ≤ 0). Never NaN.
    ///
    /// ```
    /// use bloomline::sizing::{Geometry, Model};
    ///
    /// let g = Geometry { bits: 9_600_000, k: 7 };
    /// let x = Model::Scattered.occupancy(700_000, g);
    /// assert!((Model::Scattered.cardinality(x, g) - 700_000.0).abs() < 0.01);
    /// assert_eq!(Model::Scattered.cardinality(1.0, g), f64::INFINITY);
    /// ```
    pub fn cardinality(self, occupancy: f64, g: Geometry) -> f64 {
        if occupancy <= 0.0 {
            return 0.0;
        }
        match self.size_of(g) {
            Some(size) if occupancy < 1.0 => math::ln_1p(-occupancy) / self.log_zero(g.k, size),
            _ => f64::INFINITY,
        }
    }

    /// The largest number of keys whose expected rate is at most `fpr`.
    ///
    /// The inverse of [`Model::fpr`] in n. 0 if one key is already too many, if the rate is 0, negative or NaN, or if
    /// the model has no formula for the geometry; `u64::MAX` if no number of keys exceeds it (a rate of 1 or more).
    ///
    /// ```
    /// use bloomline::sizing::Model;
    ///
    /// let g = Model::Scattered.size_for_fpr(1000, 0.01)?;
    /// assert!((1000..1010).contains(&Model::Scattered.capacity(0.01, g)));
    /// # Ok::<(), bloomline::error::SizingError>(())
    /// ```
    pub fn capacity(self, fpr: f64, g: Geometry) -> u64 {
        if fpr >= 1.0 {
            return u64::MAX;
        }
        let Some(size) = self.size_of(g) else { return 0 };
        if fpr.is_nan() || fpr <= 0.0 {
            return 0;
        }
        let mut rate = Rate::new(self, g.k);
        let too_many = search::first(g.bits as f64 / classic_bits_per_key(fpr), u64::MAX, |n| {
            let at = rate.at(n, size);
            Seen { reached: at > fpr, distance: math::ln(at) - math::ln(fpr) }
        });
        too_many.map_or(u64::MAX, |n| n - 1)
    }
}

/// A partitioned filter that reaches the rate.
#[derive(Clone, Copy)]
struct Candidate {
    addressable: bool,
    bits: u128,
    rate: f64,
    k: u32,
}

impl Candidate {
    /// What can be addressed before what cannot, then the smaller, then the lower rate.
    fn is_better_than(self, old: Self) -> bool {
        if self.addressable != old.addressable {
            return self.addressable;
        }
        self.bits < old.bits || (self.bits == old.bits && self.rate < old.rate)
    }
}

/// Room for rounding where a bound is compared with a rate.
const SLACK: f64 = 1.0 + 1e-9;

/// A bound on the chance that any of m counters of a counting filter reaches i, with n keys of k probes each: m·(e·λ / i)^i,
/// λ = kn/m the mean of a counter. Fan, Cao, Almeida and Broder 2000, "Summary Cache: A Scalable Wide-Area Web Cache Sharing
/// Protocol", section V-C, who put ln 2 for λ, which the best k makes of it. At most 1; 1 for i = 0 and for λ ≥ i.
///
/// ```
/// use bloomline::sizing::{Geometry, counter_overflow_bound};
/// let one = |m: u64| counter_overflow_bound(m, Geometry { bits: 10 * m, k: 7 }, 15) / (10 * m) as f64;
/// assert!((one(1_000_000) / 3.56e-14 - 1.0).abs() < 0.01); // λ = 0.7; ln 2 makes 3.06e-14 of it
/// ```
pub fn counter_overflow_bound(n: u64, g: Geometry, i: u32) -> f64 {
    let (m, i) = (g.bits as f64, f64::from(i));
    let mean = f64::from(g.k) * n as f64 / m;
    if mean.is_nan() || mean >= i {
        return 1.0;
    }
    (m * libm::pow(core::f64::consts::E * mean / i, i)).min(1.0)
}

/// Bits per key of a classic filter with its best, fractional k: −ln p/(ln 2)² (Bloom 1970).
///
/// 9.59, 14.38 and 19.17 at 1 %, 0.1 % and 0.01 %. A bound for the classic layout at large n, and a first guess for the
/// others, which need more. p = 0 gives +∞, p > 1 a negative number, a negative p or NaN gives NaN.
///
/// ```
/// use bloomline::sizing::classic_bits_per_key;
///
/// assert_eq!(format!("{:.2}", classic_bits_per_key(0.01)), "9.59");
/// ```
pub fn classic_bits_per_key(fpr: f64) -> f64 {
    -math::ln(fpr) / (core::f64::consts::LN_2 * core::f64::consts::LN_2)
}

/// The k with the lowest rate in a classic filter, not rounded: (m/n)·ln 2 (Bloom 1970).
///
/// ```
/// use bloomline::sizing::classic_optimal_k;
///
/// assert_eq!(format!("{:.2}", classic_optimal_k(9.585)), "6.64"); // 7 probes
/// ```
pub fn classic_optimal_k(bits_per_key: f64) -> f64 {
    bits_per_key * core::f64::consts::LN_2
}
