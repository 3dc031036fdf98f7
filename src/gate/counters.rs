//! What a gate did: counted, or not, by type.

use crate::{Contains, Digest, NegativeGate, error::BatchError};
use alloc::sync::Arc;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shards, of which each thread writes one.
const SHARDS: usize = 16;

/// Something that is told what a gate answered. `()` counts nothing and costs nothing.
pub trait Count {
    /// Of so many lookups so many answered "maybe". Called once for a batch.
    fn record(&self, probes: u64, positives: u64);
}

impl Count for () {
    #[inline(always)]
    fn record(&self, _: u64, _: u64) {}
}

impl<C: Count + ?Sized> Count for &C {
    #[inline]
    fn record(&self, probes: u64, positives: u64) {
        (**self).record(probes, positives);
    }
}

impl<C: Count + ?Sized> Count for Arc<C> {
    #[inline]
    fn record(&self, probes: u64, positives: u64) {
        (**self).record(probes, positives);
    }
}

/// Counts of many threads, each in two lines of its own, so that none waits for another's.
///
/// ```
/// use bloomline::gate::{Count, Counters};
///
/// let counters = Counters::default();
/// counters.record(1_000, 30); // 1,000 lookups, of which 30 were let through
/// counters.report_false(10); // the engine read, and 10 of the keys were not there
/// let seen = counters.snapshot();
/// assert_eq!((seen.negatives(), seen.true_positives()), (970, 20));
/// assert!((seen.observed_fpr() - 10.0 / 980.0).abs() < 1e-12);
/// assert!(seen.agrees_with(0.01));
/// ```
#[derive(Debug, Default)]
pub struct Counters {
    shards: [Shard; SHARDS],
}

/// Two lines: the prefetchers of some processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    probes: AtomicU64,
    positives: AtomicU64,
    false_positives: AtomicU64,
}

/// The shard of this thread.
#[cfg(feature = "std")]
fn shard() -> usize {
    use core::sync::atomic::AtomicUsize;
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    std::thread_local! {
        static MINE: usize = NEXT.fetch_add(1, Relaxed) % SHARDS;
    }
    // A thread that is being taken down has none left, and takes the first.
    MINE.try_with(|&mine| mine).unwrap_or(0)
}

#[cfg(not(feature = "std"))]
fn shard() -> usize {
    0
}

impl Counters {
    /// The engine read for so many "maybe" answers in vain.
    pub fn report_false(&self, keys: u64) {
        self.shards[shard()].false_positives.fetch_add(keys, Relaxed);
    }

    /// The sums so far. Those of threads that count at the same moment may be half in it.
    pub fn snapshot(&self) -> CounterSnapshot {
        let mut sum = CounterSnapshot::default();
        for shard in &self.shards {
            sum.probes = sum.probes.saturating_add(shard.probes.load(Relaxed));
            sum.positives = sum.positives.saturating_add(shard.positives.load(Relaxed));
            sum.false_positives = sum.false_positives.saturating_add(shard.false_positives.load(Relaxed));
        }
        sum
    }
}

impl Count for Counters {
    #[inline]
    fn record(&self, probes: u64, positives: u64) {
        let shard = &self.shards[shard()];
        shard.probes.fetch_add(probes, Relaxed);
        shard.positives.fetch_add(positives, Relaxed);
    }
}

/// What was counted up to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterSnapshot {
    /// Lookups.
    pub probes: u64,
    /// Of them, "maybe".
    pub positives: u64,
    /// Of those, the ones that the engine reported to be wrong.
    pub false_positives: u64,
}

impl CounterSnapshot {
    /// Lookups that answered "absent": reads that were saved.
    pub fn negatives(&self) -> u64 {
        self.probes.saturating_sub(self.positives)
    }

    /// "Maybe" answers that the engine did not report to be wrong.
    pub fn true_positives(&self) -> u64 {
        self.positives.saturating_sub(self.false_positives)
    }

    /// Of the absent keys that were asked for, the share that was let through: false positives by all absent keys. As
    /// good as the engine's reports: without any it is 0. NaN before the first absent key.
    pub fn observed_fpr(&self) -> f64 {
        self.false_positives as f64 / self.absent()
    }

    /// Where the true rate lies with 95 % confidence (Wilson 1927, "Probable Inference, the Law of Succession, and
    /// Statistical Inference", JASA 22). 0 to 1 before the first absent key.
    pub fn fpr_interval(&self) -> (f64, f64) {
        const Z: f64 = 1.959_963_984_540_054;
        let n = self.absent();
        if n == 0.0 {
            return (0.0, 1.0);
        }
        let (p, z2) = (self.observed_fpr(), Z * Z);
        let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z / (1.0 + z2 / n) * libm::sqrt(p * (1.0 - p) / n + z2 / (4.0 * n * n));
        ((middle - half).max(0.0), (middle + half).min(1.0))
    }

    /// Whether a rate that was expected lies in [`CounterSnapshot::fpr_interval`].
    pub fn agrees_with(&self, expected: f64) -> bool {
        let (low, high) = self.fpr_interval();
        (low..=high).contains(&expected)
    }

    fn absent(&self) -> f64 {
        // A report may be there before the lookup it is about: never more false answers than lookups.
        self.negatives() as f64 + self.false_positives.min(self.probes) as f64
    }
}

/// A gate whose answers are counted.
///
/// ```
/// use bloomline::{Contains, Filter, Word, gate::{Counted, Counters}};
/// use std::sync::Arc;
///
/// let filter = Filter::<Word>::builder(1_000).build()?;
/// let counters = Arc::new(Counters::default());
/// let gate = Counted::new(filter, counters.clone());
/// gate.contains_bytes(b"key");
/// assert_eq!(counters.snapshot().probes, 1);
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Counted<G, C> {
    gate: G,
    counters: C,
}

impl<G, C> Counted<G, C> {
    /// This gate, and who is told.
    pub fn new(gate: G, counters: C) -> Self {
        Self { gate, counters }
    }

    /// The gate.
    pub fn gate(&self) -> &G {
        &self.gate
    }

    /// Who is told.
    pub fn counters(&self) -> &C {
        &self.counters
    }
}

impl<G: Contains, C: Count> Contains for Counted<G, C> {
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        let may = self.gate.contains_digest(digest);
        self.counters.record(1, may.into());
        may
    }

    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        self.gate.contains_batch(digests, out)?;
        self.counters.record(digests.len() as u64, ones(&out[..digests.len().div_ceil(64)]));
        Ok(())
    }

    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        self.gate.digest_bytes(key)
    }

    fn size_in_bytes(&self) -> u64 {
        self.gate.size_in_bytes()
    }
}

impl<G: NegativeGate, C: Count> NegativeGate for Counted<G, C> {}

/// "Maybe" answers in these words.
pub(super) fn ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}
