//! Kernels of d-left tables: buckets of one cache line, their slots searched by one vector comparison.
//!
//! ```text
//! line   | w slots of 16 bits: 14 bits of fingerprint, 2 of counter | w times the fingerprint's other bits: 0, 4, 8, 12, 16 |
//! ```
//!
//! Slots are compared by their first 16 bits. Of other fingerprints one in 16,384 passes that, and is told apart by the rest.

use crate::{
    filters::MULTIPLIERS,
    hash::Digest,
    isa::{Isa, prefetch},
};

/// Subtables, and buckets that a key may lie in.
pub(crate) const TABLES: usize = 2;
/// Bits of a slot's counter.
const COUNTER_BITS: u32 = 2;
/// The most that a slot counts. A key that is there more often takes another slot.
const MOST: u16 = 3;
/// Keys between asking for a key's buckets and looking at them.
const AHEAD: usize = 16;

/// A bucket.
pub(crate) type Bucket = [u8; 64];

/// How a table is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    /// Buckets of a subtable: 1 to 2³² − 1.
    pub(crate) buckets: u64,
    /// Bits of a slot: 16, 20, 24, 28 or 32.
    pub(crate) bits: u32,
}

/// Where a key may lie, and what of it is stored there.
#[derive(Clone, Copy, Debug)]
struct Places {
    bucket: [usize; TABLES],
    /// The first 16 bits of its slot, with a counter of 0.
    low: u16,
    /// The others.
    high: u32,
}

impl Slots {
    /// Slots of a bucket: 32, 25, 21, 18 or 16.
    #[inline(always)]
    pub(crate) const fn in_bucket(self) -> u32 {
        512 / self.bits
    }

    /// Bits of a fingerprint.
    #[inline(always)]
    pub(crate) const fn fingerprint_bits(self) -> u32 {
        self.bits - COUNTER_BITS
    }

    /// A key is an element (b, f) of buckets × fingerprints. Its place in each subtable is that of a permutation of all
    /// elements, b + c(f) modulo the buckets: of two different elements with one fingerprint no subtable has a bucket in
    /// common, so that a fingerprint in a bucket tells which element it is.
    #[inline(always)]
    fn places(self, digest: Digest) -> Places {
        let scaled = |half: u64| half.wrapping_mul(self.buckets) >> 32;
        // Mixed, or digests that come sorted would fill bucket after bucket, and few keys had a choice.
        let mixed = digest.0.wrapping_mul(MULTIPLIERS[2]);
        let fingerprint = mixed & ((1 << self.fingerprint_bits()) - 1);
        let first = scaled(mixed >> 32);
        let moved = first + scaled(fingerprint.wrapping_mul(MULTIPLIERS[1]) >> 32);
        let second = if moved >= self.buckets { moved - self.buckets } else { moved };
        Places {
            bucket: [first as usize, (self.buckets + second) as usize],
            low: (fingerprint << COUNTER_BITS) as u16,
            high: (fingerprint >> (16 - COUNTER_BITS)) as u32,
        }
    }

    /// The first bit of the rest of a slot, and the bits of its field.
    #[inline(always)]
    fn rest(self, slot: u32) -> (usize, u32) {
        let extra = self.bits - 16;
        ((16 * self.in_bucket() + extra * slot) as usize, (1u32 << extra) - 1)
    }

    #[inline(always)]
    fn high(self, bucket: &Bucket, slot: u32) -> u32 {
        let (at, mask) = self.rest(slot);
        // A field of 16 bits at most, beginning at a multiple of 4, lies in three bytes.
        let byte = |i: usize| u32::from(bucket.get(at / 8 + i).copied().unwrap_or(0)) << (8 * i);
        (byte(0) | byte(1) | byte(2)) >> (at % 8) & mask
    }

    #[inline(always)]
    fn set_high(self, bucket: &mut Bucket, slot: u32, high: u32) {
        let (at, mask) = self.rest(slot);
        let (mask, high) = (mask << (at % 8), high << (at % 8));
        for i in 0..3 {
            if let Some(byte) = bucket.get_mut(at / 8 + i) {
                *byte = *byte & !((mask >> (8 * i)) as u8) | (high >> (8 * i)) as u8;
            }
        }
    }

