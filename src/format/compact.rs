//! The compact frame: the bits, and a trailer of six bytes; of three for small filters, those of under 64 bytes.
//!
//! For filters of a few keys that lie inside an engine's own checksummed blocks. Hasher and seed are the policy's.

use super::Stored;
use crate::{
    AnyFilter, Design, Digest, LayoutKind,
    error::{BatchError, FormatError, SizingError},
    filters::check_output,
    hash::{AnyHasher, Probes, fastrange},
    sizing::{Geometry, Model},
};
use alloc::vec::Vec;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Bytes behind the bits of a filter that is not small.
pub const TRAILER_BYTES: usize = 6;

/// Bytes behind the bits of a small one.
pub const SMALL_TRAILER_BYTES: usize = 3;

/// The version that this crate writes, of three bits.
pub const VERSION: u8 = 1;

/// Filters below this many bytes are small: `classic` over any whole number of bytes.
pub const SMALL_BELOW_BYTES: usize = 64;

/// The longest frame of a small filter; a frame with more bytes is that of a larger one.
const LONGEST_SMALL: usize = SMALL_BELOW_BYTES - 1 + SMALL_TRAILER_BYTES;

/// A filter in a compact frame, in somebody's bytes.
///
/// ```
/// use bloomline::{Digest, format::compact::{self, Compact}, sizing::Geometry};
///
/// // 17 keys at 10 bits each: 21 bytes, and 3 of the trailer.
/// let digests: Vec<Digest> = (1..=17).map(|i: u64| Digest(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
/// let bytes = compact::small(&digests, Geometry { bits: 168, k: 7 })?;
/// assert_eq!(bytes.len(), 24);
///
/// let filter = Compact::open(&bytes)?;
/// filter.verify()?;
/// assert!(digests.iter().all(|&digest| filter.contains_digest(digest)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Compact<'b> {
    layout: LayoutKind,
    k: u8,
    sum: u32,
    payload: &'b [u8],
}

/// What the trailer says, as one number of 40 bits: version and layout, k, and 24 bits of the payload's checksum.
fn fields(layout: LayoutKind, k: u8, sum: u32) -> u64 {
    u64::from(VERSION << 4 | layout.tag()) | u64::from(k) << 8 | u64::from(sum) << 16
}

/// Eight bits that check the trailer and the length. No flip of one of the 40 bits leaves them as they were: the high
/// byte of the multiplier, shifted by up to 39, is never 0 nor 255, so a flip changes the high byte of the product
/// whatever is carried into it.
fn check(fields: u64, payload_bytes: usize) -> u8 {
    let product = fields.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (product.wrapping_add((payload_bytes as u64).wrapping_mul(0xd134_2543_de82_ef95)) >> 56) as u8
}

fn sum(payload: &[u8]) -> u32 {
    xxh3_64(payload) as u32 & 0xff_ffff
}

/// What stands behind a small filter: version and k − 1 in one byte, and 16 bits that check it, the bits and their length.
/// So few bytes are read at once, and so they are checked whenever a frame is opened.
fn small_trailer(payload: &[u8], k: u8) -> [u8; SMALL_TRAILER_BYTES] {
    let tag = VERSION << 5 | k.wrapping_sub(1) & 31;
    let [low, high, ..] = small_sum(payload, tag).to_le_bytes();
    [tag, low, high]
}

fn small_sum(payload: &[u8], tag: u8) -> u64 {
    xxh3_64_with_seed(payload, u64::from(tag))
}

fn seal(mut payload: Vec<u8>, layout: LayoutKind, k: u8) -> Vec<u8> {
    let fields = fields(layout, k, sum(&payload));
    let check = check(fields, payload.len());
    payload.extend_from_slice(&fields.to_le_bytes()[..TRAILER_BYTES - 1]);
    payload.push(check);
    payload
}

/// The compact frame of a bit filter.
///
/// # Errors
/// When it is no bit filter, or has under 64 bytes and another layout than `classic`, which is the one of small filters.
pub fn to_vec(filter: &impl Stored) -> Result<Vec<u8>, FormatError> {
    let (payload, kind) = (filter.payload(), filter.kind());
    let layout = kind.bits().ok_or(FormatError::Kind { kind: kind.name() })?;
    if payload.len() >= SMALL_BELOW_BYTES {
        return Ok(large(filter, layout));
    }
    if layout != LayoutKind::Classic {
        return Err(FormatError::Small { layout: layout.name(), bytes: payload.len() as u64 });
    }
    Ok([payload, &small_trailer(payload, filter.geometry().k as u8)].concat()) // k is at most 32
}

