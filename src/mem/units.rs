//! Reaching the unit, or the bit, that a hash chooses.

use crate::{
    block::Unit,
    hash::{Digest, fastrange},
    isa::{Isa, prefetch, prefetch_l2, through_memory},
};
use core::{fmt, marker::PhantomData, ptr::NonNull, sync::atomic::Ordering::Relaxed};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl Sealed for super::Atomic {}
}

/// A memory model: how a kernel may read and write a unit. Exactly [`Plain`] and [`Atomic`].
pub trait Memory: sealed::Sealed + Sized + 'static {
    /// Whether a unit may be read by vectors, not only word by word.
    const VECTORS: bool;
    /// A unit in this memory.
    type Cell<U: Unit>: Send + Sync + 'static;
    /// A unit that may be written.
    type CellMut<'a, U: Unit>;

    /// Word `i` of a unit.
    fn word<U: Unit>(cell: &Self::Cell<U>, i: usize) -> u64;
    #[doc(hidden)]
    fn block<I: Isa>(isa: I, cell: &Self::Cell<[u8; 32]>) -> I::Block;
    #[doc(hidden)]
    fn line<I: Isa>(isa: I, cell: &Self::Cell<[u8; 64]>) -> I::Line;
    /// # Safety
    /// Eight bytes of this memory are readable at each offset from `base`, at a multiple of 8 from it.
    #[doc(hidden)]
    unsafe fn gather<I: Isa>(isa: I, base: *const u8, offsets: I::Hashes) -> I::Hashes;
    /// Sets bits of word `i`; true when any was not set before.
    fn or_word<U: Unit>(cell: &mut Self::CellMut<'_, U>, i: usize, mask: u64) -> bool;
    /// Replaces word `i` by what `change` makes of it, in one step that loses no other thread's change, and returns what it
    /// was; when `change` wants none, what it is.
    fn update<U: Unit>(
        cell: &mut Self::CellMut<'_, U>,
        i: usize,
        change: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, u64>;
    #[doc(hidden)]
    fn or_block<I: Isa>(isa: I, cell: Self::CellMut<'_, [u8; 32]>, mask: I::Block) -> bool;
    #[doc(hidden)]
    fn or_line<I: Isa>(isa: I, cell: Self::CellMut<'_, [u8; 64]>, mask: I::Line) -> bool;

    /// # Safety
    /// `p` points to a unit that outlives `'a`, that this memory model may write, and that nobody else may reach
    /// during `'a` unless through atomics.
    #[doc(hidden)]
    unsafe fn cell_mut<'a, U: Unit>(p: *mut u8) -> Self::CellMut<'a, U>;
}

/// Memory that nobody else writes.
#[derive(Clone, Copy, Debug)]
pub enum Plain {}

/// Memory that other threads may write at the same time, with `fetch_or`: read and written word by word, relaxed.
///
/// # Ordering
/// Bits only ever go from 0 to 1, each set by one atomic OR of a word that loses no other thread's bits, and no bit of
/// one word is read to learn about another. So relaxed accesses are enough for every promise but one: a reader that must
/// see a key whole has to be ordered after its insertion, and that order is made outside the filter, by whatever tells
/// the reader that the key is there: the writer's last OR is sequenced before its release (a channel, a lock, a
/// store-release of an index), the reader's acquire of it before its loads, so each load must read that OR or a later
/// value of the word, and later values hold the bit too. Without such an edge a reader may see some bits of a key and
/// not others, and "absent" then means "not yet published".
#[derive(Clone, Copy, Debug)]
pub enum Atomic {}

impl Memory for Plain {
    const VECTORS: bool = true;
    type Cell<U: Unit> = U;
    type CellMut<'a, U: Unit> = &'a mut U;
    #[inline(always)]
    fn word<U: Unit>(cell: &U, i: usize) -> u64 {
        cell.word(i)
    }
    #[inline(always)]
    fn block<I: Isa>(isa: I, cell: &[u8; 32]) -> I::Block {
        isa.block(cell)
    }
    #[inline(always)]
    fn line<I: Isa>(isa: I, cell: &[u8; 64]) -> I::Line {
        isa.line(cell)
    }
    #[inline(always)]
    unsafe fn gather<I: Isa>(isa: I, base: *const u8, offsets: I::Hashes) -> I::Hashes {
        // SAFETY: the caller's promise, in memory that nobody writes.
        let words = unsafe { isa.gather(base, offsets) };
        if cfg!(target_endian = "little") {
            return words;
        }
        let mut swapped = [0; 8];
        isa.store(words, &mut swapped);
        isa.words(&swapped.map(u64::from_le))
    }
    #[inline(always)]
    fn or_word<U: Unit>(cell: &mut &mut U, i: usize, mask: u64) -> bool {
        cell.or_word(i, mask)
    }
    #[inline(always)]
    fn update<U: Unit>(cell: &mut &mut U, i: usize, mut change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        let old = cell.word(i);
        cell.set_word(i, change(old).ok_or(old)?);
        Ok(old)
    }
    #[inline(always)]
    fn or_block<I: Isa>(isa: I, cell: &mut [u8; 32], mask: I::Block) -> bool {
        isa.block_or(cell, mask)
    }
    #[inline(always)]
    fn or_line<I: Isa>(isa: I, cell: &mut [u8; 64], mask: I::Line) -> bool {
        isa.line_or(cell, mask)
    }
    #[inline(always)]
    unsafe fn cell_mut<'a, U: Unit>(p: *mut u8) -> &'a mut U {
        // SAFETY: the caller's promise; a unit has alignment 1 and any content is valid.
        unsafe { &mut *p.cast() }
    }
}

/// Atomic words hold their bytes in little-endian order on every machine.
#[inline(always)]
fn load<U: Unit>(cell: &U::Atomic, i: usize) -> u64 {
    u64::from_le(U::atomic_word(cell, i).load(Relaxed))
}

#[inline(always)]
fn fetch_or<U: Unit>(cell: &U::Atomic, i: usize, mask: u64) -> bool {
    u64::from_le(U::atomic_word(cell, i).fetch_or(mask.to_le(), Relaxed)) & mask != mask
}

impl Memory for Atomic {
    const VECTORS: bool = false;
    type Cell<U: Unit> = U::Atomic;
    type CellMut<'a, U: Unit> = &'a U::Atomic;
    #[inline(always)]
    fn word<U: Unit>(cell: &U::Atomic, i: usize) -> u64 {
        load::<U>(cell, i)
    }
    #[inline(always)]
    fn block<I: Isa>(isa: I, cell: &<[u8; 32] as Unit>::Atomic) -> I::Block {
        isa.block_from(core::array::from_fn(|i| load::<[u8; 32]>(cell, i)))
    }
    #[inline(always)]
    fn line<I: Isa>(isa: I, cell: &<[u8; 64] as Unit>::Atomic) -> I::Line {
        isa.line_from(core::array::from_fn(|i| load::<[u8; 64]>(cell, i)))
    }
    #[inline(always)]
    unsafe fn gather<I: Isa>(isa: I, base: *const u8, offsets: I::Hashes) -> I::Hashes {
        let mut bytes = [0; 8];
        isa.store(offsets, &mut bytes);
        let mut words = [0; 8];
        for (word, &offset) in words.iter_mut().zip(&bytes) {
            // SAFETY: the caller's promise; the stores keep atomic memory aligned to a line, so multiples of 8 are aligned.
            let cell: &<[u8; 8] as Unit>::Atomic = unsafe { &*base.add(offset as usize).cast() };
            *word = load::<[u8; 8]>(cell, 0);
        }
        isa.words(&words)
    }
    #[inline(always)]
    fn or_word<U: Unit>(cell: &mut &U::Atomic, i: usize, mask: u64) -> bool {
        fetch_or::<U>(cell, i, mask)
    }
    #[inline(always)]
    fn update<U: Unit>(
        cell: &mut &U::Atomic,
        i: usize,
        mut change: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, u64> {
        let word = U::atomic_word(cell, i);
        let mut old = word.load(Relaxed);
        loop {
            let new = change(u64::from_le(old)).ok_or(u64::from_le(old))?;
            match word.compare_exchange_weak(old, new.to_le(), Relaxed, Relaxed) {
                Ok(old) => return Ok(u64::from_le(old)),
                Err(now) => old = now,
            }
        }
    }
    #[inline(always)]
    fn or_block<I: Isa>(isa: I, cell: &<[u8; 32] as Unit>::Atomic, mask: I::Block) -> bool {
        let words = isa.block_words(mask);
        (0..4).fold(false, |changed, i| changed | fetch_or::<[u8; 32]>(cell, i, words[i]))
    }
    #[inline(always)]
    fn or_line<I: Isa>(isa: I, cell: &<[u8; 64] as Unit>::Atomic, mask: I::Line) -> bool {
        let words = isa.line_words(mask);
        (0..8).fold(false, |changed, i| changed | fetch_or::<[u8; 64]>(cell, i, words[i]))
    }
    #[inline(always)]
    unsafe fn cell_mut<'a, U: Unit>(p: *mut u8) -> &'a U::Atomic {
        // SAFETY: the caller's promise; the stores keep atomic memory aligned to a line.
        unsafe { &*p.cast() }
    }
}

/// How a layout's probes spread over memory: the numbers a kernel needs, computed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What a hash is mapped to: the number of units, or for scattered layouts the bits that one probe may reach.
    pub span: u64,
    /// First bit of probe i's region is i·stride: 0 when all probes share the bits (`classic`, and every block layout).
    pub stride: u64,
    /// Probes for each key.
    pub k: u32,
}

impl Shape {
    /// Position of probe `i` (below k) with this hash, for scattered layouts: below stride·(k − 1) + span.
    #[inline(always)]
    pub(crate) fn position(&self, i: u32, hash: u64) -> u64 {
        self.stride.wrapping_mul(i as u64).wrapping_add(fastrange(hash, self.span))
    }
}

/// The units of a filter, readable.
///
/// # Invariants
/// `base` points to `units` ≥ 1 units readable for `'a`, in memory of model `M`; `shape.k` ≥ 1. Either `shape.span == units` and
/// `units` < 2³², or (`U` = 8 bytes) `shape.span` ≥ 1 and `stride·(k − 1) + span` ≤ 64·`units`.
pub struct Units<'a, M: Memory, U: Unit> {
    base: NonNull<u8>,
    units: usize,
    shape: Shape,
    life: PhantomData<&'a M::Cell<U>>,
}

/// The units of a filter, writable: exclusively in plain memory, by everybody in atomic memory.
pub struct UnitsMut<'a, M: Memory, U: Unit> {
    units: Units<'a, M, U>,
    life: PhantomData<M::CellMut<'a, U>>,
}

impl<M: Memory, U: Unit> Clone for Units<'_, M, U> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<M: Memory, U: Unit> Copy for Units<'_, M, U> {}

impl<M: Memory, U: Unit> fmt::Debug for Units<'_, M, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Units").field("units", &self.units).field("shape", &self.shape).finish_non_exhaustive()
    }
}
impl<M: Memory, U: Unit> fmt::Debug for UnitsMut<'_, M, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.units.fmt(f)
    }
}

