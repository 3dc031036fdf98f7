//! Owners of a filter's bits.

use super::{
    region::{HugePages, Region},
    units::{Atomic, Memory, Plain, Shape, Units, UnitsMut},
};
use crate::{block::Unit, error::AllocError};
use alloc::{sync::Arc, vec, vec::Vec};
use core::{fmt, ops::Range, ptr::NonNull};

/// Who owns a filter's bits, and how they may be read.
pub trait Store: fmt::Debug {
    /// Which accesses are legal.
    type Mem: Memory;
    /// What a digest chooses.
    type Unit: Unit;
    /// The units.
    fn units(&self) -> &Units<'_, Self::Mem, Self::Unit>;
    /// What the kernel said about huge pages.
    fn huge_pages(&self) -> HugePages {
        HugePages::NotAsked
    }
}

/// Units of plain memory that this store owns, aligned to a cache line.
#[derive(Debug)]
pub struct Owned<U: Unit> {
    // Points into `region`, whose address does not change when `self` moves.
    units: Units<'static, Plain, U>,
    region: Region,
}

impl<U: Unit> Owned<U> {
    /// Zeroed units. `None` when the shape does not fit them.
    pub(crate) fn zeroed(units: u64, shape: Shape) -> Result<Option<Self>, AllocError> {
        let bytes = units.checked_mul(U::BYTES as u64).and_then(|b| usize::try_from(b).ok());
        let region = Region::zeroed(bytes.ok_or(AllocError::Refused { bytes: u64::MAX })?)?;
        // SAFETY: the region holds that many units, and `self` keeps it and hands the units out only for its own life.
        let handle = unsafe { Units::new(region.base(), region.as_bytes().len() / U::BYTES, shape) };
        Ok(handle.map(|units| Self { units, region }))
    }

    /// To write.
    #[inline(always)]
    pub(crate) fn units_mut(&mut self) -> UnitsMut<'_, Plain, U> {
        // SAFETY: `&mut self` is exclusive for as long as the handle lives.
        unsafe { UnitsMut::new(self.units) }
    }

    /// The bytes of all units.
    pub fn as_bytes(&self) -> &[u8] {
        self.region.as_bytes()
    }

    /// The bytes of all units.
    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        self.region.as_bytes_mut()
    }

    /// The units as a slice.
    pub(crate) fn as_units_mut(&mut self) -> &mut [U] {
        self.region.units_mut()
    }

    /// The same memory, for many writers.
    pub(crate) fn into_shared(self) -> Shared<U> {
        // SAFETY: the region is aligned to a line, this store owned it alone, and from here on only atomics reach it.
        let units = unsafe { Units::new(self.region.base(), self.units.len(), self.units.shape()) };
        match units {
            Some(units) => Shared { units, region: self.region },
            None => unreachable!("the shape fitted this memory before"),
        }
    }
}

impl<U: Unit> AsRef<[u8]> for Owned<U> {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<U: Unit> Store for Owned<U> {
    type Mem = Plain;
    type Unit = U;
    #[inline(always)]
    fn units(&self) -> &Units<'_, Plain, U> {
        &self.units
    }
    fn huge_pages(&self) -> HugePages {
        self.region.huge()
    }
}

/// Units of atomic words that many threads may write through `&self`. The ordering is told at [`Atomic`].
#[derive(Debug)]
pub struct Shared<U: Unit> {
    // Points into `region`, whose address does not change when `self` moves.
    units: Units<'static, Atomic, U>,
    region: Region,
}

impl<U: Unit> Shared<U> {
    /// To write.
    #[inline(always)]
    pub(crate) fn units_mut(&self) -> UnitsMut<'_, Atomic, U> {
        // SAFETY: atomic memory may be written through any number of shared handles.
        unsafe { UnitsMut::new(self.units) }
    }

    /// The bytes of all units, for one who has the store to himself.
    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        self.region.as_bytes_mut()
    }

    /// The same memory, for one owner again. Taking `self` proves that no other thread can reach it.
    pub(crate) fn into_owned(self) -> Owned<U> {
        // SAFETY: no reference to the atomics is left, and from here on the region is plain memory of this store.
        let units = unsafe { Units::new(self.region.base(), self.units.len(), self.units.shape()) };
        match units {
            Some(units) => Owned { units, region: self.region },
            None => unreachable!("the shape fitted this memory before"),
        }
    }
}

impl<U: Unit> Store for Shared<U> {
    type Mem = Atomic;
    type Unit = U;
    #[inline(always)]
    fn units(&self) -> &Units<'_, Atomic, U> {
        &self.units
    }
    fn huge_pages(&self) -> HugePages {
        self.region.huge()
    }
}

/// Units that lie in somebody else's bytes, at any alignment: an engine's block, a file mapping.
#[derive(Clone, Copy)]
pub struct View<'b, U: Unit> {
    units: Units<'b, Plain, U>,
    bytes: &'b [u8],
}

impl<'b, U: Unit> View<'b, U> {
    /// `None` when the bytes are no whole number of units, or the shape does not fit them.
    pub(crate) fn new(bytes: &'b [u8], shape: Shape) -> Option<Self> {
        if !bytes.len().is_multiple_of(U::BYTES) {
            return None;
        }
        let base = NonNull::from_ref(bytes).cast();
        // SAFETY: the slice holds that many units, readable and unwritten for `'b`.
        let units = unsafe { Units::new(base, bytes.len() / U::BYTES, shape) }?;
        Some(Self { units, bytes })
    }

