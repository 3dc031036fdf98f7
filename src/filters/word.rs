//! The word filter: one 64-bit word a key, k bits in it.

use super::{LayoutKind, MULTIPLIERS};
use crate::{
    dispatch::ByUnit,
    hash::Digest,
    isa::{Isa, SIX},
    layout::{Layout, UnitLayout},
    mem::{Memory, Shape},
    sizing::{Geometry, Model},
};

/// 1 to 8 bits in one 64-bit word.
///
/// The register-blocked filter of Lang, Neumann, Kemper and Boncz, "Performance-Optimal Filtering: Bloom Overtakes
/// Cuckoo at High Throughput", 2019.
///
/// ```text
/// filter  | word | word | word | … |        the high half of the digest chooses one, by fastrange
/// word    64 bits, k free probes in it       probe j: bit (digest·multiplier >> (16 + 6j)) & 63
/// ```
///
/// **Rate.** Words fill very unevenly: [`Model::Block`] with 64 bits. At 10 bits per key and k = 4: 1.87 %. The probes of
/// a key may coincide (making them distinct would give 1.75 % and cost more than it gains).
///
/// **When.** Eight lookups in as many instructions as others need for two: when the filter is in cache, the rate may be
/// a few per cent, and every cycle counts (a join, a scan).
///
/// **When not.** For rates under 1 %: at 0.1 % it needs half as many bits again as `blocked`, at 0.01 % twice as many.
///
/// **Wire tag** 6.
///
/// ```
/// use bloomline::{Filter, Word};
/// let mut filter = Filter::<Word>::builder(1_000).bits_per_key(10.0).build()?;
/// filter.insert("key");
/// assert!(filter.contains("key"));
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Word {}

impl Layout for Word {
    const KIND: LayoutKind = LayoutKind::Word;
    const MODEL: Model = Model::Block { block_bits: 64, max_k: 8 };
    type Unit = [u8; 8];
    type Walk = ByUnit;
    fn shape(g: Geometry) -> Shape {
        Shape { span: g.bits / 64, stride: 0, k: g.k }
    }
}

#[inline(always)]
fn mask(digest: Digest, k: u32) -> u64 {
    let product = digest.0.wrapping_mul(MULTIPLIERS[0]);
    SIX.iter().take(k as usize).fold(0, |mask, &start| mask | 1 << ((product >> start) & 63))
}

impl UnitLayout for Word {
    #[inline(always)]
    fn contains<I: Isa, M: Memory>(isa: I, cell: &M::Cell<[u8; 8]>, digest: Digest, k: u32) -> bool {
        isa.word_has(M::word::<[u8; 8]>(cell, 0), digest.0.wrapping_mul(MULTIPLIERS[0]), k)
    }

    #[inline(always)]
    fn insert<I: Isa, M: Memory>(_: I, mut cell: M::CellMut<'_, [u8; 8]>, digest: Digest, k: u32) -> bool {
        M::or_word::<[u8; 8]>(&mut cell, 0, mask(digest, k))
    }

    #[inline(always)]
    fn contains_eight<I: Isa, M: Memory>(isa: I, cells: &[&M::Cell<[u8; 8]>; 8], digests: &[Digest; 8], k: u32) -> u64 {
        let mut words = [0; 8];
        for j in 0..8 {
            words[j] = M::word::<[u8; 8]>(cells[j], 0);
        }
        isa.words_hit(&words, digests, MULTIPLIERS[0], k)
    }

    #[inline(always)]
    fn want(k: u32) -> u8 {
        (0xff_u32 >> 8u32.saturating_sub(k)) as u8
    }
}
