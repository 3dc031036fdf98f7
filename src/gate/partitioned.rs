//! Filters of a large segment, one for each range of its keys.

use super::{SegmentFilterBuilder, SegmentPolicy};
use crate::error::{BuildError, FormatError, PartitionError};
use alloc::vec::Vec;
use core::{num::NonZero, ops::Range};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: [u8; 4] = [0x89, b'B', b'L', b'P'];
const VERSION: u16 = 1;
/// Magic, version, two reserved bytes, checksum of the rest.
const HEAD_BYTES: usize = 16;
/// Length of the last key of a range, and bytes of its filter.
const ENTRY_BYTES: usize = 4 + 8;

/// Makes the filters of a large segment: one for each range of so many keys, and an index of the ranges, so that an engine
/// need only hold the filters of ranges that are read.
///
/// ```
/// use bloomline::{LayoutKind, gate::{PartitionIndex, PartitionedBuilder, SegmentPolicy}, hash::Xxh3};
/// use std::num::NonZero;
///
/// let policy = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::default());
/// let mut builder = PartitionedBuilder::new(&policy, NonZero::new(1_000).expect("not 0"));
/// for key in 0..10_000u64 {
///     builder.add_key(&key.to_be_bytes())?; // in the order of the segment
/// }
/// let bytes = builder.finish()?;
///
/// let index = PartitionIndex::open(&bytes.index)?; // a few bytes for each range: held in memory
/// assert_eq!(index.len(), 10);
/// let key = 4_321u64.to_be_bytes();
/// let range = index.locate(&key).expect("no later than the last key");
/// let filter = &bytes.filters[range.start as usize..range.end as usize]; // read when it is needed
/// assert!(policy.probe(filter, policy.digest(&key).expect("xxh3 takes bytes")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PartitionedBuilder {
    keys_per_partition: NonZero<usize>,
    current: SegmentFilterBuilder,
    last: Vec<u8>,
    entries: Vec<u8>,
    filters: Vec<u8>,
}

/// The filters of a segment, and the index to them. An engine stores both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionedBytes {
    /// What [`PartitionIndex::open`] reads.
    pub index: Vec<u8>,
    /// The framed filters, one behind the other.
    pub filters: Vec<u8>,
}

impl PartitionedBuilder {
    /// Filters of this policy, each of at most so many keys.
    pub fn new(policy: &SegmentPolicy, keys_per_partition: NonZero<usize>) -> Self {
        let (last, entries, filters) = (Vec::new(), Vec::new(), Vec::new());
        Self { keys_per_partition, current: policy.builder(), last, entries, filters }
    }

    /// Takes the next key of the segment.
    ///
    /// # Errors
    /// When it is less than the key before, or longer than 2³² − 1 bytes; and those of
    /// [`SegmentFilterBuilder::finish`], when it begins a new range.
    pub fn add_key(&mut self, key: &[u8]) -> Result<(), PartitionError> {
        if u32::try_from(key.len()).is_err() {
            return Err(PartitionError::KeyLength { bytes: key.len() as u64 });
        }
        if !self.current.is_empty() || !self.entries.is_empty() {
            if key < self.last.as_slice() {
                return Err(PartitionError::Order);
            }
            // The versions of a key never lie in two ranges: the index names one.
            if self.current.len() >= self.keys_per_partition.get() && key != self.last.as_slice() {
                self.seal()?;
            }
        }
        self.current.add_key(key);
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }

    /// Ends the range that was begun.
    fn seal(&mut self) -> Result<(), BuildError> {
        let filter = self.current.finish()?;
        self.entries.extend_from_slice(&(self.last.len() as u32).to_le_bytes()); // checked in `add_key`
        self.entries.extend_from_slice(&(filter.len() as u64).to_le_bytes());
        self.entries.extend_from_slice(&self.last);
        self.filters.extend_from_slice(&filter);
        self.current.clear();
        Ok(())
    }