// SAFETY: `Units` is a shared reference to cells that are `Sync`.
unsafe impl<M: Memory, U: Unit> Send for Units<'_, M, U> {}
// SAFETY: as above.
unsafe impl<M: Memory, U: Unit> Sync for Units<'_, M, U> {}
// SAFETY: `UnitsMut` is an exclusive reference to plain memory, or a shared one to cells that are `Sync`.
unsafe impl<M: Memory, U: Unit> Send for UnitsMut<'_, M, U> {}
// SAFETY: through `&UnitsMut` nothing can be written.
unsafe impl<M: Memory, U: Unit> Sync for UnitsMut<'_, M, U> {}

impl<'a, M: Memory, U: Unit> Units<'a, M, U> {
    /// `None` when the shape does not fit the memory.
    ///
    /// # Safety
    /// `base` points to `units` units that are readable for `'a` in memory of model `M` (for [`Atomic`]: aligned to 8
    /// bytes and written by nothing but atomics; for [`Plain`]: not written at all).
    pub(super) unsafe fn new(base: NonNull<u8>, units: usize, shape: Shape) -> Option<Self> {
        let by_unit = shape.span == units as u64 && shape.span < 1 << 32 && shape.stride == 0;
        let last_region = shape.stride.checked_mul(shape.k.saturating_sub(1) as u64)?.checked_add(shape.span)?;
        let by_bit = U::BYTES == 8 && last_region.div_ceil(64) <= units as u64;
        let valid = shape.span >= 1 && units >= 1 && shape.k >= 1 && (by_unit || by_bit);
        valid.then_some(Self { base, units, shape, life: PhantomData })
    }

