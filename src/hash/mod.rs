//! From a key to its [`Digest`], once; everything after that is a function of the digest.
//!
//! | hasher | for | withstands chosen keys |
//! |---|---|---|
//! | [`Xxh3`] | anything; the default | no |
//! | [`Xxh64`] | filters shared with Parquet readers | no |
//! | [`Blake2b`] | keys that an adversary may choose | yes, while its key is secret |
//! | [`PreHashed`] | engines that already have a 64-bit hash of any quality in its low or high bits | as the hash given |
//! | [`PreHashedTrusted`] | engines whose 64-bit hash is uniform in all its bits | as the hash given |
//!
//! Integers hash as the little-endian bytes of their width, a `str` as its UTF-8 bytes. [`core::hash::Hash`] is not
//! used: what it feeds a hasher differs between machines and releases, and a filter must outlive both.

mod hashers;
mod key;
mod probes;

pub use hashers::{
    AnyHasher, Blake2b, HasherId, KeyHasher, KeyLengthError, PreHashed, PreHashedTrusted, Unkeyed, Xxh3, Xxh64,
};
pub use key::{Hashes, KeyBytes};
pub(crate) use probes::next_probe;
#[cfg(target_arch = "x86_64")]
pub(crate) use probes::{INCREMENT, MULTIPLIER};
pub use probes::{Probes, fastrange};

/// The hash of a key: 64 bits, computed once and probed everywhere.
///
/// The high half chooses the unit (block, line, word), all of it the bits within. A false positive rate under
/// n·2⁻⁶⁰ can't be had from 64 bits; sizing refuses it.
///
/// ```
/// use bloomline::hash::{Hashes, Xxh3};
/// let hasher = Xxh3::default();
/// assert_eq!(hasher.digest("key"), hasher.digest(&b"key"[..]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Digest(pub u64);

/// A bijection of 64-bit words in which every input bit moves every output bit about half the time (the finaliser of
/// MurmurHash3, Appleby 2011).
#[inline(always)]
pub(crate) const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(MIX[0]);
    x = (x ^ (x >> 33)).wrapping_mul(MIX[1]);
    x ^ (x >> 33)
}

/// The multipliers of [`mix`].
const MIX: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];
