//! Filters as bytes, and bytes as filters: versioned, little-endian, checked. FORMAT.md specifies them.
//!
//! | frame | around the bits | for |
//! |---|---|---|
//! | full ([`Frame`]) | a header of 64 bytes that says everything but a secret key | files, large filters inside an engine's files |
//! | [`compact`] | a trailer of 6 bytes, or 3 below 64; hasher and seed are known to the reader | filters of a few keys inside an engine's blocks |
//!
//! What a reader may rely on:
//!
//! | | time | finds |
//! |---|---|---|
//! | `open`, `probe` | O(1) | damage in header or trailer, a wrong length. `probe` then answers "maybe" |
//! | `verify` | O(m) | also a flipped bit of the filter |
//! | [`decode`] | O(m) | verifies, then copies |
//!
//! A bit of the filter that was cleared makes a member absent, and only `verify` sees it. Whoever embeds filters calls it
//! once when a block is loaded, or knows of an engine's checksum over the same bytes.
//!
//! No function here panics or asks for more memory than there are bytes, whatever the bytes.

pub mod compact;
mod frame;
mod header;
pub mod parquet;

#[cfg(feature = "std")]
pub use frame::write;
pub use frame::{Frame, decode, hold, probe, to_vec};
pub use header::{HEADER_BYTES, Header, VERSION};

use crate::{
    AnyCounting, AnyFilter, CounterLayout, CountingView, DLeftCountingBloom, Design, Filter, FilterKind, Layout,
    PlainCountingBloom,
    hash::{HasherId, KeyHasher},
    mem::{Owned, View},
    sizing::Geometry,
};

/// A filter whose bits, counters or buckets lie in one piece and are written by nobody: what can become a frame. A shared
/// filter is frozen first.
pub trait Stored: private::Sealed {
    /// What it is.
    fn kind(&self) -> FilterKind;
    /// Its bits m and probes k, as [`FilterKind::validate`] has them.
    fn geometry(&self) -> Geometry;
    /// What it was sized for.
    fn design(&self) -> Design;
    /// Its hasher.
    fn hasher_id(&self) -> HasherId;
    /// Its hasher's seed, or the check of its key.
    fn seed(&self) -> u64;
    /// Its bits, counters or buckets.
    fn payload(&self) -> &[u8];
}

mod private {
    pub trait Sealed {}
}

macro_rules! stored {
    ($([$($generics:tt)*] $Filter:ty;)*) => { $(
        impl<$($generics)*> private::Sealed for $Filter {}
        impl<$($generics)*> Stored for $Filter {
            fn kind(&self) -> FilterKind {
                self.kind().into()
            }
            fn geometry(&self) -> Geometry {
                self.geometry()
            }
            fn design(&self) -> Design {
                self.design()
            }
            fn hasher_id(&self) -> HasherId {
                self.hasher().id()
            }
            fn seed(&self) -> u64 {
                self.hasher().seed()
            }
            fn payload(&self) -> &[u8] {
                self.as_bytes()
            }
        }
    )* };
}
stored! {
    [L: Layout, H: KeyHasher] Filter<L, Owned<L::Unit>, H>;
    ['b, L: Layout, H: KeyHasher] Filter<L, View<'b, L::Unit>, H>;
    ['b] AnyFilter<'b>;
    [L: CounterLayout, H: KeyHasher] PlainCountingBloom<L, H>;
    ['b, L: CounterLayout, H: KeyHasher] CountingView<'b, L, H>;
    [S: AsRef<[u8]>, H: KeyHasher] DLeftCountingBloom<S, H>;
    [] AnyCounting;
}
