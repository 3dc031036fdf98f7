//! Gets of absent keys with the engine's own filters and with bloomline's, at equal memory, in the same run.
//!
//!     cargo run --release --example compare

#[path = "../tests/common/mod.rs"]
mod common;

use bloomline::{LayoutKind, gate::SegmentPolicy, hash::Xxh3};
use bloomline_surrealkv::BloomlinePolicy;
use common::{Counting, KEYS, Outcome, Policy, key, open, write};
use std::{sync::Arc, time::Instant};
use surrealkv::{Mode, Options, RibbonFilter, Tree};

const ROUNDS: usize = 15;

/// One kind of filter: a database with it, and what was measured.
struct Row {
    name: &'static str,
    tree: Tree,
    asked: u64,
    cut: u64,
    bytes: u64,
    /// Gets a second, round by round.
    rates: Vec<f64>,
    _dir: tempfile::TempDir,
}

impl Row {
    /// Writes the database, and asks for every absent key once while counting.
    async fn new(name: &'static str, policy: Option<Policy>, absent: &[[u8; 16]]) -> Outcome<Self> {
        let dir = tempfile::tempdir()?;
        let counting = policy.clone().map(Counting::new);
        write(dir.path(), counting.clone().map(|policy| policy as Policy)).await?;
        let tree = open(dir.path(), counting.clone().map(|policy| policy as Policy))?;
        round(&tree, absent)?;
        tree.close().await?;
        let (asked, cut) = counting.as_ref().map_or((0, 0), |policy| policy.take());
        let bytes = counting.as_ref().map_or(0, |policy| policy.bytes());
        Ok(Self { name, tree: open(dir.path(), policy)?, asked, cut, bytes, rates: Vec::new(), _dir: dir })
    }
}

/// Gets of all keys, none of which is there; gets a second.
fn round(tree: &Tree, absent: &[[u8; 16]]) -> Outcome<f64> {
    let txn = tree.begin_with_mode(Mode::ReadOnly)?;
    let start = Instant::now();
    for key in absent {
        if txn.get(&key[..])?.is_some() {
            return Err("a key that was never written is found".into());
        }
    }
    Ok(absent.len() as f64 / start.elapsed().as_secs_f64())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// The keys that are absent, in an order without pattern: multiples of a prime that does not divide their number.
fn absent() -> Vec<[u8; 16]> {
    (0..KEYS).map(|i| key(i * 1_000_003 % KEYS * 2 + 1)).collect()
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let absent = absent();
    let leveldb = Options::default().filter_policy.ok_or("no default filter")?;
    // The engine's filters of 10 bits a key cut a table into partitions of 13,108 keys or a few more, with a frame of one
    // byte each; bloomline's, frame and all, get no more bytes.
    let at = |layout, frame: u32| {
        SegmentPolicy::new(layout, Xxh3::default()).bits_per_key(10.0 - f64::from(8 * frame) / 13_108.0)
    };
    let full = |layout| BloomlinePolicy::new(at(layout, 64));
    let compact = |layout| BloomlinePolicy::new(at(layout, 6).compact());
    let mut rows = vec![
        Row::new("no filter", None, &absent).await?,
        Row::new("the engine's Bloom filter", Some(leveldb), &absent).await?,
        Row::new("the engine's `RibbonFilter`", Some(Arc::new(RibbonFilter::new(10))), &absent).await?,
    ];
    for (name, policy) in [
        ("classic, compact frame", compact(LayoutKind::Classic)?),
        ("classic, full frame", full(LayoutKind::Classic)?),
        ("blocked, compact frame", compact(LayoutKind::Blocked)?),
        ("blocked, full frame", full(LayoutKind::Blocked)?),
        ("split-block, compact frame", compact(LayoutKind::SplitBlock)?),
        ("blocked, full frame, verifying", full(LayoutKind::Blocked)?.verifying()),
    ] {
        rows.push(Row::new(name, Some(Arc::new(policy)), &absent).await?);
    }

    for _ in 0..=ROUNDS {
        for row in &mut rows {
            let rate = round(&row.tree, &absent)?;
            row.rates.push(rate);
        }
    }
    for row in &mut rows {
        row.rates.remove(0); // the round that fills the caches
    }

    println!("| filter | filter bytes | bits a key | probes cut | let through | absent gets/s | of the engine's |");
    println!("|---|--:|--:|--:|--:|--:|--:|");
    let own = rows[1].rates.clone();
    for row in &rows {
        let Row { name, asked, cut, bytes, rates, .. } = row;
        let bits = *bytes as f64 * 8.0 / KEYS as f64;
        let through = if *asked == 0 { 100.0 } else { (asked - cut) as f64 * 100.0 / *asked as f64 };
        let of_own = median(rates.iter().zip(&own).map(|(rate, own)| rate / own).collect());
        let rate = median(rates.clone());
        println!("| {name} | {bytes} | {bits:.2} | {cut} of {asked} | {through:.3} % | {rate:.0} | {of_own:.2} |");
    }
    for row in rows {
        row.tree.close().await?;
    }
    Ok(())
}
