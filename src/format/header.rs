//! The 64 bytes before the bits of a full frame.

use crate::{
    Design, FilterKind, LayoutKind,
    error::FormatError,
    hash::{AnyHasher, Blake2b, HasherId, KeyHasher, PreHashed, PreHashedTrusted, Unkeyed, Xxh3, Xxh64},
    sizing::Geometry,
};
use core::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// The first four bytes of every frame: not ASCII, so that no text file begins so.
pub(super) const MAGIC: [u8; 4] = [0x89, b'B', b'L', b'M'];

/// The version that this crate writes.
pub const VERSION: u16 = 1;

/// Bytes of the header, and where the bits begin.
pub const HEADER_BYTES: usize = 64;

/// What the header of a full frame says of the filter behind it.
///
/// Each field was checked against the others when it was read: the geometry is one of the layout's, and the bits are as
/// many as it needs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Header {
    /// Version of the format, 1 to [`VERSION`].
    pub version: u16,
    /// What the filter is.
    pub kind: FilterKind,
    /// Which hasher made the digests.
    pub hasher: HasherId,
    /// Its seed; for a keyed hasher a 64-bit check of its key, never the key.
    pub seed: u64,
    /// Bits m and probes k; of other filters as [`FilterKind::validate`] has it.
    pub geometry: Geometry,
    /// What the filter was sized for.
    pub design: Design,
    /// XXH3 of the bits.
    pub payload_checksum: u64,
}

/// Places of the fields, in bytes from the start.
mod at {
    use core::ops::Range;
    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const VERSION: Range<usize> = 4..6;
    pub(super) const FLAGS: Range<usize> = 6..8;
    pub(super) const LAYOUT: usize = 8;
    pub(super) const HASHER: usize = 9;
    pub(super) const PROBES: usize = 10;
    pub(super) const RESERVED: usize = 11;
    pub(super) const CHECKSUM: Range<usize> = 12..16;
    pub(super) const SEED: Range<usize> = 16..24;
    pub(super) const KEYS: Range<usize> = 24..32;
    pub(super) const BITS: Range<usize> = 32..40;
    pub(super) const FPR: Range<usize> = 40..48;
    pub(super) const PAYLOAD_BYTES: Range<usize> = 48..56;
    pub(super) const PAYLOAD_CHECKSUM: Range<usize> = 56..64;
}

impl Header {
    /// Bytes of the filter's bits, counters or buckets.
    pub fn payload_bytes(&self) -> u64 {
        self.kind.bytes(self.geometry)
    }

    /// The layout of a bit filter.
    ///
    /// # Errors
    /// When it is a filter of another kind.
    pub fn layout(&self) -> Result<LayoutKind, FormatError> {
        self.kind.bits().ok_or(FormatError::Kind { kind: self.kind.name() })
    }

    /// The hasher that made the digests. A keyed one needs its key, which no file holds; the others ignore it.
    ///
    /// # Errors
    /// When the hasher is keyed and there is no key, or another one than the filter was built with.
    pub fn hasher(&self, key: Option<&Blake2b>) -> Result<AnyHasher, FormatError> {
        Ok(match self.hasher {
            HasherId::Xxh3 => Xxh3::with_seed(self.seed).into(),
            HasherId::Xxh64 => Xxh64::with_seed(self.seed).into(),
            HasherId::PreHashed => PreHashed.into(),
            HasherId::PreHashedTrusted => PreHashedTrusted.into(),
            HasherId::Blake2b => match key {
                None => return Err(FormatError::KeyMissing),
                Some(key) if key.seed() != self.seed => {
                    return Err(FormatError::KeyDiffers { stored: self.seed, given: key.seed() });
                }
                Some(key) => key.clone().into(),
            },
        })
    }

