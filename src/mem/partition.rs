//! Partition of a stream of words into runs, one for each region of a filter.
//!
//! Writing bits at random into a filter beyond the caches costs a whole line of memory traffic each way for every key.
//! Collecting the keys of each region first, and writing region by region, turns this into streams: about 4 keys must
//! share a line of the filter for it to pay, and about 2 ns a key go into the partition itself.

use super::region::Region;
use crate::{block::Line, error::AllocError};
use alloc::{vec, vec::Vec};

/// Most runs. Their open lines (64 KiB) must stay close to the core, and a region of a 256 MiB filter (256 KiB) in L2.
pub(crate) const MAX_RUNS: usize = 1024;

/// Fewest lines a run may hold: below this the regions are visited too often.
const MIN_LINES: usize = 4;

/// Words by run, each run in streams of whole lines.
///
/// A run that is full is handed to the caller and starts anew, so that the memory is bounded, one pass over the stream
/// is enough, and a skewed stream costs time and nothing else.
pub(crate) struct Partitioner {
    /// The open line of each run.
    open: Vec<Line>,
    /// Words in each run, those in its open line included.
    counts: Vec<u32>,
    /// `lines` lines for each run.
    scratch: Region,
    lines: usize,
}

impl Partitioner {
    /// `runs` runs (1 to [`MAX_RUNS`]) in about `scratch_bytes` bytes, for about `words` words.
    pub(crate) fn new(runs: usize, scratch_bytes: usize, words: usize) -> Result<Self, AllocError> {
        let runs = runs.clamp(1, MAX_RUNS);
        let enough = words.saturating_mul(8).saturating_add(words.saturating_mul(2)) / runs / 64 + 1;
        let lines = (scratch_bytes / runs / 64).min(enough).clamp(MIN_LINES, 1 << 26);
        let bytes = (runs * lines).checked_mul(64).ok_or(AllocError::Refused { bytes: u64::MAX })?;
        let scratch = Region::zeroed(bytes)?;
        Ok(Self { open: vec![Line::ZERO; runs], counts: vec![0; runs], scratch, lines })
    }

    /// Adds a word to a run (the last one when there are fewer); calls `full` with a run that is full.
    #[inline(always)]
    pub(crate) fn push(&mut self, run: usize, word: u64, full: &mut impl FnMut(usize, &[u64])) {
        let run = run.min(self.open.len() - 1);
        let count = self.counts[run];
        self.open[run].0[(count & 7) as usize] = word;
        self.counts[run] = count + 1;
        if count & 7 == 7 {
            self.close_line(run, (count >> 3) as usize);
            if (count >> 3) as usize + 1 == self.lines {
                full(run, self.closed(run, self.lines));
                self.counts[run] = 0;
            }
        }
    }

    /// Hands out what is left, run by run.
    pub(crate) fn finish(mut self, full: &mut impl FnMut(usize, &[u64])) {
        for run in 0..self.open.len() {
            let count = self.counts[run] as usize;
            full(run, self.closed(run, count / 8));
            full(run, &self.open[run].0[..count % 8]);
            self.counts[run] = 0;
        }
    }

    /// Streams the open line of a run past the caches to its place.
    #[inline(always)]
    fn close_line(&mut self, run: usize, line: usize) {
        let at = (run * self.lines + line) * 64;
        let words = &self.open[run];
        debug_assert!(run < self.open.len() && line < self.lines);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use core::arch::x86_64::*;
            let (from, to) = (words.0.as_ptr(), self.scratch.base().as_ptr());
            // SAFETY: `run` and `line` are in range (the asserts above; `push` clamps the one and wraps the other), so 64
            // bytes at `at` lie in the scratch, which `&mut self` owns; both sides are aligned to 64. SSE2 is baseline.
            // The stores are weakly ordered, but this thread, the only reader, sees its own stores in order.
            unsafe {
                for i in 0..4 {
                    _mm_stream_si128(to.add(at + 16 * i).cast(), _mm_load_si128(from.add(2 * i).cast()));
                }
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        for (i, &word) in words.0.iter().enumerate() {
            self.scratch.units_mut::<[u8; 8]>()[at / 8 + i] = word.to_ne_bytes();
        }
    }

    /// The words of the first `lines` closed lines of a run.
    fn closed(&self, run: usize, lines: usize) -> &[u64] {
        let first = run * self.lines;
        assert!(run < self.open.len() && lines <= self.lines);
        // SAFETY: in range by the assertion, initialised (zeroed, then written as words), aligned to 64, and borrowed
        // from `self` for as long as the slice lives.
        unsafe { core::slice::from_raw_parts(self.scratch.base().as_ptr().cast::<u64>().add(first * 8), lines * 8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn every_word_comes_out_once_in_its_run() {
        for (runs, scratch, n) in [(1, 0, 100), (7, 4096, 10_000), (1024, 1 << 20, 100_000), (5, 1 << 20, 3)] {
            let n = if cfg!(miri) { n.min(500) } else { n };
            let mut out: Vec<Vec<u64>> = vec![vec![]; runs];
            let mut parts = Partitioner::new(runs, scratch, n).unwrap();
            let mut want: Vec<Vec<u64>> = vec![vec![]; runs];
            for i in 0..n as u64 {
                // A skewed stream: half of it goes to run 0.
                let run = if i % 2 == 0 { 0 } else { mix(i) as usize % runs };
                want[run].push(i);
                parts.push(run, i, &mut |run, words| out[run].extend_from_slice(words));
            }
            parts.finish(&mut |run, words| out[run].extend_from_slice(words));
            assert_eq!(out, want);
        }
    }
}
