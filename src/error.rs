//! Everything that can go wrong, one enum per concern. Every error names the value and the limit, and comes before
//! any allocation.

use crate::{Level, hash::HasherId};
use alloc::string::String;
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

/// Memory that can't be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocError {
    /// The filter is larger than the cap, and nothing was allocated.
    OverCap {
        /// Bytes that the filter needs.
        bytes: u64,
        /// The most that may be allocated for one filter.
        cap: u64,
    },
    /// The allocator refused.
    Refused {
        /// Bytes that were asked for.
        bytes: u64,
    },
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OverCap { bytes, cap } => {
                write!(f, "the filter needs {bytes} bytes, over the cap of {cap} bytes for one filter")
            }
            Self::Refused { bytes } => write!(f, "the system refused {bytes} bytes"),
        }
    }
}

impl core::error::Error for AllocError {}

/// Why a filter could not be built.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no such size.
    Sizing(SizingError),
    /// There is no such memory.
    Alloc(AllocError),
    /// The bytes given are not as many as the geometry needs.
    Length {
        /// Bytes given.
        bytes: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// The hasher takes hashes of keys, not keys.
    NoKeys {
        /// The hasher.
        hasher: HasherId,
    },
    /// A filter of this kind is none of those that were wanted: bits, or counters.
    Kind {
        /// Its name.
        kind: &'static str,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sizing(e) => e.fmt(f),
            Self::Alloc(e) => e.fmt(f),
            Self::Length { bytes, needed } => write!(f, "{bytes} bytes given for a filter of {needed} bytes"),
            Self::NoKeys { hasher } => write!(f, "the hasher {hasher} takes hashes of keys, and was given a key"),
            Self::Kind { kind } => write!(f, "a filter of kind {kind} is not of the kind that is wanted here"),
        }
    }
}

impl core::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Sizing(e) => Some(e),
            Self::Alloc(e) => Some(e),
            Self::Length { .. } | Self::NoKeys { .. } | Self::Kind { .. } => None,
        }
    }
}

impl From<SizingError> for BuildError {
    fn from(e: SizingError) -> Self {
        Self::Sizing(e)
    }
}

impl From<AllocError> for BuildError {
    fn from(e: AllocError) -> Self {
        Self::Alloc(e)
    }
}

/// Why nothing could be inserted into a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteError {
    /// It is a view of somebody else's bytes.
    ReadOnly,
    /// There is no memory for the partition.
    Alloc(AllocError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly => write!(f, "the filter is a view of bytes that it does not own"),
            Self::Alloc(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for WriteError {}

impl From<AllocError> for WriteError {
    fn from(e: AllocError) -> Self {
        Self::Alloc(e)
    }
}

/// The key is not in the filter: nothing was removed, and nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPresent;

impl fmt::Display for NotPresent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key is not in the filter, so it can't be removed")
    }
}

impl core::error::Error for NotPresent {}

/// There is no room for a key: all slots of its buckets are taken. Nothing was lost, and nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableFull {
    /// Slots that the key could have had, all of them taken.
    pub slots: u32,
    /// Keys that the table was made for.
    pub keys: u64,
    /// Of a batch, the keys before it, which were inserted; 0 otherwise.
    pub inserted: usize,
}

impl fmt::Display for TableFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all {} slots of the key's buckets are taken, in a table for {} keys", self.slots, self.keys)
    }
}

impl core::error::Error for TableFull {}

/// Why two d-left filters can't be merged. The receiver is as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum DLeftMergeError {
    /// They differ.
    Combine(CombineError),
    /// There is no room for the keys of both.
    Full(TableFull),
    /// There is no memory for the merged table.
    Alloc(AllocError),
}

impl fmt::Display for DLeftMergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Combine(e) => e.fmt(f),
            Self::Full(e) => e.fmt(f),
            Self::Alloc(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for DLeftMergeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(match self {
            Self::Combine(e) => e,
            Self::Full(e) => e,
            Self::Alloc(e) => e,
        })
    }
}

impl From<CombineError> for DLeftMergeError {
    fn from(e: CombineError) -> Self {
        Self::Combine(e)
    }
}

