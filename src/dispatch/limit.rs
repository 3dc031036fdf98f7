//! The limit: loops that only load one word of a random cache line for each digest, nothing else.
//!
//! No lookup can be faster than the fastest of them on the same memory with the same digests, so it is what speeds are
//! compared with. A layout that beats it by more than the noise means that a faster loop is missing here.

use super::Level;
use crate::{
    error::BatchError,
    hash::Digest,
    isa::{Isa, prefetch, through_register},
    mem::{Plain, Ring, Shape, Units, View},
};
use core::fmt;

/// A load-only loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadLoop {
    /// One address at a time, prefetched so many keys ahead (0: not at all).
    One {
        /// Keys between prefetch and load.
        ahead: usize,
    },
    /// Eight addresses at a time, computed so many groups of eight before they are loaded.
    Eight {
        /// Groups between computing and loading: 0, 1, 2, 4 or 8.
        groups: usize,
        /// Whether the line is prefetched when its address is computed.
        prefetch: bool,
    },
    /// Eight addresses at a time, loaded by a gather where the level has one, so many groups after they were computed.
    Gather {
        /// Groups between computing and loading: 0 or 8.
        groups: usize,
    },
}

impl LoadLoop {
    /// All loops; the limit is the fastest.
    pub const ALL: [LoadLoop; 15] = [
        Self::One { ahead: 0 },
        Self::One { ahead: 8 },
        Self::One { ahead: 16 },
        Self::One { ahead: 32 },
        Self::One { ahead: 64 },
        Self::Eight { groups: 0, prefetch: false },
        Self::Eight { groups: 2, prefetch: false },
        Self::Eight { groups: 4, prefetch: false },
        Self::Eight { groups: 8, prefetch: false },
        Self::Eight { groups: 1, prefetch: true },
        Self::Eight { groups: 2, prefetch: true },
        Self::Eight { groups: 4, prefetch: true },
        Self::Eight { groups: 8, prefetch: true },
        Self::Gather { groups: 0 },
        Self::Gather { groups: 8 },
    ];

    /// Loads one word of the line that each digest chooses among the whole lines of `memory`, at `level` or the best
    /// below, and returns the sum of the words.
    ///
    /// # Errors
    /// When `memory` has not one whole line.
    pub fn run(self, memory: &[u8], digests: &[Digest], level: Level) -> Result<u64, BatchError> {
        let lines = memory.len() / 64;
        let shape = Shape { span: lines as u64, stride: 0, k: 1 };
        let view = memory.get(..lines * 64).and_then(|memory| View::<[u8; 64]>::new(memory, shape));
        let view = view.ok_or(BatchError { words: memory.len() / 8, needed: 8 })?;
        Ok(super::table::random_lines(level, crate::mem::Store::units(&view), digests, self))
    }
}

impl fmt::Display for LoadLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One { ahead: 0 } => write!(f, "one by one"),
            Self::One { ahead } => write!(f, "one by one, prefetched {ahead} ahead"),
            Self::Eight { groups, prefetch: false } => write!(f, "eight by eight, {} later", 8 * groups),
            Self::Eight { groups, prefetch: true } => write!(f, "eight by eight, prefetched {} ahead", 8 * groups),
            Self::Gather { groups } => write!(f, "gathered, {} later", 8 * groups),
        }
    }
}

/// The loop, in the instruction set of `isa`.
#[inline(always)]
pub(super) fn run<I: Isa>(isa: I, units: &Units<'_, Plain, [u8; 64]>, digests: &[Digest], which: LoadLoop) -> u64 {
    match which {
        LoadLoop::One { ahead: 0 } => one::<0>(units, digests),
        LoadLoop::One { ahead: 1..=8 } => one::<8>(units, digests),
        LoadLoop::One { ahead: 9..=16 } => one::<16>(units, digests),
        LoadLoop::One { ahead: 17..=32 } => one::<32>(units, digests),
        LoadLoop::One { .. } => one::<64>(units, digests),
        LoadLoop::Eight { groups: 0, prefetch: false } => eight::<I, 1, 0, false, false>(isa, units, digests),
        LoadLoop::Eight { groups: 1..=2, prefetch: false } => eight::<I, 2, 2, false, false>(isa, units, digests),
        LoadLoop::Eight { groups: 3..=4, prefetch: false } => eight::<I, 4, 4, false, false>(isa, units, digests),
        LoadLoop::Eight { prefetch: false, .. } => eight::<I, 8, 8, false, false>(isa, units, digests),
        LoadLoop::Eight { groups: 0..=1, prefetch: true } => eight::<I, 1, 1, true, false>(isa, units, digests),
        LoadLoop::Eight { groups: 2, prefetch: true } => eight::<I, 2, 2, true, false>(isa, units, digests),
        LoadLoop::Eight { groups: 3..=4, prefetch: true } => eight::<I, 4, 4, true, false>(isa, units, digests),
        LoadLoop::Eight { prefetch: true, .. } => eight::<I, 8, 8, true, false>(isa, units, digests),
        LoadLoop::Gather { groups: 0 } => eight::<I, 1, 0, false, true>(isa, units, digests),
        LoadLoop::Gather { .. } => eight::<I, 8, 8, false, true>(isa, units, digests),
    }
}

