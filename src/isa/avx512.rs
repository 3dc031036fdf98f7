//! AVX-512, eight keys at a time, in two strengths.
//!
//! [`Avx512`] (f, bw, dq, vl: Skylake-X, 2017) pairs two 32-byte blocks in one register and permutes dwords.
//! [`Avx512Vbmi`] (and vbmi, bitalg: Ice Lake 2019, Zen 4 2022) reads eight probe windows of eight digests with one
//! `vpmultishiftqb`, tests eight words with one `vpshufbitqmb`, and gathers eight probes of eight lines by `vpermb`, one
//! line at a time merged into one register of 64 bytes. Only Cannon Lake, one chip of 2018, has vbmi without bitalg.

use super::{Isa, NINE, SEVEN, SIX, ops};
use crate::{
    block::Line,
    hash::{Digest, INCREMENT, MULTIPLIER},
};
use core::arch::x86_64::*;

/// Proof of AVX-512 f, bw, dq and vl.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// Callable without `unsafe` only where the features are enabled.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) const fn here() -> Self {
        Self(())
    }
}

/// Proof of AVX-512 f, bw, dq, vl, vbmi and bitalg.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512Vbmi(());

impl Avx512Vbmi {
    /// Callable without `unsafe` only where the features are enabled.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg")]
    pub(crate) const fn here() -> Self {
        Self(())
    }
}

/// Reads 64 bytes of any type that has no padding.
#[inline]
#[target_feature(enable = "avx512f")]
fn load<T>(p: &[T; 8]) -> __m512i {
    const { assert!(size_of::<[T; 8]>() == 64) };
    // SAFETY: 64 readable, initialised bytes (`T` is `u64` or `Digest`); the load asks for no alignment.
    unsafe { _mm512_loadu_si512(p.as_ptr().cast()) }
}

/// The bytes that each 64-bit lane of a vector of windows starts at, as one constant.
const fn starts(of: [u8; 8]) -> i64 {
    i64::from_le_bytes(of)
}

/// Byte j of each group: which byte of a line the probe falls in (bits 3 to 8 of the window).
const NINE_BYTE: i64 =
    starts([NINE[0] + 3, NINE[1] + 3, NINE[2] + 3, NINE[3] + 3, NINE[4] + 3, NINE[5] + 3, NINE[5], NINE[5]]);
/// Byte j of each group: which bit of that byte (bits 0 to 2 of the window).
const NINE_BIT: i64 = starts([NINE[0], NINE[1], NINE[2], NINE[3], NINE[4], NINE[5], NINE[5], NINE[5]]);
/// The eight windows of six bits.
const SIX_ALL: i64 = starts(SIX);
/// The upper three bits of these windows.
const SIX_BYTE: i64 =
    starts([SIX[0] + 3, SIX[1] + 3, SIX[2] + 3, SIX[3] + 3, SIX[4] + 3, SIX[5] + 3, SIX[6] + 3, SIX[7] + 3]);
/// 1 << j at byte j: a table of bits for byte shuffles.
const BITS: i64 = starts([1, 2, 4, 8, 16, 32, 64, 128]);
/// The first byte of lane j of a line.
const LANES: i64 = starts([0, 8, 16, 24, 32, 40, 48, 56]);

/// Looks byte `at[8·j + i]` up in line j and tests the bits of `bit`, for eight lines of eight probes each.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn look_up(lines: &[__m512i; 8], at: __m512i, bit: __m512i) -> u64 {
    let mut bytes = _mm512_permutexvar_epi8(at, lines[0]);
    bytes = _mm512_mask_permutexvar_epi8(bytes, 0xff << 8, at, lines[1]);
    bytes = _mm512_mask_permutexvar_epi8(bytes, 0xff << 16, at, lines[2]);
    bytes = _mm512_mask_permutexvar_epi8(bytes, 0xff << 24, at, lines[3]);
    bytes = _mm512_mask_permutexvar_epi8(bytes, 0xff << 32, at, lines[4]);
    bytes = _mm512_mask_permutexvar_epi8(bytes, 0xff << 40, at, lines[5]);
    bytes = _mm512_mask_permutexvar_epi8(bytes, 0xff << 48, at, lines[6]);
    bytes = _mm512_mask_permutexvar_epi8(bytes, 0xff << 56, at, lines[7]);
    _mm512_test_epi8_mask(bytes, bit)
}