    /// The bytes of all units.
    pub fn as_bytes(&self) -> &'b [u8] {
        self.bytes
    }
}

impl<U: Unit> fmt::Debug for View<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("units", &self.units).finish_non_exhaustive()
    }
}

impl<U: Unit> Store for View<'_, U> {
    type Mem = Plain;
    type Unit = U;
    #[inline(always)]
    fn units(&self) -> &Units<'_, Plain, U> {
        &self.units
    }
}

/// Bytes that somebody keeps: a vector, a reference-counted slice, a mapping.
pub(crate) type Holder = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Units that lie in bytes which this store keeps alive: those of an engine's cache, without copying.
pub struct Held<U: Unit> {
    // Points into what `holder` keeps.
    units: Units<'static, Plain, U>,
    holder: Holder,
}

impl<U: Unit> Held<U> {
    /// Units in this part of the holder's bytes. `None` as [`View::new`], or when the part reaches beyond the bytes.
    pub(crate) fn new(holder: Holder, part: Range<usize>, shape: Shape) -> Option<Self> {
        let bytes: &[u8] = (*holder).as_ref().get(part)?;
        if !bytes.len().is_multiple_of(U::BYTES) {
            return None;
        }
        // SAFETY: the slice was borrowed from a shared reference to what the `Arc` holds. That stays where it is, alive
        // and never mutably borrowed, while `self` keeps its `Arc`; and `self` hands the units out only for its own life.
        let units = unsafe { Units::new(NonNull::from_ref(bytes).cast(), bytes.len() / U::BYTES, shape) }?;
        Some(Self { units, holder })
    }

    /// The bytes of all units.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: as in `new`: these are the bytes of the slice that the holder lent.
        unsafe { core::slice::from_raw_parts(self.units.base().as_ptr(), self.units.len() * U::BYTES) }
    }
}

impl<U: Unit> fmt::Debug for Held<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("units", &self.units).finish_non_exhaustive()
    }
}

impl<U: Unit> Held<U> {
    /// The same units, reference-counted.
    pub(crate) fn from_owned(owned: Owned<U>) -> Self {
        let units = owned.units;
        // What `units` points into is the region, whose address does not change when its owner moves.
        Self { units, holder: Arc::new(owned) }
    }
}

/// The units of many filters, side by side: one key is looked up in all of them.
pub(crate) struct HeldMany<U: Unit> {
    units: Vec<Units<'static, Plain, U>>,
    holders: Vec<Holder>,
}

impl<U: Unit> HeldMany<U> {
    pub(crate) fn new(first: &Held<U>) -> Self {
        Self { units: vec![first.units], holders: vec![first.holder.clone()] }
    }

    pub(crate) fn push(&mut self, held: &Held<U>) {
        self.units.push(held.units);
        self.holders.push(held.holder.clone());
    }

    /// In the order in which they were pushed.
    pub(crate) fn units(&self) -> &[Units<'_, Plain, U>] {
        &self.units
    }
}

impl<U: Unit> fmt::Debug for HeldMany<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldMany").field("units", &self.units).finish_non_exhaustive()
    }
}

/// Owned units or somebody else's: what an engine has that reads some filters and builds others.
#[derive(Debug)]
pub enum MaybeOwned<'b, U: Unit> {
    /// This store's own.
    Owned(Owned<U>),
    /// In somebody else's bytes.
    View(View<'b, U>),
    /// In somebody else's bytes, kept alive here.
    Held(Held<U>),
}

impl<U: Unit> MaybeOwned<'_, U> {
    /// To write; `None` for a view.
    pub(crate) fn owned_mut(&mut self) -> Option<&mut Owned<U>> {
        match self {
            Self::Owned(store) => Some(store),
            Self::View(_) | Self::Held(_) => None,
        }
    }

    /// The same units, reference-counted; a view of somebody else's bytes stays one.
    pub(crate) fn into_held(self) -> Self {
        match self {
            Self::Owned(store) => Self::Held(Held::from_owned(store)),
            other => other,
        }
    }

    /// What keeps the bytes here, if it is shared.
    pub(crate) fn held(&self) -> Option<&Held<U>> {
        match self {
            Self::Held(store) => Some(store),
            Self::Owned(_) | Self::View(_) => None,
        }
    }

    /// The bytes of all units.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Owned(store) => store.as_bytes(),
            Self::View(store) => store.as_bytes(),
            Self::Held(store) => store.as_bytes(),
        }
    }
}

impl<U: Unit> Store for MaybeOwned<'_, U> {
    type Mem = Plain;
    type Unit = U;
    #[inline(always)]
    fn units(&self) -> &Units<'_, Plain, U> {
        match self {
            Self::Owned(store) => store.units(),
            Self::View(store) => store.units(),
            Self::Held(store) => &store.units,
        }
    }
    fn huge_pages(&self) -> HugePages {
        match self {
            Self::Owned(store) => store.huge_pages(),
            Self::View(_) | Self::Held(_) => HugePages::NotAsked,
        }
    }
}
