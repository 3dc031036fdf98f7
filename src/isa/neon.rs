//! NEON: the Armv8-A baseline. Its correctness is tested under emulation, which proves bits and says nothing of speed.

use super::{Isa, NINE, SEVEN, SIX, hashes_as_arrays, ops};
use crate::hash::Digest;
use core::arch::aarch64::*;

/// Proof of NEON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neon(());

impl Neon {
    /// Callable without `unsafe` only where NEON is enabled.
    #[inline]
    #[target_feature(enable = "neon")]
    pub(crate) const fn here() -> Self {
        Self(())
    }
}

/// Two 64-bit lanes.
#[inline]
#[target_feature(enable = "neon")]
fn pair(a: i64, b: i64) -> int64x2_t {
    vcombine_s64(vcreate_s64(a as u64), vcreate_s64(b as u64))
}

/// Two windows of nine bits, shifted down and cut to 32-bit lanes.
#[inline]
#[target_feature(enable = "neon")]
fn windows(product: uint64x2_t, a: usize, b: usize) -> uint32x2_t {
    vmovn_u64(vshlq_u64(product, pair(-(NINE[a] as i64), -(NINE[b] as i64))))
}

// SAFETY: the only constructor demands NEON; the operations are tested against `Scalar`.
unsafe impl Isa for Neon {
    const LOOKUP: bool = true;
    type Block = [uint32x4_t; 2];
    type Line = [uint64x2_t; 4];
    hashes_as_arrays!();

