//! The batch pipelines, written once for all layouts, instruction sets and memory models.
//!
//! **By unit** (all probes of a key in one unit). Groups of eight keys: their units are chosen by vector arithmetic and
//! written to a ring; the group that was chosen [`LAG`] groups before is probed; every eight groups one comparison
//! turns 64 bytes of lanes into 64 bits of the answer. In cache nothing is prefetched and the lag alone lets the loads
//! run ahead: 0.43 ns a key for `word` against 0.49 without lag and 0.60 with prefetching, in L1; 0.9 against 1.1 and
//! 1.1 in L3. In DRAM each group is also prefetched, [`PREFETCH_LAG`] groups ahead: within 3 % of the fastest load-only
//! loop at 16 to 32 keys, where no prefetching lost 20 % on 64-byte lines and 64 keys ahead lost 5 %.
//!
//! Tried and dropped: gathers (twice as slow as eight loads in L1, a third slower in DRAM); one key after the other
//! into a byte each, which is 10 % faster for `split-block` in L1 and 10 % slower in DRAM.
//!
//! **By probe** (probes scattered over the filter). An early exit would mispredict for every key, so a window of keys
//! goes through probe after probe together, and after each the survivors are moved together. The next probe of the
//! survivors is prefetched when the filter is in DRAM.

use crate::{
    block::Unit,
    hash::{Digest, Probes, next_probe},
    isa::{Isa, through_memory},
    layout::{Layout, UnitLayout, Walk},
    mem::{Memory, Plain, Ring, Shape, Slab, Units, UnitsMut},
};

/// Groups of eight keys between choosing and probing, in cache.
const LAG: usize = 8;
/// Groups of eight keys between prefetching and probing, in DRAM.
const PREFETCH_LAG: usize = 4;

/// Walks unit by unit.
#[derive(Debug)]
pub enum ByUnit {}

/// The lookups of a key in its unit, as [`UnitLayout`] has them.
pub(super) trait Lookup<U: Unit> {
    fn contains<I: Isa, M: Memory>(isa: I, cell: &M::Cell<U>, digest: Digest, k: u32) -> bool;
    fn contains_eight<I: Isa, M: Memory>(isa: I, cells: &[&M::Cell<U>; 8], digests: &[Digest; 8], k: u32) -> u64;
    fn want(k: u32) -> u8;
}

impl<L: UnitLayout> Lookup<L::Unit> for L {
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(isa: I, cell: &M::Cell<L::Unit>, digest: Digest, k: u32) -> bool {
        <L as UnitLayout>::contains::<I, M>(isa, cell, digest, k)
    }
    #[inline(always)]
    fn contains_eight<I: Isa, M: Memory>(isa: I, cells: &[&M::Cell<L::Unit>; 8], digests: &[Digest; 8], k: u32) -> u64 {
        <L as UnitLayout>::contains_eight::<I, M>(isa, cells, digests, k)
    }
    #[inline(always)]
    fn want(k: u32) -> u8 {
        <L as UnitLayout>::want(k)
    }
}

impl ByUnit {
    /// Eight keys: byte j has all bits of `L::want` when key j may be present; where [`Isa::BITS`], bit j is set.
    #[inline(always)]
    fn eight<L: Lookup<U>, U: Unit, I: Isa, M: Memory>(
        isa: I,
        cells: &[&M::Cell<U>; 8],
        digests: &[Digest; 8],
        k: u32,
    ) -> u64 {
        if I::WIDE {
            return L::contains_eight::<I, M>(isa, cells, digests, k);
        }
        let mut bytes = [0u8; 8];
        for j in 0..8 {
            bytes[j] = (L::contains::<I, M>(isa, cells[j], digests[j], k) as u8).wrapping_neg();
        }
        u64::from_le_bytes(bytes)
    }

