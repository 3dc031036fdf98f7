#![doc = include_str!("../README.md")]

use bloomline::{
    Digest,
    error::{BuildError, FormatError},
    gate::SegmentPolicy,
    hash::KeyHasher,
};
use surrealkv::FilterPolicy;

/// Filters of bloomline as a filter policy of SurrealKV.
///
/// The engine cuts a table's keys into partitions of some [`Options::index_partition_size`] bytes of filter (16 KiB by
/// default). It asks for the hash of each key while it writes the table, keeps those 8 bytes for each, and asks for the
/// filter when the partition is full. The hash is the key's digest, so no key is hashed twice or kept.
///
/// [`Options::index_partition_size`]: surrealkv::Options::index_partition_size
///
/// ```
/// use bloomline::{LayoutKind, gate::SegmentPolicy, hash::Xxh3};
/// use bloomline_surrealkv::BloomlinePolicy;
/// use surrealkv::FilterPolicy;
///
/// let policy = BloomlinePolicy::new(SegmentPolicy::new(LayoutKind::Blocked, Xxh3::default()).bits_per_key(10.0))?;
/// let filter = policy.create_filter_from_hashes(&[policy.key_hash(b"a key")]);
/// assert!(policy.may_contain(&filter, b"a key"));
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BloomlinePolicy {
    segments: SegmentPolicy,
    name: String,
    verifying: bool,
}

impl BloomlinePolicy {
    /// The engine's policy of these filters. It does not verify them: the engine checks the CRC-32 of each when it reads
    /// it from the file.
    ///
    /// # Errors
    /// When the policy's hasher takes hashes instead of keys, or there is no filter of the policy's size.
    pub fn new(segments: SegmentPolicy) -> Result<Self, BuildError> {
        if segments.digest(b"").is_none() {
            return Err(BuildError::NoKeys { hasher: segments.hasher().id() });
        }
        segments.plan(1)?;
        Ok(Self { name: segments.name(), segments, verifying: false })
    }

    /// Verifies a filter by its own checksum before each "absent", which reads the whole filter: for memory that can't be
    /// trusted, and files that someone writes who makes the engine's CRC-32 right again.
    #[must_use]
    pub fn verifying(mut self) -> Self {
        self.verifying = true;
        self
    }

    /// What the filters have in common.
    pub fn segments(&self) -> &SegmentPolicy {
        &self.segments
    }

    /// Verifies the bytes of a filter by its own checksum. Reads the whole filter.
    ///
    /// # Errors
    /// When the bytes are no filter of this policy, or differ from their checksum.
    pub fn verify(&self, filter: &[u8]) -> Result<(), FormatError> {
        self.segments.verify(filter)
    }

    /// The digest of a key. [`BloomlinePolicy::new`] refused the hashers that have none.
    fn digest(&self, key: &[u8]) -> Digest {
        self.segments.digest(key).unwrap_or_default()
    }
}

impl FilterPolicy for BloomlinePolicy {
    /// The name of the [`SegmentPolicy`]: the engine asks no filter that was stored under another.
    fn name(&self) -> &str {
        &self.name
    }

    /// "Maybe" for all bytes that are no filter of this policy.
    fn may_contain(&self, filter: &[u8], key: &[u8]) -> bool {
        self.segments.probe(filter, self.digest(key)) || (self.verifying && self.verify(filter).is_err())
    }

    fn create_filter(&self, keys: &[Vec<u8>]) -> Vec<u8> {
        let hashes: Vec<u64> = keys.iter().map(|key| self.key_hash(key)).collect();
        self.create_filter_from_hashes(&hashes)
    }

    fn key_hash(&self, key: &[u8]) -> u64 {
        self.digest(key).0
    }

    /// No bytes when there is no memory, or no filter of the policy's size for so many keys. The engine can't be told;
    /// no bytes are "maybe" for every key.
    fn create_filter_from_hashes(&self, hashes: &[u64]) -> Vec<u8> {
        let mut builder = self.segments.builder();
        hashes.iter().for_each(|&hash| builder.add_digest(Digest(hash)));
        builder.finish().unwrap_or_default()
    }

    fn filter_keys_per_partition(&self, partition_bytes: usize) -> usize {
        // The bytes of a filter of one key for each byte say how many bytes a key takes, the frame's share with them.
        let keys = partition_bytes.max(1);
        let plan = self.segments.plan(keys as u64);
        plan.map_or(keys, |plan| (keys as u128 * keys as u128 / u128::from(plan.bytes)) as usize).max(1)
    }
}