    /// The first byte of the first unit.
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// How the probes spread.
    #[inline(always)]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of units.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.units
    }

    /// Never true: a filter has at least one unit.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.units == 0
    }

    /// Unit `i`.
    pub fn get(&self, i: usize) -> Option<&'a M::Cell<U>> {
        // SAFETY: within the units, by the check.
        (i < self.units).then(|| unsafe { self.cell(i * U::BYTES) })
    }

    /// # Safety
    /// `offset` is that of a unit of `self`.
    #[inline(always)]
    unsafe fn cell(&self, offset: usize) -> &'a M::Cell<U> {
        // SAFETY: the invariants of `Units`, and the caller's promise.
        unsafe { &*self.base.as_ptr().add(offset).cast() }
    }

    /// Byte offset of the unit that `digest` chooses. For block layouts only: below `units`·2^SHIFT.
    #[inline(always)]
    fn offset(&self, digest: Digest) -> usize {
        // With units < 2³² the product fits 64 bits, and ⌊h·units / 2³²⌋ < units since h < 2³².
        (((digest.0 >> 32).wrapping_mul(self.units as u64) >> 32) as usize) << U::SHIFT
    }

    /// The unit that a digest chooses.
    #[inline(always)]
    pub fn pick(&self, digest: Digest) -> &'a M::Cell<U> {
        // SAFETY: `offset` is below the end for fewer than 2³² units; for more the product wraps, and its high half is
        // still below 2³², so below `units`.
        unsafe { self.cell(self.offset(digest)) }
    }

    /// Asks for the unit that a digest chooses.
    #[inline(always)]
    pub(crate) fn prefetch(&self, digest: Digest) {
        self.prefetch_at(self.offset(digest));
    }

    /// Asks for the unit at this offset: also for its last byte where units begin anywhere, as in a view, since that may
    /// lie in another line.
    #[inline(always)]
    fn prefetch_at(&self, offset: usize) {
        let unit = self.base.as_ptr().wrapping_add(offset);
        prefetch(unit);
        if !self.base.addr().get().is_multiple_of(U::BYTES) {
            prefetch(unit.wrapping_add(U::BYTES - 1));
        }
    }
}

