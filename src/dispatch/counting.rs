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

/// Inserts them all.
#[inline(always)]
pub(super) fn insert_batch<L: CounterLayout, I: Isa, M: Memory, const PREFETCH: bool>(
    isa: I,
    units: &mut UnitsMut<'_, M, CounterUnit<L>>,
    digests: &[Digest],
) {
    for (i, &digest) in digests.iter().enumerate() {
        if PREFETCH && let Some(&next) = digests.get(i + AHEAD) {
            L::CounterWalk::prefetch(&units.as_units(), next);
        }
        L::CounterWalk::insert::<I, M>(isa, units, digest);
    }
}

/// Removes them all; bit i of `out`: digest i was there. `out` has a word for every 64 digests.
#[inline(always)]
pub(super) fn remove_batch<L: CounterLayout, I: Isa, M: Memory, const PREFETCH: bool>(
    isa: I,
    units: &mut UnitsMut<'_, M, CounterUnit<L>>,
    digests: &[Digest],
    out: &mut [u64],
) {
    for (w, (window, out)) in digests.chunks(64).zip(out).enumerate() {
        *out = 0;
        for (i, &digest) in window.iter().enumerate() {
            if PREFETCH && let Some(&next) = digests.get(64 * w + i + AHEAD) {
                L::CounterWalk::prefetch(&units.as_units(), next);
            }
            *out |= u64::from(L::CounterWalk::remove::<I, M>(isa, units, digest)) << i;
        }
    }
}

/// The words of a key, each once, and which of their counters it has: bit 4·i for counter i.
struct Words<const N: usize> {
    at: [usize; N],
    ones: [u64; N],
    len: usize,
}

/// What the words of a key lie in.
trait Place {
    /// As [`Memory::update`].
    fn update(&mut self, at: usize, change: impl FnMut(u64) -> Option<u64>) -> Result<u64, u64>;

    /// Raises the counters of a key; true when one was not stuck.
    #[inline(always)]
    fn raise<const N: usize>(&mut self, words: &Words<N>) -> bool {
        let mut changed = false;
        for (&at, &ones) in words.at.iter().zip(&words.ones).take(words.len) {
            let old = self.update(at, |word| Some(nibbles::raise(word, ones)));
            changed |= old.is_ok_and(|old| ones & !nibbles::stuck(old) != 0);
        }
        changed
    }

    /// Lowers the counters of a key, all of them; false, and nothing is changed, when one is 0.
    ///
    /// In shared memory another thread may lower a counter to 0 between the look and the change. What was lowered before
    /// is raised again then: a counter that was stuck when it was passed over is so for ever, and raising it does nothing.
    #[inline(always)]
    fn lower<const N: usize>(&mut self, words: &Words<N>) -> bool {
        let all = || words.at.iter().zip(&words.ones).take(words.len);
        let mut there = true;
        for (&at, &ones) in all() {
            let word = self.update(at, |_| None).unwrap_or_else(|word| word);
            there &= ones & !nibbles::nonzero(word) == 0;
        }
        if !there {
            return false;
        }
        for (done, (&at, &ones)) in all().enumerate() {
            if self.update(at, |word| nibbles::lower(word, ones)).is_err() {
                for (&at, &ones) in all().take(done) {
                    // Never refused.
                    let _ = self.update(at, |word| Some(nibbles::raise(word, ones)));
                }
                return false;
            }
        }
        true
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

/// The counters of `classic`'s positions: anywhere.
#[inline(always)]
fn scattered<M: Memory>(units: &Units<'_, M, [u8; 8]>, digest: Digest) -> Words<32> {
    let mut words = Words { at: [0; 32], ones: [0; 32], len: 0 };
    for hash in Probes::new(digest).take(units.shape().k.min(32) as usize) {
        let (at, bit) = units.counter_at(hash);
        // Few keys have two counters in one word: the branch is as good as always taken.
        match words.at.iter().take(words.len).position(|&other| other == at) {
            Some(i) => words.ones[i] |= 1 << bit,
            None => {
                words.at[words.len] = at;
                words.ones[words.len] = 1 << bit;
                words.len += 1;
            }
        }
    }
    words
}

/// The counters of `blocked-128`'s positions: in one line.
#[inline(always)]
fn in_line(digest: Digest, k: u32) -> Words<8> {
    let mut line = [0u64; 8];
    let mut used = 0u32;
    for at in Blocked128::positions(digest).into_iter().take(k as usize) {
        line[(at >> 4) as usize] |= 1 << (at % 16 * 4);
        used |= 1 << (at >> 4);
    }
    let mut words = Words { at: [0; 8], ones: [0; 8], len: 0 };
    while used != 0 && words.len < 8 {
        let at = used.trailing_zeros() as usize % 8;
        used &= used - 1;
        words.at[words.len] = at;
        words.ones[words.len] = line[at];
        words.len += 1;
    }
    words
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
        let words = scattered(&units.as_units(), digest);
        Anywhere(units).raise(&words)
    }

    #[inline(always)]
    fn remove<I: Isa, M: Memory>(_: I, units: &mut UnitsMut<'_, M, [u8; 8]>, digest: Digest) -> bool {
        let words = scattered(&units.as_units(), digest);
        Anywhere(units).lower(&words)
    }
}

/// Walks over counters that lie in one line for each key.
#[derive(Debug)]
pub enum ByCounterLine {}

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
        let words = in_line(digest, units.as_units().shape().k);
        InLine::<M>(units.pick(digest)).raise(&words)
    }

    #[inline(always)]
    fn remove<I: Isa, M: Memory>(_: I, units: &mut UnitsMut<'_, M, [u8; 64]>, digest: Digest) -> bool {
        let words = in_line(digest, units.as_units().shape().k);
        InLine::<M>(units.pick(digest)).lower(&words)
    }
}