    /// As [`Walk::contains_batch`].
    #[inline(always)]
    pub(super) fn lookup_batch<L: Lookup<U>, U: Unit, I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, U>,
        digests: &[Digest],
        out: &mut [u64],
    ) {
        if PREFETCH {
            Self::batch::<L, U, I, M, PREFETCH_LAG, true>(isa, units, digests, out);
        } else {
            Self::batch::<L, U, I, M, LAG, false>(isa, units, digests, out);
        }
    }

    #[inline(always)]
    fn batch<L: Lookup<U>, U: Unit, I: Isa, M: Memory, const LAG: usize, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, U>,
        digests: &[Digest],
        out: &mut [u64],
    ) {
        let k = units.shape().k;
        let want = L::want(k);
        let (groups, rest) = digests.as_chunks::<8>();
        let mut buffer = [[0; 8]; LAG];
        let mut ring = Ring::<'_, '_, M, U, LAG>::new(*units, &mut buffer);
        for (g, group) in groups.iter().enumerate().take(LAG) {
            ring.choose::<I, PREFETCH>(isa, g, group);
        }
        let mut lanes = [0u64; 8];
        // Whole windows of eight groups whose successors exist: no branch but the loop's.
        let steady = groups.len().saturating_sub(LAG) / 8;
        for (w, bits) in out.iter_mut().enumerate().take(steady) {
            let mut hits = 0;
            for (g, lane) in lanes.iter_mut().enumerate() {
                let i = 8 * w + g;
                let cells = ring.chosen(i);
                let eight = Self::eight::<L, U, I, M>(isa, &cells, &groups[i], k);
                if I::BITS {
                    hits |= eight << (8 * g);
                } else {
                    *lane = eight;
                }
                ring.choose::<I, PREFETCH>(isa, i, &groups[i + LAG]);
            }
            *bits = if I::BITS { hits } else { isa.covered(&lanes, want) };
        }
        // The last windows.
        for (w, window) in groups.chunks(8).enumerate().skip(steady) {
            lanes = [0; 8];
            let mut hits = 0;
            for (g, group) in window.iter().enumerate() {
                let i = 8 * w + g;
                let cells = ring.chosen(i);
                lanes[g] = Self::eight::<L, U, I, M>(isa, &cells, group, k);
                hits |= lanes[g] << (8 * g);
                if let Some(next) = groups.get(i + LAG) {
                    ring.choose::<I, PREFETCH>(isa, i, next);
                }
            }
            let filled = u64::MAX >> (64 - 8 * window.len());
            if let Some(bits) = out.get_mut(w) {
                *bits = if I::BITS { hits } else { isa.covered(&lanes, want) & filled };
            }
        }
        // Fewer than eight keys are left.
        let done = digests.len() - rest.len();
        if done.is_multiple_of(64) && !rest.is_empty() {
            out[done / 64] = 0;
        }
        for (i, &digest) in rest.iter().enumerate() {
            let hit = L::contains::<I, M>(isa, units.pick(digest), digest, k);
            out[done / 64] |= (hit as u64) << (done % 64 + i);
        }
    }
}

impl<L: UnitLayout> Walk<L> for ByUnit {
    const PREFETCH_IN_L3: bool = false;

    #[inline(always)]
    fn contains<I: Isa, M: Memory>(isa: I, units: &Units<'_, M, L::Unit>, digest: Digest) -> bool {
        <L as UnitLayout>::contains::<I, M>(isa, units.pick(digest), digest, units.shape().k)
    }

    #[inline(always)]
    fn prefetch<M: Memory>(units: &Units<'_, M, L::Unit>, digest: Digest) {
        units.prefetch(digest);
    }

