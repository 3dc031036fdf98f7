//! The split-line Bloom filter: a 64-byte cache line of eight 64-bit lanes, one bit in each.

use super::{LayoutKind, MULTIPLIERS};
use crate::{
    block::LINE_BITS,
    dispatch::ByUnit,
    hash::Digest,
    isa::Isa,
    layout::{Layout, UnitLayout},
    mem::{Memory, Shape},
    sizing::{Geometry, Model},
};

/// Eight bits in one cache line, one in each 64-bit lane.
///
/// The split block of Putze, Sanders and Singler 2007 at twice the width.
///
/// ```text
/// filter  | line | line | line | … |        the high half of the digest chooses one, by fastrange
/// line    |lane 0|lane 1|…|lane 7|           64 bits each
/// lane j  bit (digest·multiplier >> (16 + 6j)) & 63
/// ```
///
/// **Rate.** Σ_i Bin(i; n, 1/z)·(1 − (1 − 1/64)^i)⁸: [`Model::Lanes`]. At 10 bits per key 1.05 %, at 16 0.091 %. A key's
/// eight bits are distinct.
///
/// **When.** From L2 outwards, where a line costs what half of one costs and the better rate is free. Its masks are
/// vectors on every instruction set, `blocked`'s are not.
///
/// **When not.** Far from 8 probes: below 7 or above 20 bits per key `blocked` has the better k.
///
/// **Wire tag** 5.
///
/// ```
/// use bloomline::{Filter, SplitLine};
/// let mut filter = Filter::<SplitLine>::builder(1_000).fpr(0.01).build()?;
/// filter.insert("key");
/// assert!(filter.contains("key"));
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum SplitLine {}

impl Layout for SplitLine {
    const KIND: LayoutKind = LayoutKind::SplitLine;
    const MODEL: Model = Model::Lanes { lanes: 8, lane_bits: 64 };
    type Unit = [u8; 64];
    type Walk = ByUnit;
    fn shape(g: Geometry) -> Shape {
        Shape { span: g.bits / LINE_BITS as u64, stride: 0, k: g.k }
    }
}

impl UnitLayout for SplitLine {
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(isa: I, cell: &M::Cell<[u8; 64]>, digest: Digest, _: u32) -> bool {
        isa.line_covers(M::line(isa, cell), isa.line_mask(digest.0.wrapping_mul(MULTIPLIERS[0])))
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(isa: I, cell: M::CellMut<'_, [u8; 64]>, digest: Digest, _: u32) -> bool {
        M::or_line(isa, cell, isa.line_mask(digest.0.wrapping_mul(MULTIPLIERS[0])))
    }

    #[inline(always)]
    fn contains_eight<I: Isa, M: Memory>(
        isa: I,
        cells: &[&M::Cell<[u8; 64]>; 8],
        digests: &[Digest; 8],
        _: u32,
    ) -> u64 {
        let mut lines = [M::line(isa, cells[0]); 8];
        for j in 1..8 {
            lines[j] = M::line(isa, cells[j]);
        }
        isa.lines_hit(&lines, digests, MULTIPLIERS[0])
    }

    #[inline(always)]
    fn want(_: u32) -> u8 {
        0xff
    }
}
