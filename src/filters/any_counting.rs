//! A counting filter whose kind and hasher are known at run time.

use super::{
    AnyFilter, Blocked128, Classic, Contains, CountingView, DLeftCountingBloom, DLeftView, Design, FilterKind,
    PlainCountingBloom, counting, d_left,
};
use crate::{
    Level,
    dispatch::Bucket,
    error::{AllocError, BatchError, BuildError, CombineError, DLeftMergeError, TableFull},
    hash::{AnyHasher, Digest, KeyHasher, PreHashedTrusted},
    mem::Owned,
    sizing::Geometry,
};

/// A filter from which keys can be removed, of any kind and any hasher: what a program holds that reads them from files.
///
/// ```
/// use bloomline::{AnyCounting, Design, FilterKind, Level, hash::Xxh3};
/// let geometry = FilterKind::DLeft.size_for_fpr(1_000, 0.01)?;
/// let design = Design { keys: 1_000, fpr: 0.01 };
/// let mut filter = AnyCounting::with_geometry(FilterKind::DLeft, geometry, design, Xxh3::default().into(), Level::get())?;
/// use bloomline::Contains;
/// let digest = filter.digest_bytes(b"key").expect("xxh3 takes bytes");
/// filter.insert_batch(&[digest])?;
/// assert!(filter.contains_digest(digest));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyCounting {
    /// Counters anywhere.
    Counting(PlainCountingBloom<Classic, AnyHasher>),
    /// The counters of a key in one line.
    BlockedCounting(PlainCountingBloom<Blocked128, AnyHasher>),
    /// Fingerprints in buckets.
    DLeft(DLeftCountingBloom<Owned<Bucket>, AnyHasher>),
}

/// Does the same to each kind.
macro_rules! each {
    ($any:expr, $filter:ident => $what:expr) => {
        match $any {
            AnyCounting::Counting($filter) => $what,
            AnyCounting::BlockedCounting($filter) => $what,
            AnyCounting::DLeft($filter) => $what,
        }
    };
}

impl AnyCounting {
    /// An empty filter of this kind and geometry, answered by `level` or the best below. No cap applies.
    ///
    /// # Errors
    /// When the kind does not count, the geometry is none of it, or there is no memory.
    pub fn with_geometry(
        kind: FilterKind,
        geometry: Geometry,
        design: Design,
        hasher: AnyHasher,
        level: Level,
    ) -> Result<Self, BuildError> {
        kind.validate(geometry)?;
        Ok(match kind {
            FilterKind::Bits(_) => return Err(BuildError::Kind { kind: kind.name() }),
            FilterKind::Counting => Self::Counting(counting::empty(geometry, design, hasher, level)?),
            FilterKind::BlockedCounting => Self::BlockedCounting(counting::empty(geometry, design, hasher, level)?),
            FilterKind::DLeft => Self::DLeft(d_left::empty(geometry, design, hasher, level)?),
        })
    }

    /// A filter whose counters or buckets are copied from bytes, which are trusted to be those of such a filter.
    ///
    /// # Errors
    /// As [`AnyCounting::with_geometry`], and when the bytes are not as many as the geometry needs; before anything is
    /// allocated.
    pub fn from_bytes(
        kind: FilterKind,
        bytes: &[u8],
        geometry: Geometry,
        design: Design,
        hasher: AnyHasher,
    ) -> Result<Self, BuildError> {
        kind.validate(geometry)?;
        let needed = kind.bytes(geometry);
        if bytes.len() as u64 != needed {
            return Err(BuildError::Length { bytes: bytes.len() as u64, needed });
        }
        let mut filter = Self::with_geometry(kind, geometry, design, hasher, Level::get())?;
        each!(&mut filter, filter => filter.bytes_mut()).copy_from_slice(bytes);
        Ok(filter)
    }

    /// One lookup in counters or buckets that lie in somebody's bytes, without making a filter of them. `None` as the errors
    /// of [`AnyCounting::from_bytes`].
    pub(crate) fn probe(kind: FilterKind, bytes: &[u8], geometry: Geometry, digest: Digest) -> Option<bool> {
        let design = Design { keys: 0, fpr: 1.0 };
        // The digest is there already.
        let hasher = PreHashedTrusted;
        match kind {
            FilterKind::Bits(_) => None,
            FilterKind::Counting => {
                let view = CountingView::<Classic, _>::from_bytes(bytes, geometry, design, hasher).ok()?;
                Some(view.contains_digest(digest))
            }
            FilterKind::BlockedCounting => {
                let view = CountingView::<Blocked128, _>::from_bytes(bytes, geometry, design, hasher).ok()?;
                Some(view.contains_digest(digest))
            }
            FilterKind::DLeft => {
                let view = DLeftView::from_bytes(bytes, geometry, design, hasher).ok()?;
                Some(view.contains_digest(digest))
            }
        }
    }