    ops! { "neon";
        fn block(unit: &[u8; 32]) -> [uint32x4_t; 2] {
            let p = unit.as_ptr();
            // SAFETY: 32 readable bytes; byte loads ask for no alignment.
            unsafe { [vreinterpretq_u32_u8(vld1q_u8(p)), vreinterpretq_u32_u8(vld1q_u8(p.add(16)))] }
        }
        fn block_from(words: [u64; 4]) -> [uint32x4_t; 2] {
            // SAFETY: 32 readable bytes, aligned as `u64`.
            unsafe {
                [vreinterpretq_u32_u64(vld1q_u64(words.as_ptr())), vreinterpretq_u32_u64(vld1q_u64(words.as_ptr().add(2)))]
            }
        }
        fn block_words(block: [uint32x4_t; 2]) -> [u64; 4] {
            let mut words = [0; 4];
            // SAFETY: 32 writable bytes, aligned as `u64`.
            unsafe {
                vst1q_u64(words.as_mut_ptr(), vreinterpretq_u64_u32(block[0]));
                vst1q_u64(words.as_mut_ptr().add(2), vreinterpretq_u64_u32(block[1]));
            }
            words
        }
        fn block_mask(low: u32, salts: &[u32; 8]) -> [uint32x4_t; 2] {
            // SAFETY: 32 readable bytes, aligned as `u32`.
            let salts = unsafe { [vld1q_u32(salts.as_ptr()), vld1q_u32(salts.as_ptr().add(4))] };
            let low = vdupq_n_u32(low);
            salts.map(|s| {
                let lane = vshrq_n_u32::<27>(vmulq_u32(s, low));
                vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(lane))
            })
        }
        fn block_covers(block: [uint32x4_t; 2], mask: [uint32x4_t; 2]) -> bool {
            vmaxvq_u32(vorrq_u32(vbicq_u32(mask[0], block[0]), vbicq_u32(mask[1], block[1]))) == 0
        }
        fn block_or(unit: &mut [u8; 32], mask: [uint32x4_t; 2]) -> bool {
            let p = unit.as_mut_ptr();
            // SAFETY: 32 bytes, readable and writable; byte accesses ask for no alignment.
            let old = unsafe { [vreinterpretq_u32_u8(vld1q_u8(p)), vreinterpretq_u32_u8(vld1q_u8(p.add(16)))] };
            // SAFETY: as above.
            unsafe {
                vst1q_u8(p, vreinterpretq_u8_u32(vorrq_u32(old[0], mask[0])));
                vst1q_u8(p.add(16), vreinterpretq_u8_u32(vorrq_u32(old[1], mask[1])));
            }
            vmaxvq_u32(vorrq_u32(vbicq_u32(mask[0], old[0]), vbicq_u32(mask[1], old[1]))) != 0
        }
        fn line(unit: &[u8; 64]) -> [uint64x2_t; 4] {
            let p = unit.as_ptr();
            // SAFETY: 64 readable bytes; byte loads ask for no alignment.
            unsafe {
                [
                    vreinterpretq_u64_u8(vld1q_u8(p)),
                    vreinterpretq_u64_u8(vld1q_u8(p.add(16))),
                    vreinterpretq_u64_u8(vld1q_u8(p.add(32))),
                    vreinterpretq_u64_u8(vld1q_u8(p.add(48))),
                ]
            }
        }
        fn line_from(words: [u64; 8]) -> [uint64x2_t; 4] {
            let p = words.as_ptr();
            // SAFETY: 64 readable bytes, aligned as `u64`.
            unsafe { [vld1q_u64(p), vld1q_u64(p.add(2)), vld1q_u64(p.add(4)), vld1q_u64(p.add(6))] }
        }
        fn line_words(line: [uint64x2_t; 4]) -> [u64; 8] {
            let mut words = [0; 8];
            for (pair, lanes) in words.as_chunks_mut::<2>().0.iter_mut().zip(line) {
                // SAFETY: 16 writable bytes, aligned as `u64`.
                unsafe { vst1q_u64(pair.as_mut_ptr(), lanes) };
            }
            words
        }
        // A negative count shifts to the right.
        fn line_mask(product: u64) -> [uint64x2_t; 4] {
            let s = SIX.map(|start| -(start as i64));
            let starts = [pair(s[0], s[1]), pair(s[2], s[3]), pair(s[4], s[5]), pair(s[6], s[7])];
            let product = vdupq_n_u64(product);
            starts.map(|s| {
                let lane = vandq_u64(vshlq_u64(product, s), vdupq_n_u64(63));
                vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(lane))
            })
        }
        fn line_covers(line: [uint64x2_t; 4], mask: [uint64x2_t; 4]) -> bool {
            let low = vorrq_u64(vbicq_u64(mask[0], line[0]), vbicq_u64(mask[1], line[1]));
            let high = vorrq_u64(vbicq_u64(mask[2], line[2]), vbicq_u64(mask[3], line[3]));
            vmaxvq_u32(vreinterpretq_u32_u64(vorrq_u64(low, high))) == 0
        }
        fn line_or(unit: &mut [u8; 64], mask: [uint64x2_t; 4]) -> bool {
            let mut missing = vdupq_n_u64(0);
            for (bytes, mask) in unit.as_chunks_mut::<16>().0.iter_mut().zip(mask) {
                let p = bytes.as_mut_ptr();
                // SAFETY: 16 bytes, readable and writable; byte accesses ask for no alignment.
                let old = unsafe { vreinterpretq_u64_u8(vld1q_u8(p)) };
                // SAFETY: as above.
                unsafe { vst1q_u8(p, vreinterpretq_u8_u64(vorrq_u64(old, mask))) };
                missing = vorrq_u64(missing, vbicq_u64(mask, old));
            }
            vmaxvq_u32(vreinterpretq_u32_u64(missing)) != 0
        }
        // A weight for each lane, and sums of pairs until a byte has the bits of eight.
        fn lanes_equal(line: [uint64x2_t; 4], value: u16, mask: u16) -> u32 {
            let (value, mask) = (vdupq_n_u16(value), vdupq_n_u16(mask));
            let equal = line.map(|lanes| vmovn_u16(vceqq_u16(vandq_u16(vreinterpretq_u16_u64(lanes), mask), value)));
            let weights = vcreate_u8(0x8040_2010_0804_0201);
            let bytes = equal.map(|lanes| vaddv_u8(vand_u8(lanes, weights)));
            u32::from_le_bytes(bytes)
        }
        fn any_lane_within(a: [uint64x2_t; 4], b: [uint64x2_t; 4], first: u16) -> bool {
            let (first, two) = (vdupq_n_u16(first), vdupq_n_u16(2));
            let within = |lanes: uint64x2_t| vcleq_u16(vsubq_u16(vreinterpretq_u16_u64(lanes), first), two);
            let any = |line: [uint64x2_t; 4]| {
                let [a, b, c, d] = line.map(within);
                vorrq_u16(vorrq_u16(a, b), vorrq_u16(c, d))
            };
            vmaxvq_u16(vorrq_u16(any(a), any(b))) != 0
        }
        // The same for counters, two to a byte.
        fn line_counts(line: [uint64x2_t; 4], product: u64, probes: u32) -> bool {
            let n = SEVEN.map(|start| -(start as i64));
            let product = vdupq_n_u64(product);
            let two = |a: usize| vmovn_u64(vshlq_u64(product, pair(n[a], n[a + 1])));
            let low = vmovn_u32(vcombine_u32(two(0), two(2)));
            let high = vmovn_u32(vcombine_u32(two(4), two(6)));
            let window = vmovn_u16(vandq_u16(vcombine_u16(low, high), vdupq_n_u16(127)));
            let line = uint8x16x4_t(
                vreinterpretq_u8_u64(line[0]),
                vreinterpretq_u8_u64(line[1]),
                vreinterpretq_u8_u64(line[2]),
                vreinterpretq_u8_u64(line[3]),
            );
            let bytes = vqtbl4_u8(line, vshr_n_u8::<1>(window));
            // An odd counter is the upper half of its byte.
            let upper = vtst_u8(window, vdup_n_u8(1));
            let half = vbsl_u8(upper, vdup_n_u8(0xf0), vdup_n_u8(0x0f));
            let set = vtst_u8(bytes, half);
            let want = u64::MAX >> (64 - 8 * probes);
            vget_lane_u64::<0>(vreinterpret_u64_u8(set)) & want == want
        }
        // One table lookup fetches the bytes that all probes fall in.
        fn line_has(line: [uint64x2_t; 4], product: u64, probes: u32) -> bool {
            let product = vdupq_n_u64(product);
            let low = vmovn_u32(vcombine_u32(windows(product, 0, 1), windows(product, 2, 3)));
            let high = vmovn_u32(vcombine_u32(windows(product, 4, 5), windows(product, 4, 5)));
            let window = vandq_u16(vcombine_u16(low, high), vdupq_n_u16(511));
            let at = vshrn_n_u16::<3>(window);
            let bit = vand_u8(vmovn_u16(window), vdup_n_u8(7));
            let line = uint8x16x4_t(
                vreinterpretq_u8_u64(line[0]),
                vreinterpretq_u8_u64(line[1]),
                vreinterpretq_u8_u64(line[2]),
                vreinterpretq_u8_u64(line[3]),
            );
            let set = vtst_u8(vqtbl4_u8(line, at), vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(bit)));
            let want = (1u64 << (8 * probes)) - 1;
            vget_lane_u64::<0>(vreinterpret_u64_u8(set)) & want == want
        }
    }
}