    /// The hasher by name only, for what needs no digests: describing, uniting and folding filters without their key.
    pub fn unkeyed(&self) -> AnyHasher {
        Unkeyed { id: self.hasher, seed: self.seed }.into()
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[at::MAGIC].copy_from_slice(&MAGIC);
        bytes[at::VERSION].copy_from_slice(&self.version.to_le_bytes());
        bytes[at::LAYOUT] = self.kind.tag();
        bytes[at::HASHER] = self.hasher.tag();
        bytes[at::PROBES] = self.geometry.k as u8; // at most 32
        bytes[at::SEED].copy_from_slice(&self.seed.to_le_bytes());
        bytes[at::KEYS].copy_from_slice(&self.design.keys.to_le_bytes());
        bytes[at::BITS].copy_from_slice(&self.geometry.bits.to_le_bytes());
        bytes[at::FPR].copy_from_slice(&self.design.fpr.to_le_bytes());
        bytes[at::PAYLOAD_BYTES].copy_from_slice(&self.payload_bytes().to_le_bytes());
        bytes[at::PAYLOAD_CHECKSUM].copy_from_slice(&self.payload_checksum.to_le_bytes());
        let checksum = checksum(&bytes);
        bytes[at::CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the first bytes of a full frame, before the others are there: [`Header::payload_bytes`] says how many they
    /// must be.
    ///
    /// # Errors
    /// When they are no header of a version that this crate knows, or its fields contradict each other.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, FormatError> {
        let u64_at = |at| u64::from_le_bytes(field(bytes, at));

        if bytes[at::MAGIC] != MAGIC {
            return Err(FormatError::Magic { found: field(bytes, at::MAGIC) });
        }
        // Before the checksum: a newer version may have another.
        let version = u16::from_le_bytes(field(bytes, at::VERSION));
        if version == 0 || version > VERSION {
            return Err(FormatError::Version { found: version, newest: VERSION });
        }
        let (stored, computed) = (u32::from_le_bytes(field(bytes, at::CHECKSUM)), checksum(bytes));
        if stored != computed {
            return Err(FormatError::HeaderChecksum { stored, computed });
        }
        // From here on only somebody who computed a checksum can have written what is refused.
        let flags = u16::from_le_bytes(field(bytes, at::FLAGS));
        if flags != 0 || bytes[at::RESERVED] != 0 {
            return Err(FormatError::Flags { flags, reserved: bytes[at::RESERVED] });
        }
        let kind = FilterKind::from_tag(bytes[at::LAYOUT]).ok_or(FormatError::Layout { tag: bytes[at::LAYOUT] })?;
        let hasher = HasherId::from_tag(bytes[at::HASHER]).ok_or(FormatError::Hasher { tag: bytes[at::HASHER] })?;
        let geometry = Geometry { bits: u64_at(at::BITS), k: bytes[at::PROBES].into() };
        kind.validate(geometry)?;
        let (claimed, needed) = (u64_at(at::PAYLOAD_BYTES), kind.bytes(geometry));
        if claimed != needed {
            return Err(FormatError::PayloadLength { claimed, needed });
        }
        let design = Design { keys: u64_at(at::KEYS), fpr: f64::from_bits(u64_at(at::FPR)) };
        if !(0.0..=1.0).contains(&design.fpr) {
            return Err(FormatError::Fpr { fpr: design.fpr });
        }
        let (seed, payload_checksum) = (u64_at(at::SEED), u64_at(at::PAYLOAD_CHECKSUM));
        Ok(Self { version, kind, hasher, seed, geometry, design, payload_checksum })
    }

    /// Are there as many bytes behind the header as it says?
    ///
    /// # Errors
    /// When there are fewer or more.
    pub fn check_length(&self, present: u64) -> Result<(), FormatError> {
        let needed = self.payload_bytes();
        match present.checked_sub(needed) {
            None => {
                let header = HEADER_BYTES as u64;
                Err(FormatError::Truncated { bytes: present + header, needed: needed.saturating_add(header) })
            }
            Some(0) => Ok(()),
            Some(bytes) => Err(FormatError::Trailing { bytes }),
        }
    }
}

/// The bytes of a field, which are `N`. Inlined with the field's place known, it is one load; `array::from_fn` was a call
/// for each byte.
#[inline(always)]
fn field<const N: usize>(bytes: &[u8; HEADER_BYTES], at: Range<usize>) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&bytes[at]);
    field
}

/// The low half of XXH3 of the header, its own four bytes taken for zero.
fn checksum(bytes: &[u8; HEADER_BYTES]) -> u32 {
    let mut bytes = *bytes;
    bytes[at::CHECKSUM].fill(0);
    xxh3_64(&bytes) as u32
}
