//! Sizes of every layout for so many keys at such a rate, and where each would live on this machine.
//!
//!     cargo run --release --example choose -- 10000000 0.001

use bloomline::{LayoutKind, Level, machine::Machine};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let keys: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    // A fraction, or a percentage: 0.001, 0.1%.
    let fpr: f64 = arguments.next().map_or(Ok(0.01), |text| match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(|percent: f64| percent / 100.0),
        None => text.parse(),
    })?;

    let machine = Machine::get();
    println!(
        "{keys} keys at {} %, on {}, level {}",
        100.0 * fpr,
        machine.cpu_model.as_deref().unwrap_or("this machine"),
        Level::get()
    );
    println!("{:<12} {:>3} {:>12} {:>10} {:>10}  tier", "layout", "k", "bytes", "bits/key", "rate");
    for &kind in LayoutKind::ALL {
        // Nothing is allocated: a size is arithmetic, for as many keys as 64 bits can count.
        match kind.model().size_for_fpr(keys, fpr) {
            Ok(geometry) => {
                let bytes = geometry.bits / 8;
                println!(
                    "{kind:<12} {:>3} {bytes:>12} {:>10.2} {:>8.4} %  {}",
                    geometry.k,
                    geometry.bits as f64 / keys as f64,
                    100.0 * kind.model().fpr(keys, geometry),
                    machine.tier(bytes),
                );
            }
            Err(error) => println!("{kind:<12} {error}"),
        }
    }

    // The rule of thumb: one line a lookup beyond the caches, fewest instructions within them.
    let line = LayoutKind::Blocked.model().size_for_fpr(keys, fpr)?.bits / 8;
    let advice = match machine.tier(line) {
        bloomline::machine::Tier::L1 | bloomline::machine::Tier::L2 => LayoutKind::SplitBlock,
        _ => LayoutKind::Blocked,
    };
    println!("to begin with: {advice}; measure with your keys before you settle");
    Ok(())
}
