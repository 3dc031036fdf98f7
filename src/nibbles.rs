//! Arithmetic on sixteen 4-bit counters in a word: counter i is bits 4·i to 4·i + 3.
//!
//! A counter that reaches 15 is stuck: it stays there whatever is raised or lowered, since nobody knows any more how many
//! keys it stands for.

/// The lowest bit of each counter.
const ONES: u64 = 0x1111_1111_1111_1111;

/// Bit 4·i: counter i is not 0.
#[inline(always)]
pub(crate) const fn nonzero(word: u64) -> u64 {
    let pairs = word | word >> 1;
    (pairs | pairs >> 2) & ONES
}

/// Bit 4·i: counter i is stuck.
#[inline(always)]
pub(crate) const fn stuck(word: u64) -> u64 {
    let pairs = word & word >> 1;
    pairs & pairs >> 2 & ONES
}

/// Each counter whose bit 4·i is set in `ones`, one higher, unless it is stuck.
#[inline(always)]
pub(crate) const fn raise(word: u64, ones: u64) -> u64 {
    word + (ones & !stuck(word))
}

/// Each counter whose bit 4·i is set in `ones`, one lower, unless it is stuck. `None` when any of them is 0.
#[inline(always)]
pub(crate) const fn lower(word: u64, ones: u64) -> Option<u64> {
    if ones & !nonzero(word) != 0 {
        return None;
    }
    Some(word - (ones & !stuck(word)))
}

/// Counter by counter the sum, or 15.
#[inline(always)]
pub(crate) const fn add(a: u64, b: u64) -> u64 {
    const EVEN: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    /// Counters of 4 bits with 4 more above each.
    #[inline(always)]
    const fn spread(a: u64, b: u64) -> u64 {
        let sum = a + b;
        // The carry is bit 4 of each byte; 15 times it fills the counter.
        let carry = sum >> 4 & 0x0101_0101_0101_0101;
        (sum | (carry * 15)) & EVEN
    }
    spread(a & EVEN, b & EVEN) | spread(a >> 4 & EVEN, b >> 4 & EVEN) << 4
}

/// Bit i of 16: counter i is not 0.
#[inline(always)]
pub(crate) const fn occupied(word: u64) -> u64 {
    let x = nonzero(word);
    let x = (x | x >> 3) & 0x0303_0303_0303_0303;
    let x = (x | x >> 6) & 0x000f_000f_000f_000f;
    let x = (x | x >> 12) & 0x0000_00ff_0000_00ff;
    (x | x >> 24) & 0xffff
}

/// [`occupied`] of all words.
#[inline(always)]
pub(crate) fn occupied_bits(words: &[u64; 64], bits: &mut [u64; 16]) {
    let mut sixteens = [0; 64];
    for (sixteen, &word) in sixteens.iter_mut().zip(words) {
        *sixteen = occupied(word);
    }
    for (bits, four) in bits.iter_mut().zip(sixteens.as_chunks::<4>().0) {
        *bits = four[0] | four[1] << 16 | four[2] << 32 | four[3] << 48;
    }
}

/// Adds to `counts[v]` how many counters are v, for all words.
#[inline(always)]
pub(crate) fn histogram(words: &[u64; 64], counts: &mut [u64; 16]) {
    // Words that lie beside each other are counted together, in bytes: 16 at most for each pair of counters.
    let mut seen = [[0u8; 64]; 16];
    for eight in words.as_chunks::<8>().0 {
        let mut bytes = [0; 64];
        for (byte, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(eight) {
            *byte = word.to_le_bytes();
        }
        for (v, seen) in (0u8..).zip(&mut seen) {
            for (seen, byte) in seen.iter_mut().zip(&bytes) {
                *seen += (byte & 15 == v) as u8 + (byte >> 4 == v) as u8;
            }
        }
    }
    for (count, seen) in counts.iter_mut().zip(&seen) {
        *count += seen.iter().map(|&n| n as u64).sum::<u64>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    fn counters(word: u64) -> [u64; 16] {
        core::array::from_fn(|i| word >> (4 * i) & 15)
    }

    fn word(counters: [u64; 16]) -> u64 {
        counters.iter().rev().fold(0, |word, counter| word << 4 | counter)
    }

    #[test]
    fn as_counter_by_counter() {
        for seed in 0..if cfg!(miri) { 50 } else { 5_000 } {
            // Dense words have stuck counters, sparse ones zeros.
            let (a, b) = (mix(seed), mix(seed ^ 77));
            let full = [a | b, a & b, a, 0, u64::MAX][seed as usize % 5];
            let (old, ones) = (counters(full), mix(seed ^ 99) & ONES);
            let bit = |i: usize| ones >> (4 * i) & 1;
            assert_eq!(nonzero(full), word(old.map(|c| (c > 0) as u64)));
            assert_eq!(stuck(full), word(old.map(|c| (c == 15) as u64)));
            let raised = core::array::from_fn(|i| (old[i] + bit(i)).min(15));
            assert_eq!(raise(full, ones), word(raised));
            let lowered = core::array::from_fn(|i| if old[i] == 15 { 15 } else { old[i].wrapping_sub(bit(i)) });
            let possible = (0..16).all(|i| old[i] >= bit(i));
            assert_eq!(lower(full, ones), possible.then(|| word(lowered)));
            let other = counters(b);
            assert_eq!(add(full, b), word(core::array::from_fn(|i| (old[i] + other[i]).min(15))));
            assert_eq!(occupied(full), (0..16).fold(0, |bits, i| bits | ((old[i] > 0) as u64) << i));
        }
        let words = core::array::from_fn(|i| mix(i as u64) & mix(i as u64 ^ 5));
        let mut counts = [1; 16];
        histogram(&words, &mut counts);
        let mut expected = [1; 16];
        words.iter().flat_map(|&word| counters(word)).for_each(|c| expected[c as usize] += 1);
        assert_eq!(counts, expected);
    }
}