    #[inline(always)]
    fn contains_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, L::Unit>,
        digests: &[Digest],
        out: &mut [u64],
    ) {
        Self::lookup_batch::<L, L::Unit, I, M, PREFETCH>(isa, units, digests, out);
    }

    #[inline(always)]
    fn contains_each<I: Isa, M: Memory>(isa: I, filters: &[Units<'_, M, L::Unit>], digest: Digest) -> u64 {
        filters.iter().take(FILTERS_AHEAD).for_each(|units| units.prefetch(digest));
        let mut bits = 0;
        for (i, units) in filters.iter().take(64).enumerate() {
            if let Some(ahead) = filters.get(i + FILTERS_AHEAD) {
                ahead.prefetch(digest);
            }
            bits |= (<Self as Walk<L>>::contains(isa, units, digest) as u64) << i;
        }
        bits
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(isa: I, units: &mut UnitsMut<'_, M, L::Unit>, digest: Digest) -> bool {
        let k = units.as_units().shape().k;
        L::insert::<I, M>(isa, units.pick(digest), digest, k)
    }

    #[inline(always)]
    fn insert_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &mut UnitsMut<'_, M, L::Unit>,
        digests: &[Digest],
    ) {
        const AHEAD: usize = 32;
        for (i, &digest) in digests.iter().enumerate() {
            if PREFETCH && let Some(&next) = digests.get(i + AHEAD) {
                units.prefetch(next);
            }
            <Self as Walk<L>>::insert::<I, M>(isa, units, digest);
        }
    }

    #[inline(always)]
    fn partition<I: Isa>(
        isa: I,
        _: Shape,
        units: usize,
        digests: &[Digest],
        log2: u32,
        mut push: impl FnMut(usize, u64),
    ) {
        let (groups, rest) = digests.as_chunks::<8>();
        let mut unit = [0; 8];
        for group in groups {
            isa.offsets(group, units as u64, 0, &mut unit);
            let unit = through_memory(&unit);
            for j in 0..8 {
                push((unit[j] >> log2) as usize, group[j].0);
            }
        }
        for &digest in rest {
            let mut one = [Digest(0); 8];
            one[0] = digest;
            isa.offsets(&one, units as u64, 0, &mut unit);
            push((unit[0] >> log2) as usize, digest.0);
        }
    }

    fn items_per_key(_: u32) -> usize {
        1
    }

    #[inline(always)]
    fn insert_items<I: Isa>(isa: I, region: &mut Slab<'_, L::Unit>, items: &[u64]) {
        let k = region.k();
        // Enough of them to touch most lines.
        if items.len() > 1024 {
            region.prefetch();
        }
        for &item in items {
            if let Some(cell) = region.pick(Digest(item)) {
                L::insert::<I, Plain>(isa, cell, Digest(item), k);
            }
        }
    }
}

/// Filters between asking for one's line and testing it: as many as a core has misses in flight.
const FILTERS_AHEAD: usize = 24;

/// Walks probe by probe.
#[derive(Debug)]
pub enum ByProbe {}

/// Keys that go through the probes together.
pub(super) const WINDOW: usize = 512;

/// Keys of a window that passed every probe so far, with room for one more group to be written beyond them.
pub(super) struct Survivors {
    /// Hash of the next probe.
    hash: [u64; WINDOW + 8],
    /// Place in the window.
    key: [u64; WINDOW + 8],
}

impl Survivors {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { hash: [0; WINDOW + 8], key: [0; WINDOW + 8] }
    }

    /// Bit i of `out`: is key i among those that are left? `out` has a word for every 64 keys of the window.
    #[inline(always)]
    pub(super) fn mark(&self, alive: usize, out: &mut [u64]) {
        out.fill(0);
        for &key in self.key.iter().take(alive) {
            if let Some(word) = out.get_mut((key / 64) as usize) {
                *word |= 1 << (key % 64);
            }
        }
    }
}

/// Writes eight lanes from place `at` on.
#[inline(always)]
fn put<I: Isa>(isa: I, lanes: &mut [u64; WINDOW + 8], at: usize, eight: I::Hashes) {
    if let Some(place) = lanes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        isa.store(eight, place);
    }
}

/// Reads the eight lanes of group `g`.
#[inline(always)]
fn get<I: Isa>(isa: I, lanes: &[u64; WINDOW + 8], g: usize) -> I::Hashes {
    isa.words(&lanes.as_chunks::<8>().0[g])
}

