//! All k probes of a key within 128 bits: the bit filter that a blocked counting filter freezes to.

use super::{FilterKind, LayoutKind, MULTIPLIERS};
use crate::{
    dispatch::{ByCounterLine, ByUnit},
    hash::Digest,
    isa::{Isa, SEVEN},
    layout::{CounterLayout, Layout, UnitLayout},
    mem::{Memory, Shape},
    sizing::{Geometry, Model},
};

/// 128 bits a key, 1 to 8 free probes in them: a blocked counting filter, frozen.
///
/// Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007, with the block that has as many
/// positions as a cache line has 4-bit counters.
///
/// ```text
/// filter  | block | block | block | … |     the high half of the digest chooses one, by fastrange
/// block   128 bits, k free probes in it     position j: a 7-bit window of digest·multiplier
/// product |…57…50…43…36|…25…18…11…4…|       eight windows, four in each half
/// ```
///
/// **Rate.** [`Model::Block`] with 128 bits: small blocks fill unevenly. At 10 bits per key and k = 6: 1.35 %.
///
/// **When.** As what [`CountingBloom::to_bloom`](crate::CountingBloom::to_bloom) makes of a blocked counting filter: the
/// same members, never changed again, in a quarter of the memory.
///
/// **When not.** To build a bit filter from scratch: `blocked` and `split-line` have better rates at the same cost beyond
/// the caches, `split-block` and `word` are faster within them.
///
/// **Wire tag** 7.
///
/// ```
/// use bloomline::{Blocked128, Filter};
/// let mut filter = Filter::<Blocked128>::builder(1_000).bits_per_key(10.0).build()?;
/// filter.insert("key");
/// assert!(filter.contains("key"));
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Blocked128 {}

impl Layout for Blocked128 {
    const KIND: LayoutKind = LayoutKind::Blocked128;
    const MODEL: Model = Model::Block { block_bits: 128, max_k: 8 };
    type Unit = [u8; 16];
    type Walk = ByUnit;
    fn shape(g: Geometry) -> Shape {
        Shape { span: g.bits / 128, stride: 0, k: g.k }
    }
}

impl Blocked128 {
    /// The positions that a digest means in its block: the first k of them.
    #[inline(always)]
    pub(crate) fn positions(digest: Digest) -> [u64; 8] {
        let product = digest.0.wrapping_mul(MULTIPLIERS[0]);
        SEVEN.map(|start| (product >> start) & 127)
    }
}

impl UnitLayout for Blocked128 {
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(_: I, cell: &M::Cell<[u8; 16]>, digest: Digest, k: u32) -> bool {
        let words = [M::word::<[u8; 16]>(cell, 0), M::word::<[u8; 16]>(cell, 1)];
        let positions = Self::positions(digest).into_iter().take(k as usize);
        positions.fold(true, |all, at| all & (words[(at >> 6) as usize] >> (at & 63) & 1 != 0))
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(_: I, mut cell: M::CellMut<'_, [u8; 16]>, digest: Digest, k: u32) -> bool {
        let mut mask = [0; 2];
        for at in Self::positions(digest).into_iter().take(k as usize) {
            mask[(at >> 6) as usize] |= 1 << (at & 63);
        }
        M::or_word::<[u8; 16]>(&mut cell, 0, mask[0]) | M::or_word::<[u8; 16]>(&mut cell, 1, mask[1])
    }

    #[inline(always)]
    fn contains_eight<I: Isa, M: Memory>(
        isa: I,
        cells: &[&M::Cell<[u8; 16]>; 8],
        digests: &[Digest; 8],
        k: u32,
    ) -> u64 {
        let mut hits = 0;
        for j in 0..8 {
            let hit = u64::from(Self::contains::<I, M>(isa, cells[j], digests[j], k));
            hits |= if I::BITS { hit << j } else { (hit * 0xff) << (8 * j) };
        }
        hits
    }

    #[inline(always)]
    fn want(_: u32) -> u8 {
        0xff
    }
}

impl CounterLayout for Blocked128 {
    const COUNTING: FilterKind = FilterKind::BlockedCounting;
    type CounterWalk = ByCounterLine;
}
