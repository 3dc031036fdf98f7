//! Every operation of every instruction set against the scalar one, on random and on extreme operands.

use super::*;
use crate::hash::mix;

const SALTS: [u32; 8] =
    [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];
const ROUNDS: u64 = if cfg!(miri) { 8 } else { 3_000 };

/// Words that are dense, sparse, empty and full by turns, so that hits and misses both happen.
fn word(seed: u64) -> u64 {
    let (a, b, c) = (mix(seed), mix(seed ^ 0x55), mix(seed ^ 0xaa));
    match seed % 7 {
        0 => a | b,
        1 => a | b | c,
        2 => a & b,
        3 => u64::MAX,
        4 => 0,
        5 => u64::MAX ^ (1 << (a & 63)),
        _ => a,
    }
}

fn words<const N: usize>(seed: u64) -> [u64; N] {
    core::array::from_fn(|i| word(seed.wrapping_mul(31).wrapping_add(i as u64)))
}

fn bytes<const N: usize, const W: usize>(words: [u64; W]) -> [u8; N] {
    let mut out = [0; N];
    for (o, w) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *o = w.to_le_bytes();
    }
    out
}

fn same_as_scalar<I: Isa>(isa: I) {
    for seed in 0..ROUNDS {
        let h = mix(seed ^ 0x1234);
        let digests: [Digest; 8] = core::array::from_fn(|j| Digest(mix(seed * 8 + j as u64)));
        let raw = digests.map(|d| d.0);

        // Blocks.
        let block: [u64; 4] = words(seed);
        let unit: [u8; 32] = bytes(block);
        let mask = Scalar.block_mask(h as u32, &SALTS);
        assert_eq!(isa.block_words(isa.block_mask(h as u32, &SALTS)), mask);
        assert_eq!(isa.block_words(isa.block(&unit)), block);
        assert_eq!(isa.block_words(isa.block_from(block)), block);
        for filled in [block, core::array::from_fn(|i| block[i] | mask[i]), [u64::MAX; 4]] {
            let covers = isa.block_covers(isa.block_from(filled), isa.block_from(mask));
            assert_eq!(covers, Scalar.block_covers(filled, mask));
            let (mut ours, mut theirs): ([u8; 32], [u8; 32]) = (bytes(filled), bytes(filled));
            assert_eq!(isa.block_or(&mut ours, isa.block_from(mask)), Scalar.block_or(&mut theirs, mask));
            assert_eq!(ours, theirs);
        }

        // Lines.
        let line: [u64; 8] = words(seed);
        let unit: [u8; 64] = bytes(line);
        let mask = Scalar.line_mask(h);
        assert_eq!(isa.line_words(isa.line_mask(h)), mask);
        assert_eq!(isa.line_words(isa.line(&unit)), line);
        assert_eq!(isa.line_words(isa.line_from(line)), line);
        for filled in [line, core::array::from_fn(|i| line[i] | mask[i]), [u64::MAX; 8]] {
            let covers = isa.line_covers(isa.line_from(filled), isa.line_from(mask));
            assert_eq!(covers, Scalar.line_covers(filled, mask));
            let (mut ours, mut theirs): ([u8; 64], [u8; 64]) = (bytes(filled), bytes(filled));
            assert_eq!(isa.line_or(&mut ours, isa.line_from(mask)), Scalar.line_or(&mut theirs, mask));
            assert_eq!(ours, theirs);
        }
        let other: [u64; 8] = words(seed ^ 0x77);
        // The scalar ones work on four lanes at a time: against lane by lane.
        let lanes = |words: [u64; 8]| words.into_iter().flat_map(|word| [0, 16, 32, 48].map(|at| (word >> at) as u16));
        for value in [line[2] as u16, 0, 2, 3, 0xffff] {
            let within = lanes(line).chain(lanes(other)).any(|lane| lane.wrapping_sub(value) <= 2);
            assert_eq!(Scalar.any_lane_within(line, other, value), within);
            let equal = lanes(line)
                .enumerate()
                .fold(0, |bits, (i, lane)| bits | u32::from(lane & 0xfffc == value & 0xfffc) << i);
            assert_eq!(Scalar.lanes_equal(line, value & 0xfffc, 0xfffc), equal);
        }
        for first in [line[0] as u16, (other[7] >> 48) as u16, 0, 1, 0xfffe, h as u16]
            .map(|first| first.wrapping_sub(h as u16 & 3))
        {
            let ours = isa.any_lane_within(isa.line_from(line), isa.line_from(other), first);
            assert_eq!(ours, Scalar.any_lane_within(line, other, first));
        }
        for mask in [0xffff, 0xfffc, 3, 0] {
            for value in [line[0] as u16, (line[5] >> 48) as u16, 0, 3, h as u16] {
                let value = value & mask;
                let ours = isa.lanes_equal(isa.line_from(line), value, mask);
                assert_eq!(ours, Scalar.lanes_equal(line, value, mask));
            }
        }
        for probes in 1..=8 {
            assert_eq!(isa.line_counts(isa.line_from(line), h, probes), Scalar.line_counts(line, h, probes));
        }
        for probes in 1..=6 {
            assert_eq!(isa.line_has(isa.line_from(line), h, probes), Scalar.line_has(line, h, probes));
        }

        // Eight hashes.
        let (v, w) = (isa.hashes(&digests), isa.words(&line));
        let out = |v| {
            let mut out = [0; 8];
            isa.store(v, &mut out);
            out
        };
        assert_eq!(out(v), raw);
        assert_eq!(out(w), line);
        assert_eq!(out(isa.splat(h)), [h; 8]);
        assert_eq!(out(isa.add(v, w)), Scalar.add(raw, line));
        assert_eq!(out(isa.next_probe(v)), Scalar.next_probe(raw));
        for n in [1, 2, 1_000_003, u32::MAX as u64, 1 << 32, (1 << 40) + 12_345, u64::MAX, h, h >> 20] {
            assert_eq!(out(isa.fastrange(v, n)), Scalar.fastrange(raw, n), "{n}");
            assert_eq!(out(isa.fastrange(isa.splat(u64::MAX), n)), [n - 1; 8], "{n}");
        }
        let keep = h as u8;
        let n = keep.count_ones() as usize;
        assert_eq!(out(isa.compress(keep, v))[..n], Scalar.compress(keep, raw)[..n]);
        assert_eq!(isa.bits(w, v), Scalar.bits(line, raw));
        let (mut ours, mut theirs) = ([0; 8], [0; 8]);
        for (units, shift) in [(1, 3), (7, 5), (1 << 20, 6), ((1 << 32) - 1, 6), (h >> 32, 3)] {
            isa.offsets(&digests, units, shift, &mut ours);
            Scalar.offsets(&digests, units, shift, &mut theirs);
            assert_eq!(ours, theirs);
            assert!(ours.iter().all(|&o| o >> shift < units.max(1)));
        }
        assert_eq!(out(isa.word_offsets(v)), Scalar.word_offsets(raw));
        let offsets = core::array::from_fn(|j| raw[j] % 57);
        // SAFETY: 57 offsets of eight bytes in 64.
        let (ours, theirs) =
            unsafe { (isa.gather(unit.as_ptr(), isa.words(&offsets)), Scalar.gather(unit.as_ptr(), offsets)) };
        assert_eq!(out(ours), theirs);

        // Eight keys: which of them hit all their probes.
        let multiplier = mix(seed) | 1;
        for probes in 1..=8 {
            assert_eq!(isa.word_has(line[0], raw[1], probes), Scalar.word_has(line[0], raw[1], probes));
            let want = ((1u16 << probes) - 1) as u8;
            let hits = |lanes: u64| Scalar.covered(&[lanes; 8], want);
            let ours = |lanes: u64| if I::BITS { lanes } else { hits(lanes) & 0xff };
            let theirs = 0xff & hits(Scalar.words_hit(&line, &digests, multiplier, probes));
            assert_eq!(ours(isa.words_hit(&line, &digests, multiplier, probes)), theirs);
            if probes <= 6 {
                let lines: [[u64; 8]; 8] = core::array::from_fn(|j| words(seed + j as u64));
                let theirs = 0xff & hits(Scalar.probes_hit(&lines, &digests, multiplier, probes));
                assert_eq!(
                    ours(isa.probes_hit(&lines.map(|l| isa.line_from(l)), &digests, multiplier, probes)),
                    theirs
                );
            }
        }
        // Dense lines, or few keys would hit.
        let counted: [[u64; 8]; 8] = core::array::from_fn(|j| words::<8>(seed + j as u64).map(|w| w | mix(w ^ 3)));
        for probes in 1..=8 {
            let hits = |lanes: u64| Scalar.covered(&[lanes; 8], 0xff) & 0xff;
            let ours = |lanes: u64| if I::BITS { lanes } else { hits(lanes) };
            let theirs = hits(Scalar.counters_hit(&counted, &digests, multiplier, probes));
            let lines = counted.map(|l| isa.line_from(l));
            assert_eq!(ours(isa.counters_hit(&lines, &digests, multiplier, probes)), theirs);
        }
        let blocks: [[u64; 4]; 8] = core::array::from_fn(|j| {
            let (mask, noise): (_, [u64; 4]) = (Scalar.block_mask(raw[j] as u32, &SALTS), words(seed + j as u64));
            core::array::from_fn(|i| noise[i] | if h >> j & 1 != 0 { mask[i] } else { 0 })
        });
        let hits = |lanes: u64| Scalar.covered(&[lanes; 8], 0xff) & 0xff;
        let ours = |lanes: u64| if I::BITS { lanes } else { hits(lanes) };
        let theirs = hits(Scalar.blocks_hit(&blocks, &digests, &SALTS));
        assert_eq!(ours(isa.blocks_hit(&blocks.map(|b| isa.block_from(b)), &digests, &SALTS)), theirs);
        let lines: [[u64; 8]; 8] = core::array::from_fn(|j| {
            let mask = Scalar.line_mask(raw[j].wrapping_mul(multiplier));
            let noise: [u64; 8] = words(seed + j as u64);
            core::array::from_fn(|i| noise[i] | if h >> j & 1 != 0 { mask[i] } else { 0 })
        });
        let theirs = hits(Scalar.lines_hit(&lines, &digests, multiplier));
        assert_eq!(ours(isa.lines_hit(&lines.map(|l| isa.line_from(l)), &digests, multiplier)), theirs);
        let lanes: [u64; 8] = words(seed ^ 99);
        for want in [0xff, 0x3f, 1, 0] {
            assert_eq!(isa.covered(&lanes, want), Scalar.covered(&lanes, want));
        }
    }
}

