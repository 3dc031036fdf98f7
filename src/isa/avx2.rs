//! AVX2: Haswell (2013), Zen (2017) and later.

use super::{Isa, NINE, SEVEN, SIX, hashes_as_arrays, ops, through_memory};
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

#[inline]
#[target_feature(enable = "avx2")]
fn halves(digests: &[Digest; 8]) -> [__m256i; 2] {
    let p = digests.as_ptr();
    // SAFETY: 64 readable bytes, since a `Digest` is a word; the loads ask for no alignment.
    unsafe { [_mm256_loadu_si256(p.cast()), _mm256_loadu_si256(p.add(4).cast())] }
}

/// Eight products of 64 bits, which AVX2 makes of halves.
#[inline]
#[target_feature(enable = "avx2")]
fn products(digests: &[Digest; 8], multiplier: u64) -> [__m256i; 2] {
    let (low, high) = (_mm256_set1_epi64x(multiplier as i64), _mm256_set1_epi64x((multiplier >> 32) as i64));
    halves(digests).map(|d| {
        let crossed = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64::<32>(d), low), _mm256_mul_epu32(d, high));
        _mm256_add_epi64(_mm256_mul_epu32(d, low), _mm256_slli_epi64::<32>(crossed))
    })
}

#[inline]
#[target_feature(enable = "avx2")]
fn store(out: &mut [u64; 8], halves: [__m256i; 2]) {
    let p = out.as_mut_ptr();
    // SAFETY: 64 writable bytes; the stores ask for no alignment.
    unsafe {
        _mm256_storeu_si256(p.cast(), halves[0]);
        _mm256_storeu_si256(p.add(4).cast(), halves[1]);
    }
}

/// Bit 0 of each lane of 64 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn bits_of_qwords(lanes: __m256i) -> u8 {
    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64::<63>(lanes))) as u8
}

/// Bit 0 of each lane of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
fn bits_of_dwords(lanes: __m256i) -> u8 {
    _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32::<31>(lanes))) as u8
}

/// Bit j: whether bit 0 of all eight dwords of `hit(j)` is set, for eight keys.
#[inline]
#[target_feature(enable = "avx2")]
fn all_dwords(hit: impl Fn(usize) -> __m256i) -> u64 {
    // Two keys to a vector, then four, by dwords and by qwords.
    let two = |a: usize| {
        let (a, b) = (hit(a), hit(a + 1));
        _mm256_and_si256(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
    };
    let four = |a: usize| {
        let (a, b) = (two(a), two(a + 2));
        _mm256_and_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
    };
    let (a, b) = (four(0), four(4));
    let eight = _mm256_and_si256(_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b));
    bits_of_dwords(eight).into()
}

/// The windows of seven bits, shifted to the bottom of a product's halves as a broadcast lays them, low half first; and the
/// probe that each lane stands for.
#[inline]
#[target_feature(enable = "avx2")]
fn sevens() -> (__m256i, __m256i) {
    let n = SEVEN.map(i32::from);
    let starts = _mm256_setr_epi32(n[4], n[0] - 32, n[5], n[1] - 32, n[6], n[2] - 32, n[7], n[3] - 32);
    (starts, _mm256_setr_epi32(4, 0, 5, 1, 6, 2, 7, 3))
}

/// The counters that the eight windows of a product choose in a line, one to a lane: the dword that a counter lies in comes
/// by permutation of both halves of the line.
#[inline]
#[target_feature(enable = "avx2")]
fn counters(line: [__m256i; 2], product: u64, starts: __m256i) -> __m256i {
    let at = _mm256_srlv_epi32(_mm256_set1_epi64x(product as i64), starts);
    let dword = _mm256_srli_epi32::<3>(at);
    let low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(line[0], dword));
    let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(line[1], dword));
    let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<25>(at));
    let dwords = _mm256_castps_si256(_mm256_blendv_ps(low, high, upper));
    let bit = _mm256_and_si256(_mm256_slli_epi32::<2>(at), _mm256_set1_epi32(28));
    _mm256_and_si256(_mm256_srlv_epi32(dwords, bit), _mm256_set1_epi32(15))
}