/// ⌊h·n / 2⁶⁴⌋ from 32-bit products: h·n = (hi·2³² + lo)·(nh·2³² + nl).
#[inline]
#[target_feature(enable = "avx512f")]
fn multiply_high(h: __m512i, n: u64) -> __m512i {
    let high = _mm512_srli_epi64::<32>(h);
    let n_low = _mm512_set1_epi64((n & 0xffff_ffff) as i64);
    // (hi·nl + (lo·nl >> 32)) can't overflow: (2³² − 1)² + 2³² − 1 < 2⁶⁴.
    let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(h, n_low));
    let middle = _mm512_add_epi64(_mm512_mul_epu32(high, n_low), low);
    if n >> 32 == 0 {
        return _mm512_srli_epi64::<32>(middle);
    }
    let n_high = _mm512_set1_epi64((n >> 32) as i64);
    let cross = _mm512_mul_epu32(h, n_high);
    let carry = _mm512_add_epi64(_mm512_and_si512(middle, _mm512_set1_epi64(0xffff_ffff)), cross);
    let top = _mm512_add_epi64(_mm512_mul_epu32(high, n_high), _mm512_srli_epi64::<32>(middle));
    _mm512_add_epi64(top, _mm512_srli_epi64::<32>(carry))
}

/// Bit i: whether the counter that window i of a product chooses in a line is above 0. `vpermd` takes its dword number
/// modulo 16: bits 3 to 6 of the window.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn counted(line: __m512i, product: u64) -> u8 {
    let n = SEVEN.map(i64::from);
    let starts = _mm512_setr_epi64(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]);
    let at = _mm512_cvtepi64_epi32(_mm512_srlv_epi64(_mm512_set1_epi64(product as i64), starts));
    let dword = _mm512_castsi256_si512(_mm256_srli_epi32::<3>(at));
    let dwords = _mm512_castsi512_si256(_mm512_permutexvar_epi32(dword, line));
    let bit = _mm256_and_si256(_mm256_slli_epi32::<2>(at), _mm256_set1_epi32(28));
    _mm256_test_epi32_mask(dwords, _mm256_sllv_epi32(_mm256_set1_epi32(15), bit))
}

