//! SlateDB with bloomline's filters: what is found, what is cut, and what damage does.

use bloomline::{
    LayoutKind,
    error::BuildError,
    gate::SegmentPolicy,
    hash::{PreHashed, Xxh3},
};
use bloomline_slatedb::BloomlinePolicy;
use bytes::{BufMut, Bytes};
use slatedb::{
    BloomFilterPolicy, Db, Filter, FilterBuilder, FilterPolicy, FilterQuery, RowEntry,
    config::{FlushOptions, FlushType},
    object_store::{ObjectStore, local::LocalFileSystem, memory::InMemory},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

const KEYS: u64 = 200_000;

fn key(i: u64) -> [u8; 16] {
    *format!("key{i:013}").as_bytes().first_chunk().expect("16 bytes")
}

/// What a policy's filters were asked, and how often they let through.
#[derive(Debug, Default)]
struct Asked {
    probes: AtomicU64,
    passed: AtomicU64,
}

/// A policy whose filters count.
struct Counting(BloomlinePolicy, Arc<Asked>);
struct CountingBuilder(Box<dyn FilterBuilder>, Arc<Asked>);
struct CountingFilter(Arc<dyn Filter>, Arc<Asked>);

impl FilterPolicy for Counting {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(CountingBuilder(self.0.builder(), self.1.clone()))
    }
    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        Arc::new(CountingFilter(self.0.decode(data), self.1.clone()))
    }
    fn estimate_size(&self, num_keys: usize) -> usize {
        self.0.estimate_size(num_keys)
    }
}

impl FilterBuilder for CountingBuilder {
    fn add_entry(&mut self, entry: &RowEntry) {
        self.0.add_entry(entry);
    }
    fn build(&mut self) -> Arc<dyn Filter> {
        Arc::new(CountingFilter(self.0.build(), self.1.clone()))
    }
}

impl Filter for CountingFilter {
    fn might_match(&self, query: &FilterQuery) -> bool {
        let may = self.0.might_match(query);
        self.1.probes.fetch_add(1, Relaxed);
        self.1.passed.fetch_add(may.into(), Relaxed);
        may
    }
    fn encode(&self, writer: &mut dyn BufMut) {
        self.0.encode(writer);
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn clamp_allocated_size(&self) -> Arc<dyn Filter> {
        Arc::new(CountingFilter(self.0.clamp_allocated_size(), self.1.clone()))
    }
}

fn segments(layout: LayoutKind, seed: u64) -> SegmentPolicy {
    SegmentPolicy::new(layout, Xxh3::with_seed(seed)).bits_per_key(10.0)
}

fn policy(layout: LayoutKind, seed: u64) -> BloomlinePolicy {
    BloomlinePolicy::new(segments(layout, seed)).expect("a policy of keys")
}

/// What could never make a filter is refused before a database is opened with it.
#[test]
fn impossible_policies_are_refused() {
    let of_hashes = BloomlinePolicy::new(SegmentPolicy::new(LayoutKind::Word, PreHashed).bits_per_key(10.0));
    assert!(matches!(of_hashes, Err(BuildError::NoKeys { .. })));
    let of_no_size = BloomlinePolicy::new(SegmentPolicy::new(LayoutKind::Word, Xxh3::default()).fpr(0.0));
    assert!(matches!(of_no_size, Err(BuildError::Sizing(_))));
}

async fn open(store: &Arc<dyn ObjectStore>, policy: Arc<dyn FilterPolicy>) -> Db {
    Db::builder("db", store.clone()).with_filter_policies(vec![policy]).build().await.expect("a database")
}

/// Writes the even keys into one table, and closes.
async fn write(store: &Arc<dyn ObjectStore>, policy: Arc<dyn FilterPolicy>) {
    let db = open(store, policy).await;
    for first in (0..KEYS).step_by(1_000) {
        let mut batch = slatedb::WriteBatch::new();
        (first..first + 1_000).for_each(|i| batch.put(key(2 * i), i.to_le_bytes()));
        db.write(batch).await.expect("a batch");
    }
    db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable, ..Default::default() })
        .await
        .expect("a table");
    db.close().await.expect("closed");
}

async fn found(db: &Db, i: u64) -> bool {
    db.get(key(i)).await.expect("a read").is_some()
}

async fn all_found_and_odd_ones_cut(store: Arc<dyn ObjectStore>, layout: LayoutKind) {
    let asked = Arc::new(Asked::default());
    let counting = || Arc::new(Counting(policy(layout, 1), asked.clone()));
    write(&store, counting()).await;

    let db = open(&store, counting()).await;
    for i in 0..KEYS {
        assert!(found(&db, 2 * i).await, "key {} is missing", 2 * i);
    }
    assert!(asked.probes.load(Relaxed) >= KEYS, "the filter was asked");
    let (probes, passed) = (asked.probes.swap(0, Relaxed), asked.passed.swap(0, Relaxed));
    assert_eq!(probes, passed, "no key that is there is cut");
    for i in 0..KEYS {
        assert!(!found(&db, 2 * i + 1).await);
    }
    db.close().await.expect("closed");

    let (probes, passed) = (asked.probes.load(Relaxed) as f64, asked.passed.load(Relaxed) as f64);
    // The last one lies beyond the table's last key, and no filter is asked.
    assert!(probes >= (KEYS - 1) as f64);
    let expected = segments(layout, 1).plan(KEYS).expect("a size").fpr;
    // The luck of the queries, and as much again for that of the one filter.
    let sigma = (2.0 * expected * (1.0 - expected) / probes).sqrt();
    let rate = passed / probes;
    assert!((rate - expected).abs() < 4.0 * sigma, "{layout}: {rate} passed where {expected} was expected");
    assert!(layout != LayoutKind::Classic || 1.0 - rate >= 0.989, "{rate}");
}