/// The compact frame of a filter of 64 bytes or more.
pub(crate) fn large(filter: &impl Stored, layout: LayoutKind) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(filter.payload().len() + TRAILER_BYTES);
    bytes.extend_from_slice(filter.payload());
    seal(bytes, layout, filter.geometry().k as u8) // at most 32
}

/// The compact frame of a small filter of these digests: `classic`, of any whole number of bytes from 1 to 63.
///
/// # Errors
/// When the geometry is none of those.
pub fn small(digests: &[Digest], geometry: Geometry) -> Result<Vec<u8>, SizingError> {
    let Geometry { bits, k } = geometry;
    if bits == 0 || !bits.is_multiple_of(8) {
        return Err(SizingError::BitsNotWholeUnits { bits, unit_bits: 8 });
    }
    let max_bits = 8 * (SMALL_BELOW_BYTES as u64 - 1);
    if bits > max_bits {
        return Err(SizingError::TooManyBits { bits: bits.into(), max_bits });
    }
    check_small_k(k)?;
    let payload_bytes = (bits / 8) as usize;
    let mut payload = Vec::with_capacity(payload_bytes + SMALL_TRAILER_BYTES);
    payload.resize(payload_bytes, 0);
    for &digest in digests {
        for bit in small_bits(digest, payload_bytes, k) {
            payload[bit / 8] |= 1 << (bit % 8);
        }
    }
    let trailer = small_trailer(&payload, k as u8); // at most 32
    payload.extend_from_slice(&trailer);
    Ok(payload)
}

fn check_small_k(k: u32) -> Result<(), SizingError> {
    let max = Model::Scattered.max_k();
    if k == 0 || k > max { Err(SizingError::ProbesOutOfRange { k, min: 1, max }) } else { Ok(()) }
}

/// The bits of a digest in a small filter: those of `classic`, for any whole number of bytes.
fn small_bits(digest: Digest, payload_bytes: usize, k: u32) -> impl Iterator<Item = usize> {
    Probes::new(digest).take(k as usize).map(move |h| fastrange(h, 8 * payload_bytes as u64) as usize)
}

fn small_contains(payload: &[u8], k: u8, digest: Digest) -> bool {
    small_bits(digest, payload.len(), k.into()).all(|bit| payload[bit / 8] >> (bit % 8) & 1 == 1)
}

/// A small filter, copied out of its frame.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    bytes: [u8; SMALL_BELOW_BYTES],
    length: u8,
    k: u8,
}

impl Small {
    /// Its bits m and probes k.
    pub fn geometry(&self) -> Geometry {
        Geometry { bits: u64::from(self.length) * 8, k: self.k.into() }
    }

    /// May the key with this digest be present?
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        small_contains(&self.bytes[..self.length.into()], self.k, digest)
    }

    /// As [`crate::Filter::contains_batch`].
    ///
    /// # Errors
    /// As there.
    pub fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        check_output(digests.len(), out)?;
        self.contains_window(digests, out);
        Ok(())
    }

    /// The same, for an `out` that is long enough.
    pub(crate) fn contains_window(&self, digests: &[Digest], out: &mut [u64]) {
        for (digests, out) in digests.chunks(64).zip(out) {
            *out = (0..).zip(digests).fold(0, |word, (i, &d)| word | u64::from(self.contains_digest(d)) << i);
        }
    }
}

