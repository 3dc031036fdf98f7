//! Databases on disk with filters of bloomline.

#[path = "common/mod.rs"]
mod common;

use bloomline::{
    LayoutKind,
    gate::SegmentPolicy,
    hash::{PreHashed, Xxh3},
};
use bloomline_surrealkv::BloomlinePolicy;
use common::{Counting, KEYS, Outcome, key, open, value, write};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use surrealkv::{FilterPolicy, Mode, Tree, TreeBuilder};
use tracing::{Event, Metadata, Subscriber, field, span};

/// The engine's bytes after a block: how it is compressed, and a CRC-32.
const TRAILER: usize = 5;

fn bloomline(layout: LayoutKind) -> Outcome<BloomlinePolicy> {
    Ok(BloomlinePolicy::new(SegmentPolicy::new(layout, Xxh3::default()).bits_per_key(10.0))?)
}

/// How many of the even keys are missing. One that is there has its own value.
fn missing(tree: &Tree) -> Outcome<u64> {
    let txn = tree.begin_with_mode(Mode::ReadOnly)?;
    let mut missing = 0;
    for i in (0..2 * KEYS).step_by(2) {
        match txn.get(&key(i)[..])? {
            Some(found) => assert_eq!(found.as_slice(), value(i), "key {i}"),
            None => missing += 1,
        }
    }
    Ok(missing)
}

/// How many of the odd keys are found.
fn found(tree: &Tree) -> Outcome<u64> {
    let txn = tree.begin_with_mode(Mode::ReadOnly)?;
    let mut found = 0;
    for i in (1..2 * KEYS).step_by(2) {
        found += u64::from(txn.get(&key(i)[..])?.is_some());
    }
    Ok(found)
}

/// The even keys are found after a restart and the odd ones absent, as many of them without a read as theory says.
/// Returns the share cut.
async fn restart(segments: SegmentPolicy) -> Outcome<f64> {
    let dir = tempfile::tempdir()?;
    let policy = Counting::new(Arc::new(BloomlinePolicy::new(segments.clone())?));
    write(dir.path(), Some(policy.clone())).await?;
    let built = std::mem::take(&mut *policy.built.lock().expect("not poisoned"));
    assert!(built.len() > 10, "filters of some 16 KiB, not {}", built.len());
    assert_eq!(built.iter().map(|(keys, _)| keys).sum::<u64>(), KEYS);

    let tree = open(dir.path(), Some(policy.clone()))?;
    assert_eq!(missing(&tree)?, 0);
    assert_eq!(policy.take(), (KEYS, 0));

    assert_eq!(found(&tree)?, 0);
    let (asked, cut) = policy.take();
    // Keys between two partitions or after the last may be seen to be absent without a filter.
    assert!(asked <= KEYS && asked + built.len() as u64 >= KEYS, "{asked} asked");
    let mut expected = 0.0;
    for (keys, bytes) in &built {
        let plan = segments.plan(*keys)?;
        assert_eq!(bytes.len() as u64, plan.bytes);
        expected += plan.fpr * *keys as f64 / KEYS as f64;
    }
    let share = cut as f64 / asked as f64;
    let sigma = (expected * (1.0 - expected) / asked as f64).sqrt();
    assert!(
        (1.0 - share - expected).abs() <= 4.0 * sigma,
        "let through {}, expected {expected} ± {sigma}",
        1.0 - share
    );
    tree.close().await?;
    Ok(share)
}

#[tokio::test]
async fn classic() -> Outcome<()> {
    let segments = SegmentPolicy::new(LayoutKind::Classic, Xxh3::default()).bits_per_key(10.0);
    let share = restart(segments).await?;
    assert!(share >= 0.989, "{share} of the absent keys");
    Ok(())
}

#[tokio::test]
async fn blocked() -> Outcome<()> {
    let segments = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::default()).bits_per_key(10.0);
    let share = restart(segments).await?;
    assert!(share >= 0.989, "{share} of the absent keys");
    Ok(())
}

#[tokio::test]
async fn compact() -> Outcome<()> {
    restart(SegmentPolicy::new(LayoutKind::SplitBlock, Xxh3::with_seed(7)).bits_per_key(12.0).compact()).await?;
    Ok(())
}

/// Filters stored under another name are not asked.
#[tokio::test]
async fn another_name() -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    write(dir.path(), Some(Arc::new(bloomline(LayoutKind::Blocked)?))).await?;
    let seeded = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::with_seed(1)).bits_per_key(10.0);
    let other = Counting::new(Arc::new(BloomlinePolicy::new(seeded)?));
    let tree = open(dir.path(), Some(other.clone()))?;
    assert_eq!((missing(&tree)?, found(&tree)?), (0, 0));
    assert_eq!(other.take(), (0, 0));
    Ok(tree.close().await?)
}

