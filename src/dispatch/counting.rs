//! Kernels of packed 4-bit counters, written once for all instruction sets and memory models.
//!
//! Lookups run as those of the bits do: probe by probe with survivors, or line by line. An insertion or removal changes the
//! words that a key's counters lie in, one step (in shared memory one compare-and-swap) for each word.

use super::pipeline::{ByProbe, ByUnit, Lookup, Survivors, WINDOW};
use crate::{
    Blocked128, Classic,
    block::Unit,
    filters::MULTIPLIERS,
    hash::{Digest, Probes, next_probe},
    isa::Isa,
    layout::{CounterLayout, CounterUnit, CounterWalk},
    mem::{Memory, Units, UnitsMut},
    nibbles,
};

/// Keys between asking for a key's counters and changing them.
const AHEAD: usize = 16;

/// Inserts them all. Prefetching pays in every cache, since atomic steps wait for each other's lines: 57 ns a key became 23
/// in L3.
#[inline(always)]
pub(super) fn insert_batch<L: CounterLayout, I: Isa, M: Memory>(
    isa: I,
    units: &mut UnitsMut<'_, M, CounterUnit<L>>,
    digests: &[Digest],
) {
    for (i, &digest) in digests.iter().enumerate() {
        if let Some(&next) = digests.get(i + AHEAD) {
            L::CounterWalk::prefetch(&units.as_units(), next);
        }
        L::CounterWalk::insert::<I, M>(isa, units, digest);
    }
}

/// Removes them all; bit i of `out`: digest i was there. `out` has a word for every 64 digests.
#[inline(always)]
pub(super) fn remove_batch<L: CounterLayout, I: Isa, M: Memory>(
    isa: I,
    units: &mut UnitsMut<'_, M, CounterUnit<L>>,
    digests: &[Digest],
    out: &mut [u64],
) {
    for (w, (window, out)) in digests.chunks(64).zip(out).enumerate() {
        *out = 0;
        for (i, &digest) in window.iter().enumerate() {
            if let Some(&next) = digests.get(64 * w + i + AHEAD) {
                L::CounterWalk::prefetch(&units.as_units(), next);
            }
            *out |= u64::from(L::CounterWalk::remove::<I, M>(isa, units, digest)) << i;
        }
    }
}

/// The words of a key, each once, and which of their counters it has: bit 4·i for counter i.
trait Words {
    /// Calls `visit` with the number of the word among those of the key, its place and the counters, until it says false.
    /// False if it did.
    fn each(&self, visit: impl FnMut(usize, usize, u64) -> bool) -> bool;
}

/// What the words of a key lie in.
trait Place {
    /// As [`Memory::update`].
    fn update(&mut self, at: usize, change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64>;

    /// Raises the counters of a key; true when one was not stuck.
    #[inline(always)]
    fn raise(&mut self, words: &impl Words) -> bool {
        let mut changed = false;
        words.each(|_, at, ones| {
            let old = self.update(at, |word| Some(nibbles::raise(word, ones)));
            changed |= old.is_ok_and(|old| ones & !nibbles::stuck(old) != 0);
            true
        });
        changed
    }

    /// Lowers the counters of a key, all of them; false, and nothing is changed, when one is 0.
    ///
    /// In shared memory another thread may lower a counter to 0 between the look and the change. What was lowered before
    /// is raised again then: a counter that was stuck when it was passed over is so for ever, and raising it does nothing.
    #[inline(always)]
    fn lower(&mut self, words: &impl Words) -> bool {
        let mut missing = 0;
        words.each(|_, at, ones| {
            let word = self.update(at, |_| None).unwrap_or_else(|word| word);
            missing |= ones & !nibbles::nonzero(word);
            true
        });
        if missing != 0 {
            return false;
        }
        let mut done = 0;
        let all = words.each(|i, at, ones| {
            done = i;
            self.update(at, |word| nibbles::lower(word, ones)).is_ok()
        });
        if !all {
            words.each(|i, at, ones| {
                i < done && self.update(at, |word| Some(nibbles::raise(word, ones))).is_ok() // never refused
            });
        }
        all
    }
}

/// Counters anywhere in a filter.
struct Anywhere<'u, 'a, M: Memory>(&'u mut UnitsMut<'a, M, [u8; 8]>);

impl<M: Memory> Place for Anywhere<'_, '_, M> {
    #[inline(always)]
    fn update(&mut self, at: usize, change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        match self.0.get_mut(at) {
            Some(mut cell) => M::update::<[u8; 8]>(&mut cell, 0, change),
            None => Err(0), // never: `counter_at` gives words of the filter
        }
    }
}

/// Counters of one line.
struct InLine<'c, M: Memory>(M::CellMut<'c, [u8; 64]>);