    /// Bit i: slot i has this key.
    #[inline(always)]
    fn matches<I: Isa>(self, isa: I, bucket: &Bucket, places: &Places) -> u32 {
        let line = isa.line(bucket);
        let all = u32::MAX >> (32 - self.in_bucket());
        let mut found = isa.lanes_equal(line, places.low, !MOST) & !isa.lanes_equal(line, 0, MOST) & all;
        if self.bits > 16 {
            let mut left = found;
            while left != 0 {
                let slot = left.trailing_zeros();
                left &= left - 1;
                if self.high(bucket, slot) != places.high {
                    found &= !(1 << slot);
                }
            }
        }
        found
    }

    /// Bit i: slot i is empty.
    #[inline(always)]
    fn empty<I: Isa>(self, isa: I, bucket: &Bucket) -> u32 {
        isa.lanes_equal(isa.line(bucket), 0, MOST) & u32::MAX >> (32 - self.in_bucket())
    }

    #[inline(always)]
    pub(super) fn contains<I: Isa>(self, isa: I, table: &[Bucket], digest: Digest) -> bool {
        let places = self.places(digest);
        let [Some(first), Some(second)] = [table.get(places.bucket[0]), table.get(places.bucket[1])] else {
            return false; // never: both are in the table
        };
        // Both, whatever the first says: a branch would be mispredicted for every other present key.
        let any = isa.any_lane_within(isa.line(first), isa.line(second), places.low | 1);
        // Slots of 16 bits are told apart by them. Of others few absent keys are looked at further.
        if self.bits == 16 {
            return any;
        }
        any && (self.matches(isa, first, &places) | self.matches(isa, second, &places)) != 0
    }

    #[inline(always)]
    fn prefetch(self, table: &[Bucket], digest: Digest) {
        for at in self.places(digest).bucket {
            prefetch(table.as_ptr().wrapping_add(at).cast());
        }
    }

    #[inline(always)]
    pub(super) fn contains_batch<I: Isa, const PREFETCH: bool>(
        self,
        isa: I,
        table: &[Bucket],
        digests: &[Digest],
        out: &mut [u64],
    ) {
        for (w, (window, out)) in digests.chunks(64).zip(out).enumerate() {
            *out = 0;
            for (i, &digest) in window.iter().enumerate() {
                if PREFETCH && let Some(&next) = digests.get(64 * w + i + AHEAD) {
                    self.prefetch(table, next);
                }
                *out |= u64::from(self.contains(isa, table, digest)) << i;
            }
        }
    }

    /// Counts a key up in the slot that has it, or puts it into the emptiest of its buckets, the first of those that are
    /// equally empty. False, and nothing is changed, when there is no room.
    #[inline(always)]
    pub(super) fn insert<I: Isa>(self, isa: I, table: &mut [Bucket], digest: Digest) -> bool {
        let places = self.places(digest);
        let (mut best, mut room) = (None, 0);
        for at in places.bucket {
            let Some(bucket) = table.get_mut(at) else { continue };
            let mut found = self.matches(isa, bucket, &places);
            while found != 0 {
                let slot = found.trailing_zeros();
                found &= found - 1;
                if self.counter(bucket, slot) < MOST {
                    self.change(bucket, slot, 1);
                    return true;
                }
            }
            let empty = self.empty(isa, bucket);
            if empty.count_ones() > room {
                (best, room) = (Some((at, empty.trailing_zeros())), empty.count_ones());
            }
        }
        let Some((at, slot)) = best else { return false };
        if let Some(bucket) = table.get_mut(at) {
            self.set_low(bucket, slot, places.low | 1);
            self.set_high(bucket, slot, places.high);
        }
        true
    }

    /// Counts a key down, in the slot that counts least where it has several. False, and nothing is changed, when it has
    /// none.
    #[inline(always)]
    pub(super) fn remove<I: Isa>(self, isa: I, table: &mut [Bucket], digest: Digest) -> bool {
        let places = self.places(digest);
        let mut least: Option<(u16, usize, u32)> = None;
        for at in places.bucket {
            let Some(bucket) = table.get(at) else { continue };
            let mut found = self.matches(isa, bucket, &places);
            while found != 0 {
                let slot = found.trailing_zeros();
                found &= found - 1;
                let counter = self.counter(bucket, slot);
                if least.is_none_or(|(least, ..)| counter < least) {
                    least = Some((counter, at, slot));
                }
            }
        }
        let Some((counter, at, slot)) = least else { return false };
        if let Some(bucket) = table.get_mut(at) {
            if counter > 1 {
                self.change(bucket, slot, u16::MAX);
            } else {
                // An empty slot is all zero, so that equal members make equal bytes as far as they can.
                self.set_low(bucket, slot, 0);
                self.set_high(bucket, slot, 0);
            }
        }
        true
    }

