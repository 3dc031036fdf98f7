//! The filter of one segment: built while the segment is written, opened where its bytes lie.

use crate::{
    AnyFilter, BulkOptions, Contains, Design, Digest, LayoutKind, Level, NegativeGate,
    error::{AllocError, BatchError, BuildError, FormatError, WriteError},
    filters::{Holder, default_cap},
    format::{
        Frame, HEADER_BYTES,
        compact::{self, Compact, SMALL_BELOW_BYTES, Small},
    },
    hash::{AnyHasher, KeyHasher},
    sizing::{Geometry, Model},
};
use alloc::{format, string::String, sync::Arc, vec::Vec};

/// What the size of a segment's filter follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    BitsPerKey(f64),
    Fpr(f64),
}

/// How the filter's bytes are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameKind {
    /// A header of 64 bytes that says everything but a secret key.
    Full,
    /// A trailer of 6 bytes, or of 3 below 64 bytes; hasher and seed are the policy's.
    Compact,
}

/// What all filters of a store have in common: layout, size, hasher and frame. An engine's filter policy is a thin shell
/// around it.
///
/// ```
/// use bloomline::{Contains, LayoutKind, gate::SegmentPolicy, hash::Xxh3};
///
/// let policy = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::default()).bits_per_key(12.0);
///
/// // While the segment is written:
/// let mut builder = policy.builder();
/// for key in 0..1_000u64 {
///     builder.add_key(&key.to_be_bytes());
/// }
/// let bytes = builder.finish()?; // goes into the segment
///
/// // When its bytes are read back:
/// policy.verify(&bytes)?; // unless a checksum of the engine covers them
/// let filter = policy.open(bytes)?;
/// assert!(filter.contains_bytes(&7u64.to_be_bytes()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SegmentPolicy {
    layout: LayoutKind,
    hasher: AnyHasher,
    size: Size,
    frame: FrameKind,
    threads: usize,
}

impl SegmentPolicy {
    /// Filters of this layout, 10 bits for each key, keys hashed by `hasher`, in the full frame, built on the caller's
    /// thread.
    pub fn new(layout: LayoutKind, hasher: impl Into<AnyHasher>) -> Self {
        Self { layout, hasher: hasher.into(), size: Size::BitsPerKey(10.0), frame: FrameKind::Full, threads: 1 }
    }

    /// At most this many bits for each key, and at least one unit, the frame not counted: with a 64-byte line a unit, segments
    /// of a few keys want [`SegmentPolicy::compact`].
    #[must_use]
    pub fn bits_per_key(mut self, bits: f64) -> Self {
        self.size = Size::BitsPerKey(bits);
        self
    }

    /// The fewest bits whose expected false positive rate is at most `fpr`.
    #[must_use]
    pub fn fpr(mut self, fpr: f64) -> Self {
        self.size = Size::Fpr(fpr);
        self
    }

