//! The negative gate of an LSM segment.
//!
//! A store of sorted segments asks each segment's filter before it reads the segment. [`SegmentPolicy`] says what the
//! filters are like; [`SegmentFilterBuilder`] makes one while its segment is written; [`SegmentFilter`] answers over its
//! bytes, wherever the engine holds them; [`Segments`] asks many at once; [`PartitionedBuilder`] splits the filter of a
//! large segment, so that only the ranges that are read need be held.

mod partitioned;
mod segment;
mod segments;

pub use partitioned::{PartitionIndex, PartitionedBuilder, PartitionedBytes};
pub use segment::{FrameKind, SegmentFilter, SegmentFilterBuilder, SegmentPlan, SegmentPolicy};
pub use segments::Segments;
