//! Plain Rust, one key at a time: the reference that every other instruction set is tested against.

use super::{Isa, SIX, hashes_as_arrays};
use crate::{block::Unit, hash::Digest};

/// Needs nothing of the CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar;

// SAFETY: needs no CPU feature, and defines what the operations compute.
unsafe impl Isa for Scalar {
    type Block = [u64; 4];
    type Line = [u64; 8];
    hashes_as_arrays!();

    #[inline(always)]
    fn block(self, unit: &[u8; 32]) -> [u64; 4] {
        core::array::from_fn(|i| unit.word(i))
    }
    #[inline(always)]
    fn block_from(self, words: [u64; 4]) -> [u64; 4] {
        words
    }
    #[inline(always)]
    fn block_words(self, block: [u64; 4]) -> [u64; 4] {
        block
    }
    #[inline(always)]
    fn block_mask(self, low: u32, salts: &[u32; 8]) -> [u64; 4] {
        let bit = |lane: usize| 1u64 << (low.wrapping_mul(salts[lane]) >> 27);
        core::array::from_fn(|i| bit(2 * i) | bit(2 * i + 1) << 32)
    }
    #[inline(always)]
    fn block_covers(self, block: [u64; 4], mask: [u64; 4]) -> bool {
        (0..4).fold(0, |missing, i| missing | (mask[i] & !block[i])) == 0
    }
    #[inline(always)]
    fn block_or(self, unit: &mut [u8; 32], mask: [u64; 4]) -> bool {
        (0..4).fold(false, |changed, i| changed | unit.or_word(i, mask[i]))
    }

    #[inline(always)]
    fn line(self, unit: &[u8; 64]) -> [u64; 8] {
        core::array::from_fn(|i| unit.word(i))
    }
    #[inline(always)]
    fn line_from(self, words: [u64; 8]) -> [u64; 8] {
        words
    }
    #[inline(always)]
    fn line_words(self, line: [u64; 8]) -> [u64; 8] {
        line
    }
    #[inline(always)]
    fn line_mask(self, product: u64) -> [u64; 8] {
        SIX.map(|start| 1 << ((product >> start) & 63))
    }
    #[inline(always)]
    fn line_covers(self, line: [u64; 8], mask: [u64; 8]) -> bool {
        (0..8).fold(0, |missing, i| missing | (mask[i] & !line[i])) == 0
    }
    #[inline(always)]
    fn line_or(self, unit: &mut [u8; 64], mask: [u64; 8]) -> bool {
        (0..8).fold(false, |changed, i| changed | unit.or_word(i, mask[i]))
    }
}