    /// In the compact frame, for filters of a few keys in an engine's own checksummed blocks. Those that would have under
    /// 64 bytes are of layout `classic` whatever the policy's, of any whole number of bytes.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.frame = FrameKind::Compact;
        self
    }

    /// Large filters are built on this many threads; 0 means all of the current rayon pool.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// A name for engines that store one beside their filters: layout, hasher, seed (or check of the key), frame and its
    /// version. Filters of policies of one name can be read by each other.
    ///
    /// ```
    /// # use bloomline::{LayoutKind, gate::SegmentPolicy, hash::Xxh3};
    /// let policy = SegmentPolicy::new(LayoutKind::Word, Xxh3::with_seed(7)).compact();
    /// assert_eq!(policy.name(), "bloomline.word.xxh3.0000000000000007.compact-v1");
    /// ```
    pub fn name(&self) -> String {
        let frame = match self.frame {
            FrameKind::Full => format!("full-v{}", crate::format::VERSION),
            FrameKind::Compact => format!("compact-v{}", compact::VERSION),
        };
        format!("bloomline.{}.{}.{:016x}.{frame}", self.layout, self.hasher.id(), self.hasher.seed())
    }

    /// The hasher.
    pub fn hasher(&self) -> &AnyHasher {
        &self.hasher
    }

    /// The digest of a key: once for all filters of this policy. `None` when the hasher takes hashes instead of bytes.
    #[inline]
    pub fn digest(&self, key: &[u8]) -> Option<Digest> {
        self.hasher.digest_bytes(key)
    }

    /// Starts the filter of a segment.
    pub fn builder(&self) -> SegmentFilterBuilder {
        SegmentFilterBuilder { policy: self.clone(), digests: Vec::new(), refused: false }
    }

    /// May the key with this digest be present in the filter of these bytes? Total and in constant time: "maybe" for
    /// whatever [`SegmentPolicy::open`] refuses.
    pub fn probe(&self, bytes: &[u8], digest: Digest) -> bool {
        match self.frame {
            FrameKind::Full => {
                Frame::open(bytes).map_or(true, |frame| self.check(&frame).is_err() || frame.contains_digest(digest))
            }
            FrameKind::Compact => compact::probe(bytes, digest),
        }
    }

    /// Opens and verifies a filter's bytes: finds flipped bits too. Reads the whole filter.
    ///
    /// # Errors
    /// As [`SegmentPolicy::open`], and when the bits differ from their checksum.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), FormatError> {
        match self.frame {
            FrameKind::Full => {
                let frame = Frame::open(bytes)?;
                self.check(&frame)?;
                frame.verify()
            }
            FrameKind::Compact => Compact::open(bytes)?.verify(),
        }
    }

    /// The filter in bytes that `holder` keeps: a vector, an `Arc<[u8]>`, a reference-counted buffer of an engine's
    /// cache, a mapping. In constant time, without copying (but for filters of under 64 bytes), and without verifying
    /// the bits.
    ///
    /// # Errors
    /// When the bytes are no frame of the policy's kind, or the filter was built by another hasher or seed.
    pub fn open<B>(&self, holder: B) -> Result<SegmentFilter, FormatError>
    where
        B: AsRef<[u8]> + Send + Sync + 'static,
    {
        let holder: Holder = Arc::new(holder);
        let bytes = (*holder).as_ref();
        let length = bytes.len();
        let any = |layout, part, geometry, design| {
            AnyFilter::from_holder(layout, holder.clone(), part, geometry, design, self.hasher.clone())
        };
        let probe = match self.frame {
            FrameKind::Full => {
                let frame = Frame::open(bytes)?;
                self.check(&frame)?;
                let header = frame.header();
                Probe::Filter(any(header.layout()?, HEADER_BYTES..length, header.geometry, header.design)?)
            }
            FrameKind::Compact => {
                let frame = Compact::open(bytes)?;
                match frame.small() {
                    Some(small) => Probe::Small(small),
                    None => {
                        let part = 0..length - compact::TRAILER_BYTES;
                        Probe::Filter(any(frame.layout(), part, frame.geometry(), compact::UNKNOWN)?)
                    }
                }
            }
        };
        Ok(SegmentFilter { probe, hasher: self.hasher.clone(), frame_bytes: length as u64 })
    }

    /// The filter of these bytes, verified and copied into memory of its own that is aligned to cache lines, in huge pages
    /// where the system has them: what a cache of filters holds. Lookups in bytes that begin anywhere cost a second line
    /// whenever a block straddles two, and a walk of the page table.
    ///
    /// # Errors
    /// As [`SegmentPolicy::open`] and [`SegmentPolicy::verify`], and when there is no memory for the copy.
    pub fn load(&self, bytes: &[u8]) -> Result<SegmentFilter, FormatError> {
        let probe = match self.frame {
            FrameKind::Full => {
                let frame = Frame::open(bytes)?;
                self.check(&frame)?;
                frame.verify()?;
                Probe::Filter(frame.filter(self.hasher.clone())?.to_owned()?.into_held())
            }
            FrameKind::Compact => {
                let frame = Compact::open(bytes)?;
                frame.verify()?;
                match frame.small() {
                    Some(small) => Probe::Small(small),
                    None => Probe::Filter(frame.filter(self.hasher.clone())?.to_owned()?.into_held()),
                }
            }
        };
        Ok(SegmentFilter { probe, hasher: self.hasher.clone(), frame_bytes: bytes.len() as u64 })
    }

    /// Was the filter built by this policy's hasher?
    fn check(&self, frame: &Frame<'_>) -> Result<(), FormatError> {
        // A filter that counts is no gate.
        frame.header().layout()?;
        frame.check_hasher(&self.hasher)
    }

    /// The expected false positive rate of a filter of `keys` keys, and the bytes it takes, frame included.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn plan(&self, keys: u64) -> Result<SegmentPlan, BuildError> {
        let (layout, geometry) = self.geometry(keys.max(1))?;
        let around = match self.frame {
            FrameKind::Full => HEADER_BYTES,
            FrameKind::Compact if geometry.bits / 8 < SMALL_BELOW_BYTES as u64 => compact::SMALL_TRAILER_BYTES,
            FrameKind::Compact => compact::TRAILER_BYTES,
        };
        let fpr = layout.model().fpr(keys, geometry);
        Ok(SegmentPlan { layout, geometry, fpr, bytes: geometry.bits / 8 + around as u64 })
    }

    fn geometry(&self, keys: u64) -> Result<(LayoutKind, Geometry), BuildError> {
        if self.frame == FrameKind::Compact
            && let Some(small) = self.small_geometry(keys)
        {
            return Ok((LayoutKind::Classic, small));
        }
        let model = self.layout.model();
        let geometry = match self.size {
            Size::BitsPerKey(bits) => model.size_for_bits_per_key(keys, bits)?,
            Size::Fpr(fpr) => model.size_for_fpr(keys, fpr)?,
        };
        // Rounded down to whole regions, `partitioned` can be small after all.
        if self.frame == FrameKind::Compact && geometry.bits / 8 < SMALL_BELOW_BYTES as u64 {
            return Ok((LayoutKind::Classic, best_small(keys, SMALL_BELOW_BYTES as u64 - 1)));
        }
        Ok((self.layout, geometry))
    }

    /// The size of a small filter, when the policy's size is one.
    fn small_geometry(&self, keys: u64) -> Option<Geometry> {
        let best = |bytes| best_small(keys, bytes);
        let below = SMALL_BELOW_BYTES as u64;
        match self.size {
            // What is no size is refused by the layout's own sizing.
            Size::BitsPerKey(bits) if bits > 0.0 => {
                let bytes = keys as f64 * bits / 8.0;
                (bytes < below as f64).then(|| best((bytes as u64).max(1)))
            }
            Size::BitsPerKey(_) => None,
            Size::Fpr(fpr) => (1..below).map(best).find(|&g| fpr < 1.0 && Model::Scattered.fpr(keys, g) <= fpr),
        }
    }
}