#[test]
fn scalar_looks_up_what_it_marks() {
    // The reference itself, against a bit-by-bit reading of the definitions.
    for seed in 0..ROUNDS {
        let (h, line) = (mix(seed), words::<8>(seed));
        let set = |at: u64| line[(at / 64) as usize] >> (at % 64) & 1 != 0;
        for probes in 1..=6u32 {
            let all = NINE[..probes as usize].iter().all(|&s| set((h >> s) % 512));
            assert_eq!(Scalar.line_has(line, h, probes), all);
        }
        let mask = Scalar.line_mask(h);
        for (lane, &start) in SIX.iter().enumerate() {
            assert_eq!(mask[lane], 1 << ((h >> start) % 64));
        }
        let mask = Scalar.block_mask(h as u32, &SALTS);
        for (lane, &salt) in SALTS.iter().enumerate() {
            let bit = ((h as u32).wrapping_mul(salt)) / (1 << 27);
            assert_eq!((mask[lane / 2] >> (32 * (lane % 2))) as u32, 1 << bit);
        }
    }
}

#[test]
fn portable() {
    same_as_scalar(Portable);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx2() {
    if crate::dispatch::Level::Avx2.is_available() {
        // SAFETY: detected.
        same_as_scalar(unsafe { Avx2::here() });
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn avx512() {
    use crate::dispatch::Level;
    if Level::Avx512.is_available() {
        // SAFETY: detected.
        same_as_scalar(unsafe { Avx512::here() });
    }
    if Level::Avx512Vbmi.is_available() {
        // SAFETY: detected.
        same_as_scalar(unsafe { Avx512Vbmi::here() });
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[test]
fn neon() {
    // SAFETY: every AArch64 CPU that Rust's Linux targets run on has NEON.
    same_as_scalar(unsafe { Neon::here() });
}