/// The field in which two filters differ that can't be combined. The receiver is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CombineError {
    /// Their layouts.
    Layout {
        /// The receiver's.
        left: &'static str,
        /// The other's.
        right: &'static str,
    },
    /// Their sizes.
    Bits {
        /// The receiver's.
        left: u64,
        /// The other's.
        right: u64,
    },
    /// Their numbers of probes.
    Probes {
        /// The receiver's.
        left: u32,
        /// The other's.
        right: u32,
    },
    /// Their hashers.
    Hasher {
        /// The receiver's.
        left: HasherId,
        /// The other's.
        right: HasherId,
    },
    /// Their seeds, or the checks of their keys.
    Seed {
        /// The receiver's.
        left: u64,
        /// The other's.
        right: u64,
    },
    /// The receiver is a view of somebody else's bytes.
    ReadOnly,
}

impl fmt::Display for CombineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout { left, right } => write!(f, "the layouts differ: {left} and {right}"),
            Self::Bits { left, right } => write!(f, "the sizes differ: {left} and {right} bits"),
            Self::Probes { left, right } => write!(f, "the probes of a key differ: {left} and {right}"),
            Self::Hasher { left, right } => write!(f, "the hashers differ: {left} and {right}"),
            Self::Seed { left, right } => write!(f, "the hashers' seeds differ: {left:#x} and {right:#x}"),
            Self::ReadOnly => write!(f, "{}", WriteError::ReadOnly),
        }
    }
}

impl core::error::Error for CombineError {}

/// Why a filter can't be folded by a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FoldError {
    /// The factor does not divide the number of foldable units. Folding halves of a filter onto each other instead
    /// would lose members.
    NotADivisor {
        /// The factor.
        factor: u64,
        /// Units that can be folded: blocks, or for scattered layouts 64-bit words (of each region).
        units: u64,
    },
    /// There is no memory for the folded filter.
    Alloc(AllocError),
}

impl fmt::Display for FoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADivisor { factor, units } => {
                write!(f, "a fold by {factor} does not divide {units} units into whole ones")
            }
            Self::Alloc(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for FoldError {}

impl From<AllocError> for FoldError {
    fn from(e: AllocError) -> Self {
        Self::Alloc(e)
    }
}

/// Why a level can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LevelError {
    /// This machine lacks it.
    Unavailable {
        /// The level.
        level: Level,
        /// The best that this machine has.
        best: Level,
    },
    /// There is none of that name.
    Unknown {
        /// The name.
        name: String,
    },
}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { level, best } => {
                write!(f, "this machine has no {level}; the best it has is {best}")
            }
            Self::Unknown { name } => {
                write!(f, "unknown instruction set {name:?} (one of:")?;
                for level in Level::ALL {
                    write!(f, " {level}")?;
                }
                write!(f, ")")
            }
        }
    }
}

impl core::error::Error for LevelError {}

/// The output of a batch is too short for its answers; nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchError {
    /// Words given.
    pub words: usize,
    /// Words needed: one for every 64 keys.
    pub needed: usize,
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answers need {} words of 64 bits, not {}", self.needed, self.words)
    }
}

impl core::error::Error for BatchError {}

