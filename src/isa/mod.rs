//! Instruction sets: the vector operations that kernels need, one file each.
//!
//! A token such as [`Avx2`] is a value that proves that this CPU has the instruction set; only `#[target_feature]`
//! functions and run-time detection make one. Kernels are generic over [`Isa`] and `#[inline(always)]`; the wrappers in
//! `dispatch/table.rs` carry the `#[target_feature]` that makes all of it one piece of machine code.
//!
//! The operations stand at the level of "one bit in each lane" or "these probes of that line", not of single
//! instructions, since that is where instruction sets differ: what AVX-512 VBMI does with one byte permutation for eight
//! keys is eight rounds of shifting elsewhere. Every operation gives the same bits on every set; the unit tests at the
//! end of this file compare each with [`Scalar`].
#![allow(unsafe_code)]
#![allow(clippy::allow_attributes, reason = "unsafe code is re-allowed for a whole room, used or not on this target")]

use crate::{block::Line, hash::Digest};

mod scalar;
pub(crate) use scalar::Scalar;
mod portable;
pub(crate) use portable::Portable;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
pub(crate) use {
    avx2::Avx2,
    avx512::{Avx512, Avx512Vbmi},
};
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(crate) use neon::Neon;

/// Probes that one 64-bit product feeds in a line: three 9-bit windows in each half, none across the middle, so that
/// 32-bit lanes can shift them.
pub(crate) const PROBES_PER_PRODUCT: u32 = 6;

/// Bit at which each of the six 9-bit windows of a product starts.
pub(crate) const NINE: [u8; 6] = [55, 46, 37, 23, 14, 5];

/// Bit at which each of the eight 6-bit windows of a product starts.
pub(crate) const SIX: [u8; 8] = [16, 22, 28, 34, 40, 46, 52, 58];

/// Bit at which each of the eight 7-bit windows of a product starts: four in each half, none across the middle.
pub(crate) const SEVEN: [u8; 8] = [57, 50, 43, 36, 25, 18, 11, 4];

/// 1 in each 16 bits.
const LANES_16: u64 = 0x0001_0001_0001_0001;

/// The highest bit of each 16 bits that are 0, and no other bit.
#[inline(always)]
const fn zero_lanes(word: u64) -> u64 {
    const LOW: u64 = 0x7fff * LANES_16;
    !(((word & LOW) + LOW) | word | LOW)
}

