//! A database whose tables have filters of bloomline.
//!
//!     cargo run --release --example store

use bloomline::{LayoutKind, gate::SegmentPolicy, hash::Xxh3};
use bloomline_surrealkv::BloomlinePolicy;
use std::sync::Arc;
use surrealkv::TreeBuilder;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let filters = SegmentPolicy::new(LayoutKind::Blocked, Xxh3::default()).bits_per_key(10.0).compact();
    let policy = Arc::new(BloomlinePolicy::new(filters)?);
    let open = || TreeBuilder::new().with_path(dir.path().into()).with_filter_policy(Some(policy.clone())).build();

    let tree = open()?;
    let mut txn = tree.begin()?;
    for i in 0..1_000u32 {
        txn.set(format!("user/{i:04}").as_str(), i.to_be_bytes().as_slice())?;
    }
    txn.commit().await?;
    tree.close().await?; // the table is written here, its filters with it

    let tree = open()?;
    let txn = tree.begin()?;
    println!("user/0007  {:?}", txn.get("user/0007")?);
    println!("user/0007a {:?}", txn.get("user/0007a")?);
    drop(txn);
    Ok(tree.close().await?)
}
