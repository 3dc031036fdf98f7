//! Every layout once more, from its definition alone: arithmetic of 128 bits and a `Vec<bool>`.
//!
//! Nothing here is shared with the library but the names: an error in its kernels, its memory or its constants shows as a
//! difference.

use bloomline::{Digest, LayoutKind, sizing::Geometry};

const MULTIPLIERS: [u64; 3] = [0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// ⌊hash·n / 2^width⌋.
fn scaled(hash: u64, width: u32, n: u64) -> u64 {
    ((u128::from(hash) * u128::from(n)) >> width) as u64
}

/// The digest, then a linear congruential sequence from it.
fn probes(h: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(h), |&h| Some(h.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// The bits that a digest means.
pub(crate) fn positions(kind: LayoutKind, g: Geometry, Digest(h): Digest) -> Vec<u64> {
    let block = |bits: u64| scaled(h >> 32, 32, g.bits / bits) * bits;
    let k = u64::from(g.k);
    match kind {
        LayoutKind::Classic => probes(h).take(g.k as usize).map(|hash| scaled(hash, 64, g.bits)).collect(),
        LayoutKind::Partitioned => {
            let region = g.bits / k;
            (0..k).zip(probes(h)).map(|(i, hash)| i * region + scaled(hash, 64, region)).collect()
        }
        LayoutKind::Blocked => (0..g.k as usize)
            .map(|j| {
                let product = h.wrapping_mul(MULTIPLIERS[j / 6]);
                block(512) + (product >> [55, 46, 37, 23, 14, 5][j % 6]) % 512
            })
            .collect(),
        LayoutKind::SplitBlock => (0..8)
            .map(|lane| block(256) + 32 * lane + u64::from((h as u32).wrapping_mul(SALTS[lane as usize]) >> 27))
            .collect(),
        LayoutKind::SplitLine => (0..8)
            .map(|lane| block(512) + 64 * lane + (h.wrapping_mul(MULTIPLIERS[0]) >> (16 + 6 * lane)) % 64)
            .collect(),
        LayoutKind::Word => (0..k).map(|j| block(64) + (h.wrapping_mul(MULTIPLIERS[0]) >> (16 + 6 * j)) % 64).collect(),
        LayoutKind::Blocked128 => [57, 50, 43, 36, 25, 18, 11, 4][..g.k as usize]
            .iter()
            .map(|start| block(128) + (h.wrapping_mul(MULTIPLIERS[0]) >> start) % 128)
            .collect(),
        _ => panic!("write the definition of {kind} here"),
    }
}

/// A filter as its definition gives it.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    kind: LayoutKind,
    geometry: Geometry,
    bits: Vec<bool>,
}

impl Reference {
    /// Without a key.
    pub(crate) fn new(kind: LayoutKind, geometry: Geometry) -> Self {
        Self { kind, geometry, bits: vec![false; geometry.bits as usize] }
    }

    /// True when a bit was not set.
    pub(crate) fn insert(&mut self, digest: Digest) -> bool {
        let mut changed = false;
        for at in positions(self.kind, self.geometry, digest) {
            changed |= !std::mem::replace(&mut self.bits[at as usize], true);
        }
        changed
    }

    /// Are all bits of the digest set?
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        positions(self.kind, self.geometry, digest).into_iter().all(|at| self.bits[at as usize])
    }

    /// Bit i is bit i % 8 of byte i / 8.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |sum, &bit| sum << 1 | u8::from(bit))).collect()
    }
}