/// Why bytes are no filter, or not the one that was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FormatError {
    /// The bytes end before the frame does.
    Truncated {
        /// Bytes there are.
        bytes: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// There are bytes behind the frame.
    Trailing {
        /// Bytes too many.
        bytes: u64,
    },
    /// It does not begin like a filter.
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// A version that this crate does not know.
    Version {
        /// The version.
        found: u16,
        /// The newest that this crate reads.
        newest: u16,
    },
    /// The header, or the trailer of a compact frame, was changed.
    HeaderChecksum {
        /// The checksum it carries.
        stored: u32,
        /// The checksum it has.
        computed: u32,
    },
    /// The bits were changed.
    PayloadChecksum {
        /// The checksum in the header or trailer.
        stored: u64,
        /// The checksum they have.
        computed: u64,
    },
    /// Flags that this version does not define.
    Flags {
        /// The flags; must be 0.
        flags: u16,
        /// The reserved byte; must be 0.
        reserved: u8,
    },
    /// No layout has this tag.
    Layout {
        /// The tag.
        tag: u8,
    },
    /// A filter of this kind is none of those that were wanted: bits, or counters.
    Kind {
        /// Its name.
        kind: &'static str,
    },
    /// No hasher has this tag.
    Hasher {
        /// The tag.
        tag: u8,
    },
    /// The layout has no filter of this size and number of probes.
    Geometry(SizingError),
    /// The header contradicts itself about the length.
    PayloadLength {
        /// Bytes that it claims.
        claimed: u64,
        /// Bytes that its geometry needs.
        needed: u64,
    },
    /// A filter of under 64 bytes has another layout than `classic`, in a frame that has no others of this size.
    Small {
        /// The layout.
        layout: &'static str,
        /// Bytes of its bits.
        bytes: u64,
    },
    /// The keys of an index do not ascend.
    Order,
    /// The rate that the filter was sized for is no probability.
    Fpr {
        /// The rate.
        fpr: f64,
    },
    /// The filter is keyed and no key was given.
    KeyMissing,
    /// The filter was built with another key or seed.
    KeyDiffers {
        /// The seed, or the check of the key, that the filter carries.
        stored: u64,
        /// That of the hasher given.
        given: u64,
    },
    /// The filter was built with another hasher.
    HasherDiffers {
        /// The filter's.
        stored: HasherId,
        /// The one given.
        given: HasherId,
    },
    /// There is no memory for the filter.
    Alloc(AllocError),
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { bytes, needed } => write!(f, "cut short: {bytes} bytes where {needed} are needed"),
            Self::Trailing { bytes } => write!(f, "{bytes} bytes behind the end of the filter"),
            Self::Magic { found } => write!(f, "not a bloomline filter: it begins with {found:02x?}"),
            Self::Version { found, newest } => {
                write!(f, "format version {found}; this program reads versions 1 to {newest}")
            }
            Self::HeaderChecksum { stored, computed } => {
                write!(f, "the header is damaged: its checksum is {computed:#x}, not {stored:#x}")
            }
            Self::PayloadChecksum { stored, computed } => {
                write!(f, "the filter's bits are damaged: their checksum is {computed:#x}, not {stored:#x}")
            }
            Self::Flags { flags, reserved } => {
                write!(f, "flags {flags:#06x} and reserved byte {reserved:#04x}, which must be 0 in this version")
            }
            Self::Layout { tag } => write!(f, "no layout has the tag {tag}"),
            Self::Kind { kind } => write!(f, "a filter of kind {kind} is not of the kind that is wanted here"),
            Self::Hasher { tag } => write!(f, "no hasher has the tag {tag}"),
            Self::Geometry(e) => e.fmt(f),
            Self::PayloadLength { claimed, needed } => {
                write!(f, "the header claims {claimed} bytes of bits where its size needs {needed}")
            }
            Self::Small { layout, bytes } => {
                write!(f, "{bytes} bytes of layout {layout}: filters of under 64 bytes are classic in this frame")
            }
            Self::Order => write!(f, "the keys of the index do not ascend"),
            Self::Fpr { fpr } => write!(f, "a design rate of {fpr:?} is no probability"),
            Self::KeyMissing => write!(f, "the filter is keyed, and no key was given"),
            Self::KeyDiffers { stored, given } => {
                write!(f, "the filter was built with another key or seed: {stored:#x}, not {given:#x}")
            }
            Self::HasherDiffers { stored, given } => {
                write!(f, "the filter was built with the hasher {stored}, not {given}")
            }
            Self::Alloc(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for FormatError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Geometry(e) => Some(e),
            Self::Alloc(e) => Some(e),
            _ => None,
        }
    }
}

impl From<SizingError> for FormatError {
    fn from(e: SizingError) -> Self {
        Self::Geometry(e)
    }
}

impl From<AllocError> for FormatError {
    fn from(e: AllocError) -> Self {
        Self::Alloc(e)
    }
}

impl From<BuildError> for FormatError {
    fn from(e: BuildError) -> Self {
        match e {
            BuildError::Sizing(e) => Self::Geometry(e),
            BuildError::Alloc(e) => Self::Alloc(e),
            BuildError::Length { bytes, needed } => Self::PayloadLength { claimed: bytes, needed },
            BuildError::NoKeys { hasher } => Self::HasherDiffers { stored: hasher, given: hasher },
            BuildError::Kind { kind } => Self::Kind { kind },
        }
    }
}

/// Why a key can't be taken by the filters of a partitioned segment.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PartitionError {
    /// The key is less than the one before it: ranges need the order of the segment.
    Order,
    /// The key is longer than the index can say.
    KeyLength {
        /// Its bytes; at most 2³² − 1.
        bytes: u64,
    },
    /// The filter of a range could not be built.
    Build(BuildError),
}