    /// The filters and their index.
    ///
    /// # Errors
    /// Those of [`SegmentFilterBuilder::finish`].
    pub fn finish(mut self) -> Result<PartitionedBytes, PartitionError> {
        if !self.current.is_empty() || self.entries.is_empty() {
            // Also for a segment without keys: the one range is then empty.
            self.seal()?;
        }
        let mut index = Vec::with_capacity(HEAD_BYTES + self.entries.len());
        index.extend_from_slice(&MAGIC);
        index.extend_from_slice(&VERSION.to_le_bytes());
        index.extend_from_slice(&[0; 2]);
        index.extend_from_slice(&xxh3_64(&self.entries).to_le_bytes());
        index.extend_from_slice(&self.entries);
        Ok(PartitionedBytes { index, filters: self.filters })
    }
}

/// Which filter of a partitioned segment is to be asked for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionIndex {
    /// The last keys of all ranges, one behind the other, and where each ends.
    keys: Vec<u8>,
    ranges: Vec<PartitionRange>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PartitionRange {
    last_key: Range<usize>,
    filter: Range<u64>,
}

impl PartitionIndex {
    /// Reads and verifies an index, and copies it.
    ///
    /// # Errors
    /// When the bytes are no whole index, or were changed.
    pub fn open(bytes: &[u8]) -> Result<Self, FormatError> {
        let Some((head, entries)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
            return Err(FormatError::Truncated { bytes: bytes.len() as u64, needed: HEAD_BYTES as u64 });
        };
        let [m0, m1, m2, m3, v0, v1, r0, r1, stored @ ..] = *head;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(FormatError::Magic { found: [m0, m1, m2, m3] });
        }
        let found = u16::from_le_bytes([v0, v1]);
        if found != VERSION {
            return Err(FormatError::Version { found, newest: VERSION });
        }
        if [r0, r1] != [0, 0] {
            return Err(FormatError::Flags { flags: u16::from_le_bytes([r0, r1]), reserved: 0 });
        }
        let (stored, computed) = (u64::from_le_bytes(stored), xxh3_64(entries));
        if stored != computed {
            return Err(FormatError::PayloadChecksum { stored, computed });
        }
        let (mut keys, mut ranges) = (Vec::new(), Vec::<PartitionRange>::new());
        let (mut rest, mut start) = (entries, 0u64);
        while !rest.is_empty() {
            let truncated = FormatError::Truncated { bytes: rest.len() as u64, needed: ENTRY_BYTES as u64 };
            let Some((entry, behind)) = rest.split_first_chunk::<ENTRY_BYTES>() else { return Err(truncated) };
            let [k0, k1, k2, k3, length @ ..] = *entry;
            let key_bytes = u32::from_le_bytes([k0, k1, k2, k3]) as usize;
            let Some((key, behind)) = behind.split_at_checked(key_bytes) else {
                return Err(FormatError::Truncated { bytes: behind.len() as u64, needed: key_bytes as u64 });
            };
            let length = u64::from_le_bytes(length);
            let end = start.checked_add(length);
            let end = end.ok_or(FormatError::PayloadLength { claimed: length, needed: u64::MAX - start })?;
            let at = keys.len();
            keys.extend_from_slice(key);
            let range = PartitionRange { last_key: at..keys.len(), filter: start..end };
            if ranges.last().is_some_and(|before| keys[before.last_key.clone()] >= *key) {
                return Err(FormatError::Order);
            }
            ranges.push(range);
            (rest, start) = (behind, end);
        }
        Ok(Self { keys, ranges })
    }

    /// Where the filter of this key's range lies among the filters; `None` when the key is greater than all keys of the
    /// segment, and so exactly absent.
    pub fn locate(&self, key: &[u8]) -> Option<Range<u64>> {
        let at = self.ranges.partition_point(|range| self.keys[range.last_key.clone()] < *key);
        self.ranges.get(at).map(|range| range.filter.clone())
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// No range?
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Where the filters of all ranges lie, in order of their keys.
    pub fn filters(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().map(|range| range.filter.clone())
    }
}
