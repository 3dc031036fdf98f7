//! Many threads fill one filter; it is frozen, its bytes are stored, and a view answers from where they lie.
//!
//!     cargo run --release --example shared

use bloomline::{Blocked, Filter, FilterView, hash::Xxh3};
use std::{
    error::Error,
    sync::{
        Barrier,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

const THREADS: u64 = 4;
const KEYS: u64 = 50_000;

fn main() -> Result<(), Box<dyn Error>> {
    let shared = Filter::<Blocked>::builder(THREADS * KEYS).fpr(0.001).build_shared()?;

    // Each thread has keys of its own and a tenth of its neighbour's. Nobody waits for anybody.
    let fresh = AtomicU64::new(0);
    let start = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for t in 0..THREADS {
            let (shared, fresh, start) = (&shared, &fresh, &start);
            scope.spawn(move || {
                start.wait();
                let mut mine = 0;
                for key in t * KEYS..(t + 1) * KEYS + KEYS / 10 {
                    mine += shared.insert(&(key % (THREADS * KEYS))) as u64;
                }
                fresh.fetch_add(mine, Ordering::Relaxed);
                // A reader of another thread that learns of these keys through a lock, a channel or the end of this
                // scope sees them whole.
            });
        }
    });

    // "Changed something" counts distinct keys, but for those that the filter took for present (too few), and those
    // that two threads inserted at the same moment (too many).
    println!("{} distinct keys; {} insertions changed a bit", THREADS * KEYS, fresh.into_inner());

    // No other thread is left, as the move proves: plain memory again, and vector loads.
    let filter = shared.freeze();
    println!("{:.0} keys by the occupancy of {:.3}", filter.estimated_cardinality(), filter.occupancy());
    println!("rate now {:.4} %, designed for {:.4} %", 100.0 * filter.current_fpr(), 100.0 * filter.design().fpr);
    assert!((0..THREADS * KEYS).all(|key| filter.contains(&key)));

    // The bytes of the bits are the same on every machine. They say nothing of geometry and hasher: keep those beside
    // them. Here they lie at an odd offset, as in the middle of an engine's block.
    let mut block = vec![0xee; 13];
    block.extend_from_slice(filter.as_bytes());
    let view = FilterView::<Blocked>::from_bytes(&block[13..], filter.geometry(), filter.design(), Xxh3::default())?;
    assert!((0..THREADS * KEYS).all(|key| view.contains(&key)));
    let wrong = (1_000_000..2_000_000u64).filter(|key| view.contains(key)).count();
    println!("the view finds every key, and {wrong} of 1000000 absent ones");
    assert!(wrong < 1_500);
    Ok(())
}
