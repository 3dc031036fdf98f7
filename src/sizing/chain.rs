//! The false-positive rate of one block, exactly.
//!
//! A query looks at up to k positions of one block. Call the ones that no key has set yet *uncovered*, and let u be
//! their number. A key that falls into the block covers some of them and uncovers none, so u walks down a chain of at
//! most k + 1 states, and the query is a false positive when the walk has reached 0. Nothing else about the block
//! matters: how many of its other bits are set never enters. For B positions a free probe covers one of u with
//! probability u/B, so that after n keys, each of which falls into this one of z blocks with probability 1/z,
//!
//! ```text
//! P(u positions are all covered) = Σ_j (−1)^j C(u, j) · (1 − (1 − s_j)/z)^n
//! s_j = P(one key leaves j given positions alone) = (1 − j/B)^k    free probes
//!                                                 = (1 − 1/B)^j    one bit in each lane of B bits
//! ```
//!
//! This is inclusion and exclusion over the set of positions left alone, averaged over the binomial load of the block.
//! The usual way is dynamic programming over the number of one-bits (up to 512 of them) for every possible load. The
//! chain of k + 1 states gives the same numbers, costs a thirtieth, and needs no bound on the load. Three evaluations
//! of it follow, because the alternating sum cancels when the rate is small. With k = 16, a rate near 10^-12 has no
//! correct digit left:
//!
//! * [`Chain::by_load`]: Σ_i Bin(i; n, 1/z)·f(i), with f(i) from stepping the chain key by key. Positive terms only.
//!   For loads up to [`MAX_TABLE_LOAD`] keys a block, where all rates worth having are. f is kept, so that a search over
//!   n or z costs some sixty multiplications a step.
//! * [`Chain::by_exclusion`]: the sum above, where it keeps its digits.
//! * [`Chain::by_squaring`]: the n-th power of the chain's matrix. Positive terms only, for any n, slow (k³ log n).

use super::math;

/// The most probes a key may make, in every model.
pub(super) const MAX_K: u32 = 32;
/// Bits of the largest block (and of the largest lane).
pub(super) const MAX_BLOCK_BITS: u32 = 1 << 16;

const STATES: usize = MAX_K as usize + 1;
/// f(0) ..= f(TABLE − 1) are kept: at a mean load of 64 keys a share of 10^-60 of all blocks holds more.
const TABLE: usize = 256;
const MAX_TABLE_LOAD: f64 = 64.0;
/// The alternating sum is trusted while its terms exceed its value by no more than this: 13 digits are left of 16.
const MAX_CANCELLATION: f64 = 1e3;

/// How a key marks a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Marks {
    /// `probes` bits anywhere in it, which may coincide.
    Free { probes: u32 },
    /// One bit in each of `lanes` lanes.
    Lanes { lanes: u32 },
}

pub(super) struct Chain {
    marks: Marks,
    /// Positions in the block (free probes) or in a lane.
    positions: f64,
    /// The most distinct positions a query can look at.
    targets: usize,
    /// weight[d]: probability that a query looks at exactly d distinct positions.
    weight: [f64; STATES],
    /// 1 − s_j.
    touch: [f64; STATES],
    /// Σ_d weight[d]·C(d, j), the factor of (−1)^j in the alternating sum.
    factor: [f64; STATES],
    /// covered[u]: probability that u positions are all covered after `known − 1` keys.
    covered: [f64; STATES],
    /// f(0..known).
    table: [f64; TABLE],
    known: usize,
}

impl Chain {
    /// `positions` is at least 1; the number of probes or lanes is in 1 ..= [`MAX_K`].
    pub(super) fn new(marks: Marks, positions: f64) -> Self {
        let mut weight = [0.0; STATES];
        let mut touch = [0.0; STATES];
        let targets = match marks {
            Marks::Free { probes } => {
                let probes = probes.min(MAX_K) as usize;
                let targets = if positions < probes as f64 { positions as usize } else { probes };
                weight[0] = 1.0;
                for _ in 0..probes {
                    for d in (1..=targets).rev() {
                        let fresh = (positions - (d - 1) as f64) / positions;
                        weight[d] = weight[d] * (d as f64 / positions) + weight[d - 1] * fresh;
                    }
                    weight[0] = 0.0;
                }
                for (j, t) in touch.iter_mut().enumerate().take(targets + 1) {
                    *t = -math::exp_m1(probes as f64 * math::ln_1p(-(j as f64) / positions));
                }
                targets
            }
            Marks::Lanes { lanes } => {
                let lanes = lanes.min(MAX_K) as usize;
                weight[lanes] = 1.0;
                for (j, t) in touch.iter_mut().enumerate().take(lanes + 1).skip(1) {
                    *t = -math::exp_m1(j as f64 * math::ln_1p(-1.0 / positions));
                }
                lanes
            }
        };
        let mut factor = [0.0; STATES];
        for (d, w) in weight.iter().enumerate().take(targets + 1) {
            let mut choose = 1.0; // C(d, j), exact: at most C(32, 16) = 601,080,390
            for (j, f) in factor.iter_mut().enumerate().take(d + 1) {
                *f += w * choose;
                choose = choose * (d - j) as f64 / (j + 1) as f64;
            }
        }
        let mut covered = [0.0; STATES];
        covered[0] = 1.0;
        Self { marks, positions, targets, weight, touch, factor, covered, table: [0.0; TABLE], known: 1 }
    }

