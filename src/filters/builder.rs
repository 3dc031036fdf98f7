//! Sizing and making a filter.

use super::{Design, Filter, SharedFilter, filter::owned};
use crate::{
    Level,
    dispatch::BulkOptions,
    error::{AllocError, BuildError},
    hash::{Digest, KeyHasher, Xxh3},
    layout::Layout,
    mem::Owned,
    sizing::Geometry,
};
use core::marker::PhantomData;

/// What the size follows from.
#[derive(Clone, Copy, Debug)]
enum Goal {
    Fpr(f64),
    BitsPerKey(f64),
    Bytes(u64),
    Geometry(Geometry),
}

/// Sizes a filter by its layout's own formula, and makes it. A rate of 1 % unless told otherwise.
///
/// ```
/// use bloomline::{Blocked, Filter, hash::Xxh64};
///
/// let builder = Filter::<Blocked>::builder(1_000_000).fpr(0.001).hasher(Xxh64::default());
/// assert_eq!(builder.estimated_bytes()?, 1_943_552);
/// let filter = builder.build()?;
/// assert_eq!(filter.geometry().k, 9);
/// assert!(filter.design().fpr <= 0.001);
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder<L: Layout, H = Xxh3> {
    keys: u64,
    goal: Goal,
    hasher: H,
    level: Level,
    cap: u64,
    layout: PhantomData<fn() -> L>,
}

/// The most that one filter may take unless the caller says otherwise.
pub(crate) fn default_cap() -> u64 {
    #[cfg(all(feature = "std", not(miri)))]
    {
        crate::machine::Machine::get().memory_cap()
    }
    #[cfg(any(not(feature = "std"), miri))]
    {
        isize::MAX as u64
    }
}

impl<L: Layout> Builder<L> {
    /// For `keys` distinct keys.
    pub(crate) fn new(keys: u64) -> Self {
        let goal = Goal::Fpr(0.01);
        Self { keys, goal, hasher: Xxh3::default(), level: Level::get(), cap: default_cap(), layout: PhantomData }
    }
}

impl<L: Layout, H: KeyHasher> Builder<L, H> {
    /// The fewest bits whose expected false positive rate with all keys is at most `fpr`.
    #[must_use]
    pub fn fpr(mut self, fpr: f64) -> Self {
        self.goal = Goal::Fpr(fpr);
        self
    }

    /// At most this many bits for each key, and at least one unit.
    #[must_use]
    pub fn bits_per_key(mut self, bits: f64) -> Self {
        self.goal = Goal::BitsPerKey(bits);
        self
    }

    /// At most this many bytes in all.
    #[must_use]
    pub fn with_byte_budget(mut self, bytes: u64) -> Self {
        self.goal = Goal::Bytes(bytes);
        self
    }

    /// Exactly these bits and probes.
    #[must_use]
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.goal = Goal::Geometry(geometry);
        self
    }

    /// Keys hashed by this hasher.
    #[must_use]
    pub fn hasher<H2: KeyHasher>(self, hasher: H2) -> Builder<L, H2> {
        let Self { keys, goal, level, cap, layout, .. } = self;
        Builder { keys, goal, hasher, level, cap, layout }
    }

    /// Answered by this instruction set, or the best below when this machine lacks it.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// At most this many bytes are allocated. By default half of the machine's memory, or of the cgroup's limit where
    /// that is less ([`Machine::memory_cap`](crate::machine::Machine::memory_cap)).
    #[must_use]
    pub fn memory_cap(mut self, bytes: u64) -> Self {
        self.cap = bytes;
        self
    }

    /// What a filter of another kind needs beside the size: keys, hasher, level and cap.
    pub(super) fn into_parts(self) -> (u64, H, Level, u64) {
        (self.keys, self.hasher, self.level, self.cap)
    }

    /// The bits and probes that the filter will have.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn sized(&self) -> Result<Geometry, BuildError> {
        let model = L::MODEL;
        Ok(match self.goal {
            Goal::Fpr(fpr) => model.size_for_fpr(self.keys, fpr)?,
            Goal::BitsPerKey(bits) => model.size_for_bits_per_key(self.keys, bits)?,
            Goal::Bytes(bytes) => model.size_for_bytes(self.keys, bytes)?,
            Goal::Geometry(geometry) => model.validate(geometry).map(|()| geometry)?,
        })
    }

    /// The bytes that the filter's bits will take. Nothing is allocated, and no cap applies.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn estimated_bytes(&self) -> Result<u64, BuildError> {
        Ok(self.sized()?.bits / 8)
    }

    /// Makes the filter, empty.
    ///
    /// # Errors
    /// When there is no such size, when it is over the cap, or when the system has no memory for it; all before anything
    /// is allocated but the last.
    pub fn build(self) -> Result<Filter<L, Owned<L::Unit>, H>, BuildError> {
        let geometry = self.sized()?;
        let bytes = geometry.bits / 8;
        if bytes > self.cap {
            return Err(AllocError::OverCap { bytes, cap: self.cap }.into());
        }
        let design = Design { keys: self.keys, fpr: L::MODEL.fpr(self.keys, geometry) };
        Ok(Filter::from_parts(owned::<L>(geometry)?, geometry, design, self.hasher, self.level))
    }

    /// Makes a filter that many threads may fill, empty.
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn build_shared(self) -> Result<SharedFilter<L, H>, BuildError> {
        self.build().map(Filter::into_shared)
    }

    /// Makes the filter of these digests: [`Filter::insert_bulk`] into a new one.
    ///
    /// # Errors
    /// As [`Builder::build`], and when there is no memory for the partition.
    pub fn build_from_digests(
        self,
        digests: &[Digest],
        options: BulkOptions,
    ) -> Result<Filter<L, Owned<L::Unit>, H>, BuildError> {
        let mut filter = self.build()?;
        filter.insert_bulk(digests, options)?;
        Ok(filter)
    }
}
