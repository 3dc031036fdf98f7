//! The mathematics of d-left counting filters.

use super::{DIGEST_FLOOR, Geometry, math};
use crate::error::SizingError;

/// Sizes and rates of [`DLeftCountingBloom`](crate::DLeftCountingBloom), as [`Model`](super::Model) has them of bits.
///
/// A [`Geometry`] is here the bits of all buckets and, as k, the bits of a slot: 16, 20, 24, 28 or 32, of which two count.
/// Buckets have 512 bits; there are as many in each of two subtables.
///
/// A key is one of B·2^(s − 2) elements, B the buckets of a subtable and s the bits of a slot, and a lookup of an absent key
/// is wrong when its element is that of a member: 1 − (1 − 1/(B·2^(s − 2)))^n, exact for every table. (Bonomi,
/// Mitzenmacher, Panigrahy, Singh and Varghese 2006, "An Improved Construction for Counting Bloom Filters", ESA.)
///
/// ```
/// use bloomline::sizing::DLeft;
/// let g = DLeft::size_for_fpr(1_000_000, 0.01)?;
/// assert_eq!(g.k, 16);
/// assert!(g.bits < 19_000_000); // a counting filter has 38 bits for each key
/// assert!(DLeft::fpr(1_000_000, g) < 0.004);
/// # Ok::<(), bloomline::error::SizingError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DLeft;

/// Bits of both subtables' buckets of one number.
const UNIT_BITS: u64 = 2 * 512;
/// Buckets of a subtable: those of both are numbered in 32 bits.
const MAX_BUCKETS: u64 = (1 << 31) - 1;
/// Bits of a slot, from the least.
const SLOT_BITS: [u32; 5] = [16, 20, 24, 28, 32];

/// Slots of a bucket.
const fn in_bucket(slot_bits: u32) -> u64 {
    512 / slot_bits as u64
}

/// Tables of fewer buckets in a subtable leave one slot more empty.
const FEW: u64 = 8;

/// Keys for each bucket: see [`DLeft::capacity`].
const fn load(slot_bits: u32, buckets: u64) -> u64 {
    in_bucket(slot_bits) - if buckets < FEW { 6 } else { 5 }
}

impl DLeft {
    /// Is it a geometry of such a table?
    ///
    /// # Errors
    /// When the bits are no whole number of pairs of buckets, or k is no size of a slot.
    pub fn validate(g: Geometry) -> Result<(), SizingError> {
        if !SLOT_BITS.contains(&g.k) {
            return Err(SizingError::ProbesOutOfRange { k: g.k, min: 16, max: 32 });
        }
        if g.bits == 0 || !g.bits.is_multiple_of(UNIT_BITS) {
            return Err(SizingError::BitsNotWholeUnits { bits: g.bits, unit_bits: UNIT_BITS });
        }
        if g.bits / UNIT_BITS > MAX_BUCKETS {
            let max_bits = MAX_BUCKETS * UNIT_BITS;
            return Err(SizingError::TooManyBits { bits: g.bits.into(), max_bits });
        }
        Ok(())
    }

    /// Expected false positive rate with n distinct keys; 1 for what is no geometry of such a table and any key.
    pub fn fpr(n: u64, g: Geometry) -> f64 {
        if n == 0 {
            return 0.0;
        }
        if Self::validate(g).is_err() {
            return 1.0;
        }
        let elements = (g.bits / UNIT_BITS) as f64 * (1u64 << (g.k - 2)) as f64;
        -math::exp_m1(n as f64 * math::ln_1p(-1.0 / elements))
    }

    /// Distinct keys that it is made for: all slots but five of each bucket on average, six in tables of fewer than eight
    /// buckets in a subtable. 0 for what is no geometry of such a table.
    ///
    /// With two buckets to choose from, the share of full buckets is about the square of the share of those with one slot
    /// left. While random keys came and went for a long time (20 times all keys, 33 million at most, in tables of 1 to 30,000
    /// buckets a subtable), one insertion in 5,000 found no room with three empty slots to a bucket, none in 33 million with
    /// four, but one in 300,000 with four in ten buckets, and one in 2,000,000 with five in three.
    pub fn capacity(g: Geometry) -> u64 {
        let buckets = g.bits / UNIT_BITS;
        match Self::validate(g) {
            Ok(()) => 2 * buckets * load(g.k, buckets),
            Err(_) => 0,
        }
    }