    /// False-positive rate of a filter of `blocks` such blocks (a whole number, at least 1) after n keys.
    pub(super) fn rate(&mut self, n: u64, blocks: f64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        let by_load = if n as f64 / blocks <= MAX_TABLE_LOAD { self.by_load(n, blocks) } else { None };
        let rate = by_load.or_else(|| self.by_exclusion(n, blocks)).unwrap_or_else(|| self.by_squaring(n, blocks));
        rate.clamp(0.0, 1.0)
    }

    /// The same without the table, which a filter of a single block has no use for.
    pub(super) fn rate_of_one(&self, n: u64) -> f64 {
        self.by_exclusion(n, 1.0).unwrap_or_else(|| self.by_squaring(n, 1.0)).clamp(0.0, 1.0)
    }

    /// Positive sum over the load of the block; `None` if the table ends before the sum does.
    pub(super) fn by_load(&mut self, n: u64, blocks: f64) -> Option<f64> {
        if blocks <= 1.0 {
            return usize::try_from(n).ok().filter(|&i| i < TABLE).map(|i| self.after(i));
        }
        let load = n as f64 / blocks;
        let mut share = math::exp(n as f64 * math::ln_1p(-1.0 / blocks)); // Bin(0; n, 1/z)
        let mut sum = 0.0;
        for i in 0..TABLE {
            let term = share * self.after(i);
            sum += term;
            // f is at most 1 and grows by less than the binomial falls once the terms fall this deep.
            if i as u64 == n || (i as f64 > load && i > 0 && term <= sum * 1e-20) {
                return Some(sum);
            }
            share *= (n - i as u64) as f64 / ((i + 1) as f64 * (blocks - 1.0));
        }
        None
    }

    /// The alternating sum; `None` where it loses more than three of sixteen digits.
    pub(super) fn by_exclusion(&self, n: u64, blocks: f64) -> Option<f64> {
        let (mut sum, mut size) = (0.0, 0.0);
        for j in 0..=self.targets {
            let term = self.factor[j] * math::exp(n as f64 * math::ln_1p(-self.touch[j] / blocks));
            size += term;
            sum += if j % 2 == 0 { term } else { -term };
        }
        (size <= sum * MAX_CANCELLATION).then_some(sum)
    }

    /// The chain's matrix to the n-th power, by squaring.
    ///
    /// The diagonal is set from its closed form after each squaring. What is left is a sum of positive products in
    /// which an error can enter only at the at most k jumps of a path, so that the relative error is about
    /// k·log2(n) rounding steps and not n of them.
    pub(super) fn by_squaring(&self, n: u64, blocks: f64) -> f64 {
        let mut m = self.one_key();
        let mut stay = [0.0; STATES]; // ln of the diagonal
        for u in 0..=self.targets {
            stay[u] = math::ln_1p(-self.touch[u] / blocks);
            m[u][..u].iter_mut().for_each(|x| *x /= blocks);
            m[u][u] = math::exp(stay[u]);
        }
        let mut all = [0.0; STATES]; // all[u]: probability of having come from u to 0
        all[0] = 1.0;
        let (mut left, mut power) = (n, 1.0);
        loop {
            if left & 1 == 1 {
                for u in (0..=self.targets).rev() {
                    all[u] = (0..=u).map(|v| m[u][v] * all[v]).sum();
                }
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            // In place: row u needs the rows above it as they were, and of itself only what lies to the right.
            power *= 2.0;
            for u in (0..=self.targets).rev() {
                for v in 0..u {
                    m[u][v] = (v..=u).map(|a| m[u][a] * m[a][v]).sum();
                }
                m[u][u] = math::exp(power * stay[u]);
            }
        }
        (0..=self.targets).map(|d| self.weight[d] * all[d]).sum()
    }

    /// f(i): the rate of a block that holds exactly i keys. i is below [`TABLE`].
    fn after(&mut self, i: usize) -> f64 {
        while self.known <= i {
            self.table[self.known] = match self.marks {
                Marks::Free { probes } => {
                    for _ in 0..probes {
                        for u in (1..=self.targets).rev() {
                            let hit = u as f64 / self.positions;
                            self.covered[u] = self.covered[u] * (1.0 - hit) + self.covered[u - 1] * hit;
                        }
                    }
                    (0..=self.targets).map(|d| self.weight[d] * self.covered[d]).sum()
                }
                Marks::Lanes { lanes } => {
                    let one = -math::exp_m1(self.known as f64 * math::ln_1p(-1.0 / self.positions));
                    math::powi(one, lanes)
                }
            };
            self.known += 1;
        }
        self.table[i]
    }

    #[expect(clippy::needless_range_loop, reason = "each element needs its right neighbour")]
    /// `[u][v]`: probability that one key in the block takes u uncovered positions to v.
    fn one_key(&self) -> [[f64; STATES]; STATES] {
        let mut m = [[0.0; STATES]; STATES];
        for (u, row) in m.iter_mut().enumerate().take(self.targets + 1) {
            row[u] = 1.0;
            match self.marks {
                Marks::Free { probes } => {
                    for _ in 0..probes {
                        for v in 0..=u {
                            let arrive = if v < u { row[v + 1] * ((v + 1) as f64 / self.positions) } else { 0.0 };
                            row[v] = row[v] * (1.0 - v as f64 / self.positions) + arrive;
                        }
                    }
                }
                Marks::Lanes { .. } => {
                    let hit = 1.0 / self.positions;
                    let mut choose = 1.0;
                    for v in 0..=u {
                        row[v] = choose * math::powi(hit, (u - v) as u32) * math::powi(1.0 - hit, v as u32);
                        choose = choose * (u - v) as f64 / (v + 1) as f64;
                    }
                }
            }
        }
        m
    }
}
