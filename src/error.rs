//! Everything that can go wrong, one enum per concern. Every error names the value and the limit.

use core::fmt;

/// Why no geometry exists for what was asked, or why a given one does not hold together.
///
/// Each variant carries the value that was refused and the limit it met. `Display` gives one line that names both.
///
/// ```
/// use bloomline::error::SizingError;
/// use bloomline::sizing::Model;
///
/// let error = Model::Scattered.size_for_fpr(1000, 1.5).unwrap_err();
/// assert_eq!(error, SizingError::FprOutOfRange { fpr: 1.5 });
/// assert_eq!(error.to_string(), "a false-positive rate of 1.5 is not between 0 and 1, both excluded");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SizingError {
    /// A filter was to be sized for no keys at all. The least is 1.
    ZeroKeys,
    /// The false-positive rate is not strictly between 0 and 1, or not a number.
    FprOutOfRange {
        /// The rate that was asked for.
        fpr: f64,
    },
    /// The rate is below what a digest of 64 bits can deliver for so many keys: n·2^−60.
    FprBelowDigestFloor {
        /// The rate that was asked for.
        fpr: f64,
        /// The number of keys n.
        keys: u64,
        /// n·2^−60, the least rate for n keys. From n = 2^60 on it is 1 or more: no rate is possible.
        floor: f64,
    },
    /// The number of bits per key is not a positive finite number.
    BitsPerKeyOutOfRange {
        /// The number that was asked for.
        bits_per_key: f64,
    },
    /// The number of probes per key does not fit the model.
    ProbesOutOfRange {
        /// The number of probes.
        k: u32,
        /// The least the model takes.
        min: u32,
        /// The most the model takes.
        max: u32,
    },
    /// The model's block (or lane) has no bits, or more than the mathematics is made for.
    BlockOutOfRange {
        /// Bits of the block or lane.
        block_bits: u32,
        /// The most it may have.
        max_block_bits: u32,
    },
    /// The number of bits is zero or not a whole number of the model's units.
    BitsNotWholeUnits {
        /// The number of bits.
        bits: u64,
        /// Bits of one unit.
        unit_bits: u64,
    },
    /// More bits are needed than the model can address.
    TooManyBits {
        /// The number of bits needed, beyond 64 bits wide if it must be; `u128::MAX` stands for that or more.
        bits: u128,
        /// The most the model can address.
        max_bits: u64,
    },
    /// The byte budget does not hold even one unit.
    BudgetTooSmall {
        /// The budget.
        bytes: u64,
        /// Bytes of the smallest filter of the model.
        min_bytes: u64,
    },
}

impl fmt::Display for SizingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::ZeroKeys => write!(f, "a filter for 0 keys has no size; the least is 1 key"),
            Self::FprOutOfRange { fpr } => {
                write!(f, "a false-positive rate of {fpr:?} is not between 0 and 1, both excluded")
            }
            Self::FprBelowDigestFloor { fpr, keys, floor } => write!(
                f,
                "a false-positive rate of {fpr:?} is below {floor:?}, the floor that 64-bit digests set for {keys} keys"
            ),
            Self::BitsPerKeyOutOfRange { bits_per_key } => {
                write!(f, "{bits_per_key:?} bits per key is not a positive finite number")
            }
            Self::ProbesOutOfRange { k, min, max } if min == max => {
                write!(f, "{k} probes per key: this layout makes exactly {max}")
            }
            Self::ProbesOutOfRange { k, min, max } => write!(f, "{k} probes per key is not in {min} to {max}"),
            Self::BlockOutOfRange { block_bits, max_block_bits } => {
                write!(f, "a block or lane of {block_bits} bits is not in 1 to {max_block_bits}")
            }
            Self::BitsNotWholeUnits { bits, unit_bits } => {
                write!(f, "{bits} bits is not a whole number (1 or more) of units of {unit_bits} bits")
            }
            Self::TooManyBits { bits, max_bits } => {
                write!(f, "{bits} bits are needed and this layout addresses at most {max_bits}")
            }
            Self::BudgetTooSmall { bytes, min_bytes } => {
                write!(f, "a budget of {bytes} bytes does not hold the smallest filter of {min_bytes} bytes")
            }
        }
    }
}

impl core::error::Error for SizingError {}
