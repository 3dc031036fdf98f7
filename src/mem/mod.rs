//! Where the bits live: two memory models (plain, shared) and three owners (owned, shared, borrowed).
//!
//! | store | memory model | written by | reads |
//! |---|---|---|---|
//! | [`Owned`] | [`Plain`] | `&mut self` | vectors |
//! | [`View`], [`Held`] | [`Plain`] | nobody | vectors, at any alignment |
//! | [`Shared`] | [`Atomic`] | `&self`, many threads | relaxed atomic words |
//!
//! A vector load of memory that another thread writes would be a data race, so shared memory is read word by word.
//! Nothing here knows what a bit means; [`Units`] only knows how to reach the unit that a digest chooses, and does so
//! without bounds checks, because fastrange can't leave the range (the argument stands at each `unsafe`).
#![allow(unsafe_code)]
#![allow(clippy::allow_attributes, reason = "unsafe code is re-allowed for a whole room")]

#[cfg(all(test, loom))]
mod loom;
mod partition;
mod region;
mod store;
mod units;

pub(crate) use partition::{MAX_RUNS, Partitioner};
pub use region::HugePages;
pub use store::{Held, MaybeOwned, Owned, Shared, Store, View};
pub(crate) use store::{HeldMany, Holder};
pub(crate) use units::Ring;
pub use units::{Atomic, Memory, Plain, Shape, Slab, Units, UnitsMut};