/// What both strengths share. `$features` names those of the token that implements it.
macro_rules! shared_ops {
    ($features:literal) => {
        const WIDE: bool = true;
        const VECTOR_HASHES: bool = true;
        const LOOKUP: bool = true;
        type Block = __m256i;
        type Line = __m512i;
        type Hashes = __m512i;

        #[inline(always)]
        unsafe fn stream(self, to: *mut Line, line: &Line, last: u64) {
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn op(to: *mut Line, line: &Line, last: u64) {
                // SAFETY: the caller's promise: 64 writable bytes, aligned to 64.
                unsafe { _mm512_stream_si512(to.cast(), _mm512_mask_set1_epi64(load(&line.0), 0x80, last as i64)) };
            }
            // SAFETY: `self` proves the features; the rest is the caller's promise.
            unsafe { op(to, line, last) }
        }
        #[inline(always)]
        unsafe fn gather(self, base: *const u8, offsets: __m512i) -> __m512i {
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn op(base: *const u8, offsets: __m512i) -> __m512i {
                // SAFETY: the caller's promise: eight readable bytes at each offset.
                unsafe { _mm512_i64gather_epi64::<1>(offsets, base.cast()) }
            }
            // SAFETY: `self` proves the features; the rest is the caller's promise.
            unsafe { op(base, offsets) }
        }

        ops! { $features;
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
            fn line(unit: &[u8; 64]) -> __m512i {
                // SAFETY: 64 readable bytes; the load asks for no alignment.
                unsafe { _mm512_loadu_si512(unit.as_ptr().cast()) }
            }
            fn line_from(words: [u64; 8]) -> __m512i {
                load(&words)
            }
            fn line_words(line: __m512i) -> [u64; 8] {
                let mut words = [0u64; 8];
                // SAFETY: 64 writable bytes; the store asks for no alignment.
                unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), line) };
                words
            }
            // A rotation takes its count modulo 64, so the window needs no masking.
            fn line_mask(product: u64) -> __m512i {
                let s = SIX.map(i64::from);
                let starts = _mm512_setr_epi64(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]);
                let lane = _mm512_srlv_epi64(_mm512_set1_epi64(product as i64), starts);
                _mm512_rolv_epi64(_mm512_set1_epi64(1), lane)
            }
            fn line_covers(line: __m512i, mask: __m512i) -> bool {
                _mm512_cmpneq_epi64_mask(_mm512_and_si512(line, mask), mask) == 0
            }
            fn line_or(unit: &mut [u8; 64], mask: __m512i) -> bool {
                let p = unit.as_mut_ptr().cast();
                // SAFETY: 64 bytes, readable and writable; neither access asks for alignment.
                let old = unsafe { _mm512_loadu_si512(p) };
                // SAFETY: as above.
                unsafe { _mm512_storeu_si512(p, _mm512_or_si512(old, mask)) };
                _mm512_cmpneq_epi64_mask(_mm512_and_si512(old, mask), mask) != 0
            }
            // `vpermd` takes its dword number modulo 16: bits 5 to 8 of the window.
            fn line_has(line: __m512i, product: u64, probes: u32) -> bool {
                let n = NINE.map(i32::from);
                let half = _mm256_setr_epi32(1, 1, 1, 0, 0, 0, 0, 0);
                let windows = _mm256_permutevar8x32_epi32(_mm256_set1_epi64x(product as i64), half);
                let starts = _mm256_setr_epi32(n[0] - 32, n[1] - 32, n[2] - 32, n[3], n[4], n[5], 0, 0);
                let bit = _mm256_srlv_epi32(windows, starts);
                let dword = _mm512_castsi256_si512(_mm256_srli_epi32::<5>(bit));
                let dwords = _mm512_castsi512_si256(_mm512_permutexvar_epi32(dword, line));
                let mask = _mm256_rolv_epi32(_mm256_set1_epi32(1), bit);
                let missing = _mm256_testn_epi32_mask(dwords, mask);
                missing & ((1 << probes) - 1) as u8 == 0
            }
            fn lanes_equal(line: __m512i, value: u16, mask: u16) -> u32 {
                let lanes = _mm512_and_si512(line, _mm512_set1_epi16(mask as i16));
                _mm512_cmpeq_epi16_mask(lanes, _mm512_set1_epi16(value as i16))
            }
            fn any_lane_within(a: __m512i, b: __m512i, first: u16) -> bool {
                let (first, two) = (_mm512_set1_epi16(first as i16), _mm512_set1_epi16(2));
                let within = |line: __m512i| _mm512_cmple_epu16_mask(_mm512_sub_epi16(line, first), two);
                within(a) | within(b) != 0
            }
            fn line_counts(line: __m512i, product: u64, probes: u32) -> bool {
                let want = ((1u32 << probes) - 1) as u8;
                counted(line, product) & want == want
            }
            fn counters_hit(lines: &[__m512i; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
                let want = ((1u32 << probes) - 1) as u8;
                let mut bytes = [0u8; 8];
                for j in 0..8 {
                    let hit = counted(lines[j], digests[j].0.wrapping_mul(multiplier)) & want == want;
                    bytes[j] = (hit as u8).wrapping_neg();
                }
                u64::from_le_bytes(bytes)
            }
            fn hashes(digests: &[Digest; 8]) -> __m512i {
                load(digests)
            }
            fn words(words: &[u64; 8]) -> __m512i {
                load(words)
            }
            fn store(hashes: __m512i, out: &mut [u64; 8]) {
                // SAFETY: 64 writable bytes; the store asks for no alignment.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), hashes) };
            }
            fn add(a: __m512i, b: __m512i) -> __m512i {
                _mm512_add_epi64(a, b)
            }
            fn splat(x: u64) -> __m512i {
                _mm512_set1_epi64(x as i64)
            }
            fn next_probe(h: __m512i) -> __m512i {
                let product = _mm512_mullo_epi64(h, _mm512_set1_epi64(MULTIPLIER as i64));
                _mm512_add_epi64(product, _mm512_set1_epi64(INCREMENT as i64))
            }
            fn fastrange(h: __m512i, n: u64) -> __m512i {
                multiply_high(h, n)
            }
            fn compress(keep: u8, h: __m512i) -> __m512i {
                _mm512_maskz_compress_epi64(keep, h)
            }
            fn bits(words: __m512i, at: __m512i) -> u8 {
                _mm512_test_epi64_mask(words, _mm512_rolv_epi64(_mm512_set1_epi64(1), at))
            }
            fn offsets(digests: &[Digest; 8], units: u64, shift: u32, out: &mut [u64; 8]) {
                let high = _mm512_srli_epi64::<32>(load(digests));
                let unit = _mm512_srli_epi64::<32>(_mm512_mul_epu32(high, _mm512_set1_epi64(units as i64)));
                let bytes = _mm512_sll_epi64(unit, _mm_cvtsi32_si128(shift as i32));
                // SAFETY: 64 writable bytes; the store asks for no alignment.
                unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), bytes) };
            }
            fn word_offsets(at: __m512i) -> __m512i {
                _mm512_slli_epi64::<3>(_mm512_srli_epi64::<6>(at))
            }
            // Two 32-byte blocks share one register, and one permutation brings both digests' low halves to their lanes.
            fn blocks_hit(blocks: &[__m256i; 8], digests: &[Digest; 8], salts: &[u32; 8]) -> u64 {
                // SAFETY: 32 readable bytes; the load asks for no alignment.
                let salts = _mm512_broadcast_i64x4(unsafe { _mm256_loadu_si256(salts.as_ptr().cast()) });
                let h = load(digests);
                let mut hits = 0;
                for pair in 0..4 {
                    let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(blocks[2 * pair]), blocks[2 * pair + 1]);
                    let (a, b) = (4 * pair as i32, 4 * pair as i32 + 2);
                    let lanes = _mm512_setr_epi32(a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b);
                    let bit = _mm512_srli_epi32::<27>(_mm512_mullo_epi32(salts, _mm512_permutexvar_epi32(lanes, h)));
                    let mask = _mm512_sllv_epi32(_mm512_set1_epi32(1), bit);
                    let lanes = _mm512_cmpeq_epi32_mask(_mm512_and_si512(both, mask), mask);
                    hits |= (lanes as u64) << (16 * pair);
                }
                hits
            }
            fn covered(lanes: &[u64; 8], want: u8) -> u64 {
                let want = _mm512_set1_epi8(want as i8);
                _mm512_cmpeq_epi8_mask(_mm512_and_si512(load(lanes), want), want)
            }
        }
    };
}