impl ByProbe {
    /// One window, eight keys at a time: after each probe the survivors are moved together. `next` is the window after
    /// it, for prefetching. Returns how many are left; their places are in `state.key`.
    #[inline(always)]
    fn window_by_eight<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, [u8; 8]>,
        digests: &[[Digest; 8]],
        next: &[[Digest; 8]],
        state: &mut Survivors,
    ) -> usize {
        let k = units.shape().k;
        let mut alive = 0;
        for (g, group) in digests.iter().enumerate() {
            if PREFETCH && let Some(next) = next.get(g) {
                units.prefetch_bits(isa, 0, isa.hashes(next));
            }
            let hash = isa.hashes(group);
            let keep = units.bits(isa, 0, hash);
            let lanes = isa.add(isa.words(&[0, 1, 2, 3, 4, 5, 6, 7]), isa.splat(8 * g as u64));
            let next = isa.compress(keep, isa.next_probe(hash));
            put(isa, &mut state.hash, alive, next);
            put(isa, &mut state.key, alive, isa.compress(keep, lanes));
            alive += keep.count_ones() as usize;
            if PREFETCH && k > 1 {
                units.prefetch_bits(isa, 1, next);
            }
        }
        for probe in 1..k {
            let n = alive;
            alive = 0;
            // What is written lies at or before what was read.
            for g in 0..n.div_ceil(8) {
                let (hash, key) = (get(isa, &state.hash, g), get(isa, &state.key, g));
                let in_use = 0xff_u8 >> (8 - (n - 8 * g).min(8));
                let keep = units.bits(isa, probe, hash) & in_use;
                let next = isa.compress(keep, isa.next_probe(hash));
                put(isa, &mut state.hash, alive, next);
                put(isa, &mut state.key, alive, isa.compress(keep, key));
                alive += keep.count_ones() as usize;
                if PREFETCH && probe + 1 < k {
                    units.prefetch_bits(isa, probe + 1, next);
                }
            }
        }
        alive
    }

    /// The same, key by key, for whatever a probe asks: survivors are written without a branch, and the next one overwrites those that were none.
    #[inline(always)]
    pub(super) fn window_by_one<const PREFETCH: bool>(
        k: u32,
        digests: &[Digest],
        next: &[Digest],
        state: &mut Survivors,
        is_set: impl Fn(u32, u64) -> bool,
        prefetch: impl Fn(u32, u64),
    ) -> usize {
        let mut alive = 0;
        for (i, &digest) in digests.iter().enumerate() {
            if PREFETCH && let Some(next) = next.get(i) {
                prefetch(0, next.0);
            }
            let next = next_probe(digest.0);
            state.hash[alive] = next;
            state.key[alive] = i as u64;
            alive += is_set(0, digest.0) as usize;
        }
        for probe in 1..k {
            if PREFETCH {
                for &hash in &state.hash[..alive] {
                    prefetch(probe, hash);
                }
            }
            let n = alive;
            alive = 0;
            for i in 0..n {
                let (hash, key) = (state.hash[i], state.key[i]);
                let next = next_probe(hash);
                state.hash[alive] = next;
                state.key[alive] = key;
                alive += is_set(probe, hash) as usize;
            }
        }
        alive
    }
}

impl<L: Layout<Unit = [u8; 8]>> Walk<L> for ByProbe {
    const PREFETCH_IN_L3: bool = true;

    /// One key, four probes at a time: an exit after each would be mispredicted for every other absent key, which costs
    /// more than three loads that run beside the first. Of absent keys 1 in 16 needs a second step.
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(_: I, units: &Units<'_, M, [u8; 8]>, digest: Digest) -> bool {
        let k = units.shape().k;
        let (mut hash, mut probe) = (digest.0, 0);
        while probe + 4 <= k {
            let mut hit = true;
            for i in probe..probe + 4 {
                hit &= units.bit(i, hash);
                hash = next_probe(hash);
            }
            if !hit {
                return false;
            }
            probe += 4;
        }
        // Few keys come here.
        (probe..k).zip(Probes::new(Digest(hash))).all(|(i, hash)| units.bit(i, hash))
    }

    #[inline(always)]
    fn prefetch<M: Memory>(units: &Units<'_, M, [u8; 8]>, digest: Digest) {
        units.prefetch_bit(0, digest.0);
    }

