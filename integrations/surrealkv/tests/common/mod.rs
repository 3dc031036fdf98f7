//! A database of even keys, and a policy that counts what it is asked.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use surrealkv::{FilterPolicy, Tree, TreeBuilder};

/// An engine's filter policy.
pub(crate) type Policy = Arc<dyn FilterPolicy>;
/// What may fail, does.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Keys in the database; as many are absent.
pub(crate) const KEYS: u64 = 200_000;

/// Passes everything on to another policy, and counts.
pub(crate) struct Counting {
    inner: Policy,
    /// Questions.
    pub(crate) asked: AtomicU64,
    /// Questions answered "absent": reads of a table cut.
    pub(crate) cut: AtomicU64,
    /// The filters built, each with the number of its keys.
    pub(crate) built: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl Counting {
    /// Around `inner`.
    pub(crate) fn new(inner: Policy) -> Arc<Self> {
        Arc::new(Self { inner, asked: 0.into(), cut: 0.into(), built: Mutex::default() })
    }

    /// Questions, and how many of them were answered "absent", since the last call.
    pub(crate) fn take(&self) -> (u64, u64) {
        (self.asked.swap(0, Relaxed), self.cut.swap(0, Relaxed))
    }

    /// Bytes of the filters built, frames included.
    #[allow(dead_code, reason = "not every program that includes this file asks")]
    pub(crate) fn bytes(&self) -> u64 {
        self.built.lock().map_or(0, |built| built.iter().map(|(_, bytes)| bytes.len() as u64).sum())
    }
}

impl FilterPolicy for Counting {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn may_contain(&self, filter: &[u8], key: &[u8]) -> bool {
        let may = self.inner.may_contain(filter, key);
        self.asked.fetch_add(1, Relaxed);
        self.cut.fetch_add(u64::from(!may), Relaxed);
        may
    }

    fn create_filter(&self, keys: &[Vec<u8>]) -> Vec<u8> {
        self.create_filter_from_hashes(&keys.iter().map(|key| self.key_hash(key)).collect::<Vec<_>>())
    }

    fn key_hash(&self, key: &[u8]) -> u64 {
        self.inner.key_hash(key)
    }

    fn create_filter_from_hashes(&self, hashes: &[u64]) -> Vec<u8> {
        let bytes = self.inner.create_filter_from_hashes(hashes);
        if let Ok(mut built) = self.built.lock() {
            built.push((hashes.len() as u64, bytes.clone()));
        }
        bytes
    }

    fn filter_keys_per_partition(&self, partition_bytes: usize) -> usize {
        self.inner.filter_keys_per_partition(partition_bytes)
    }
}

/// Key `i`: consecutive ones differ in their last digits.
pub(crate) fn key(i: u64) -> [u8; 16] {
    let mut key = *b"key-000000000000";
    let mut rest = i;
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

/// The value of key `i`, 100 bytes.
pub(crate) fn value(i: u64) -> Vec<u8> {
    i.to_le_bytes().iter().copied().cycle().take(100).collect()
}

/// Opens the database in `path`, with filters of `policy`.
pub(crate) fn open(path: &Path, policy: Option<Policy>) -> Outcome<Tree> {
    Ok(TreeBuilder::new()
        .with_path(path.to_owned())
        .with_filter_policy(policy)
        .with_block_cache_capacity(256 << 20)
        .build()?)
}

/// Makes a database in `path` with the even keys below 2·[`KEYS`], all of them in tables.
pub(crate) async fn write(path: &Path, policy: Option<Policy>) -> Outcome<()> {
    let tree = open(path, policy)?;
    for chunk in 0..KEYS / 10_000 {
        let mut txn = tree.begin()?;
        for i in chunk * 10_000..(chunk + 1) * 10_000 {
            txn.set(&key(2 * i)[..], value(2 * i))?;
        }
        txn.commit().await?;
    }
    Ok(tree.close().await?) // writes what is in memory into a table
}