// SAFETY: the only constructor demands AVX2; the operations are tested against `Scalar`.
unsafe impl Isa for Avx2 {
    const WIDE: bool = true;
    const BITS: bool = true;
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
        fn word_has(word: u64, product: u64, probes: u32) -> bool {
            let s = SIX.map(i64::from);
            let starts = [_mm256_setr_epi64x(s[0], s[1], s[2], s[3]), _mm256_setr_epi64x(s[4], s[5], s[6], s[7])];
            let (word, product) = (_mm256_set1_epi64x(word as i64), _mm256_set1_epi64x(product as i64));
            let [low, high] = starts.map(|starts| {
                let at = _mm256_and_si256(_mm256_srlv_epi64(product, starts), _mm256_set1_epi64x(63));
                bits_of_qwords(_mm256_srlv_epi64(word, at)) as u32
            });
            let want = (1u32 << probes) - 1;
            (low | high << 4) & want == want
        }
        fn offsets(digests: &[Digest; 8], units: u64, shift: u32, out: &mut [u64; 8]) {
            let (units, within) = (_mm256_set1_epi64x(units as i64), _mm256_set1_epi64x((1i64 << shift) - 1));
            let down = _mm_cvtsi32_si128(32 - shift as i32);
            let offsets = halves(digests).map(|d| {
                let scaled = _mm256_mul_epu32(_mm256_srli_epi64::<32>(d), units);
                _mm256_andnot_si256(within, _mm256_srl_epi64(scaled, down))
            });
            store(out, offsets);
        }
        // Each probe is shifted down to bit 0 of its lane, where one AND after the other meets all probes of a key.
        fn words_hit(words: &[u64; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
            let w = words.map(|word| word as i64);
            let words = [_mm256_setr_epi64x(w[0], w[1], w[2], w[3]), _mm256_setr_epi64x(w[4], w[5], w[6], w[7])];
            let products = products(digests, multiplier);
            let mut hit = [_mm256_set1_epi64x(1); 2];
            for &start in SIX.iter().take(probes as usize) {
                for half in 0..2 {
                    let at = _mm256_srl_epi64(products[half], _mm_cvtsi32_si128(start.into()));
                    let at = _mm256_and_si256(at, _mm256_set1_epi64x(63));
                    hit[half] = _mm256_and_si256(hit[half], _mm256_srlv_epi64(words[half], at));
                }
            }
            (bits_of_qwords(hit[0]) | bits_of_qwords(hit[1]) << 4).into()
        }
        fn blocks_hit(blocks: &[__m256i; 8], digests: &[Digest; 8], salts: &[u32; 8]) -> u64 {
            // SAFETY: 32 readable bytes; the load asks for no alignment.
            let salts = unsafe { _mm256_loadu_si256(salts.as_ptr().cast()) };
            let hit = |j: usize| {
                let at = _mm256_srli_epi32::<27>(_mm256_mullo_epi32(salts, _mm256_set1_epi32(digests[j].0 as i32)));
                _mm256_srlv_epi32(blocks[j], at)
            };
            all_dwords(hit)
        }
        fn lines_hit(lines: &[[__m256i; 2]; 8], digests: &[Digest; 8], multiplier: u64) -> u64 {
            let s = SIX.map(i64::from);
            let starts = [_mm256_setr_epi64x(s[0], s[1], s[2], s[3]), _mm256_setr_epi64x(s[4], s[5], s[6], s[7])];
            let mut products = [0; 8];
            store(&mut products, self::products(digests, multiplier));
            let products = through_memory(&products);
            let hit = |j: usize| {
                let product = _mm256_set1_epi64x(products[j] as i64);
                let hit = [0, 1].map(|half| {
                    let at = _mm256_and_si256(_mm256_srlv_epi64(product, starts[half]), _mm256_set1_epi64x(63));
                    _mm256_srlv_epi64(lines[j][half], at)
                });
                _mm256_and_si256(hit[0], hit[1])
            };
            // Two keys to a vector, then four.
            let two = |a: usize| {
                let (a, b) = (hit(a), hit(a + 1));
                _mm256_and_si256(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
            };
            let four = |a: usize, b: usize| {
                let (a, b) = (two(a), two(b));
                _mm256_and_si256(_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b))
            };
            // Keys 0, 1 | 4, 5 and 2, 3 | 6, 7: their low halves lie in order.
            let (a, b) = (_mm256_castsi256_ps(four(0, 4)), _mm256_castsi256_ps(four(2, 6)));
            bits_of_dwords(_mm256_castps_si256(_mm256_shuffle_ps::<0b10_00_10_00>(a, b))).into()
        }
        // As in `line_has`, but the halves of a product alternate in the lanes, as a broadcast lays them.
        fn probes_hit(lines: &[[__m256i; 2]; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
            let n = NINE.map(i32::from);
            let starts = _mm256_setr_epi32(n[3], n[0] - 32, n[4], n[1] - 32, n[5], n[2] - 32, 0, 0);
            let probe = _mm256_setr_epi32(3, 0, 4, 1, 5, 2, 6, 6);
            let unused = _mm256_cmpgt_epi32(probe, _mm256_set1_epi32(probes as i32 - 1));
            let mut products = [0; 8];
            store(&mut products, self::products(digests, multiplier));
            let products = through_memory(&products);
            all_dwords(|j| {
                let at = _mm256_srlv_epi32(_mm256_set1_epi64x(products[j] as i64), starts);
                let dword = _mm256_srli_epi32::<5>(at);
                let low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lines[j][0], dword));
                let high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lines[j][1], dword));
                let upper = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(at));
                let dwords = _mm256_castps_si256(_mm256_blendv_ps(low, high, upper));
                let bit = _mm256_and_si256(at, _mm256_set1_epi32(31));
                _mm256_or_si256(_mm256_srlv_epi32(dwords, bit), unused)
            })
        }
        fn lanes_equal(line: [__m256i; 2], value: u16, mask: u16) -> u32 {
            let (value, mask) = (_mm256_set1_epi16(value as i16), _mm256_set1_epi16(mask as i16));
            let [low, high] = line.map(|half| _mm256_cmpeq_epi16(_mm256_and_si256(half, mask), value));
            // Packing takes quarters by turns: low, high, low, high.
            let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
            _mm256_movemask_epi8(bytes) as u32
        }
        fn any_lane_within(a: [__m256i; 2], b: [__m256i; 2], first: u16) -> bool {
            let (first, two) = (_mm256_set1_epi16(first as i16), _mm256_set1_epi16(2));
            let within = |half: __m256i| {
                let from = _mm256_sub_epi16(half, first);
                _mm256_cmpeq_epi16(_mm256_min_epu16(from, two), from)
            };
            let any = _mm256_or_si256(
                _mm256_or_si256(within(a[0]), within(a[1])),
                _mm256_or_si256(within(b[0]), within(b[1])),
            );
            _mm256_testz_si256(any, any) == 0
        }
        fn line_counts(line: [__m256i; 2], product: u64, probes: u32) -> bool {
            let (starts, probe) = sevens();
            let used = _mm256_cmpgt_epi32(_mm256_set1_epi32(probes as i32), probe);
            let empty = _mm256_cmpeq_epi32(counters(line, product, starts), _mm256_setzero_si256());
            _mm256_testz_si256(empty, used) != 0
        }
        fn counters_hit(lines: &[[__m256i; 2]; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
            let (starts, probe) = sevens();
            let unused = _mm256_cmpgt_epi32(probe, _mm256_set1_epi32(probes as i32 - 1));
            let mut products = [0; 8];
            store(&mut products, self::products(digests, multiplier));
            let products = through_memory(&products);
            all_dwords(|j| {
                let hit = _mm256_cmpgt_epi32(counters(lines[j], products[j], starts), _mm256_setzero_si256());
                _mm256_or_si256(hit, unused)
            })
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
