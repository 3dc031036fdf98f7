//! Which instruction set answers: detected once, remembered by the filter as a pointer to a table of kernels.

mod buckets;
mod bulk;
mod counting;
mod level;
mod limit;
mod pipeline;
mod table;

pub(crate) use buckets::{Bucket, Slots, TABLES};
pub use bulk::BulkOptions;
pub(crate) use bulk::insert_bulk;
pub(crate) use counting::{ByCounter, ByCounterLine};
pub use level::Level;
pub use limit::LoadLoop;
pub(crate) use pipeline::{ByProbe, ByUnit};
pub use table::Kernel;
pub(crate) use table::{BucketKernels, CounterKernels, Kernels, with_kernel};
