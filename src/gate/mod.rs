//! The negative gate of an LSM segment.
//!
//! A store of sorted segments asks each segment's filter before it reads the segment. [`SegmentPolicy`] says what the
//! filters are like; [`SegmentFilterBuilder`] makes one while its segment is written; [`SegmentFilter`] answers over its
//! bytes, wherever the engine holds them.

mod segment;

pub use segment::{FrameKind, SegmentFilter, SegmentFilterBuilder, SegmentPlan, SegmentPolicy};
