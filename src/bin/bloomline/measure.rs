//! The core of measuring: digests that never repeat, rounds in which everything that is compared takes its turn, and
//! medians with their intervals.
//!
//! **Rounds.** A machine's speed drifts (clock, neighbours, temperature), so that what is measured a minute later is
//! measured on another machine. Each round therefore takes one sample of everything, in an order drawn anew, and a
//! ratio of two medians compares samples that saw the same minutes. What is slow and matters less takes its turn in
//! every second or third round only.
//!
//! **Medians.** Disturbances only ever make a sample slower, and some are huge: the median of the samples does not feel
//! them. Its interval is one of order statistics, which assumes nothing of the distribution: the true median lies
//! between the j-th smallest and the j-th largest of n samples with probability 1 − 2·Bin(n, ½)(X < j).
//!
//! **Digests.** SplitMix64's finaliser is a bijection: different counters give different digests, without a set to look
//! them up in. Members and absent keys take counters from disjoint ranges.

use std::time::Duration;

use bloomline::Digest;

/// The golden ratio's increment of SplitMix64 (Steele, Lea and Flood 2014): odd, so multiplying by it is a bijection.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64 (variant 13 of Stafford's): a bijection of 64-bit words.
#[inline]
fn finalise(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Random numbers that are the same for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(finalise(seed ^ 0x6a09_e667_f3bc_c908))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        finalise(self.0)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The bias is below bound/2^64: nothing against what is measured.
        bloomline::hash::fastrange(self.next(), bound as u64) as usize
    }

    /// Every order is as likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Distinct random digests of made-up keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digests {
    start: u64,
}

/// Counters of keys that are never inserted begin here; those of members at 0.
const ABSENT: u64 = 1 << 63;

impl Digests {
    pub(crate) fn new(seed: u64) -> Self {
        Self { start: finalise(seed.wrapping_add(GAMMA)) }
    }

    /// The digest of member `i`, below 2^63.
    #[inline]
    pub(crate) fn member(self, i: u64) -> Digest {
        Digest(finalise(self.start.wrapping_add(i).wrapping_mul(GAMMA)))
    }

    /// The digest of absent key `i`, below 2^63.
    #[inline]
    pub(crate) fn absent(self, i: u64) -> Digest {
        self.member(ABSENT | i)
    }
}

/// `count` members for lookups that all hit: members drawn evenly from all, each once, in random order. When there are
/// fewer members than that they come again and again, each time in another order.
pub(crate) fn hits(members: &[Digest], count: usize, random: &mut Random) -> Vec<Digest> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count && !members.is_empty() {
        let from = all.len();
        let take = members.len().min(count - from);
        // A stride through all of them, where only a part is wanted.
        all.extend((0..take).map(|i| members[(i as u128 * members.len() as u128 / take as u128) as usize]));
        random.shuffle(&mut all[from..]);
    }
    all
}

/// Hits and absent digests in a random order, half and half, as many as there are of each.
pub(crate) fn half(hits: &[Digest], absent: &[Digest], random: &mut Random) -> Vec<Digest> {
    let count = hits.len().min(absent.len());
    let mut mixed = [&hits[..count / 2], &absent[..count - count / 2]].concat();
    random.shuffle(&mut mixed);
    mixed
}

/// Samples of one quantity, in nanoseconds a key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

/// A median, and between which samples the true one lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Median {
    /// Half the width of the interval, as a share of the median.
    pub(crate) fn noise(self) -> f64 {
        (self.high - self.low) / (2.0 * self.value)
    }
}

impl Samples {
    pub(crate) fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Their median; `None` without a sample.
    pub(crate) fn median(&self) -> Option<Median> {
        median(self.0.clone())
    }

    /// The ratio of these samples to others that were taken in the same rounds, round by round.
    pub(crate) fn ratio(&self, to: &Self) -> Option<Median> {
        median(self.0.iter().zip(&to.0).map(|(a, b)| a / b).collect())
    }
}

fn median(mut samples: Vec<f64>) -> Option<Median> {
    samples.sort_by(f64::total_cmp);
    let (n, middle) = (samples.len(), samples.len() / 2);
    let upper = *samples.get(middle)?;
    let value = if n.is_multiple_of(2) { (samples[middle - 1] + upper) / 2.0 } else { upper };
    let outer = rank(n);
    Some(Median { value, low: samples[outer], high: samples[n - 1 - outer] })
}

/// The largest rank j (from 0) such that the median lies between the samples of ranks j and n − 1 − j with a probability
/// of at least 95 %; 0, the whole range, when there are fewer than six samples and no rank is enough.
fn rank(n: usize) -> usize {
    let mut outside = 0.0; // twice the probability of fewer than j + 1 samples below the median
    let mut term = 2.0 * 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    for j in 0..n / 2 {
        outside += term;
        if outside > 0.05 {
            return j.saturating_sub(1);
        }
        term *= (n - j) as f64 / (j + 1) as f64;
    }
    (n / 2).saturating_sub(1)
}