impl<M: Memory> Place for InLine<'_, M> {
    #[inline(always)]
    fn update(&mut self, at: usize, change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64> {
        M::update::<[u8; 64]>(&mut self.0, at % <[u8; 64]>::WORDS, change)
    }
}

/// Words anywhere, of up to `N` probes.
struct Scattered<const N: usize> {
    at: [usize; N],
    ones: [u64; N],
    len: usize,
}

impl<const N: usize> Scattered<N> {
    const NONE: Self = Self { at: [0; N], ones: [0; N], len: 0 };

    /// Sets it to the counters of `classic`'s positions. (A new value each time would be moved by a call.)
    #[inline(always)]
    fn fill<M: Memory>(&mut self, units: &Units<'_, M, [u8; 8]>, digest: Digest) {
        self.len = 0;
        // Two words with the same low eight bits may be the same: of ten keys with seven probes one has such words.
        let mut seen = [0u64; 4];
        for hash in Probes::new(digest).take(N.min(units.shape().k as usize)) {
            let (at, bit) = units.counter_at(hash);
            // All lines are on the way before the first is waited for: atomic steps wait one after the other.
            units.prefetch_counter(hash);
            let (seen, sign) = (&mut seen[at >> 6 & 3], 1 << (at & 63));
            let known = *seen & sign != 0;
            *seen |= sign;
            let before = if known { self.at.iter().take(self.len).position(|&other| other == at) } else { None };
            match before {
                Some(i) => self.ones[i] |= 1 << bit,
                None => {
                    self.at[self.len] = at;
                    self.ones[self.len] = 1 << bit;
                    self.len += 1;
                }
            }
        }
    }
}

impl<const N: usize> Words for Scattered<N> {
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(usize, usize, u64) -> bool) -> bool {
        let words = self.at.iter().zip(&self.ones).take(self.len).enumerate();
        for (i, (&at, &ones)) in words {
            if !visit(i, at, ones) {
                return false;
            }
        }
        true
    }
}

/// Words of one line.
struct LineWords {
    ones: [u64; 8],
    /// Bit i: word i has a counter of the key.
    used: u32,
}

impl LineWords {
    /// The counters of `blocked-128`'s positions.
    #[inline(always)]
    fn new(digest: Digest, k: u32) -> Self {
        let mut words = Self { ones: [0; 8], used: 0 };
        for at in Blocked128::positions(digest).into_iter().take(k as usize) {
            words.ones[(at >> 4) as usize] |= 1 << (at % 16 * 4);
            words.used |= 1 << (at >> 4);
        }
        words
    }
}

impl Words for LineWords {
    #[inline(always)]
    fn each(&self, mut visit: impl FnMut(usize, usize, u64) -> bool) -> bool {
        let (mut left, mut i) = (self.used, 0);
        while left != 0 {
            let at = left.trailing_zeros() as usize % 8;
            if !visit(i, at, self.ones[at]) {
                return false;
            }
            left &= left - 1;
            i += 1;
        }
        true
    }
}

/// Walks over counters that are scattered.
#[derive(Debug)]
pub enum ByCounter {}

impl CounterWalk<Classic> for ByCounter {
    const PREFETCH_IN_L3: bool = true;
    type Counters = [u8; 8];

    /// Four probes at a time, as with bits.
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(_: I, units: &Units<'_, M, [u8; 8]>, digest: Digest) -> bool {
        let k = units.shape().k;
        let (mut hash, mut probe) = (digest.0, 0);
        while probe + 4 <= k {
            let mut hit = true;
            for _ in 0..4 {
                hit &= units.is_counted(hash);
                hash = next_probe(hash);
            }
            if !hit {
                return false;
            }
            probe += 4;
        }
        Probes::new(Digest(hash)).take((k - probe) as usize).all(|hash| units.is_counted(hash))
    }

