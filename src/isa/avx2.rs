//! AVX2: Haswell (2013), Zen (2017) and later.

use super::{Isa, NINE, SIX, hashes_as_arrays, ops};
use crate::hash::Digest;
use core::arch::x86_64::*;

/// Proof of AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// Callable without `unsafe` only where AVX2 is enabled.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) const fn here() -> Self {
        Self(())
    }
}

// SAFETY: the only constructor demands AVX2; the operations are tested against `Scalar`.
unsafe impl Isa for Avx2 {
    const LOOKUP: bool = true;
    type Block = __m256i;
    type Line = [__m256i; 2];
    hashes_as_arrays!();

    ops! { "avx2";
        fn block(unit: &[u8; 32]) -> __m256i {
            // SAFETY: 32 readable bytes; the load asks for no alignment.
            unsafe { _mm256_loadu_si256(unit.as_ptr().cast()) }
        }
        fn block_from(words: [u64; 4]) -> __m256i {
            // SAFETY: 32 readable bytes; the load asks for no alignment.
            unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
        }
        fn block_words(block: __m256i) -> [u64; 4] {
            let mut words = [0; 4];
            // SAFETY: 32 writable bytes; the store asks for no alignment.
            unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), block) };
            words
        }
        fn block_mask(low: u32, salts: &[u32; 8]) -> __m256i {
            // SAFETY: 32 readable bytes; the load asks for no alignment.
            let salts = unsafe { _mm256_loadu_si256(salts.as_ptr().cast()) };
            let lane = _mm256_srli_epi32::<27>(_mm256_mullo_epi32(salts, _mm256_set1_epi32(low as i32)));
            _mm256_sllv_epi32(_mm256_set1_epi32(1), lane)
        }
        fn block_covers(block: __m256i, mask: __m256i) -> bool {
            _mm256_testc_si256(block, mask) != 0
        }
        fn block_or(unit: &mut [u8; 32], mask: __m256i) -> bool {
            let p = unit.as_mut_ptr().cast();
            // SAFETY: 32 bytes, readable and writable; neither access asks for alignment.
            let old = unsafe { _mm256_loadu_si256(p) };
            // SAFETY: as above.
            unsafe { _mm256_storeu_si256(p, _mm256_or_si256(old, mask)) };
            _mm256_testc_si256(old, mask) == 0
        }
        fn line(unit: &[u8; 64]) -> [__m256i; 2] {
            let p = unit.as_ptr();
            // SAFETY: 64 readable bytes; the loads ask for no alignment.
            unsafe { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(32).cast())] }
        }
        fn line_from(words: [u64; 8]) -> [__m256i; 2] {
            let p = words.as_ptr();
            // SAFETY: 64 readable bytes; the loads ask for no alignment.
            unsafe { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(4).cast())] }
        }
        fn line_words(line: [__m256i; 2]) -> [u64; 8] {
            let mut words = [0u64; 8];
            let p = words.as_mut_ptr();
            // SAFETY: 64 writable bytes; the stores ask for no alignment.
            unsafe {
                _mm256_storeu_si256(p.cast(), line[0]);
                _mm256_storeu_si256(p.add(4).cast(), line[1]);
            }
            words
        }
        fn line_mask(product: u64) -> [__m256i; 2] {
            let s = SIX.map(i64::from);
            let starts = [_mm256_setr_epi64x(s[0], s[1], s[2], s[3]), _mm256_setr_epi64x(s[4], s[5], s[6], s[7])];
            let product = _mm256_set1_epi64x(product as i64);
            starts.map(|s| {
                let lane = _mm256_and_si256(_mm256_srlv_epi64(product, s), _mm256_set1_epi64x(63));
                _mm256_sllv_epi64(_mm256_set1_epi64x(1), lane)
            })
        }
        fn line_covers(line: [__m256i; 2], mask: [__m256i; 2]) -> bool {
            let missing = _mm256_or_si256(_mm256_andnot_si256(line[0], mask[0]), _mm256_andnot_si256(line[1], mask[1]));
            _mm256_testz_si256(missing, missing) != 0
        }
        fn line_or(unit: &mut [u8; 64], mask: [__m256i; 2]) -> bool {
            let p = unit.as_mut_ptr();
            let (p, q) = (p.cast::<__m256i>(), p.wrapping_add(32).cast::<__m256i>());
            // SAFETY: 64 bytes, readable and writable; no access asks for alignment.
            let (a, b) = unsafe { (_mm256_loadu_si256(p), _mm256_loadu_si256(q)) };
            // SAFETY: as above.
            unsafe {
                _mm256_storeu_si256(p, _mm256_or_si256(a, mask[0]));
                _mm256_storeu_si256(q, _mm256_or_si256(b, mask[1]));
            }
            _mm256_testc_si256(a, mask[0]) == 0 || _mm256_testc_si256(b, mask[1]) == 0
        }
        // The dword that a probe falls in comes by permutation of both halves of the line; shifting its bit up to the
        // sign makes one movemask of all probes.
        fn line_has(line: [__m256i; 2], product: u64, probes: u32) -> bool {
            let n = NINE.map(i32::from);
            let half = _mm256_setr_epi32(1, 1, 1, 0, 0, 0, 0, 0);
            let windows = _mm256_permutevar8x32_epi32(_mm256_set1_epi64x(product as i64), half);
            let starts = _mm256_setr_epi32(n[0] - 32, n[1] - 32, n[2] - 32, n[3], n[4], n[5], 0, 0);
            let bit = _mm256_srlv_epi32(windows, starts);
            let dword = _mm256_srli_epi32::<5>(bit);
            let low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(line[0], dword));
            let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(line[1], dword));
            let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<28>(dword));
            let dwords = _mm256_castps_si256(_mm256_blendv_ps(low, high, upper));
            let to_sign = _mm256_andnot_si256(bit, _mm256_set1_epi32(31));
            let signs = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_sllv_epi32(dwords, to_sign))) as u32;
            let want = (1u32 << probes) - 1;
            signs & want == want
        }
        fn covered(lanes: &[u64; 8], want: u8) -> u64 {
            let p = lanes.as_ptr();
            let want = _mm256_set1_epi8(want as i8);
            // SAFETY: 64 readable bytes; the loads ask for no alignment.
            let halves = unsafe { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(4).cast())] };
            let [low, high] =
                halves.map(|h| _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(h, want), want)) as u32);
            low as u64 | (high as u64) << 32
        }
    }
}