/// Nanoseconds for each of `keys` keys.
pub(crate) fn ns_per_key(time: Duration, keys: usize) -> f64 {
    time.as_secs_f64() * 1e9 / keys.max(1) as f64
}

/// A moment of the Gregorian calendar, UTC, as RFC 3339 writes it.
pub(crate) fn date(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn digests_are_distinct_and_disjoint() {
        for seed in [0, 1, u64::MAX] {
            let digests = Digests::new(seed);
            let all: HashSet<_> = (0..10_000).flat_map(|i| [digests.member(i), digests.absent(i)]).collect();
            assert_eq!(all.len(), 20_000);
        }
        assert_ne!(Digests::new(1).member(0), Digests::new(2).member(0));
        assert_eq!(Digests::new(7).absent(3), Digests::new(7).absent(3));
    }

    #[test]
    fn digests_are_spread() {
        // Bits of the high byte: 256 cells of 256 expected, chi-square within 5 σ of its 255 degrees.
        let mut cells = [0_f64; 256];
        (0..65_536).for_each(|i| cells[(Digests::new(3).member(i).0 >> 56) as usize] += 1.0);
        let chi: f64 = cells.iter().map(|count| (count - 256.0).powi(2) / 256.0).sum();
        assert!((chi - 255.0).abs() < 5.0 * (2.0 * 255.0_f64).sqrt(), "{chi}");
    }

    #[test]
    fn shuffles_keep_everything() {
        let mut items: Vec<u32> = (0..1000).collect();
        Random::new(1).shuffle(&mut items);
        assert_ne!(items[..10], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        items.sort_unstable();
        assert!(items.into_iter().eq(0..1000));
        Random::new(1).shuffle::<u32>(&mut []);
        assert!((0..1000).all(|_| Random::new(2).below(1) == 0));
    }

    #[test]
    fn hits_are_members() {
        let members: Vec<Digest> = (0..100).map(Digest).collect();
        let mut random = Random::new(5);
        let few = hits(&members, 50, &mut random);
        assert_eq!(few.iter().collect::<HashSet<_>>().len(), 50);
        assert!(few.iter().any(|digest| digest.0 > 90));
        let many = hits(&members, 250, &mut random);
        assert_eq!(many.len(), 250);
        assert_eq!(many[..100].iter().collect::<HashSet<_>>().len(), 100);
        assert_ne!(many[..100], many[100..200]);
        assert!(hits(&[], 10, &mut random).is_empty());

        let absent: Vec<Digest> = (1000..1100).map(Digest).collect();
        let mixed = half(&members, &absent, &mut random);
        assert_eq!(mixed.iter().filter(|digest| digest.0 < 100).count(), 50);
        assert_eq!(mixed.len(), 100);
    }

    #[test]
    fn medians() {
        let of = |samples: &[f64]| median(samples.to_vec());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0]), Some(Median { value: 3.0, low: 3.0, high: 3.0 }));
        assert_eq!(of(&[4.0, 1.0]), Some(Median { value: 2.5, low: 1.0, high: 4.0 }));
        assert_eq!(of(&[9.0, 1.0, 2.0]), Some(Median { value: 2.0, low: 1.0, high: 9.0 }));
        // One sample of nine is disturbed: neither the median nor the interval feels it.
        let median = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1e9]).unwrap();
        assert_eq!(median, Median { value: 5.0, low: 2.0, high: 8.0 });
        assert_eq!(median.noise(), 0.6);
    }

    #[test]
    fn ranks_cover_95_per_cent() {
        // From tables of the sign test: two-sided 5 %.
        for (n, j) in [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (15, 3), (20, 5), (30, 9), (100, 39)] {
            assert_eq!(rank(n), j, "{n}");
        }
        // And by trial: the share of 20,000 sets of samples whose interval holds the true median.
        let mut random = Random::new(11);
        for n in [6, 9, 15, 40] {
            let mut inside = 0;
            for _ in 0..20_000 {
                let samples: Vec<f64> = (0..n).map(|_| (random.next() as f64 / u64::MAX as f64).powi(3)).collect();
                let median = median(samples).unwrap();
                inside += u32::from(median.low <= 0.125 && 0.125 <= median.high);
            }
            assert!(inside > 18_900, "{n}: {inside}");
        }
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        // The machine is twice as slow in every second round; the ratio is not.
        let (mut a, mut b) = (Samples::default(), Samples::default());
        for round in 0..10 {
            let pace = f64::from(1 + round % 2);
            a.push(3.0 * pace);
            b.push(2.0 * pace);
        }
        assert_eq!(a.ratio(&b), Some(Median { value: 1.5, low: 1.5, high: 1.5 }));
        assert!(a.median().unwrap().noise() > 0.3);
        assert_eq!(a.len(), 10);
    }

    #[test]
    fn time_per_key() {
        assert_eq!(ns_per_key(Duration::from_micros(3), 1000), 3.0);
        assert!(ns_per_key(Duration::from_micros(3), 0).is_finite());
    }

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_767_225_600, "2026-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(Duration::from_secs(seconds)), text);
        }
    }
}
