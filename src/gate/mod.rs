//! The negative gate of an LSM segment.
//!
//! A store of sorted segments asks each segment's filter before it reads the segment. [`SegmentPolicy`] says what the
//! filters are like; [`SegmentFilterBuilder`] makes one while its segment is written; [`SegmentFilter`] answers over its
//! bytes, wherever the engine holds them; [`Segments`] asks many at once; [`PartitionedBuilder`] splits the filter of a
//! large segment, so that only the ranges that are read need be held.
//!
//! [`Counters`] tell what the filters did, [`Economics`] whether one earns its place and at which size, and
//! [`share_budget`] how many bits each level of a tree should have.

mod budget;
mod counters;
mod economics;
mod partitioned;
mod segment;
mod segments;
mod steps;

pub use budget::{BudgetPlan, LevelPlan, TreeLevel, share_budget};
pub use counters::{Count, Counted, CounterSnapshot, Counters};
pub use economics::{BestSize, Economics};
pub use partitioned::{PartitionIndex, PartitionedBuilder, PartitionedBytes};
pub use segment::{FrameKind, SegmentFilter, SegmentFilterBuilder, SegmentPlan, SegmentPolicy};
pub use segments::Segments;