    #[inline(always)]
    fn contains_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, [u8; 8]>,
        digests: &[Digest],
        out: &mut [u64],
    ) {
        let mut state = Survivors::new();
        if PREFETCH {
            for digest in digests.iter().take(WINDOW) {
                units.prefetch_bit(0, digest.0);
            }
        }
        for (w, window) in digests.chunks(WINDOW).enumerate() {
            let first = w * WINDOW;
            let later = &digests[first + window.len()..];
            let out = &mut out[first / 64..(first + window.len()).div_ceil(64)];
            out.fill(0);
            let (groups, mut rest) = window.as_chunks::<8>();
            let alive = if I::VECTOR_HASHES {
                let next = later.as_chunks::<8>().0;
                Self::window_by_eight::<I, M, PREFETCH>(isa, units, groups, next, &mut state)
            } else {
                rest = &[];
                Self::window_by_one::<PREFETCH>(
                    units.shape().k,
                    window,
                    later,
                    &mut state,
                    |probe, hash| units.bit(probe, hash),
                    |probe, hash| units.prefetch_bit(probe, hash),
                )
            };
            for &key in state.key.iter().take(alive) {
                if let Some(word) = out.get_mut((key / 64) as usize) {
                    *word |= 1 << (key % 64);
                }
            }
            for (i, &digest) in rest.iter().enumerate() {
                let at = 8 * groups.len() + i;
                out[at / 64] |= (<Self as Walk<L>>::contains::<I, M>(isa, units, digest) as u64) << (at % 64);
            }
        }
    }

    /// Probe after probe in all filters where the key survives: its hash is the same everywhere, and the survivors' next
    /// lines are on the way together.
    #[inline(always)]
    fn contains_each<I: Isa, M: Memory>(_: I, filters: &[Units<'_, M, [u8; 8]>], digest: Digest) -> u64 {
        let filters = filters.get(..64).unwrap_or(filters);
        let each = |mut bits: u64, visit: &mut dyn FnMut(usize, &Units<'_, M, [u8; 8]>)| {
            while bits != 0 {
                let i = bits.trailing_zeros() as usize;
                visit(i, &filters[i]);
                bits &= bits - 1;
            }
        };
        let mut alive = u64::MAX.checked_shr(64 - filters.len() as u32).unwrap_or(0);
        let mut hash = digest.0;
        each(alive, &mut |_, units| units.prefetch_bit(0, hash));
        let most = filters.iter().map(|units| units.shape().k).max().unwrap_or(0);
        for probe in 0..most {
            let mut survivors = 0;
            // Beyond a filter's last probe its bit is not asked for.
            each(alive, &mut |i, units| {
                survivors |= u64::from(probe >= units.shape().k || units.bit(probe, hash)) << i;
            });
            alive = survivors;
            hash = next_probe(hash);
            each(alive, &mut |_, units| units.prefetch_bit(probe + 1, hash));
        }
        alive
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(_: I, units: &mut UnitsMut<'_, M, [u8; 8]>, digest: Digest) -> bool {
        let k = units.as_units().shape().k;
        (0..k).zip(Probes::new(digest)).fold(false, |changed, (i, hash)| changed | units.set_bit(i, hash))
    }

    #[inline(always)]
    fn insert_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &mut UnitsMut<'_, M, [u8; 8]>,
        digests: &[Digest],
    ) {
        const AHEAD: usize = 8;
        let k = units.as_units().shape().k;
        for (i, &digest) in digests.iter().enumerate() {
            if PREFETCH && let Some(&next) = digests.get(i + AHEAD) {
                for (i, hash) in (0..k).zip(Probes::new(next)) {
                    units.prefetch_bit(i, hash);
                }
            }
            <Self as Walk<L>>::insert::<I, M>(isa, units, digest);
        }
    }

    #[inline(always)]
    fn partition<I: Isa>(
        _: I,
        shape: Shape,
        _: usize,
        digests: &[Digest],
        log2: u32,
        mut push: impl FnMut(usize, u64),
    ) {
        for &digest in digests {
            for (i, hash) in (0..shape.k).zip(Probes::new(digest)) {
                let at = shape.position(i, hash);
                push((at >> 6 >> log2) as usize, at);
            }
        }
    }

    fn items_per_key(k: u32) -> usize {
        k as usize
    }

    #[inline(always)]
    fn insert_items<I: Isa>(_: I, region: &mut Slab<'_, [u8; 8]>, items: &[u64]) {
        for &at in items {
            region.set_bit(at);
        }
    }
}