// SAFETY: the only constructor demands the features; the operations are tested against `Scalar`.
unsafe impl Isa for Avx512 {
    shared_ops!("avx512f,avx512bw,avx512dq,avx512vl");

    ops! { "avx512f,avx512bw,avx512dq,avx512vl";
        fn words_hit(words: &[u64; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
            let product = _mm512_mullo_epi64(load(digests), _mm512_set1_epi64(multiplier as i64));
            let words = load(words);
            let mut mask = _mm512_setzero_si512();
            for &start in SIX.iter().take(probes as usize) {
                let window = _mm512_srl_epi64(product, _mm_cvtsi32_si128(start as i32));
                mask = _mm512_or_si512(mask, _mm512_rolv_epi64(_mm512_set1_epi64(1), window));
            }
            let hit = _mm512_cmpeq_epi64_mask(_mm512_and_si512(words, mask), mask);
            let mut bytes = [0u64];
            // SAFETY: 8 writable bytes; the store asks for no alignment.
            unsafe { _mm_storeu_si64(bytes.as_mut_ptr().cast(), _mm_movm_epi8(hit as u16)) };
            bytes[0]
        }
        fn lines_hit(lines: &[__m512i; 8], digests: &[Digest; 8], multiplier: u64) -> u64 {
            let s = SIX.map(i64::from);
            let starts = _mm512_setr_epi64(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]);
            let product = _mm512_mullo_epi64(load(digests), _mm512_set1_epi64(multiplier as i64));
            let mut hits = 0;
            for (j, &line) in lines.iter().enumerate() {
                let one = _mm512_permutexvar_epi64(_mm512_set1_epi64(j as i64), product);
                let mask = _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_srlv_epi64(one, starts));
                hits |= (_mm512_cmpeq_epi64_mask(_mm512_and_si512(line, mask), mask) as u64) << (8 * j);
            }
            hits
        }
        fn probes_hit(lines: &[__m512i; 8], digests: &[Digest; 8], multiplier: u64, _probes: u32) -> u64 {
            let n = NINE.map(i32::from);
            let starts = _mm256_setr_epi32(n[0] - 32, n[1] - 32, n[2] - 32, n[3], n[4], n[5], 0, 0);
            let product = _mm512_mullo_epi64(load(digests), _mm512_set1_epi64(multiplier as i64));
            let mut hits = 0;
            for (j, &line) in lines.iter().enumerate() {
                let (low, high) = (2 * j as i32, 2 * j as i32 + 1);
                let half = _mm512_castsi256_si512(_mm256_setr_epi32(high, high, high, low, low, low, low, low));
                let windows = _mm512_castsi512_si256(_mm512_permutexvar_epi32(half, product));
                let bit = _mm256_srlv_epi32(windows, starts);
                let dword = _mm512_castsi256_si512(_mm256_srli_epi32::<5>(bit));
                let dwords = _mm512_castsi512_si256(_mm512_permutexvar_epi32(dword, line));
                let mask = _mm256_rolv_epi32(_mm256_set1_epi32(1), bit);
                hits |= (_mm256_test_epi32_mask(dwords, mask) as u64) << (8 * j);
            }
            hits
        }
    }
}