/// A small filter of so many bytes.
fn best_small(keys: u64, bytes: u64) -> Geometry {
    Geometry { bits: bytes * 8, k: Model::Scattered.best_k(keys, bytes * 8) }
}

/// What a segment's filter will be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SegmentPlan {
    /// Its layout: the policy's, but for small filters in the compact frame.
    pub layout: LayoutKind,
    /// Its bits and probes.
    pub geometry: Geometry,
    /// Its expected false positive rate.
    pub fpr: f64,
    /// Its bytes, frame included.
    pub bytes: u64,
}

/// Takes the keys of a segment while it is written, and makes its filter when their number is known. It holds 8 bytes
/// for each.
#[derive(Clone, Debug)]
pub struct SegmentFilterBuilder {
    policy: SegmentPolicy,
    digests: Vec<Digest>,
    refused: bool,
}

impl SegmentFilterBuilder {
    /// Takes a key. One that equals the key before is not counted again, so the versions of a key that lie side by side
    /// in a segment count once.
    ///
    /// A hasher that takes hashes instead of bytes can't take it: [`SegmentFilterBuilder::finish`] then fails, since the
    /// filter would deny the key.
    #[inline]
    pub fn add_key(&mut self, key: &[u8]) {
        match self.policy.digest(key) {
            Some(digest) => self.add_digest(digest),
            None => self.refused = true,
        }
    }

    /// Takes the key with this digest.
    #[inline]
    pub fn add_digest(&mut self, digest: Digest) {
        if self.digests.last() != Some(&digest) {
            self.digests.push(digest);
        }
    }

    /// Keys so far, adjacent repeats counted once.
    pub fn len(&self) -> usize {
        self.digests.len()
    }

    /// No key so far?
    pub fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Forgets the keys and keeps their memory: for the next segment.
    pub fn clear(&mut self) {
        self.digests.clear();
        self.refused = false;
    }

