//! The full frame: a header of 64 bytes, and the bits.

use super::{HEADER_BYTES, Header, Stored, VERSION};
use crate::{
    AnyCounting, AnyFilter, Digest, FilterKind,
    error::FormatError,
    filters::Holder,
    hash::{AnyHasher, Blake2b, KeyHasher},
};
use alloc::{sync::Arc, vec::Vec};
use xxhash_rust::xxh3::xxh3_64;

/// A filter with its header, in somebody's bytes.
///
/// ```
/// use bloomline::{Contains, Filter, SplitBlock, format::{self, Frame}};
///
/// let mut filter = Filter::<SplitBlock>::builder(1_000).fpr(0.01).build()?;
/// filter.insert("key");
/// let bytes = format::to_vec(&filter);
///
/// let frame = Frame::open(&bytes)?;
/// frame.verify()?;
/// let filter = frame.filter(frame.header().hasher(None)?)?;
/// assert!(filter.contains_bytes(b"key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Frame<'b> {
    header: Header,
    payload: &'b [u8],
}

impl<'b> Frame<'b> {
    /// Reads the header, in constant time: damage in it and a wrong length are found, a flipped bit of the filter is
    /// not. That takes [`Frame::verify`].
    ///
    /// # Errors
    /// When the bytes are no whole frame of a version that this crate knows, or fields of the header contradict each
    /// other.
    pub fn open(bytes: &'b [u8]) -> Result<Self, FormatError> {
        let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(FormatError::Truncated { bytes: bytes.len() as u64, needed: HEADER_BYTES as u64 });
        };
        let header = Header::from_bytes(header)?;
        header.check_length(payload.len() as u64)?;
        Ok(Self { header, payload })
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The filter's bits, as they lie in the frame.
    pub fn payload(&self) -> &'b [u8] {
        self.payload
    }

    /// Compares the bits with their checksum. Reads the whole filter.
    ///
    /// # Errors
    /// When they differ.
    pub fn verify(&self) -> Result<(), FormatError> {
        let (stored, computed) = (self.header.payload_checksum, xxh3_64(self.payload));
        if stored == computed { Ok(()) } else { Err(FormatError::PayloadChecksum { stored, computed }) }
    }

    /// The bit filter, over the bytes where they lie. `hasher` comes from [`Header::hasher`].
    ///
    /// # Errors
    /// When `hasher` is not the one that the header names, or the filter is none of bits.
    pub fn filter(&self, hasher: impl Into<AnyHasher>) -> Result<AnyFilter<'b>, FormatError> {
        let (hasher, Header { geometry, design, .. }) = (hasher.into(), self.header);
        self.check_hasher(&hasher)?;
        Ok(AnyFilter::from_bytes(self.header.layout()?, self.payload, geometry, design, hasher)?)
    }

    /// The filter that counts, copied. `hasher` comes from [`Header::hasher`].
    ///
    /// # Errors
    /// When `hasher` is not the one that the header names, the filter is one of bits, or there is no memory.
    pub fn counting(&self, hasher: impl Into<AnyHasher>) -> Result<AnyCounting, FormatError> {
        let (hasher, Header { kind, geometry, design, .. }) = (hasher.into(), self.header);
        self.check_hasher(&hasher)?;
        Ok(AnyCounting::from_bytes(kind, self.payload, geometry, design, hasher)?)
    }

    /// May the key with this digest, one of the filter's hasher, be present?
    pub fn contains_digest(&self, digest: Digest) -> bool {
        let Header { kind, geometry, .. } = self.header;
        let answer = match kind {
            FilterKind::Bits(layout) => AnyFilter::probe(layout, self.payload, geometry, digest),
            kind => AnyCounting::probe(kind, self.payload, geometry, digest),
        };
        answer.unwrap_or(true)
    }

    /// Is `hasher` the one that the header names?
    ///
    /// # Errors
    /// When it is another, or has another seed or key.
    pub fn check_hasher(&self, hasher: &AnyHasher) -> Result<(), FormatError> {
        let Header { hasher: stored, seed, .. } = self.header;
        if hasher.id() != stored {
            return Err(FormatError::HasherDiffers { stored, given: hasher.id() });
        }
        if hasher.seed() != seed {
            return Err(FormatError::KeyDiffers { stored: seed, given: hasher.seed() });
        }
        Ok(())
    }
}

/// A bit filter that owns its bits, from a full frame: verified, then copied into aligned memory.
///
/// # Errors
/// As [`Frame::open`], [`Frame::verify`] and [`Header::hasher`], and when there is no memory for the bits. No more is
/// asked for than there are bytes.
pub fn decode(bytes: &[u8], key: Option<&Blake2b>) -> Result<AnyFilter<'static>, FormatError> {
    let frame = Frame::open(bytes)?;
    frame.verify()?;
    Ok(frame.filter(frame.header.hasher(key)?)?.to_owned()?)
}

/// The bit filter in a full frame that `holder` keeps: a vector, an `Arc<[u8]>`, a reference-counted buffer of an engine's
/// cache, a mapping. Constant time, nothing is copied, and the filter keeps the holder alive. The bits are not verified.
///
/// # Errors
/// As [`Frame::open`] and [`Header::hasher`].
///
/// ```
/// use bloomline::{Contains, Filter, Word, format, hash::Xxh3};
/// let filter = Filter::<Word>::builder(1_000).build()?;
/// let cached: std::sync::Arc<[u8]> = format::to_vec(&filter).into();
/// let filter = format::hold(cached, None)?; // 'static, Send and Sync
/// assert!(!filter.contains_bytes(b"key"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn hold<B>(holder: B, key: Option<&Blake2b>) -> Result<AnyFilter<'static>, FormatError>
where
    B: AsRef<[u8]> + Send + Sync + 'static,
{
    let holder: Holder = Arc::new(holder);
    let bytes = (*holder).as_ref();
    let header = Frame::open(bytes)?.header;
    let Header { geometry, design, .. } = header;
    let hasher = header.hasher(key)?;
    let part = HEADER_BYTES..bytes.len();
    Ok(AnyFilter::from_holder(header.layout()?, holder, part, geometry, design, hasher)?)
}

/// May the key with this digest be present in the filter of this full frame? Total and in constant time: "maybe" for
/// whatever [`Frame::open`] refuses. The digest is taken for one of the filter's hasher.
pub fn probe(bytes: &[u8], digest: Digest) -> bool {
    Frame::open(bytes).map_or(true, |frame| frame.contains_digest(digest))
}

fn header_of(filter: &impl Stored) -> Header {
    Header {
        version: VERSION,
        kind: filter.kind(),
        hasher: filter.hasher_id(),
        seed: filter.seed(),
        geometry: filter.geometry(),
        design: filter.design(),
        payload_checksum: xxh3_64(filter.payload()),
    }
}

/// The full frame of a filter.
pub fn to_vec(filter: &impl Stored) -> Vec<u8> {
    [&header_of(filter).to_bytes(), filter.payload()].concat()
}

/// Writes the full frame of a filter; returns its bytes.
///
/// # Errors
/// Those of the writer.
#[cfg(feature = "std")]
pub fn write(filter: &impl Stored, mut to: impl std::io::Write) -> std::io::Result<u64> {
    to.write_all(&header_of(filter).to_bytes())?;
    to.write_all(filter.payload())?;
    Ok((HEADER_BYTES + filter.payload().len()) as u64)
}
