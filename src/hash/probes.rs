//! From a digest to positions over a whole filter: a sequence of hashes and fastrange.

use super::Digest;

/// Multiplier of the sequence: one of those that Steele and Vigna found best for 64-bit linear congruential generators
/// ("Computationally easy, spectrally good multipliers", 2021).
pub(crate) const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// Added at every step: 2⁶⁴ divided by the golden ratio, odd.
pub(crate) const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Maps a hash to [0, n) without a division and without modulo bias: ⌊hash·n / 2⁶⁴⌋ (Lemire, "Fast random integer
/// generation in an interval", 2019). Right for every n up to 2⁶⁴ − 1; 0 when n is 0.
///
/// ```
/// assert_eq!(bloomline::hash::fastrange(u64::MAX, 10), 9);
/// ```
#[inline(always)]
pub const fn fastrange(hash: u64, n: u64) -> u64 {
    ((hash as u128 * n as u128) >> 64) as u64
}

/// The endless sequence of probe hashes of one digest, for layouts that scatter their probes: h, then
/// h·0xd1342543de82ef95 + 0x9e3779b97f4a7c15 of the one before, modulo 2⁶⁴.
///
/// Double hashing (Kirsch and Mitzenmacher, "Less Hashing, Same Performance", 2006), h + i·h₂, reaches the rate of
/// independent probes for large filters only. In small ones the positions of a key are an arithmetic progression, of
/// which there are few: with a step that grows at each probe, `partitioned` still had 4.3·10⁻⁴ false positives where
/// 0.7·10⁻⁴ were expected (10 keys, a target of 10⁻⁴), and `classic` 1.2 times its rate at 1 %. A step that multiplies
/// lies within the noise of the formula from 10 keys on, takes one multiplication, and has no second hash to carry.
///
/// ```
/// use bloomline::hash::{Digest, Probes, fastrange};
/// let positions: Vec<u64> = Probes::new(Digest(42)).take(7).map(|h| fastrange(h, 1_000)).collect();
/// assert!(positions.iter().all(|&p| p < 1_000));
/// ```
#[derive(Clone, Debug)]
pub struct Probes {
    next: u64,
}

impl Probes {
    /// The probes of `digest`.
    #[inline(always)]
    pub const fn new(digest: Digest) -> Self {
        Self { next: digest.0 }
    }
}

/// The probe hash after `h`.
#[inline(always)]
pub(crate) const fn next_probe(h: u64) -> u64 {
    h.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT)
}

impl Iterator for Probes {
    type Item = u64;
    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        let h = self.next;
        self.next = next_probe(h);
        Some(h)
    }
}