impl<'b> Compact<'b> {
    /// Reads the trailer, in constant time: any one flipped bit of it is found, and other damage to it or to the length
    /// but for one case in 256. A flipped bit of the filter is not: that takes [`Compact::verify`]. Small filters are
    /// verified here already; of damage to those one case in 65,536 goes unseen.
    ///
    /// # Errors
    /// When the bytes are no compact frame.
    pub fn open(bytes: &'b [u8]) -> Result<Self, FormatError> {
        if bytes.len() <= LONGEST_SMALL {
            return Self::open_small(bytes);
        }
        let needed = (SMALL_BELOW_BYTES + TRAILER_BYTES) as u64;
        let truncated = FormatError::Truncated { bytes: bytes.len() as u64, needed };
        let Some((payload, trailer)) = bytes.split_last_chunk::<TRAILER_BYTES>() else { return Err(truncated) };
        if payload.len() < SMALL_BELOW_BYTES {
            return Err(truncated);
        }
        let [tag, k, s0, s1, s2, stored] = *trailer;
        let (version, layout) = (tag >> 4, tag & 15);
        if version != VERSION {
            return Err(FormatError::Version { found: version.into(), newest: VERSION.into() });
        }
        let layout = LayoutKind::from_tag(layout).ok_or(FormatError::Layout { tag: layout })?;
        let sum = u32::from_le_bytes([s0, s1, s2, 0]);
        let computed = check(fields(layout, k, sum), payload.len());
        if stored != computed {
            return Err(FormatError::HeaderChecksum { stored: stored.into(), computed: computed.into() });
        }
        let this = Self { layout, k, sum, payload };
        layout.model().validate(this.geometry())?;
        Ok(this)
    }

    fn open_small(bytes: &'b [u8]) -> Result<Self, FormatError> {
        let needed = SMALL_TRAILER_BYTES as u64 + 1;
        let truncated = FormatError::Truncated { bytes: bytes.len() as u64, needed };
        let Some((payload, &[tag, low, high])) = bytes.split_last_chunk::<SMALL_TRAILER_BYTES>() else {
            return Err(truncated);
        };
        if payload.is_empty() {
            return Err(truncated);
        }
        let (version, k) = (tag >> 5, (tag & 31) + 1);
        if version != VERSION {
            return Err(FormatError::Version { found: version.into(), newest: VERSION.into() });
        }
        let (stored, sum) = (u16::from_le_bytes([low, high]), small_sum(payload, tag));
        if stored != sum as u16 {
            return Err(FormatError::HeaderChecksum { stored: stored.into(), computed: (sum as u16).into() });
        }
        Ok(Self { layout: LayoutKind::Classic, k, sum: 0, payload })
    }

    /// Is it a small filter, one of under 64 bytes?
    fn is_small(&self) -> bool {
        self.payload.len() < SMALL_BELOW_BYTES
    }

    /// The filter itself, when it is small.
    pub fn small(&self) -> Option<Small> {
        self.is_small().then(|| {
            let mut bytes = [0; SMALL_BELOW_BYTES];
            bytes[..self.payload.len()].copy_from_slice(self.payload);
            Small { bytes, length: self.payload.len() as u8, k: self.k } // below 64
        })
    }

    /// Its layout.
    pub fn layout(&self) -> LayoutKind {
        self.layout
    }

    /// Its bits m and probes k.
    pub fn geometry(&self) -> Geometry {
        Geometry { bits: self.payload.len() as u64 * 8, k: self.k.into() }
    }

    /// The filter's bits, as they lie in the frame.
    pub fn payload(&self) -> &'b [u8] {
        self.payload
    }

    /// Compares the bits with 24 bits of their checksum. Reads the whole filter.
    ///
    /// # Errors
    /// When they differ.
    pub fn verify(&self) -> Result<(), FormatError> {
        if self.is_small() {
            return Ok(()); // it was when it was opened
        }
        let (stored, computed) = (self.sum.into(), sum(self.payload).into());
        if stored == computed { Ok(()) } else { Err(FormatError::PayloadChecksum { stored, computed }) }
    }

    /// The filter, over the bytes where they lie, when it is not small.
    ///
    /// # Errors
    /// When it is small: see [`Compact::small`].
    pub fn filter(&self, hasher: impl Into<AnyHasher>) -> Result<AnyFilter<'b>, FormatError> {
        Ok(AnyFilter::from_bytes(self.layout, self.payload, self.geometry(), UNKNOWN, hasher.into())?)
    }

    /// May the key with this digest be present?
    pub fn contains_digest(&self, digest: Digest) -> bool {
        if self.is_small() {
            return small_contains(self.payload, self.k, digest);
        }
        AnyFilter::probe(self.layout, self.payload, self.geometry(), digest).unwrap_or(true)
    }
}

/// A compact frame does not say what the filter was sized for.
pub(crate) const UNKNOWN: Design = Design { keys: 0, fpr: 1.0 };

/// May the key with this digest be present in the filter of this compact frame? Total and in constant time: "maybe" for
/// whatever [`Compact::open`] refuses.
pub fn probe(bytes: &[u8], digest: Digest) -> bool {
    Compact::open(bytes).map_or(true, |filter| filter.contains_digest(digest))
}
