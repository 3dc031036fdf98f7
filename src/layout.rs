//! What a bit layout is: a pure function from a digest to bits. No state, no memory, no instruction set.

use crate::{
    block::Unit,
    filters::{FilterKind, LayoutKind},
    hash::Digest,
    isa::Isa,
    mem::{Memory, Shape, Slab, Units, UnitsMut},
    sizing::{Geometry, Model},
};

/// A bit layout, as a type: which bits of a filter a digest means.
///
/// They are listed at [`LayoutKind`]; the trait is closed.
pub trait Layout: Sized + core::fmt::Debug + Send + Sync + 'static {
    /// Its name, wire tag and place in the list.
    const KIND: LayoutKind;
    /// Its false positive formula.
    const MODEL: Model;
    /// What one step of the digest addresses.
    type Unit: Unit;
    #[doc(hidden)]
    type Walk: Walk<Self>;
    /// How probes spread over the memory of a valid geometry.
    #[doc(hidden)]
    fn shape(g: Geometry) -> Shape;
}

/// A layout whose keys live in one unit each.
pub(crate) trait UnitLayout: Layout {
    /// Are the bits of `digest` set in its unit?
    fn contains<I: Isa, M: Memory>(isa: I, cell: &M::Cell<Self::Unit>, digest: Digest, k: u32) -> bool;
    /// Sets them; true when any was not set before.
    fn insert<I: Isa, M: Memory>(isa: I, cell: M::CellMut<'_, Self::Unit>, digest: Digest, k: u32) -> bool;
    /// Eight keys in one step, where [`Isa::WIDE`]: byte j has the bits of `want(k)` when key j may be present, or where
    /// [`Isa::BITS`] bit j is set.
    fn contains_eight<I: Isa, M: Memory>(
        isa: I,
        cells: &[&M::Cell<Self::Unit>; 8],
        digests: &[Digest; 8],
        k: u32,
    ) -> u64;
    /// The bits that all must be set in the byte of a key that may be present.
    fn want(k: u32) -> u8;
}

/// How the keys of a layout reach their bits, one by one and in batches: unit by unit, or probe by probe. Implemented
/// in `dispatch`, once for each kind of layout.
#[doc(hidden)]
pub trait Walk<L: Layout> {
    /// Whether prefetching pays in L3 already, not only beyond.
    const PREFETCH_IN_L3: bool;
    /// May `digest` be present?
    fn contains<I: Isa, M: Memory>(isa: I, units: &Units<'_, M, L::Unit>, digest: Digest) -> bool;
    /// Bit i: may filter i, of at most 64, have `digest`?
    fn contains_each<I: Isa, M: Memory>(isa: I, filters: &[Units<'_, M, L::Unit>], digest: Digest) -> u64;
    /// Asks for the line where a lookup of `digest` begins.
    fn prefetch<M: Memory>(units: &Units<'_, M, L::Unit>, digest: Digest);
    /// Bit i of `out`: may digest i be present? `out` has a word for every 64 digests.
    fn contains_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, L::Unit>,
        digests: &[Digest],
        out: &mut [u64],
    );
    /// True when a bit was not set before.
    fn insert<I: Isa, M: Memory>(isa: I, units: &mut UnitsMut<'_, M, L::Unit>, digest: Digest) -> bool;
    /// Inserts them all.
    fn insert_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &mut UnitsMut<'_, M, L::Unit>,
        digests: &[Digest],
    );
    /// Calls `push(region, item)` for everything that the digests set, where a region is 2^`log2` units and an item is
    /// what [`Walk::insert_items`] takes.
    fn partition<I: Isa>(
        isa: I,
        shape: Shape,
        units: usize,
        digests: &[Digest],
        log2: u32,
        push: impl FnMut(usize, u64),
    );
    /// Items that one key makes.
    fn items_per_key(k: u32) -> usize;
    /// Inserts the items of one region.
    fn insert_items<I: Isa>(isa: I, region: &mut Slab<'_, L::Unit>, items: &[u64]);
}

/// A bit layout that has a counting variant: the same positions, a 4-bit counter in the place of each bit.
pub trait CounterLayout: Layout {
    /// The name of the counting variant.
    const COUNTING: FilterKind;
    #[doc(hidden)]
    type CounterWalk: CounterWalk<Self>;
}

/// Units of the counters of a layout.
pub type CounterUnit<L> = <<L as CounterLayout>::CounterWalk as CounterWalk<L>>::Counters;

/// How the keys of a layout reach their counters. Implemented in `dispatch`.
#[doc(hidden)]
pub trait CounterWalk<L: Layout> {
    /// Whether prefetching pays in L3 already, not only beyond.
    const PREFETCH_IN_L3: bool;
    /// Units of counters, as many as there are units of bits or a power of two times that.
    type Counters: Unit;
    /// Are all counters of `digest` above 0?
    fn contains<I: Isa, M: Memory>(isa: I, units: &Units<'_, M, Self::Counters>, digest: Digest) -> bool;
    /// As [`Walk::contains_batch`].
    fn contains_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, Self::Counters>,
        digests: &[Digest],
        out: &mut [u64],
    );
    /// Asks for all counters of `digest`.
    fn prefetch<M: Memory>(units: &Units<'_, M, Self::Counters>, digest: Digest);
    /// Raises each; true when any was not stuck.
    fn insert<I: Isa, M: Memory>(isa: I, units: &mut UnitsMut<'_, M, Self::Counters>, digest: Digest) -> bool;
    /// Lowers each; false, and none is changed, when any is 0.
    fn remove<I: Isa, M: Memory>(isa: I, units: &mut UnitsMut<'_, M, Self::Counters>, digest: Digest) -> bool;
}