impl fmt::Display for PartitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order => write!(f, "a key is less than the one before it"),
            Self::KeyLength { bytes } => write!(f, "a key of {bytes} bytes is over {} bytes", u32::MAX),
            Self::Build(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for PartitionError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Build(e) => Some(e),
            _ => None,
        }
    }
}

impl From<BuildError> for PartitionError {
    fn from(e: BuildError) -> Self {
        Self::Build(e)
    }
}

/// Why bytes are no Bloom filter of Parquet, or a filter can't become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParquetError {
    /// The bytes end before the header or the bitset does.
    Truncated {
        /// Bytes there are.
        bytes: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// What stands here is no header.
    Header {
        /// Bytes from the start.
        at: u64,
    },
    /// The header goes on beyond what is read of one.
    LongHeader {
        /// Bytes it has at least.
        needed: u64,
        /// The most that are read.
        max: u64,
    },
    /// A field of the header is missing.
    Missing {
        /// Which.
        what: &'static str,
    },
    /// The algorithm, hash or compression is not the one that Parquet defines.
    Unknown {
        /// Which of them.
        what: &'static str,
        /// Its number; only 1 is defined.
        id: i64,
    },
    /// The length is no positive multiple of 32, or does not fit 32 bits.
    Length {
        /// The length in bytes.
        bytes: i64,
    },
    /// The filter's hasher has a seed; Parquet's has none.
    Seed {
        /// The seed; must be 0.
        seed: u64,
    },
    /// The filter is too large for a length of 32 bits.
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// The most there may be.
        max: u64,
    },
}

impl fmt::Display for ParquetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { bytes, needed } => write!(f, "cut short: {bytes} bytes where {needed} are needed"),
            Self::Header { at } => write!(f, "no header of a Parquet Bloom filter, at byte {at}"),
            Self::LongHeader { needed, max } => {
                write!(f, "a header of {needed} bytes or more, over the {max} that are read")
            }
            Self::Missing { what } => write!(f, "the header has no {what}"),
            Self::Unknown { what, id } => write!(f, "the header names {what} {id}, and only 1 is defined"),
            Self::Length { bytes } => {
                write!(f, "a length of {bytes} bytes is no multiple of 32 in 32 to {}", i32::MAX / 32 * 32)
            }
            Self::Seed { seed } => write!(f, "the filter's hasher has the seed {seed:#x}, and Parquet's has none"),
            Self::TooLarge { bytes, max } => write!(f, "{bytes} bytes are over the {max} that Parquet can store"),
        }
    }
}

impl core::error::Error for ParquetError {}

/// Why memory can't be shared out over the levels of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BudgetError {
    /// There are too many levels.
    TooManyLevels {
        /// Levels that were given.
        levels: usize,
        /// The most there may be.
        max: usize,
    },
    /// The model itself is out of range.
    Sizing(SizingError),
}

impl fmt::Display for BudgetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyLevels { levels, max } => write!(f, "{levels} levels are more than {max}"),
            Self::Sizing(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for BudgetError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Sizing(e) => Some(e),
            Self::TooManyLevels { .. } => None,
        }
    }
}

impl From<SizingError> for BudgetError {
    fn from(e: SizingError) -> Self {
        Self::Sizing(e)
    }
}

/// Why nothing can be said about what a filter earns.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EconomicsError {
    /// The share of negative queries is none.
    Share {
        /// The share; must be 0 to 1.
        share: f64,
    },
    /// A cost is negative, infinite or not a number.
    Cost {
        /// Of what.
        what: &'static str,
        /// The cost in nanoseconds.
        ns: f64,
    },
    /// There is no such size.
    Sizing(SizingError),
}

impl fmt::Display for EconomicsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Share { share } => write!(f, "a share of {share:?} of the queries is not in 0 to 1"),
            Self::Cost { what, ns } => write!(f, "{ns:?} ns for a {what} is no cost: it must be 0 or more, and finite"),
            Self::Sizing(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for EconomicsError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Sizing(e) => Some(e),
            _ => None,
        }
    }
}

impl From<SizingError> for EconomicsError {
    fn from(e: SizingError) -> Self {
        Self::Sizing(e)
    }
}