    /// What it is.
    pub fn kind(&self) -> FilterKind {
        each!(self, filter => filter.kind())
    }

    /// Its geometry, as [`FilterKind::validate`] has it.
    pub fn geometry(&self) -> Geometry {
        each!(self, filter => filter.geometry())
    }

    /// What it was sized for.
    pub fn design(&self) -> Design {
        each!(self, filter => filter.design())
    }

    /// Its hasher.
    pub fn hasher(&self) -> &AnyHasher {
        each!(self, filter => filter.hasher())
    }

    /// The instruction set that answers.
    pub fn level(&self) -> Level {
        each!(self, filter => filter.level())
    }

    /// Its counters or buckets.
    pub fn as_bytes(&self) -> &[u8] {
        each!(self, filter => filter.as_bytes())
    }

    /// Share of counters that are not 0, or of slots that are taken. Reads the whole filter.
    pub fn occupancy(&self) -> f64 {
        each!(self, filter => filter.occupancy())
    }

    /// Distinct keys that are present, estimated. Reads the whole filter.
    pub fn estimated_cardinality(&self) -> f64 {
        each!(self, filter => filter.estimated_cardinality())
    }

    /// The rate at which it answers "maybe" for absent keys now. Reads the whole filter, and makes the bit filter of a
    /// counting one.
    ///
    /// # Errors
    /// When there is no memory for that.
    pub fn current_fpr(&self) -> Result<f64, AllocError> {
        Ok(match self {
            Self::Counting(filter) => filter.to_bloom()?.current_fpr(),
            Self::BlockedCounting(filter) => filter.to_bloom()?.current_fpr(),
            Self::DLeft(filter) => filter.current_fpr(),
        })
    }

    /// Whether more keys are present than it was sized for. Reads the whole filter.
    pub fn is_past_design(&self) -> bool {
        each!(self, filter => filter.is_past_design())
    }

    /// Counters that are stuck; a d-left table has none that can be.
    pub fn stuck_counters(&self) -> Option<u64> {
        match self {
            Self::Counting(filter) => Some(filter.stuck_counters()),
            Self::BlockedCounting(filter) => Some(filter.stuck_counters()),
            Self::DLeft(_) => None,
        }
    }

    /// The bit filter of the keys that are present; a d-left table has none.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn to_bloom(&self) -> Result<Option<AnyFilter<'static>>, AllocError> {
        Ok(match self {
            Self::Counting(filter) => Some(filter.to_bloom()?.into()),
            Self::BlockedCounting(filter) => Some(filter.to_bloom()?.into()),
            Self::DLeft(_) => None,
        })
    }

    /// Inserts them all, in order.
    ///
    /// # Errors
    /// At the first for which there is no room, in a d-left table: those before it were inserted.
    pub fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), TableFull> {
        match self {
            Self::Counting(filter) => filter.insert_batch(digests),
            Self::BlockedCounting(filter) => filter.insert_batch(digests),
            Self::DLeft(filter) => filter.insert_batch(digests)?,
        }
        Ok(())
    }

    /// Removes them all; bit i % 64 of word i / 64 of `out`: digest i was there. The others are refused.
    ///
    /// # Errors
    /// When `out` has fewer than ⌈digests / 64⌉ words. Nothing is removed then.
    pub fn remove_batch(&mut self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        each!(self, filter => filter.remove_batch(digests, out))
    }

    /// Makes it the filter of the keys of both, each as often as in both together.
    ///
    /// # Errors
    /// When kind, size, probes, hasher or seed differ, or a d-left table has no room; the receiver is then as it was.
    pub fn merge(&mut self, other: &Self) -> Result<(), DLeftMergeError> {
        match (&mut *self, other) {
            (Self::Counting(ours), Self::Counting(theirs)) => Ok(ours.merge(theirs)?),
            (Self::BlockedCounting(ours), Self::BlockedCounting(theirs)) => Ok(ours.merge(theirs)?),
            (Self::DLeft(ours), Self::DLeft(theirs)) => ours.merge(theirs),
            (ours, theirs) => {
                let (left, right) = (ours.kind().name(), theirs.kind().name());
                Err(CombineError::Layout { left, right }.into())
            }
        }
    }
}

impl Contains for AnyCounting {
    fn contains_digest(&self, digest: Digest) -> bool {
        each!(self, filter => filter.contains_digest(digest))
    }
    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        each!(self, filter => filter.contains_batch(digests, out))
    }
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        self.hasher().digest_bytes(key)
    }
    fn size_in_bytes(&self) -> u64 {
        self.kind().bytes(self.geometry())
    }
}
