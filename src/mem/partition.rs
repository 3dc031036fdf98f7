//! Partition of a stream of words into runs, one for each region of a filter.
//!
//! Writing bits at random into a filter beyond the caches costs a whole line of memory traffic each way for every key.
//! Collecting the keys of each region first, and writing region by region, turns this into streams: about 4 keys must
//! share a line of the filter for it to pay, and about 2 ns a key go into the partition itself.

use super::region::Region;
use crate::{block::Line, error::AllocError, isa::Isa};
use alloc::boxed::Box;

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
    open: Box<[Line; MAX_RUNS]>,
    /// Words in each run, those in its open line included.
    counts: Box<[u32; MAX_RUNS]>,
    /// `lines` lines for each run.
    scratch: Region,
    lines: usize,
    runs: usize,
}

impl Partitioner {
    /// `runs` runs (1 to [`MAX_RUNS`]) in about `scratch_bytes` bytes, for about `words` words.
    pub(crate) fn new(runs: usize, scratch_bytes: usize, words: usize) -> Result<Self, AllocError> {
        let runs = runs.clamp(1, MAX_RUNS);
        // A quarter more than an even share, so that most runs of a uniform stream are emptied once.
        let enough = words / runs / 8 + words / runs / 32 + 1;
        let lines = (scratch_bytes / runs / 64).min(enough).clamp(MIN_LINES, 1 << 26);
        let bytes = (runs * lines).checked_mul(64).ok_or(AllocError::Refused { bytes: u64::MAX })?;
        let scratch = Region::zeroed(bytes)?;
        let (open, counts) = (Box::new([Line::ZERO; MAX_RUNS]), Box::new([0; MAX_RUNS]));
        Ok(Self { open, counts, scratch, lines, runs })
    }

    /// Adds a word to a run (the last one when there are fewer); calls `full` with a run that is full.
    #[inline(always)]
    pub(crate) fn push<I: Isa>(&mut self, isa: I, run: usize, word: u64, full: &mut impl FnMut(usize, &[u64])) {
        let run = run.min(self.runs - 1) % MAX_RUNS;
        let count = self.counts[run];
        self.counts[run] = count + 1;
        if count & 7 != 7 {
            self.open[run].0[(count & 7) as usize] = word;
        } else {
            let line = (count >> 3) as usize;
            self.close_line(isa, run, line, word);
            if line + 1 == self.lines {
                full(run, self.closed(run, self.lines));
                self.counts[run] = 0;
            }
        }
    }

    /// Hands out what is left, run by run.
    pub(crate) fn finish(mut self, full: &mut impl FnMut(usize, &[u64])) {
        for run in 0..self.runs {
            let count = self.counts[run] as usize;
            full(run, self.closed(run, count / 8));
            full(run, &self.open[run].0[..count % 8]);
            self.counts[run] = 0;
        }
    }

    /// Streams the open line of a run past the caches to its place, with `last` as its last word: that word was never
    /// stored, since a vector load that comes right after a store of one of its words has to wait for it.
    #[inline(always)]
    fn close_line<I: Isa>(&mut self, isa: I, run: usize, line: usize, last: u64) {
        debug_assert!(run < self.runs && line < self.lines);
        // SAFETY: `run` is below `runs` (`push` clamps it) and `line` below `lines` (`push` starts a run anew when it
        // reaches them), so the line lies in the scratch, which `&mut self` owns, aligned to 64 bytes.
        unsafe {
            let to = self.scratch.base().as_ptr().cast::<Line>().add(run * self.lines + line);
            isa.stream(to, &self.open[run], last);
        }
    }

    /// The words of the first `lines` closed lines of a run.
    fn closed(&self, run: usize, lines: usize) -> &[u64] {
        let first = run * self.lines;
        assert!(run < self.runs && lines <= self.lines);
        // SAFETY: in range by the assertion, initialised (zeroed, then written as words), aligned to 64, and borrowed
        // from `self` for as long as the slice lives.
        unsafe { core::slice::from_raw_parts(self.scratch.base().as_ptr().cast::<u64>().add(first * 8), lines * 8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hash::mix, isa::Scalar};
    use alloc::{vec, vec::Vec};

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
                parts.push(Scalar, run, i, &mut |run, words| out[run].extend_from_slice(words));
            }
            parts.finish(&mut |run, words| out[run].extend_from_slice(words));
            assert_eq!(out, want);
        }
    }
}