impl<'a, M: Memory, U: Unit> UnitsMut<'a, M, U> {
    /// # Safety
    /// The units may be written for `'a`: exclusively when `M` is [`Plain`].
    pub(super) unsafe fn new(units: Units<'a, M, U>) -> Self {
        Self { units, life: PhantomData }
    }

    /// To read.
    #[inline(always)]
    pub fn as_units(&self) -> Units<'_, M, U> {
        self.units
    }

    /// The unit that a digest chooses.
    #[inline(always)]
    pub fn pick(&mut self, digest: Digest) -> M::CellMut<'_, U> {
        // SAFETY: as in `Units::pick`; `&mut self` and the promise made to `new` keep others away.
        unsafe { M::cell_mut(self.units.base.as_ptr().add(self.units.offset(digest))) }
    }

    /// Unit `i`.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, i: usize) -> Option<M::CellMut<'_, U>> {
        // SAFETY: within the units, by the check; `&mut self` and the promise made to `new` keep others away.
        (i < self.units.units).then(|| unsafe { M::cell_mut(self.units.base.as_ptr().add(i * U::BYTES)) })
    }

    /// Sets the bit of probe `i` with this hash (`i` is below k); true when it was not set before.
    #[inline(always)]
    pub fn set_bit(&mut self, i: u32, hash: u64) -> bool {
        let at = self.units.shape.position(i, hash);
        let word = (at >> 6) as usize;
        if word >= self.units.units {
            return false;
        }
        // SAFETY: within the units, by the check; exclusivity as in `pick`.
        let mut cell = unsafe { M::cell_mut::<U>(self.units.base.as_ptr().add(word * U::BYTES)) };
        M::or_word::<U>(&mut cell, 0, 1 << (at & 63))
    }

    /// Asks for the unit that a digest chooses.
    #[inline(always)]
    pub(crate) fn prefetch(&self, digest: Digest) {
        self.units.prefetch(digest);
    }

    /// Asks for the word of probe `i` with this hash.
    #[inline(always)]
    pub(crate) fn prefetch_bit(&self, i: u32, hash: u64) {
        prefetch(self.units.base.as_ptr().wrapping_add((self.units.shape.position(i, hash) >> 6 << 3) as usize));
    }
}