/// A database whose filters lie at known places of its only table.
struct Stored {
    dir: tempfile::TempDir,
    table: PathBuf,
    /// Where each filter begins, and its bytes.
    filters: Vec<(usize, Vec<u8>)>,
}

impl Stored {
    async fn new() -> Outcome<Self> {
        let dir = tempfile::tempdir()?;
        let policy = Counting::new(Arc::new(bloomline(LayoutKind::Blocked)?));
        write(dir.path(), Some(policy.clone())).await?;
        let table = tables(dir.path())?.pop().ok_or("no table")?;
        let bytes = fs::read(&table)?;
        let (mut at, mut filters) = (0, Vec::new());
        for (_, filter) in std::mem::take(&mut *policy.built.lock().expect("not poisoned")) {
            at += bytes[at..].windows(filter.len()).position(|window| window == filter).ok_or("a filter is missing")?;
            filters.push((at, filter));
        }
        Ok(Self { dir, table, filters })
    }

    /// Damages each filter in the table, and makes the engine's checksum right again where told.
    fn damage(&self, damage: impl Fn(&mut [u8]), right_again: bool) -> Outcome<()> {
        let mut bytes = fs::read(&self.table)?;
        for (at, filter) in &self.filters {
            let block = &mut bytes[*at..at + filter.len() + TRAILER];
            block[..filter.len()].copy_from_slice(filter);
            damage(&mut block[..filter.len()]);
            if right_again {
                let (covered, crc) = block.split_at_mut(filter.len() + 1);
                let masked = crc32fast::hash(covered).rotate_right(15).wrapping_add(0xa282_ead8);
                crc.copy_from_slice(&masked.to_le_bytes());
            }
        }
        Ok(fs::write(&self.table, bytes)?)
    }

    /// Keys missing, questions asked and answered "absent", and warnings that a checksum differs.
    async fn read(&self, policy: BloomlinePolicy) -> Outcome<(u64, u64, u64, u64)> {
        let policy = Counting::new(Arc::new(policy));
        let warnings = Warnings::default();
        let tree = open(self.dir.path(), Some(policy.clone()))?;
        let missing = tracing::subscriber::with_default(warnings.clone(), || missing(&tree))?;
        tree.close().await?;
        let (asked, cut) = policy.take();
        Ok((missing, asked, cut, warnings.0.load(Relaxed)))
    }
}