    /// Inserts them all; those that were inserted when there is no room for the next.
    #[inline(always)]
    pub(super) fn insert_batch<I: Isa>(self, isa: I, table: &mut [Bucket], digests: &[Digest]) -> Result<(), usize> {
        for (i, &digest) in digests.iter().enumerate() {
            if let Some(&next) = digests.get(i + AHEAD) {
                self.prefetch(table, next);
            }
            if !self.insert(isa, table, digest) {
                return Err(i);
            }
        }
        Ok(())
    }

    /// Removes them all; bit i of `out`: digest i was there.
    #[inline(always)]
    pub(super) fn remove_batch<I: Isa>(self, isa: I, table: &mut [Bucket], digests: &[Digest], out: &mut [u64]) {
        for (w, (window, out)) in digests.chunks(64).zip(out).enumerate() {
            *out = 0;
            for (i, &digest) in window.iter().enumerate() {
                if let Some(&next) = digests.get(64 * w + i + AHEAD) {
                    self.prefetch(table, next);
                }
                *out |= u64::from(self.remove(isa, table, digest)) << i;
            }
        }
    }

    #[inline(always)]
    fn low(bucket: &Bucket, slot: u32) -> u16 {
        bucket.as_chunks::<2>().0.get(slot as usize).map_or(0, |&bytes| u16::from_le_bytes(bytes))
    }

    #[inline(always)]
    fn set_low(self, bucket: &mut Bucket, slot: u32, low: u16) {
        if let Some(bytes) = bucket.as_chunks_mut::<2>().0.get_mut(slot as usize) {
            *bytes = low.to_le_bytes();
        }
    }

    #[inline(always)]
    fn counter(self, bucket: &Bucket, slot: u32) -> u16 {
        Self::low(bucket, slot) & MOST
    }

    /// Adds to a slot's counter, which stays within 1 and 3.
    #[inline(always)]
    fn change(self, bucket: &mut Bucket, slot: u32, by: u16) {
        let low = Self::low(bucket, slot).wrapping_add(by);
        self.set_low(bucket, slot, low);
    }

    /// All slots that are taken: bucket, fingerprint and counter, by the element that the key is.
    pub(crate) fn elements(self, table: &[Bucket]) -> impl Iterator<Item = Element> {
        table.iter().enumerate().flat_map(move |(at, bucket)| {
            (0..self.in_bucket()).filter_map(move |slot| {
                let low = Self::low(bucket, slot);
                let fingerprint = u64::from(low >> COUNTER_BITS) | u64::from(self.high(bucket, slot)) << 14;
                (low & MOST != 0).then_some(Element { at, fingerprint, count: low & MOST })
            })
        })
    }

    /// A digest of the key that an element stands for, as far as this table tells digests apart.
    pub(crate) fn digest_of(self, element: Element) -> Digest {
        let scaled = |half: u64| half.wrapping_mul(self.buckets) >> 32;
        let bucket = element.at as u64;
        let first = if bucket < self.buckets {
            bucket
        } else {
            let moved = scaled(element.fingerprint.wrapping_mul(MULTIPLIERS[1]) >> 32);
            (bucket - self.buckets + self.buckets - moved) % self.buckets
        };
        // The least high half that is mapped to the bucket.
        let high = ((u128::from(first) << 32).div_ceil(u128::from(self.buckets))) as u64;
        Digest((high << 32 | element.fingerprint).wrapping_mul(inverse(MULTIPLIERS[2])))
    }
}

/// The number whose product with an odd number is 1, modulo 2⁶⁴: each step of Newton's doubles the bits that are right.
const fn inverse(odd: u64) -> u64 {
    let mut x = odd; // three bits are right: odd·odd = 1 modulo 8
    let mut bits = 3;
    while bits < 64 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        bits *= 2;
    }
    x
}

/// What lies in a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    at: usize,
    fingerprint: u64,
    /// 1 to 3.
    pub(crate) count: u16,
}