#[tokio::test]
async fn in_memory() {
    for layout in [LayoutKind::Classic, LayoutKind::SplitBlock] {
        all_found_and_odd_ones_cut(Arc::new(InMemory::new()), layout).await;
    }
}

#[tokio::test]
async fn on_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = LocalFileSystem::new_with_prefix(folder.path()).expect("a store");
    all_found_and_odd_ones_cut(Arc::new(store), LayoutKind::Blocked).await;
}

/// Under another name the stored filters are left alone, whatever they are; nothing is lost.
#[tokio::test]
async fn under_another_policy() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    write(&store, Arc::new(policy(LayoutKind::Blocked, 1))).await;
    let others: [Arc<dyn FilterPolicy>; 3] = [
        Arc::new(policy(LayoutKind::Blocked, 2)),
        Arc::new(policy(LayoutKind::Word, 1)),
        Arc::new(BloomFilterPolicy::new(10)),
    ];
    for other in others {
        let db = open(&store, other).await;
        for i in (0..KEYS).step_by(97) {
            assert!(found(&db, 2 * i).await && !found(&db, 2 * i + 1).await);
        }
        db.close().await.expect("closed");
    }
}

/// The one file of the folder that holds these bytes, and where.
fn file_with(folder: &Path, bytes: &[u8]) -> (PathBuf, usize) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(at) = find(&std::fs::read(&path).expect("a file"), bytes) {
                return (path, at);
            }
        }
    }
    panic!("the filter is in no file");
}

fn find(within: &[u8], bytes: &[u8]) -> Option<usize> {
    within.windows(bytes.len()).position(|window| window == bytes)
}

/// Damage of the stored filter is found by SlateDB's CRC-32 of the filter block: the read fails, and never says that a key
/// is absent which is there.
#[tokio::test]
async fn damage_is_never_a_missing_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let store =
        || -> Arc<dyn ObjectStore> { Arc::new(LocalFileSystem::new_with_prefix(folder.path()).expect("a store")) };
    let ours = || Arc::new(policy(LayoutKind::Blocked, 1));
    write(&store(), ours()).await;
    // The magic of a full frame, version and flags, layout and hasher.
    let (path, at) = file_with(folder.path(), &[0x89, b'B', b'L', b'M', 1, 0, 0, 0, 3, 1]);
    let whole = std::fs::read(&path).expect("the table");
    let frame = segments(LayoutKind::Blocked, 1).plan(KEYS).expect("a size").bytes as usize;
    // The header's magic, its checksum, its k; and half of the set bits of the payload cleared.
    let damages: [&dyn Fn(&mut [u8]); 4] =
        [&|filter| filter[0] ^= 1, &|filter| filter[12] ^= 0x80, &|filter| filter[10] = 1, &|filter| {
            filter[64..].iter_mut().zip(0u64..).for_each(|(byte, i)| *byte &= (i * 0x9e37_79b9 >> 7) as u8)
        }];
    for damage in damages {
        let mut bytes = whole.clone();
        damage(&mut bytes[at..at + frame]);
        assert_ne!(bytes, whole);
        std::fs::write(&path, &bytes).expect("written");
        let db = open(&store(), ours()).await;
        let mut refused = 0;
        for i in (0..KEYS).step_by(101) {
            match db.get(key(2 * i)).await {
                Ok(value) => assert!(value.is_some(), "key {} is missing", 2 * i),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0, "the engine's checksum did not fire");
        drop(db);
    }
    std::fs::write(&path, &whole).expect("written");
    let db = open(&store(), ours()).await;
    assert!(found(&db, 0).await);
}

/// What the engine's checksum can't know: bytes that it vouches for and that are no filter. `decode` answers "maybe".
#[test]
fn bytes_that_are_no_filter_answer_maybe() {
    let ours = policy(LayoutKind::Blocked, 1);
    let mut builder = ours.builder();
    builder.add_entry(&RowEntry {
        key: Bytes::from_static(b"there"),
        value: slatedb::ValueDeletable::Tombstone,
        seq: 0,
        create_ts: None,
        expire_ts: None,
    });
    let mut bytes = Vec::new();
    builder.build().encode(&mut bytes);
    let query = |text: &'static str| FilterQuery::point(Bytes::from_static(text.as_bytes()));
    assert!(ours.decode(&bytes).might_match(&query("there")));
    assert!(!ours.decode(&bytes).might_match(&query("not there")));
    assert!(ours.decode(&bytes).might_match(&FilterQuery::prefix(Bytes::from_static(b"n"))));
    for length in 0..bytes.len() {
        assert!(ours.decode(&bytes[..length]).might_match(&query("not there")), "cut to {length}");
    }
    for bit in 0..8 * 64 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(ours.decode(&damaged).might_match(&query("not there")), "bit {bit} of the header");
    }
    let other = policy(LayoutKind::Blocked, 2);
    assert!(other.decode(&bytes).might_match(&query("not there")), "another seed");
    assert_ne!(other.name(), ours.name());
    // Large ones, verified as an engine without a checksum would have to.
    assert!(segments(LayoutKind::Blocked, 1).verify(&bytes).is_ok());
    *bytes.last_mut().expect("bits") ^= 0x10;
    assert!(segments(LayoutKind::Blocked, 1).verify(&bytes).is_err());
}