// SAFETY: the only constructor demands the features; the operations are tested against `Scalar`.
unsafe impl Isa for Avx512Vbmi {
    shared_ops!("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg");

    ops! { "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg";
        // All eight windows of each word are tested; the caller looks at as many as it wants.
        fn words_hit(words: &[u64; 8], digests: &[Digest; 8], multiplier: u64, _probes: u32) -> u64 {
            let product = _mm512_mullo_epi64(load(digests), _mm512_set1_epi64(multiplier as i64));
            let windows = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(SIX_ALL), product);
            _mm512_bitshuffle_epi64_mask(load(words), windows)
        }
        fn lines_hit(lines: &[__m512i; 8], digests: &[Digest; 8], multiplier: u64) -> u64 {
            let product = _mm512_mullo_epi64(load(digests), _mm512_set1_epi64(multiplier as i64));
            let seven = _mm512_set1_epi8(7);
            let byte = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(SIX_BYTE), product);
            // Byte 8·lane + (window >> 3) of the line: lanes | (byte & 7) in one step.
            let at = _mm512_ternarylogic_epi64::<0xf8>(_mm512_set1_epi64(LANES), byte, seven);
            let bit = _mm512_and_si512(_mm512_multishift_epi64_epi8(_mm512_set1_epi64(SIX_ALL), product), seven);
            look_up(lines, at, _mm512_shuffle_epi8(_mm512_set1_epi64(BITS), bit))
        }
        fn probes_hit(lines: &[__m512i; 8], digests: &[Digest; 8], multiplier: u64, _probes: u32) -> u64 {
            let product = _mm512_mullo_epi64(load(digests), _mm512_set1_epi64(multiplier as i64));
            // `vpermb` takes its byte number modulo 64.
            let at = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(NINE_BYTE), product);
            let bit = _mm512_multishift_epi64_epi8(_mm512_set1_epi64(NINE_BIT), product);
            let bit = _mm512_and_si512(bit, _mm512_set1_epi8(7));
            look_up(lines, at, _mm512_shuffle_epi8(_mm512_set1_epi64(BITS), bit))
        }
    }
}