/// Groups of eight units chosen a while before they are read: a ring of `LAG` groups of byte offsets.
///
/// Reading back offsets that a vector store wrote just before stalls on store forwarding, and holds the next loads up;
/// from 64 keys on the stores have long reached the cache. A load-only loop took 0.42 ns a key without this lag and 0.32
/// with it, in L1 of a Zen 4.
///
/// # Invariants
/// Every offset is that of a unit of `units`: 0 at first, then what [`Isa::offsets`] gave for these units.
pub(crate) struct Ring<'r, 'a, M: Memory, U: Unit, const LAG: usize> {
    units: Units<'a, M, U>,
    // Elsewhere, since it is read back through a pointer that hides it from the compiler, and `units` shall stay in
    // registers.
    offsets: &'r mut [[u64; 8]; LAG],
}

impl<'r, 'a, M: Memory, U: Unit, const LAG: usize> Ring<'r, 'a, M, U, LAG> {
    #[inline(always)]
    pub(crate) fn new(units: Units<'a, M, U>, buffer: &'r mut [[u64; 8]; LAG]) -> Self {
        *buffer = [[0; 8]; LAG];
        Self { units, offsets: buffer }
    }

    /// Chooses the units of group `group`, and asks for them when `PREFETCH`.
    #[inline(always)]
    pub(crate) fn choose<I: Isa, const PREFETCH: bool>(&mut self, isa: I, group: usize, digests: &[Digest; 8]) {
        let slot = &mut self.offsets[group % LAG];
        isa.offsets(digests, self.units.units as u64, U::SHIFT, slot);
        if PREFETCH {
            for &offset in through_memory(&*slot) {
                self.units.prefetch_at(offset as usize);
            }
        }
    }

    /// The units of group `group`, which was chosen at most `LAG` groups ago.
    #[inline(always)]
    pub(crate) fn chosen(&self, group: usize) -> [&'a M::Cell<U>; 8] {
        let slot = through_memory(&self.offsets[group % LAG]);
        // SAFETY: the invariant of `Ring`.
        core::array::from_fn(|j| unsafe { self.units.cell(slot[j] as usize) })
    }

    /// The first words of the units of group `group`, gathered by one instruction where there is one.
    #[inline(always)]
    pub(crate) fn gather<I: Isa>(&self, isa: I, group: usize) -> I::Hashes {
        // SAFETY: the invariant of `Ring`: eight units, each with a first word.
        unsafe { M::gather(isa, self.units.base.as_ptr(), isa.words(&self.offsets[group % LAG])) }
    }
}

