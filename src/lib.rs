//! Bloom filters and their relatives.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod block;
mod dispatch;
pub mod error;
mod filters;
pub mod hash;
mod isa;
mod layout;
#[cfg(feature = "std")]
pub mod machine;
pub mod mem;
pub mod sizing;

pub use dispatch::{BulkOptions, Kernel, Level, LoadLoop};
pub use filters::{
    AnyFilter, Blocked, Builder, Classic, Contains, Design, Filter, FilterView, LayoutKind, NegativeGate, Partitioned,
    SharedFilter, SplitBlock, SplitLine, Word,
};
pub use hash::Digest;
pub use layout::Layout;
