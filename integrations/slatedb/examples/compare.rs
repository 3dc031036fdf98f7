//! bloomline's filters beside SlateDB's own, of equal memory, in one run: absent gets a second, probes cut, bytes.
//!
//! `cargo run --release --example compare` prints the table of README.md.

use bloomline::{LayoutKind, gate::SegmentPolicy, hash::Xxh3};
use bloomline_slatedb::BloomlinePolicy;
use slatedb::{
    BloomFilterPolicy, Db, Filter, FilterPolicy, FilterQuery, RowEntry, ValueDeletable, WriteBatch,
    bytes::Bytes,
    config::{FlushOptions, FlushType},
    object_store::memory::InMemory,
};
use std::{sync::Arc, time::Instant};

const KEYS: u64 = 200_000;
const QUERIES: u64 = 20_000;
const ROUNDS: u64 = 9;

fn key(i: u64) -> Bytes {
    Bytes::from(format!("key{i:013}"))
}

async fn database(policy: &Arc<dyn FilterPolicy>) -> Result<Db, slatedb::Error> {
    let db = Db::builder("db", Arc::new(InMemory::new())).with_filter_policies(vec![policy.clone()]).build().await?;
    for first in (0..KEYS).step_by(1_000) {
        let mut batch = WriteBatch::new();
        (first..first + 1_000).for_each(|i| batch.put(key(2 * i), i.to_le_bytes()));
        db.write(batch).await?;
    }
    db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable, ..Default::default() }).await?;
    Ok(db)
}

/// The filter of all keys.
fn filter(policy: &Arc<dyn FilterPolicy>) -> Arc<dyn Filter> {
    let mut builder = policy.builder();
    for i in 0..KEYS {
        let (key, value) = (key(2 * i), ValueDeletable::Tombstone);
        builder.add_entry(&RowEntry { key, value, seq: 0, create_ts: None, expire_ts: None });
    }
    builder.build()
}

fn encoded(filter: &Arc<dyn Filter>) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    bytes
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let own: Arc<dyn FilterPolicy> = Arc::new(BloomFilterPolicy::new(10));
    // Equal memory: the bits that the engine's filter has, less the header of ours.
    let bits = (encoded(&filter(&own)).len() as f64 - 64.0) * 8.0 / KEYS as f64;
    let mut policies = vec![("SlateDB's own".to_owned(), own)];
    for layout in [LayoutKind::Classic, LayoutKind::Blocked, LayoutKind::SplitLine, LayoutKind::SplitBlock] {
        let policy = SegmentPolicy::new(layout, Xxh3::default()).bits_per_key(bits);
        policies.push((format!("bloomline {layout}"), Arc::new(BloomlinePolicy::new(policy)?)));
    }
    let mut databases = Vec::new();
    for (_, policy) in &policies {
        databases.push(database(policy).await?);
    }
    let mut gets = vec![Vec::new(); policies.len()];
    let mut probes = vec![Vec::new(); policies.len()];
    // As they are read back from a table.
    let filters: Vec<_> = policies.iter().map(|(_, policy)| policy.decode(&encoded(&filter(policy)))).collect();
    for round in 0..ROUNDS {
        let queries: Vec<Bytes> =
            (0..QUERIES).map(|i| key(2 * ((round * QUERIES + i).wrapping_mul(7_919) % KEYS) + 1)).collect();
        for (d, db) in databases.iter().enumerate() {
            let start = Instant::now();
            for query in &queries {
                assert!(db.get(query).await?.is_none());
            }
            gets[d].push(QUERIES as f64 / start.elapsed().as_secs_f64());
            let points: Vec<FilterQuery> = queries.iter().cloned().map(FilterQuery::point).collect();
            let start = Instant::now();
            let passed = points.iter().filter(|point| filters[d].might_match(point)).count();
            std::hint::black_box(passed);
            probes[d].push(start.elapsed().as_nanos() as f64 / QUERIES as f64);
        }
    }
    let median = |mut samples: Vec<f64>| {
        samples.sort_by(f64::total_cmp);
        samples[samples.len() / 2]
    };
    println!("| filter | bytes | probes cut | absent gets/s | a probe, ns |");
    println!("|---|---|---|---|---|");
    for ((((name, _), filter), gets), probes) in policies.iter().zip(filters).zip(gets).zip(probes) {
        assert!((0..KEYS).all(|i| filter.might_match(&FilterQuery::point(key(2 * i)))));
        let passed = (0..KEYS).filter(|i| filter.might_match(&FilterQuery::point(key(2 * i + 1)))).count();
        let (bytes, cut) = (encoded(&filter).len(), 100.0 - 100.0 * passed as f64 / KEYS as f64);
        let (gets, probe) = (median(gets), median(probes));
        println!("| {name} | {bytes} | {cut:.2} % | {gets:.0} | {probe:.0} |");
    }
    for db in databases {
        db.close().await?;
    }
    Ok(())
}