impl<M: Memory> Units<'_, M, [u8; 8]> {
    /// Position of probe `i` (the last one for any i ≥ k) with this hash: below 64·`units`, by the invariant of `Units`.
    #[inline(always)]
    fn position(&self, i: u32, hash: u64) -> u64 {
        self.shape.position(i.min(self.shape.k - 1), hash)
    }

    /// Whether the bit of probe `i` (the last one for any i ≥ k) with this hash is set.
    #[inline(always)]
    pub fn bit(&self, i: u32, hash: u64) -> bool {
        let at = self.position(i, hash);
        // SAFETY: the word of a position below 64·`units`.
        let cell = unsafe { self.cell((at >> 6 << 3) as usize) };
        M::word::<[u8; 8]>(cell, 0) >> (at & 63) & 1 != 0
    }

    /// Asks for the word that this probe falls in.
    #[inline(always)]
    pub(crate) fn prefetch_bit(&self, i: u32, hash: u64) {
        prefetch(self.base.as_ptr().wrapping_add((self.position(i, hash) >> 6 << 3) as usize));
    }

    /// Positions of probe `i` (the last one for any i ≥ k) with eight hashes: below 64·`units`, by the invariant of
    /// `Units` and that of [`Isa::fastrange`].
    #[inline(always)]
    fn positions<I: Isa>(&self, isa: I, i: u32, hashes: I::Hashes) -> I::Hashes {
        let region = self.shape.stride * i.min(self.shape.k - 1) as u64;
        isa.add(isa.fastrange(hashes, self.shape.span), isa.splat(region))
    }

    /// Bit j: whether the bit of probe `i` (the last one for any i ≥ k) with hash j is set.
    #[inline(always)]
    pub(crate) fn bits<I: Isa>(&self, isa: I, i: u32, hashes: I::Hashes) -> u8 {
        let at = self.positions(isa, i, hashes);
        // SAFETY: the words of positions below 64·`units`.
        let words = unsafe { M::gather(isa, self.base.as_ptr(), isa.word_offsets(at)) };
        isa.bits(words, at)
    }

    /// Asks for the words that these probes fall in.
    #[inline(always)]
    pub(crate) fn prefetch_bits<I: Isa>(&self, isa: I, i: u32, hashes: I::Hashes) {
        let mut offsets = [0; 8];
        isa.store(isa.word_offsets(self.positions(isa, i, hashes)), &mut offsets);
        for &offset in through_memory(&offsets) {
            prefetch(self.base.as_ptr().wrapping_add(offset as usize));
        }
    }
}

/// Packed counters over words, sixteen to each: the number of counters is `shape.span`, at most 16·`units`.
impl<'a, M: Memory> Units<'a, M, [u8; 8]> {
    /// The word and the first bit of the counter that a hash chooses.
    #[inline(always)]
    pub(crate) fn counter_at(&self, hash: u64) -> (usize, u32) {
        let at = fastrange(hash, self.shape.span);
        // Nothing is cut off where the words hold counters; where they hold bits, nothing is reached beyond them.
        (((at >> 4) as usize).min(self.units - 1), (at & 15) as u32 * 4)
    }

    /// Whether the counter that a hash chooses is above 0.
    #[inline(always)]
    pub(crate) fn is_counted(&self, hash: u64) -> bool {
        let (word, bit) = self.counter_at(hash);
        // SAFETY: `counter_at` gives the number of a unit.
        M::word::<[u8; 8]>(unsafe { self.cell(word * 8) }, 0) >> bit & 15 != 0
    }

    /// Asks for the word of the counter that a hash chooses.
    #[inline(always)]
    pub(crate) fn prefetch_counter(&self, hash: u64) {
        prefetch(self.base.as_ptr().wrapping_add(self.counter_at(hash).0 * 8));
    }
}

/// One region of a plain filter that is being built: consecutive units, exclusively held.
#[derive(Debug)]
pub struct Slab<'a, U: Unit> {
    cells: &'a mut [U],
    first: usize,
    units: usize,
    k: u32,
}

impl<'a, U: Unit> Slab<'a, U> {
    /// The units from number `first` on, of a filter of `units` units with `k` probes.
    pub(crate) fn new(cells: &'a mut [U], first: usize, units: usize, k: u32) -> Self {
        Self { cells, first, units, k }
    }

    /// Asks for the whole region, line after line: a stream, where the insertions would miss at random.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        for line in self.cells.chunks(64 / U::BYTES) {
            prefetch_l2(line.as_ptr().cast());
        }
    }

    /// Probes for each key.
    #[inline(always)]
    pub(crate) fn k(&self) -> u32 {
        self.k
    }

    /// The unit that a digest chooses, when it lies here.
    #[inline(always)]
    pub(crate) fn pick(&mut self, digest: Digest) -> Option<&mut U> {
        let unit = ((digest.0 >> 32).wrapping_mul(self.units as u64) >> 32) as usize;
        self.cells.get_mut(unit.wrapping_sub(self.first))
    }

    /// Sets the bit at a position of the whole filter, when it lies here.
    #[inline(always)]
    pub(crate) fn set_bit(&mut self, at: u64) {
        if let Some(cell) = self.cells.get_mut(((at >> 6) as usize).wrapping_sub(self.first)) {
            cell.or_word(0, 1 << (at & 63));
        }
    }
}