/// The tables of a database.
fn tables(path: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(tables(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "sst") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Counts the engine's warnings that it goes on without a filter whose checksum differs.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicU64>);

impl Subscriber for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl field::Visit for Message {
            fn record_debug(&mut self, field: &field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}").to_lowercase();
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        let counts = message.0.contains("filter partition") && message.0.contains("checksum");
        self.0.fetch_add(counts.into(), Relaxed);
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Changes a bit in each of the 64 bytes before the filter's bits.
fn header(filter: &mut [u8]) {
    filter[..64].iter_mut().enumerate().for_each(|(i, byte)| *byte ^= 1 << (i % 8));
}

/// Clears a tenth of the set bits, by the numbers of SplitMix64 (Steele, Lea and Flood 2014).
fn cleared(filter: &mut [u8]) {
    let mut state = 0u64;
    for bit in 64 * 8..filter.len() * 8 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        if mixed >> 32 < (1 << 32) / 10 {
            filter[bit / 8] &= !(1 << (bit % 8));
        }
    }
}

/// The engine's CRC-32 differs, it asks no filter, and every key is there.
#[tokio::test]
async fn the_engine_sees_damage() -> Outcome<()> {
    let stored = Stored::new().await?;
    assert_eq!(stored.read(bloomline(LayoutKind::Blocked)?).await?, (0, KEYS, 0, 0), "undamaged");
    for (what, damage) in [("header", header as fn(&mut [u8])), ("bits", cleared)] {
        stored.damage(damage, false)?;
        assert_eq!(stored.read(bloomline(LayoutKind::Blocked)?).await?, (0, 0, 0, KEYS), "{what}");
    }
    Ok(())
}

/// Damage that the engine's CRC-32 was made to agree with: bloomline sees it in the header always, in the bits when it
/// verifies.
#[tokio::test]
async fn bloomline_sees_damage_that_the_engine_does_not() -> Outcome<()> {
    let stored = Stored::new().await?;
    let policy = bloomline(LayoutKind::Blocked)?;
    stored.damage(header, true)?;
    assert_eq!(stored.read(policy.clone()).await?, (0, KEYS, 0, 0), "header");

    stored.damage(cleared, true)?;
    for (_, filter) in &stored.filters {
        let mut damaged = filter.clone();
        cleared(&mut damaged);
        assert!(policy.verify(filter).is_ok() && policy.verify(&damaged).is_err());
    }
    assert_eq!(stored.read(policy.clone().verifying()).await?, (0, KEYS, 0, 0), "bits, verifying");

    // That it was verifying which kept the keys:
    let (missing, asked, cut, warnings) = stored.read(policy).await?;
    assert!(missing > KEYS / 10 && cut == missing, "{missing} missing, {cut} cut");
    assert_eq!((asked, warnings), (KEYS, 0));
    Ok(())
}

/// A filter that can't be built is stored as no bytes, and every key is found.
#[tokio::test]
async fn no_filter() -> Outcome<()> {
    // One key can have a rate of 1e-17, many can't: 64 bits of a digest are too few.
    let segments = SegmentPolicy::new(LayoutKind::Classic, Xxh3::default()).fpr(1e-17);
    let policy = Counting::new(Arc::new(BloomlinePolicy::new(segments)?));
    let dir = tempfile::tempdir()?;
    write(dir.path(), Some(policy.clone())).await?;
    let built = std::mem::take(&mut *policy.built.lock().expect("not poisoned"));
    assert!(!built.is_empty() && built.iter().all(|(_, bytes)| bytes.is_empty()));
    let tree = open(dir.path(), Some(policy.clone()))?;
    assert_eq!(missing(&tree)?, 0);
    assert_eq!(policy.take(), (KEYS, 0));
    Ok(tree.close().await?)
}

/// Versions of a key that lie side by side count once, and deleted keys stay deleted.
#[tokio::test]
async fn versions_and_deletes() -> Outcome<()> {
    let dir = tempfile::tempdir()?;
    let policy: Arc<dyn FilterPolicy> = Arc::new(bloomline(LayoutKind::Blocked)?);
    let open = || {
        let tree = TreeBuilder::new().with_path(dir.path().into()).with_filter_policy(Some(policy.clone()));
        tree.with_versioning(true, 0).build()
    };
    for round in 0..3u64 {
        let tree = open()?;
        let mut txn = tree.begin()?;
        for i in 0..1_000 {
            txn.set(&key(i)[..], value(i + round))?;
        }
        txn.commit().await?;
        let mut txn = tree.begin()?;
        for i in (round..1_000).step_by(7) {
            txn.delete(&key(i)[..])?;
        }
        txn.commit().await?;
        tree.close().await?;
    }
    let tree = open()?;
    let txn = tree.begin_with_mode(Mode::ReadOnly)?;
    for i in 0..1_000 {
        let found = txn.get(&key(i)[..])?;
        let expected = (i % 7 != 2).then(|| value(i + 2));
        assert_eq!(found.as_deref(), expected.as_deref(), "key {i}");
    }
    drop(txn);
    Ok(tree.close().await?)
}

#[test]
fn what_the_engine_relies_on() -> Outcome<()> {
    let policy = bloomline(LayoutKind::Blocked)?;
    let keys: Vec<Vec<u8>> = (0..1_000).map(|i| key(i).to_vec()).collect();
    let hashes: Vec<u64> = keys.iter().map(|key| policy.key_hash(key)).collect();
    let filter = policy.create_filter(&keys);
    assert_eq!(filter, policy.create_filter_from_hashes(&hashes));
    assert!(keys.iter().all(|key| policy.may_contain(&filter, key)));
    assert!(!policy.may_contain(&filter, b"another"));

    for partition in [1_000, 16_384, 1 << 20] {
        let keys = policy.filter_keys_per_partition(partition) as u64;
        let bytes = policy.segments().plan(keys)?.bytes;
        assert!((partition as u64 * 9 / 10..=partition as u64 * 11 / 10).contains(&bytes), "{bytes} of {partition}");
    }
    for partition in [0, 1, usize::MAX] {
        assert!(policy.filter_keys_per_partition(partition) > 0);
    }

    for bytes in [&[][..], &[0], &filter[..64], &filter[1..]] {
        assert!(policy.may_contain(bytes, b"another") && policy.verify(bytes).is_err(), "{} bytes", bytes.len());
    }
    Ok(())
}

#[test]
fn refused() {
    let no_keys = BloomlinePolicy::new(SegmentPolicy::new(LayoutKind::Blocked, PreHashed));
    assert!(no_keys.is_err_and(|error| error.to_string().contains("takes hashes of keys")));
    for bits in [0.0, -1.0, f64::NAN] {
        let segments = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::default()).bits_per_key(bits);
        assert!(BloomlinePolicy::new(segments).is_err(), "{bits} bits");
    }
}
