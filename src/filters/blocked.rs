//! The blocked Bloom filter: all k probes of a key within one 64-byte cache line.

use super::{LayoutKind, MULTIPLIERS};
use crate::{
    block::LINE_BITS,
    dispatch::ByUnit,
    hash::Digest,
    isa::{Isa, NINE, PROBES_PER_PRODUCT},
    layout::{Layout, UnitLayout},
    mem::{Memory, Shape},
    sizing::{Geometry, Model},
};

/// One cache line a key, 1 to 16 free probes in it.
///
/// Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007.
///
/// ```text
/// filter  | line | line | line | … |        the high half of the digest chooses one, by fastrange
/// line    512 bits, k free probes in it      position j: a 9-bit window of digest·multiplier
/// product |…55…46…37|…23…14…5…|              six windows to a product, three in each half
/// ```
///
/// **Rate.** Lines fill unevenly, and the probes of one key may coincide: the expectation over both is
/// [`Model::Block`] with 512 bits. At 10 bits per key and k = 6: 0.966 %; at 16 and k = 9: 0.084 %.
///
/// **When.** The best rate of the layouts that touch one line; the one to take beyond the caches.
///
/// **When not.** In L1, where `split-block` takes fewer instructions; under a tight memory budget (`classic` needs 3 %
/// fewer bits at 1 %, 8 % fewer at 0.1 %, 13 % fewer at 0.01 %).
///
/// **Wire tag** 3.
///
/// ```
/// use bloomline::{Blocked, Filter};
/// let mut filter = Filter::<Blocked>::builder(1_000).bits_per_key(12.0).build()?;
/// filter.insert("key");
/// assert!(filter.contains("key"));
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Blocked {}

impl Layout for Blocked {
    const KIND: LayoutKind = LayoutKind::Blocked;
    const MODEL: Model = Model::Block { block_bits: LINE_BITS, max_k: 16 };
    type Unit = [u8; 64];
    type Walk = ByUnit;
    fn shape(g: Geometry) -> Shape {
        Shape { span: g.bits / LINE_BITS as u64, stride: 0, k: g.k }
    }
}

/// The six positions of one product.
#[inline(always)]
fn positions(product: u64) -> [u64; 6] {
    NINE.map(|start| (product >> start) & (LINE_BITS as u64 - 1))
}

impl UnitLayout for Blocked {
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(isa: I, cell: &M::Cell<[u8; 64]>, digest: Digest, k: u32) -> bool {
        let (mut hit, mut left) = (true, k);
        if I::LOOKUP {
            let line = M::line(isa, cell);
            for multiplier in MULTIPLIERS {
                hit &= isa.line_has(line, digest.0.wrapping_mul(multiplier), left.min(PROBES_PER_PRODUCT));
                left = left.saturating_sub(PROBES_PER_PRODUCT);
                if left == 0 {
                    break;
                }
            }
            return hit;
        }
        for multiplier in MULTIPLIERS {
            for at in positions(digest.0.wrapping_mul(multiplier)).into_iter().take(left as usize) {
                hit &= M::word::<[u8; 64]>(cell, (at >> 6) as usize) >> (at & 63) & 1 != 0;
            }
            left = left.saturating_sub(PROBES_PER_PRODUCT);
            if left == 0 {
                break;
            }
        }
        hit
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(_: I, mut cell: M::CellMut<'_, [u8; 64]>, digest: Digest, k: u32) -> bool {
        let (mut changed, mut left) = (false, k);
        for multiplier in MULTIPLIERS {
            for at in positions(digest.0.wrapping_mul(multiplier)).into_iter().take(left as usize) {
                changed |= M::or_word::<[u8; 64]>(&mut cell, (at >> 6) as usize, 1 << (at & 63));
            }
            left = left.saturating_sub(PROBES_PER_PRODUCT);
            if left == 0 {
                break;
            }
        }
        changed
    }

    /// The lanes of all products together: a byte keeps its six bits when every product has its probes set.
    #[inline(always)]
    fn contains_eight<I: Isa, M: Memory>(
        isa: I,
        cells: &[&M::Cell<[u8; 64]>; 8],
        digests: &[Digest; 8],
        k: u32,
    ) -> u64 {
        let mut lines = [M::line(isa, cells[0]); 8];
        for j in 1..8 {
            lines[j] = M::line(isa, cells[j]);
        }
        let mut lanes = isa.probes_hit(&lines, digests, MULTIPLIERS[0], k.min(PROBES_PER_PRODUCT));
        let mut left = k.saturating_sub(PROBES_PER_PRODUCT);
        for &multiplier in &MULTIPLIERS[1..] {
            if left == 0 {
                break;
            }
            let probes = left.min(PROBES_PER_PRODUCT);
            let unused = if I::BITS { 0 } else { u64::from_le_bytes([!Self::want(probes); 8]) };
            lanes &= isa.probes_hit(&lines, digests, multiplier, probes) | unused;
            left -= probes;
        }
        lanes
    }

    #[inline(always)]
    fn want(k: u32) -> u8 {
        ((1u32 << k.min(PROBES_PER_PRODUCT)) - 1) as u8
    }
}
