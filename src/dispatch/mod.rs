//! Which instruction set answers: detected once, remembered by the filter as a pointer to a table of kernels.

mod bulk;
mod level;
mod pipeline;
mod table;

pub(crate) use bulk::insert_bulk;
pub use bulk::BulkOptions;
pub use level::Level;
pub(crate) use pipeline::{ByProbe, ByUnit};
pub use table::Kernel;
pub(crate) use table::{Kernels, with_kernel};