#[inline(always)]
fn first_word(cell: &[u8; 64]) -> u64 {
    u64::from_ne_bytes(cell.as_chunks::<8>().0[0])
}

#[inline(always)]
fn one<const AHEAD: usize>(units: &Units<'_, Plain, [u8; 64]>, digests: &[Digest]) -> u64 {
    let mut sum = 0u64;
    if AHEAD == 0 {
        for &digest in digests {
            sum = sum.wrapping_add(first_word(units.pick(digest)));
        }
        return sum;
    }
    let later = digests.get(AHEAD..).unwrap_or_default();
    for (&digest, &next) in digests.iter().zip(later) {
        prefetch(units.pick(next).as_ptr());
        sum = sum.wrapping_add(first_word(units.pick(digest)));
    }
    for &digest in &digests[later.len()..] {
        sum = sum.wrapping_add(first_word(units.pick(digest)));
    }
    sum
}

#[inline(always)]
fn eight<I: Isa, const SLOTS: usize, const GROUPS: usize, const PREFETCH: bool, const GATHER: bool>(
    isa: I,
    units: &Units<'_, Plain, [u8; 64]>,
    digests: &[Digest],
) -> u64 {
    let (groups, rest) = digests.as_chunks::<8>();
    let mut buffer = [[0; 8]; SLOTS];
    let mut ring = Ring::<'_, '_, Plain, [u8; 64], SLOTS>::new(*units, &mut buffer);
    for (g, group) in groups.iter().enumerate().take(GROUPS) {
        ring.choose::<I, PREFETCH>(isa, g, group);
    }
    // Two sums, so that the additions are no chain to wait for, out of the compiler's sight, which would make gathers of
    // the loads: they have loops of their own.
    let mut sums = [0u64; 2];
    let mut gathered = isa.splat(0);
    let steady = groups.len().saturating_sub(GROUPS);
    for i in 0..groups.len() {
        if GROUPS == 0 {
            ring.choose::<I, PREFETCH>(isa, i, &groups[i]);
        }
        if GATHER {
            gathered = isa.add(gathered, ring.gather(isa, i));
        } else {
            let cells = ring.chosen(i);
            for j in 0..8 {
                sums[j % 2] = through_register(sums[j % 2].wrapping_add(first_word(cells[j])));
            }
        }
        if GROUPS > 0 && i < steady {
            ring.choose::<I, PREFETCH>(isa, i + GROUPS, &groups[i + GROUPS]);
        }
    }
    let rest = rest.iter().fold(0u64, |sum, &digest| sum.wrapping_add(first_word(units.pick(digest))));
    let mut lanes = [0; 8];
    isa.store(gathered, &mut lanes);
    lanes.iter().chain(&sums).fold(rest, |sum, &part| sum.wrapping_add(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn every_loop_loads_the_same_words() {
        let memory: alloc::vec::Vec<u8> = (0..64 * 77 + 3).map(|i| mix(i) as u8).collect();
        for n in [0, 1, 7, 8, 63, 64, 65, 200] {
            let digests: alloc::vec::Vec<Digest> = (0..n).map(|i| Digest(mix(i))).collect();
            let want = digests.iter().fold(0u64, |sum, d| {
                let at = (((d.0 >> 32) * 77) >> 32) as usize * 64;
                sum.wrapping_add(u64::from_ne_bytes(memory[at..at + 8].try_into().unwrap()))
            });
            for &level in Level::available() {
                for which in LoadLoop::ALL {
                    assert_eq!(which.run(&memory, &digests, level), Ok(want), "{level} {which} {n}");
                }
            }
        }
        assert!(LoadLoop::ALL[0].run(&memory[..63], &[], Level::Scalar).is_err());
    }
}
