//! bloomline's filters in front of the sorted tables of [SlateDB](slatedb).
//!
//! ```
//! use bloomline::{LayoutKind, gate::SegmentPolicy, hash::Xxh3};
//! use bloomline_slatedb::BloomlinePolicy;
//! use slatedb::{Db, object_store::memory::InMemory};
//! use std::sync::Arc;
//!
//! let filters = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::default()).bits_per_key(10.0);
//! let policy = Arc::new(BloomlinePolicy::new(filters)?);
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let db = Db::builder("db", Arc::new(InMemory::new()))
//!     .with_filter_policies(vec![policy])
//!     .build()
//!     .await?;
//! db.put(b"key", b"value").await?;
//! assert!(db.get(b"key").await?.is_some());
//! db.close().await
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]
#![warn(missing_docs)]

use bloomline::{
    Contains,
    error::BuildError,
    gate::{SegmentFilter, SegmentFilterBuilder, SegmentPolicy},
    hash::KeyHasher,
};
use bytes::{BufMut, Bytes};
use slatedb::{Filter, FilterBuilder, FilterPolicy, FilterQuery, FilterTarget, RowEntry};
use std::{fmt, sync::Arc};

/// A filter policy for `Db::builder(…).with_filter_policies(…)`.
///
/// Its name holds layout, hasher, seed (or the check of a key) and the version of the bytes, so that filters of another
/// policy are left alone; bits per key may change without a new name.
///
/// Filters answer point lookups. Prefix and range scans they do not narrow, and SlateDB does not read them for those.
#[derive(Clone, Debug)]
pub struct BloomlinePolicy {
    policy: Arc<SegmentPolicy>,
    name: String,
}

impl BloomlinePolicy {
    /// Filters of this policy.
    ///
    /// # Errors
    /// When the policy's hasher takes hashes instead of keys, or there is no filter of the policy's size: the engine
    /// could not be told later.
    pub fn new(policy: SegmentPolicy) -> Result<Self, BuildError> {
        if policy.digest(b"").is_none() {
            return Err(BuildError::NoKeys { hasher: policy.hasher().id() });
        }
        policy.plan(1)?;
        Ok(Self { name: policy.name(), policy: Arc::new(policy) })
    }
}

impl FilterPolicy for BloomlinePolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(Builder { policy: self.policy.clone(), keys: self.policy.builder() })
    }

    /// Reads the header and copies the bytes; nothing else depends on their number, since this may run at every get. The
    /// bits are not verified: SlateDB has compared the block's CRC-32 before. What can't be read answers "maybe".
    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        Arc::new(TableFilter::new(self.policy.clone(), aligned(data)))
    }

    fn estimate_size(&self, num_keys: usize) -> usize {
        self.policy.plan(num_keys as u64).map_or(0, |plan| plan.bytes as usize)
    }

    fn supports_prefix_queries(&self) -> bool {
        false
    }
}

struct Builder {
    policy: Arc<SegmentPolicy>,
    keys: SegmentFilterBuilder,
}

impl FilterBuilder for Builder {
    fn add_entry(&mut self, entry: &RowEntry) {
        self.keys.add_key(&entry.key);
    }

    /// A filter that can't be built (its policy has no such size, or there is no memory) is one of no bytes, which
    /// answers "maybe".
    fn build(&mut self) -> Arc<dyn Filter> {
        Arc::new(TableFilter::new(self.policy.clone(), aligned(&self.keys.finish().unwrap_or_default())))
    }
}

/// A table's filter, over bytes of its own.
struct TableFilter {
    policy: Arc<SegmentPolicy>,
    bytes: Bytes,
    /// `None` when the bytes are no filter of the policy's.
    filter: Option<SegmentFilter>,
}

impl TableFilter {
    fn new(policy: Arc<SegmentPolicy>, bytes: Bytes) -> Self {
        Self { filter: policy.open(bytes.clone()).ok(), bytes, policy }
    }
}

impl Filter for TableFilter {
    fn might_match(&self, query: &FilterQuery) -> bool {
        match (&query.target, &self.filter) {
            (FilterTarget::Point(key), Some(filter)) => filter.contains_bytes(key),
            _ => true,
        }
    }

    fn encode(&self, writer: &mut dyn BufMut) {
        writer.put_slice(&self.bytes);
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }

    /// They are as large as they need be.
    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(Self::new(self.policy.clone(), self.bytes.clone()))
    }
}

impl fmt::Debug for TableFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableFilter").field("bytes", &self.bytes.len()).field("filter", &self.filter).finish()
    }
}

/// A copy that begins at a cache line, so that no block of the filter lies in two: its bits begin 64 bytes on.
fn aligned(data: &[u8]) -> Bytes {
    const LINE: usize = 64;
    let mut buffer: Vec<u8> = Vec::with_capacity(data.len() + LINE - 1);
    let skip = buffer.as_ptr().align_offset(LINE).min(LINE - 1);
    buffer.resize(skip, 0);
    buffer.extend_from_slice(data);
    Bytes::from(buffer).slice(skip..)
}