    #[inline(always)]
    fn contains_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        _: I,
        units: &Units<'_, M, [u8; 8]>,
        digests: &[Digest],
        out: &mut [u64],
    ) {
        let mut state = Survivors::new();
        let k = units.shape().k;
        for (w, (window, out)) in digests.chunks(WINDOW).zip(out.chunks_mut(WINDOW / 64)).enumerate() {
            let later = &digests[w * WINDOW + window.len()..];
            let alive = ByProbe::window_by_one::<PREFETCH>(
                k,
                window,
                later,
                &mut state,
                |_, hash| units.is_counted(hash),
                |_, hash| units.prefetch_counter(hash),
            );
            state.mark(alive, &mut out[..window.len().div_ceil(64)]);
        }
    }

    #[inline(always)]
    fn prefetch<M: Memory>(units: &Units<'_, M, [u8; 8]>, digest: Digest) {
        for hash in Probes::new(digest).take(units.shape().k as usize) {
            units.prefetch_counter(hash);
        }
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(_: I, units: &mut UnitsMut<'_, M, [u8; 8]>, digest: Digest) -> bool {
        // Up to 16 probes do with a small buffer.
        let all = units.as_units();
        if all.shape().k <= 16 {
            let mut words = Scattered::<16>::NONE;
            words.fill(&all, digest);
            return Anywhere(units).raise(&words);
        }
        let mut words = Scattered::<32>::NONE;
        words.fill(&all, digest);
        Anywhere(units).raise(&words)
    }

    #[inline(always)]
    fn remove<I: Isa, M: Memory>(_: I, units: &mut UnitsMut<'_, M, [u8; 8]>, digest: Digest) -> bool {
        let all = units.as_units();
        if all.shape().k <= 16 {
            let mut words = Scattered::<16>::NONE;
            words.fill(&all, digest);
            return Anywhere(units).lower(&words);
        }
        let mut words = Scattered::<32>::NONE;
        words.fill(&all, digest);
        Anywhere(units).lower(&words)
    }
}

/// Walks over counters that lie in one line for each key.
#[derive(Debug)]
pub enum ByCounterLine {}

impl ByCounterLine {
    /// One word after the other.
    #[inline(always)]
    fn by_words<M: Memory>(cell: &M::Cell<[u8; 64]>, digest: Digest, k: u32) -> bool {
        Blocked128::positions(digest)
            .into_iter()
            .take(k as usize)
            .fold(true, |all, at| all & (M::word::<[u8; 64]>(cell, (at >> 4) as usize) >> (at % 16 * 4) & 15 != 0))
    }
}

impl Lookup<[u8; 64]> for ByCounterLine {
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(isa: I, cell: &M::Cell<[u8; 64]>, digest: Digest, k: u32) -> bool {
        if I::LOOKUP {
            return isa.line_counts(M::line(isa, cell), digest.0.wrapping_mul(MULTIPLIERS[0]), k);
        }
        Blocked128::positions(digest)
            .into_iter()
            .take(k as usize)
            .fold(true, |all, at| all & (M::word::<[u8; 64]>(cell, (at >> 4) as usize) >> (at % 16 * 4) & 15 != 0))
    }

    #[inline(always)]
    fn contains_eight<I: Isa, M: Memory>(
        isa: I,
        cells: &[&M::Cell<[u8; 64]>; 8],
        digests: &[Digest; 8],
        k: u32,
    ) -> u64 {
        if !M::VECTORS {
            // Word by word in any case: only those of the probes.
            let mut hits = 0;
            for j in 0..8 {
                let hit = u64::from(Self::by_words::<M>(cells[j], digests[j], k));
                hits |= if I::BITS { hit << j } else { (hit * 0xff) << (8 * j) };
            }
            return hits;
        }
        let mut lines = [M::line(isa, cells[0]); 8];
        for j in 1..8 {
            lines[j] = M::line(isa, cells[j]);
        }
        isa.counters_hit(&lines, digests, MULTIPLIERS[0], k)
    }

    #[inline(always)]
    fn want(_: u32) -> u8 {
        0xff
    }
}

impl CounterWalk<Blocked128> for ByCounterLine {
    const PREFETCH_IN_L3: bool = false;
    type Counters = [u8; 64];

    #[inline(always)]
    fn contains<I: Isa, M: Memory>(isa: I, units: &Units<'_, M, [u8; 64]>, digest: Digest) -> bool {
        <Self as Lookup<[u8; 64]>>::contains::<I, M>(isa, units.pick(digest), digest, units.shape().k)
    }

    #[inline(always)]
    fn contains_batch<I: Isa, M: Memory, const PREFETCH: bool>(
        isa: I,
        units: &Units<'_, M, [u8; 64]>,
        digests: &[Digest],
        out: &mut [u64],
    ) {
        ByUnit::lookup_batch::<Self, [u8; 64], I, M, PREFETCH>(isa, units, digests, out);
    }

    #[inline(always)]
    fn prefetch<M: Memory>(units: &Units<'_, M, [u8; 64]>, digest: Digest) {
        units.prefetch(digest);
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(_: I, units: &mut UnitsMut<'_, M, [u8; 64]>, digest: Digest) -> bool {
        let words = LineWords::new(digest, units.as_units().shape().k);
        InLine::<M>(units.pick(digest)).raise(&words)
    }

    #[inline(always)]
    fn remove<I: Isa, M: Memory>(_: I, units: &mut UnitsMut<'_, M, [u8; 64]>, digest: Digest) -> bool {
        let words = LineWords::new(digest, units.as_units().shape().k);
        InLine::<M>(units.pick(digest)).lower(&words)
    }
}

#[cfg(all(test, loom))]
#[path = "counting_loom.rs"]
mod loom;
