//! Units of memory: what a layout addresses with one step of the digest, and the line that owned memory is made of.

use core::fmt::Debug;
#[cfg(not(loom))]
use core::sync::atomic::AtomicU64;
#[cfg(loom)]
use loom::sync::atomic::AtomicU64;

/// Bits in a cache line, the unit of the `blocked` and `split-line` layouts.
pub const LINE_BITS: u32 = 512;

/// One cache line of owned memory. Only its alignment matters: bits are read through [`Unit`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [u64; 8]);

impl Line {
    /// A line without a bit set.
    pub const ZERO: Line = Line([0; 8]);
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for [u8; 8] {}
    impl Sealed for [u8; 16] {}
    impl Sealed for [u8; 32] {}
    impl Sealed for [u8; 64] {}
}

/// What one step of a digest addresses: 8 bytes (`word`, and the scattered layouts), 16 bytes (`blocked-128`), 32 bytes
/// (`split-block`) or 64 bytes (`blocked`, `split-line`).
///
/// A unit is an array of bytes with alignment 1, little-endian by definition, so that a filter can be read where it
/// lies in somebody else's buffer. Alignment is a property of owned memory, not of the type.
pub trait Unit: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// Size in bytes, a power of two.
    const BYTES: usize;
    /// Size in 64-bit words.
    const WORDS: usize = Self::BYTES / 8;
    /// Base-two logarithm of the size in bytes.
    const SHIFT: u32 = Self::BYTES.trailing_zeros();
    /// The same bytes as atomic words, for memory that several threads write.
    type Atomic: Send + Sync + 'static;

    /// Word `i` as the number whose bit j is bit 64·i + j of the unit. `i` is less than [`Unit::WORDS`].
    fn word(&self, i: usize) -> u64;
    /// Sets bits of word `i`; true when any was not set before.
    fn or_word(&mut self, i: usize, mask: u64) -> bool;
    /// Replaces word `i`.
    fn set_word(&mut self, i: usize, word: u64);
    /// The atomic word `i`, in little-endian byte order whatever the machine.
    fn atomic_word(cell: &Self::Atomic, i: usize) -> &AtomicU64;
}

macro_rules! unit {
    ($($bytes:literal)*) => { $(
        impl Unit for [u8; $bytes] {
            const BYTES: usize = $bytes;
            type Atomic = [AtomicU64; $bytes / 8];
            #[inline(always)]
            fn word(&self, i: usize) -> u64 {
                u64::from_le_bytes(self.as_chunks::<8>().0[i])
            }
            #[inline(always)]
            fn or_word(&mut self, i: usize, mask: u64) -> bool {
                let word = &mut self.as_chunks_mut::<8>().0[i];
                let old = u64::from_le_bytes(*word);
                *word = (old | mask).to_le_bytes();
                old & mask != mask
            }
            #[inline(always)]
            fn set_word(&mut self, i: usize, word: u64) {
                self.as_chunks_mut::<8>().0[i] = word.to_le_bytes();
            }
            #[inline(always)]
            fn atomic_word(cell: &Self::Atomic, i: usize) -> &AtomicU64 {
                &cell[i]
            }
        }
    )* };
}
unit!(8 16 32 64);