    /// The filter of the keys, framed, sized for exactly as many as there are. Without keys it is the smallest one, and
    /// answers "absent" to all.
    ///
    /// # Errors
    /// When the policy's size is none, when it is over half of the machine's memory, when there is no memory, or when a
    /// key was given to a hasher that takes none.
    pub fn finish(&self) -> Result<Vec<u8>, BuildError> {
        let Self { policy, digests, refused } = self;
        if *refused {
            return Err(BuildError::NoKeys { hasher: policy.hasher.id() });
        }
        let keys = digests.len() as u64;
        let (layout, geometry) = policy.geometry(keys.max(1))?;
        let bytes = geometry.bits / 8;
        let cap = default_cap();
        if bytes > cap {
            return Err(AllocError::OverCap { bytes, cap }.into());
        }
        if policy.frame == FrameKind::Compact && bytes < SMALL_BELOW_BYTES as u64 {
            return Ok(compact::small(digests, geometry)?);
        }
        let design = Design { keys, fpr: layout.model().fpr(keys, geometry) };
        let mut filter = AnyFilter::with_geometry(layout, geometry, design, policy.hasher.clone(), Level::get())?;
        filter.insert_bulk(digests, BulkOptions::default().threads(policy.threads)).map_err(|error| match error {
            WriteError::Alloc(error) => error,
            WriteError::ReadOnly => AllocError::Refused { bytes }, // a filter just made is not
        })?;
        Ok(match policy.frame {
            FrameKind::Full => crate::format::to_vec(&filter),
            FrameKind::Compact => compact::large(&filter, layout),
        })
    }
}

/// The filter of a segment, over the bytes that it keeps alive.
#[derive(Debug)]
pub struct SegmentFilter {
    probe: Probe,
    hasher: AnyHasher,
    frame_bytes: u64,
}

#[derive(Debug)]
enum Probe {
    Filter(AnyFilter<'static>),
    Small(Small),
}

impl SegmentFilter {
    /// Its layout.
    pub fn layout(&self) -> LayoutKind {
        match &self.probe {
            Probe::Filter(filter) => filter.kind(),
            Probe::Small(_) => LayoutKind::Classic,
        }
    }

    /// Its bits m and probes k.
    pub fn geometry(&self) -> Geometry {
        match &self.probe {
            Probe::Filter(filter) => filter.geometry(),
            Probe::Small(small) => small.geometry(),
        }
    }

    /// What it was sized for; `None` in a compact frame, which does not say.
    pub fn design(&self) -> Option<Design> {
        match &self.probe {
            Probe::Filter(filter) => Some(filter.design()).filter(|design| *design != compact::UNKNOWN),
            Probe::Small(_) => None,
        }
    }

    /// Its hasher.
    pub fn hasher(&self) -> &AnyHasher {
        &self.hasher
    }

    /// Bytes of its frame.
    pub fn frame_bytes(&self) -> u64 {
        self.frame_bytes
    }

    /// The filter inside, unless it is a small one.
    pub(super) fn any(&self) -> Option<&AnyFilter<'static>> {
        match &self.probe {
            Probe::Filter(filter) => Some(filter),
            Probe::Small(_) => None,
        }
    }

    /// Whether batches should prefetch when this filter is one of many, `bytes` in all.
    pub(super) fn prefetches_among(&self, bytes: u64) -> bool {
        match &self.probe {
            Probe::Filter(filter) => filter.prefetches_among(bytes),
            Probe::Small(_) => false,
        }
    }

    /// As [`Contains::contains_batch`], for an `out` that is long enough, prefetching or not as told.
    pub(super) fn contains_window(&self, digests: &[Digest], out: &mut [u64], prefetch: bool) {
        match &self.probe {
            Probe::Filter(filter) => filter.contains_window(digests, out, prefetch),
            Probe::Small(small) => small.contains_window(digests, out),
        }
    }
}

impl Contains for SegmentFilter {
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        match &self.probe {
            Probe::Filter(filter) => filter.contains_digest(digest),
            Probe::Small(small) => small.contains_digest(digest),
        }
    }

    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        match &self.probe {
            Probe::Filter(filter) => filter.contains_batch(digests, out),
            Probe::Small(small) => small.contains_batch(digests, out),
        }
    }

    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        self.hasher.digest_bytes(key)
    }

    fn size_in_bytes(&self) -> u64 {
        self.geometry().bits / 8
    }
}

impl NegativeGate for SegmentFilter {}