    /// The smallest table for n keys at a rate.
    ///
    /// # Errors
    /// When there are no keys, the rate is none, or below n·2^−60, or it takes more buckets than a digest can address.
    pub fn size_for_fpr(n: u64, fpr: f64) -> Result<Geometry, SizingError> {
        check_keys(n)?;
        if !(fpr > 0.0 && fpr < 1.0) {
            return Err(SizingError::FprOutOfRange { fpr });
        }
        let floor = n as f64 * DIGEST_FLOOR;
        if fpr < floor {
            return Err(SizingError::FprBelowDigestFloor { fpr, keys: n, floor });
        }
        let of = |slot_bits: u32| {
            let room = least_buckets(n, slot_bits);
            // −ln(1 − p) ≥ n / elements, but for the second order; one more makes good for it.
            let elements = n as f64 / -math::ln_1p(-fpr);
            let rate = elements / (1u64 << (slot_bits - 2)) as f64;
            let rate = if rate > 1.0 { rate as u64 + 1 } else { 1 }; // saturates
            Geometry { bits: room.max(rate).saturating_mul(UNIT_BITS), k: slot_bits }
        };
        let best = SLOT_BITS.map(of).into_iter().min_by_key(|g| g.bits).unwrap_or(of(32));
        Self::validate(best)?;
        Ok(best)
    }

    /// The table of the lowest rate for n keys within so many bits for each, and at least one bucket in each subtable.
    ///
    /// # Errors
    /// When there are no keys, the number is none, or the keys do not fit so few bits.
    pub fn size_for_bits_per_key(n: u64, bits_per_key: f64) -> Result<Geometry, SizingError> {
        check_keys(n)?;
        if !(bits_per_key > 0.0 && bits_per_key.is_finite()) {
            return Err(SizingError::BitsPerKeyOutOfRange { bits_per_key });
        }
        let bytes = (bits_per_key * n as f64 / 8.0) as u64; // saturates
        Self::size_for_bytes(n, bytes.max(UNIT_BITS / 8))
    }

    /// The table of the lowest rate for n keys within so many bytes.
    ///
    /// # Errors
    /// When there are no keys, or they do not fit so few bytes.
    pub fn size_for_bytes(n: u64, bytes: u64) -> Result<Geometry, SizingError> {
        check_keys(n)?;
        let units = (bytes / (UNIT_BITS / 8)).min(MAX_BUCKETS);
        let fits = SLOT_BITS.into_iter().rev().find(|&slot_bits| units > 0 && least_buckets(n, slot_bits) <= units);
        let slot_bits = fits.ok_or(SizingError::BudgetTooSmall {
            bytes,
            min_bytes: least_buckets(n, SLOT_BITS[0]).saturating_mul(UNIT_BITS / 8),
        })?;
        Ok(Geometry { bits: units * UNIT_BITS, k: slot_bits })
    }
}

fn check_keys(n: u64) -> Result<(), SizingError> {
    if n == 0 { Err(SizingError::ZeroKeys) } else { Ok(()) }
}

/// Buckets of a subtable that have room for n keys.
fn least_buckets(n: u64, slot_bits: u32) -> u64 {
    let many = n.div_ceil(2 * load(slot_bits, FEW));
    if many >= FEW { many } else { n.div_ceil(2 * load(slot_bits, 1)).min(FEW) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sized_is_valid_and_has_room() {
        for n in [1, 2, 27, 28, 55, 56, 57, 1_000, 999_983, 1 << 32, 1 << 40] {
            for fpr in [0.9, 0.3, 0.01, 0.003, 1e-3, 1e-4, 1e-6, 1e-9] {
                let Ok(g) = DLeft::size_for_fpr(n, fpr) else {
                    assert!(n >= 1 << 32 || fpr < n as f64 * DIGEST_FLOOR, "{n} {fpr}");
                    continue;
                };
                DLeft::validate(g).unwrap();
                assert!(DLeft::capacity(g) >= n && DLeft::fpr(n, g) <= fpr, "{n} {fpr} {g:?}");
                // One bucket less would be too small, or the rate too high, whatever the slot.
                let less = g.bits - UNIT_BITS;
                for k in SLOT_BITS {
                    let g = Geometry { bits: less, k };
                    let enough = DLeft::capacity(g) >= n && DLeft::fpr(n, g) <= fpr;
                    assert!(!enough || fpr > 0.5, "{n} {fpr}: {g:?} does");
                }
                let again = DLeft::size_for_bytes(n, g.bits / 8).unwrap();
                assert!(again.bits == g.bits && DLeft::fpr(n, again) <= fpr);
            }
        }
        assert!(matches!(
            DLeft::size_for_bytes(1_000, 1_000),
            Err(SizingError::BudgetTooSmall { min_bytes: 2432, .. })
        ));
        assert!(matches!(DLeft::size_for_bits_per_key(1_000, f64::NAN), Err(SizingError::BitsPerKeyOutOfRange { .. })));
        assert!(matches!(DLeft::size_for_fpr(1 << 50, 0.01), Err(SizingError::TooManyBits { .. })));
        assert!(matches!(DLeft::size_for_fpr(0, 0.01), Err(SizingError::ZeroKeys)));
        assert!(matches!(DLeft::size_for_fpr(5, f64::NAN), Err(SizingError::FprOutOfRange { .. })));
        assert!(matches!(DLeft::size_for_fpr(u64::MAX, 0.5), Err(SizingError::FprBelowDigestFloor { .. })));
        assert_eq!(
            (DLeft::fpr(5, Geometry { bits: 7, k: 16 }), DLeft::capacity(Geometry { bits: 1024, k: 17 })),
            (1.0, 0)
        );
    }
}
