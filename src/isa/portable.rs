//! The `wide` crate: vectors of the width that the crate was compiled for (SSE2 or NEON in a default build), so a
//! baseline, never the run-time choice where a detected set is there.

use super::{Isa, SIX, hashes_as_arrays};
use crate::{block::Unit, hash::Digest};
use wide::{u32x8, u64x4};

/// Needs nothing of the CPU beyond what the crate was compiled for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

/// Words to 32-bit lanes, low half first.
#[inline(always)]
fn lanes_of(words: [u64; 4]) -> u32x8 {
    u32x8::new(core::array::from_fn(|j| (words[j / 2] >> (32 * (j % 2))) as u32))
}

/// And back.
#[inline(always)]
fn words_of(lanes: u32x8) -> [u64; 4] {
    let lanes = lanes.to_array();
    core::array::from_fn(|i| lanes[2 * i] as u64 | (lanes[2 * i + 1] as u64) << 32)
}

// SAFETY: needs no CPU feature; computes what `Scalar` computes (tested below `isa`).
unsafe impl Isa for Portable {
    type Block = u32x8;
    type Line = [u64x4; 2];
    hashes_as_arrays!();

    #[inline(always)]
    fn block(self, unit: &[u8; 32]) -> u32x8 {
        let (lanes, _) = unit.as_chunks::<4>();
        u32x8::new(core::array::from_fn(|j| u32::from_le_bytes(lanes[j])))
    }
    #[inline(always)]
    fn block_from(self, words: [u64; 4]) -> u32x8 {
        lanes_of(words)
    }
    #[inline(always)]
    fn block_words(self, block: u32x8) -> [u64; 4] {
        words_of(block)
    }
    #[inline(always)]
    fn block_mask(self, low: u32, salts: &[u32; 8]) -> u32x8 {
        u32x8::splat(1) << ((u32x8::splat(low) * u32x8::new(*salts)) >> 27u32)
    }
    #[inline(always)]
    fn block_covers(self, block: u32x8, mask: u32x8) -> bool {
        block & mask == mask
    }
    #[inline(always)]
    fn block_or(self, unit: &mut [u8; 32], mask: u32x8) -> bool {
        let old = self.block(unit);
        for (lane, bits) in unit.as_chunks_mut::<4>().0.iter_mut().zip((old | mask).to_array()) {
            *lane = bits.to_le_bytes();
        }
        !self.block_covers(old, mask)
    }

    #[inline(always)]
    fn line(self, unit: &[u8; 64]) -> [u64x4; 2] {
        self.line_from(core::array::from_fn(|i| unit.word(i)))
    }
    #[inline(always)]
    fn line_from(self, w: [u64; 8]) -> [u64x4; 2] {
        [u64x4::new([w[0], w[1], w[2], w[3]]), u64x4::new([w[4], w[5], w[6], w[7]])]
    }
    #[inline(always)]
    fn line_words(self, line: [u64x4; 2]) -> [u64; 8] {
        let (a, b) = (line[0].to_array(), line[1].to_array());
        [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
    }
    #[inline(always)]
    fn line_mask(self, product: u64) -> [u64x4; 2] {
        let starts = self.line_from(SIX.map(u64::from));
        let product = u64x4::splat(product);
        starts.map(|s| u64x4::splat(1) << ((product >> s) & u64x4::splat(63)))
    }
    #[inline(always)]
    fn line_covers(self, line: [u64x4; 2], mask: [u64x4; 2]) -> bool {
        (line[0] & mask[0]) == mask[0] && (line[1] & mask[1]) == mask[1]
    }
    #[inline(always)]
    fn line_or(self, unit: &mut [u8; 64], mask: [u64x4; 2]) -> bool {
        let words = self.line_words(mask);
        (0..8).fold(false, |changed, i| changed | unit.or_word(i, words[i]))
    }
}
