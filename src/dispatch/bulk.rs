//! Bulk insertion: many digests into a plain filter, region by region, on one thread or many.

use super::Kernels;
use crate::{
    block::Unit,
    error::AllocError,
    hash::Digest,
    layout::{Layout, Walk},
    mem::{MAX_RUNS, Owned, Partitioner, Plain, Shape, Slab, Store},
};
use alloc::vec::Vec;

/// How much a bulk insertion may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkOptions {
    /// Bytes for the partition, all threads together: 512 MiB by default. Less is slower, since regions of the filter
    /// are then visited more often; the bits are the same.
    pub scratch_bytes: usize,
    /// Threads: 0, the default, means all of the current rayon pool, 1 none beside the caller's.
    pub threads: usize,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self { scratch_bytes: 512 << 20, threads: 0 }
    }
}

impl BulkOptions {
    /// With at most this many bytes for the partition.
    #[must_use]
    pub const fn scratch_bytes(mut self, bytes: usize) -> Self {
        self.scratch_bytes = bytes;
        self
    }

    /// On this many threads; 0 means all.
    #[must_use]
    pub const fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }
}

/// Below this many digests for each line of the filter, going straight to memory is as fast.
const DIGESTS_PER_LINE: usize = 2;

/// Bytes of a region: half of a small L2, so that a region, its digests and the streams fit one.
const REGION_BYTES: usize = 256 << 10;

/// A filter of fewer bytes is small enough for a shared L3 to hold most of it.
const LEAST_BYTES: usize = 16 << 20;

/// From so many threads on, filters that are smaller are partitioned too.
const MANY_THREADS: usize = 8;

/// Base-two logarithm of the units of a region: such that there are at most `MAX_RUNS` regions.
fn log2_units(units: usize, unit_bytes: usize) -> u32 {
    let smallest = (REGION_BYTES / unit_bytes).ilog2();
    let most_regions = units.div_ceil(MAX_RUNS).next_power_of_two().ilog2();
    smallest.max(most_regions)
}

/// Inserts all digests. The bits equal those of one insertion after the other.
pub(crate) fn insert_bulk<L: Layout>(
    kernels: &Kernels<L, Plain>,
    store: &mut Owned<L::Unit>,
    digests: &[Digest],
    prefetch: bool,
    options: BulkOptions,
) -> Result<(), AllocError> {
    let (units, shape) = (store.units().len(), store.units().shape());
    let lines = units * L::Unit::BYTES / 64;
    let log2 = log2_units(units, L::Unit::BYTES);
    let regions = units.div_ceil(1 << log2);
    let threads = threads(options.threads, digests.len());
    // In L3 the plain loop is faster, though scattered lookups are prefetched there already: a partition is two to four
    // times its work, which takes many threads to make up for.
    let streams_pay = prefetch && units * L::Unit::BYTES >= LEAST_BYTES && digests.len() / DIGESTS_PER_LINE >= lines;
    if !streams_pay && (threads < MANY_THREADS || regions < 2 * threads) {
        kernels.insert_batch(&mut store.units_mut(), digests, prefetch);
        return Ok(());
    }
    let items = digests.len().saturating_mul(L::Walk::items_per_key(shape.k));
    let mut parts = Vec::new();
    for _ in 0..threads {
        parts.push(Partitioner::new(regions, options.scratch_bytes / threads, items / threads)?);
    }
    let cells = store.as_units_mut();
    let slabs = cells.chunks_mut(1 << log2).enumerate().map(|(i, cells)| Slab::new(cells, i << log2, units, shape.k));
    let to = Regions { kernels, units, shape, log2 };
    match (parts.pop(), threads) {
        (Some(parts), 1) => to.fill_alone(slabs.collect(), parts, digests),
        (Some(first), _) => {
            parts.push(first);
            to.fill_together(slabs.collect(), parts, digests);
        }
        (None, _) => {}
    }
    Ok(())
}

/// Where digests go.
struct Regions<'k, L: Layout> {
    kernels: &'k Kernels<L, Plain>,
    units: usize,
    shape: Shape,
    log2: u32,
}

impl<L: Layout> Regions<'_, L> {
    fn fill_alone(&self, mut slabs: Vec<Slab<'_, L::Unit>>, mut parts: Partitioner, digests: &[Digest]) {
        let mut full = |run: usize, items: &[u64]| {
            if let Some(slab) = slabs.get_mut(run) {
                self.kernels.insert_items(slab, items);
            }
        };
        self.kernels.partition(self.shape, self.units, digests, self.log2, &mut parts, &mut full);
        parts.finish(&mut full);
    }

    /// Each thread partitions its share and takes a region's lock to empty a run into it; there are many more regions
    /// than threads, so they seldom meet. Which thread came first makes no difference to an OR.
    #[cfg(feature = "rayon")]
    fn fill_together(&self, slabs: Vec<Slab<'_, L::Unit>>, parts: Vec<Partitioner>, digests: &[Digest]) {
        use std::sync::{Mutex, PoisonError};
        let slabs: Vec<_> = slabs.into_iter().map(Mutex::new).collect();
        let share = digests.len().div_ceil(parts.len()).max(1);
        rayon::scope(|scope| {
            for (mut parts, digests) in parts.into_iter().zip(digests.chunks(share)) {
                let slabs = &slabs;
                scope.spawn(move |_| {
                    let mut full = |run: usize, items: &[u64]| {
                        if let Some(slab) = slabs.get(run).filter(|_| !items.is_empty()) {
                            let mut slab = slab.lock().unwrap_or_else(PoisonError::into_inner);
                            self.kernels.insert_items(&mut slab, items);
                        }
                    };
                    self.kernels.partition(self.shape, self.units, digests, self.log2, &mut parts, &mut full);
                    parts.finish(&mut full);
                });
            }
        });
    }

    #[cfg(not(feature = "rayon"))]
    fn fill_together(&self, slabs: Vec<Slab<'_, L::Unit>>, mut parts: Vec<Partitioner>, digests: &[Digest]) {
        if let Some(parts) = parts.pop() {
            self.fill_alone(slabs, parts, digests);
        }
    }
}

/// Threads that are worth starting for so many digests.
#[cfg(feature = "rayon")]
fn threads(wanted: usize, digests: usize) -> usize {
    const LEAST: usize = 1 << 15;
    let pool = rayon::current_num_threads();
    let wanted = if wanted == 0 { pool } else { wanted.min(pool) };
    wanted.min(digests / LEAST).max(1)
}

#[cfg(not(feature = "rayon"))]
fn threads(_: usize, _: usize) -> usize {
    1
}