/// What a kernel asks of an instruction set.
///
/// # Safety
/// A value of the type must exist only where the CPU has the instruction set, and every operation must compute what
/// [`Scalar`] computes: `offsets` in particular is trusted to stay within the units it is given.
pub unsafe trait Isa: Copy + Send + Sync + 'static {
    /// True where eight keys in one step beat eight keys one by one.
    const WIDE: bool = false;
    /// How the `…_hit` operations answer for eight keys. True: bit j of the result says whether key j may be present.
    /// False: byte j has all wanted bits then, for [`Isa::covered`] to compare 64 keys at once.
    const BITS: bool = false;
    /// True where the hashes of eight keys are worth a vector.
    const VECTOR_HASHES: bool = false;
    /// True where a whole line can be looked up at once, by permutation.
    const LOOKUP: bool = false;

    /// 256 bits: a block of eight 32-bit lanes.
    type Block: Copy;
    /// 512 bits: a line of eight 64-bit lanes.
    type Line: Copy;
    /// Eight hashes.
    type Hashes: Copy;

    /// Reads a block.
    fn block(self, unit: &[u8; 32]) -> Self::Block;
    /// A block of these little-endian words.
    fn block_from(self, words: [u64; 4]) -> Self::Block;
    /// The words of a block.
    fn block_words(self, block: Self::Block) -> [u64; 4];
    /// One bit in each 32-bit lane j: bit (low·salts[j] mod 2³²) >> 27.
    fn block_mask(self, low: u32, salts: &[u32; 8]) -> Self::Block;
    /// Whether every bit of `mask` is set in `block`.
    fn block_covers(self, block: Self::Block, mask: Self::Block) -> bool;
    /// Sets the bits of `mask`; true when any was not set before.
    fn block_or(self, unit: &mut [u8; 32], mask: Self::Block) -> bool;

    /// Reads a line.
    fn line(self, unit: &[u8; 64]) -> Self::Line;
    /// A line of these little-endian words.
    fn line_from(self, words: [u64; 8]) -> Self::Line;
    /// The words of a line.
    fn line_words(self, line: Self::Line) -> [u64; 8];
    /// One bit in each 64-bit lane j: bit (product >> SIX[j]) & 63.
    fn line_mask(self, product: u64) -> Self::Line;
    /// Whether every bit of `mask` is set in `line`.
    fn line_covers(self, line: Self::Line, mask: Self::Line) -> bool;
    /// Sets the bits of `mask`; true when any was not set before.
    fn line_or(self, unit: &mut [u8; 64], mask: Self::Line) -> bool;
    /// Whether the first `probes` (at most 6) positions (product >> NINE[j]) & 511 are set in `line`.
    /// Called only where [`Isa::LOOKUP`] is true.
    #[inline(always)]
    fn line_has(self, line: Self::Line, product: u64, probes: u32) -> bool {
        let words = self.line_words(line);
        NINE.iter().take(probes as usize).fold(true, |all, &start| {
            let at = (product >> start) & 511;
            all & (words[(at >> 6) as usize] >> (at & 63) & 1 != 0)
        })
    }

    /// Bit i: whether the bits of `mask` in the i-th 16 bits of `line` are those of `value`, which has no others.
    #[inline(always)]
    fn lanes_equal(self, line: Self::Line, value: u16, mask: u16) -> u32 {
        let words = self.line_words(line);
        let (value, mask) = (u64::from(value) * LANES_16, u64::from(mask) * LANES_16);
        let mut equal = 0;
        for (i, word) in words.iter().enumerate() {
            let lanes = zero_lanes((word & mask) ^ value) >> 15;
            // Bits 0, 16, 32 and 48 to the four lowest: no two products meet.
            let four = lanes.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48 & 15;
            equal |= (four as u32) << (4 * i);
        }
        equal
    }

    /// Whether any 16 bits of two lines are `first`, one more or two more.
    #[inline(always)]
    fn any_lane_within(self, a: Self::Line, b: Self::Line, first: u16) -> bool {
        let first = u64::from(first) * LANES_16;
        let high = 0x8000 * LANES_16;
        let mut any = 0;
        for words in [self.line_words(a), self.line_words(b)] {
            for word in words {
                // Lane by lane the difference: borrows end at the highest bit, which is put right.
                let from = ((word | high) - (first & !high)) ^ ((word ^ !first) & high);
                // 0 to 3, and not 3.
                any |= zero_lanes(from & (0xfffc * LANES_16)) & !zero_lanes(from ^ (3 * LANES_16));
            }
        }
        any != 0
    }

    /// Whether the first `probes` (at most 8) 4-bit counters (product >> SEVEN[j]) & 127 of `line` are above 0.
    /// Called only where [`Isa::LOOKUP`] is true.
    #[inline(always)]
    fn line_counts(self, line: Self::Line, product: u64, probes: u32) -> bool {
        let words = self.line_words(line);
        SEVEN.iter().take(probes as usize).fold(true, |all, &start| {
            let at = (product >> start) & 127;
            all & (words[(at >> 4) as usize] >> (at % 16 * 4) & 15 != 0)
        })
    }

    /// Whether the first `probes` (at most 8) positions (product >> SIX[j]) & 63 are set in `word`.
    #[inline(always)]
    fn word_has(self, word: u64, product: u64, probes: u32) -> bool {
        SIX.iter().take(probes as usize).fold(true, |all, &start| all & (word >> ((product >> start) & 63) & 1 != 0))
    }

    /// Eight hashes.
    fn hashes(self, digests: &[Digest; 8]) -> Self::Hashes;
    /// Eight words as hashes.
    fn words(self, words: &[u64; 8]) -> Self::Hashes;
    /// Back to memory.
    fn store(self, hashes: Self::Hashes, out: &mut [u64; 8]);
    /// Lane by lane.
    fn add(self, a: Self::Hashes, b: Self::Hashes) -> Self::Hashes;
    /// The same number in each lane.
    fn splat(self, x: u64) -> Self::Hashes;
    /// The next probe hash, as in [`crate::hash::Probes`], lane by lane.
    fn next_probe(self, h: Self::Hashes) -> Self::Hashes;
    /// `crate::hash::fastrange(h, n)`, lane by lane.
    fn fastrange(self, h: Self::Hashes, n: u64) -> Self::Hashes;
    /// The hashes whose bit in `keep` is set, moved together to the front.
    fn compress(self, keep: u8, h: Self::Hashes) -> Self::Hashes;
    /// Bit j: whether bit `at[j] & 63` of `words[j]` is set.
    fn bits(self, words: Self::Hashes, at: Self::Hashes) -> u8;
    /// Byte offsets of the units that eight digests choose among `units` (below 2³²) units of 2^`shift` bytes:
    /// ((h >> 32)·units >> 32) << shift.
    #[inline(always)]
    fn offsets(self, digests: &[Digest; 8], units: u64, shift: u32, out: &mut [u64; 8]) {
        for j in 0..8 {
            out[j] = ((digests[j].0 >> 32).wrapping_mul(units) >> 32) << shift;
        }
    }
    /// Byte offsets of the words that positions lie in: (at >> 6) << 3.
    fn word_offsets(self, at: Self::Hashes) -> Self::Hashes;

    /// The eight words, in the machine's byte order, at these byte offsets.
    ///
    /// # Safety
    /// Eight bytes are readable at each offset from `base`, and nobody writes them.
    #[inline(always)]
    unsafe fn gather(self, base: *const u8, offsets: Self::Hashes) -> Self::Hashes {
        let mut bytes = [0; 8];
        self.store(offsets, &mut bytes);
        // SAFETY: the caller's promise; the reads ask for no alignment.
        let word = |j: usize| unsafe { base.add(bytes[j] as usize).cast::<u64>().read_unaligned() };
        self.words(&core::array::from_fn(word))
    }

    /// Writes a line with `last` as its last word past the caches, where there is a way to.
    ///
    /// Such stores are weakly ordered; the thread that made them sees them in order.
    ///
    /// # Safety
    /// `to` is valid for writing a line, and aligned as one.
    #[inline(always)]
    unsafe fn stream(self, to: *mut Line, line: &Line, last: u64) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use core::arch::x86_64::*;
            let (from, to) = (line.0.as_ptr().cast::<__m128i>(), to.cast::<__m128i>());
            for i in 0..3 {
                // SAFETY: the caller's promise for `to`; a `Line` is 64 readable bytes, aligned to 64. SSE2 is baseline.
                unsafe { _mm_stream_si128(to.add(i), _mm_load_si128(from.add(i))) };
            }
            // SAFETY: as above.
            unsafe { _mm_stream_si128(to.add(3), _mm_set_epi64x(last as i64, line.0[6] as i64)) };
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        // SAFETY: the caller's promise.
        unsafe {
            let [words @ .., _] = line.0;
            to.write(Line([words[0], words[1], words[2], words[3], words[4], words[5], words[6], last]));
        }
    }

    /// Where not [`Isa::BITS`]: byte j has bit i set when position (digests[j]·multiplier >> SIX[i]) & 63 of words[j] is set. Only the low
    /// `probes` bits of each byte have a meaning.
    #[inline(always)]
    fn words_hit(self, words: &[u64; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
        let mut lanes = [0u8; 8];
        for j in 0..8 {
            let product = digests[j].0.wrapping_mul(multiplier);
            for (i, &start) in SIX.iter().enumerate().take(probes as usize) {
                lanes[j] |= ((words[j] >> ((product >> start) & 63) & 1) as u8) << i;
            }
        }
        u64::from_le_bytes(lanes)
    }
    /// Where not [`Isa::BITS`]: byte j is 0xff when block j covers the mask of digest j (its low half).
    #[inline(always)]
    fn blocks_hit(self, blocks: &[Self::Block; 8], digests: &[Digest; 8], salts: &[u32; 8]) -> u64 {
        let mut lanes = [0u8; 8];
        for j in 0..8 {
            let covers = self.block_covers(blocks[j], self.block_mask(digests[j].0 as u32, salts));
            lanes[j] = (covers as u8).wrapping_neg();
        }
        u64::from_le_bytes(lanes)
    }
    /// Where not [`Isa::BITS`]: byte j is 0xff when line j covers the mask of digest j.
    #[inline(always)]
    fn lines_hit(self, lines: &[Self::Line; 8], digests: &[Digest; 8], multiplier: u64) -> u64 {
        let mut bytes = [0u8; 8];
        for j in 0..8 {
            let covers = self.line_covers(lines[j], self.line_mask(digests[j].0.wrapping_mul(multiplier)));
            bytes[j] = (covers as u8).wrapping_neg();
        }
        u64::from_le_bytes(bytes)
    }
    /// Where not [`Isa::BITS`]: byte j has its low `probes` (1 to 6) bits set when these probes of digest j are set in line j.
    #[inline(always)]
    fn probes_hit(self, lines: &[Self::Line; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
        let mut bytes = [0u8; 8];
        for j in 0..8 {
            bytes[j] = (self.line_has(lines[j], digests[j].0.wrapping_mul(multiplier), probes) as u8).wrapping_neg();
        }
        u64::from_le_bytes(bytes)
    }
    /// Where not [`Isa::BITS`]: byte j is 0xff when the first `probes` (1 to 8) counters of digest j are above 0 in line j.
    #[inline(always)]
    fn counters_hit(self, lines: &[Self::Line; 8], digests: &[Digest; 8], multiplier: u64, probes: u32) -> u64 {
        let mut bytes = [0u8; 8];
        for j in 0..8 {
            bytes[j] = (self.line_counts(lines[j], digests[j].0.wrapping_mul(multiplier), probes) as u8).wrapping_neg();
        }
        u64::from_le_bytes(bytes)
    }
    /// Bit 8·g + j: whether byte j of `lanes[g]` has all the bits of `want`.
    #[inline(always)]
    fn covered(self, lanes: &[u64; 8], want: u8) -> u64 {
        let mut hits = 0;
        for (g, group) in lanes.iter().enumerate() {
            for (j, byte) in group.to_le_bytes().iter().enumerate() {
                hits |= ((byte & want == want) as u64) << (8 * g + j);
            }
        }
        hits
    }
}

/// Asks for the line at `p` to be brought close. A hint: any address will do.
#[inline(always)]
pub(crate) fn prefetch(p: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch never faults, whatever the address, and SSE is part of the x86-64 baseline.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(p.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: a prefetch never faults, whatever the address; it writes no register and no memory.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) p, options(nostack, readonly, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = p;
}

/// Asks for the line at `p` to be brought to the second level of cache. A hint: any address will do.
#[inline(always)]
pub(crate) fn prefetch_l2(p: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: as in `prefetch`.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T1 }>(p.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as in `prefetch`.
    unsafe {
        core::arch::asm!("prfm pldl2keep, [{}]", in(reg) p, options(nostack, readonly, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = p;
}

/// The same reference, through a register that the compiler knows nothing about: what was stored to memory is then read
/// back from memory, instead of being taken apart in registers lane by lane.
#[inline(always)]
pub(crate) fn through_memory<T>(value: &T) -> &T {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    {
        let mut p: *const T = value;
        // SAFETY: no instruction at all; the pointer comes out as it went in, so it is still that of `value`.
        unsafe {
            core::arch::asm!("/* {} */", inout(reg) p, options(nostack, preserves_flags, readonly));
            &*p
        }
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    core::hint::black_box(value)
}

/// The same number, through a register that the compiler knows nothing about: a sum kept so is not made of vectors.
#[inline(always)]
pub(crate) fn through_register(mut x: u64) -> u64 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    // SAFETY: no instruction at all.
    unsafe {
        core::arch::asm!("/* {} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    {
        x = core::hint::black_box(x);
    }
    x
}

/// Writes `fn op(self, a: A) -> R { body }` such that the body lies in a nested `#[target_feature]` function, where
/// value intrinsics are safe; the one crossing into it is justified by the token `self`.
#[allow(unused_macros, reason = "used by the instruction sets of some targets")]
macro_rules! ops {
    ($feature:literal; $($(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)? $body:block)*) => { $(
        $(#[$meta])*
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) $(-> $ret)? {
            #[inline]
            #[target_feature(enable = $feature)]
            fn op($($arg: $ty),*) $(-> $ret)? $body
            // SAFETY: `self` exists only where the CPU has these features, since only a function with the features, or
            // detection, makes one.
            unsafe { op($($arg),*) }
        }
    )* };
}
#[allow(unused_imports, reason = "used by the instruction sets of some targets")]
use ops;

/// The operations on eight hashes as plain arrays, for the sets that gain nothing from wider registers there.
macro_rules! hashes_as_arrays {
    () => {
        type Hashes = [u64; 8];
        #[inline(always)]
        fn hashes(self, digests: &[Digest; 8]) -> [u64; 8] {
            digests.map(|d| d.0)
        }
        #[inline(always)]
        fn words(self, words: &[u64; 8]) -> [u64; 8] {
            *words
        }
        #[inline(always)]
        fn store(self, hashes: [u64; 8], out: &mut [u64; 8]) {
            *out = hashes;
        }
        #[inline(always)]
        fn add(self, a: [u64; 8], b: [u64; 8]) -> [u64; 8] {
            core::array::from_fn(|j| a[j].wrapping_add(b[j]))
        }
        #[inline(always)]
        fn splat(self, x: u64) -> [u64; 8] {
            [x; 8]
        }
        #[inline(always)]
        fn next_probe(self, h: [u64; 8]) -> [u64; 8] {
            h.map(crate::hash::next_probe)
        }
        #[inline(always)]
        fn fastrange(self, h: [u64; 8], n: u64) -> [u64; 8] {
            h.map(|h| crate::hash::fastrange(h, n))
        }
        #[inline(always)]
        fn compress(self, keep: u8, h: [u64; 8]) -> [u64; 8] {
            let mut out = [0; 8];
            let mut n = 0;
            for j in 0..8 {
                out[n & 7] = h[j];
                n += (keep >> j & 1) as usize;
            }
            out
        }
        #[inline(always)]
        fn bits(self, words: [u64; 8], at: [u64; 8]) -> u8 {
            (0..8).fold(0, |bits, j| bits | ((words[j] >> (at[j] & 63) & 1) as u8) << j)
        }
        #[inline(always)]
        fn word_offsets(self, at: [u64; 8]) -> [u64; 8] {
            at.map(|at| (at >> 6) << 3)
        }
    };
}
use hashes_as_arrays;

#[cfg(test)]
mod tests;
