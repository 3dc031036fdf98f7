//! The d-left counting Bloom filter: fingerprints with small counters in buckets, so that keys can be removed at half of a
//! counting filter's memory.

use super::{
    Contains, Design, FilterKind, default_cap,
    filter::{check_output, is_beyond_cache},
};
use crate::{
    Level,
    dispatch::{Bucket, BucketKernels, Slots, TABLES},
    error::{AllocError, BatchError, BuildError, DLeftMergeError, NotPresent, TableFull},
    hash::{Digest, Hashes, KeyHasher, Xxh3},
    mem::{Owned, Shape},
    sizing::{DLeft, Geometry},
};
use alloc::vec::Vec;

/// A d-left counting filter, buckets in `S`, keys hashed by `H`.
///
/// Bonomi, Mitzenmacher, Panigrahy, Singh and Varghese, "An Improved Construction for Counting Bloom Filters", ESA 2006.
///
/// ```text
/// subtable 0  | bucket | bucket | …                          one cache line each
/// subtable 1  | bucket | bucket | …
/// bucket      | 32 to 16 slots of 14 to 30 bits of fingerprint and 2 of counter; a counter of 0 is an empty slot |
/// ```
///
/// A key has a bucket in each subtable and goes where more slots are empty, to the left one on ties. Its places are those of
/// permutations: two keys that are told apart at all never have fingerprint and bucket in common, so that a fingerprint that
/// is found is the key's own, and a removal takes no other key's place. (Keys that are not told apart are what a false
/// positive is.)
///
/// The paper has four subtables with buckets of eight. A line has room for more slots, and two buckets of 32 even their loads
/// out as well as four of eight do, at half of the lines.
///
/// **Rules.** A removal that finds no fingerprint is refused and changes nothing. When both buckets are full an insertion is
/// refused, and nothing is lost. A key that is there more than three times takes another slot: nothing saturates.
///
/// **Rate.** [`DLeft`]: 1 − (1 − 1/elements)^n. At 19 bits for each key: 0.33 %, where `counting` takes 47.
///
/// **When.** Sets that change, from one writer, with a number of keys that is known: beyond it a table is full, where a
/// Bloom filter's rate rises.
///
/// ```
/// use bloomline::{DLeftCountingBloom, error::NotPresent};
///
/// let mut filter = DLeftCountingBloom::builder(10_000).fpr(0.01).build()?;
/// filter.insert("key")?; // refused, and nothing lost, when there is no room
/// assert!(filter.contains("key"));
/// assert_eq!(filter.remove("key"), Ok(()));
/// assert_eq!(filter.remove("key"), Err(NotPresent)); // nothing has changed
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DLeftCountingBloom<S: AsRef<[u8]> = Owned<[u8; 64]>, H = Xxh3> {
    kernels: &'static BucketKernels,
    store: S,
    slots: Slots,
    geometry: Geometry,
    design: Design,
    prefetch: bool,
    hasher: H,
}

/// A d-left filter in somebody else's bytes.
pub type DLeftView<'b, H = Xxh3> = DLeftCountingBloom<&'b [u8], H>;

impl DLeftCountingBloom {
    /// Starts a filter for `keys` distinct keys at a time.
    pub fn builder(keys: u64) -> DLeftBuilder {
        let (hasher, level, cap) = (Xxh3::default(), Level::get(), default_cap());
        DLeftBuilder { keys, goal: Goal::Fpr(0.01), hasher, level, cap }
    }
}

#[derive(Clone, Copy, Debug)]
enum Goal {
    Fpr(f64),
    BitsPerKey(f64),
    Bytes(u64),
    Geometry(Geometry),
}

/// Sizes a d-left filter, and makes it. A rate of 1 % unless told otherwise.
#[derive(Clone, Debug)]
pub struct DLeftBuilder<H = Xxh3> {
    keys: u64,
    goal: Goal,
    hasher: H,
    level: Level,
    cap: u64,
}

impl<H: KeyHasher> DLeftBuilder<H> {
    /// The smallest table whose expected false positive rate with all keys is at most `fpr`.
    #[must_use]
    pub fn fpr(mut self, fpr: f64) -> Self {
        self.goal = Goal::Fpr(fpr);
        self
    }

    /// At most this many bits for each key.
    #[must_use]
    pub fn bits_per_key(mut self, bits: f64) -> Self {
        self.goal = Goal::BitsPerKey(bits);
        self
    }

    /// At most this many bytes in all.
    #[must_use]
    pub fn with_byte_budget(mut self, bytes: u64) -> Self {
        self.goal = Goal::Bytes(bytes);
        self
    }

    /// Exactly these bits, with slots of k bits: see [`DLeft`].
    #[must_use]
    pub fn geometry(mut self, geometry: Geometry) -> Self {
        self.goal = Goal::Geometry(geometry);
        self
    }

    /// Keys hashed by this hasher.
    #[must_use]
    pub fn hasher<H2: KeyHasher>(self, hasher: H2) -> DLeftBuilder<H2> {
        let Self { keys, goal, level, cap, .. } = self;
        DLeftBuilder { keys, goal, hasher, level, cap }
    }

    /// Answered by this instruction set, or the best below when this machine lacks it.
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// At most this many bytes are allocated: see [`Builder::memory_cap`](crate::Builder::memory_cap).
    #[must_use]
    pub fn memory_cap(mut self, bytes: u64) -> Self {
        self.cap = bytes;
        self
    }

    /// The bits that the filter will have, and as k those of a slot.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn sized(&self) -> Result<Geometry, BuildError> {
        Ok(match self.goal {
            Goal::Fpr(fpr) => DLeft::size_for_fpr(self.keys, fpr)?,
            Goal::BitsPerKey(bits) => DLeft::size_for_bits_per_key(self.keys, bits)?,
            Goal::Bytes(bytes) => DLeft::size_for_bytes(self.keys, bytes)?,
            Goal::Geometry(geometry) => DLeft::validate(geometry).map(|()| geometry)?,
        })
    }

    /// The bytes that the buckets will take. Nothing is allocated, and no cap applies.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn estimated_bytes(&self) -> Result<u64, BuildError> {
        Ok(self.sized()?.bits / 8)
    }

    /// Makes the filter, empty.
    ///
    /// # Errors
    /// When there is no such size, when it is over the cap, or when the system has no memory for it; all before anything
    /// is allocated but the last.
    pub fn build(self) -> Result<DLeftCountingBloom<Owned<Bucket>, H>, BuildError> {
        let geometry = self.sized()?;
        let bytes = geometry.bits / 8;
        if bytes > self.cap {
            return Err(AllocError::OverCap { bytes, cap: self.cap }.into());
        }
        let design = Design { keys: self.keys, fpr: DLeft::fpr(self.keys, geometry) };
        Ok(DLeftCountingBloom::from_parts(table(geometry)?, geometry, design, self.hasher, self.level))
    }
}

/// Euclid's.
fn gcd(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Zeroed buckets for a geometry that was validated.
fn table(g: Geometry) -> Result<Owned<Bucket>, AllocError> {
    let bytes = g.bits / 8;
    // Buckets are reached by number, not through a shape; that of one word will do for any number of them.
    let buckets = bytes / 64;
    let shape = Shape { span: buckets, stride: 0, k: 1 };
    Owned::zeroed(buckets, shape)?.ok_or(AllocError::Refused { bytes })
}

/// An empty filter of a geometry that was validated.
pub(super) fn empty<H: KeyHasher>(
    geometry: Geometry,
    design: Design,
    hasher: H,
    level: Level,
) -> Result<DLeftCountingBloom<Owned<Bucket>, H>, AllocError> {
    Ok(DLeftCountingBloom::from_parts(table(geometry)?, geometry, design, hasher, level))
}

impl<S: AsRef<[u8]>, H: KeyHasher> DLeftCountingBloom<S, H> {
    fn from_parts(store: S, geometry: Geometry, design: Design, hasher: H, level: Level) -> Self {
        let slots = Slots { buckets: geometry.bits / 512 / TABLES as u64, bits: geometry.k };
        let prefetch = is_beyond_cache(geometry.bits / 8, true);
        Self { kernels: BucketKernels::of(level), store, slots, geometry, design, prefetch, hasher }
    }

    #[inline(always)]
    fn buckets(&self) -> &[Bucket] {
        self.store.as_ref().as_chunks().0
    }

    /// May `key` be present? "Absent" is exact as long as nothing was removed that had not been inserted.
    #[inline]
    pub fn contains<K: ?Sized>(&self, key: &K) -> bool
    where
        H: Hashes<K>,
    {
        self.contains_digest(self.hasher.digest(key))
    }

    /// May the key with this digest be present?
    #[inline]
    pub fn contains_digest(&self, digest: Digest) -> bool {
        self.kernels.contains(self.slots, self.buckets(), digest)
    }

    /// Bit i % 64 of word i / 64 of `out`: may digest i be present? The bits after the last digest are 0, and words
    /// beyond those needed are left alone.
    ///
    /// # Errors
    /// When `out` has fewer than ⌈digests / 64⌉ words. Nothing is written then.
    #[inline]
    pub fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        check_output(digests.len(), out)?;
        self.kernels.contains_batch(self.slots, self.buckets(), digests, out, self.prefetch);
        Ok(())
    }

    /// The digest of a key, by this filter's hasher.
    #[inline]
    pub fn digest<K: ?Sized>(&self, key: &K) -> Digest
    where
        H: Hashes<K>,
    {
        self.hasher.digest(key)
    }

    /// Its hasher.
    pub fn hasher(&self) -> &H {
        &self.hasher
    }

    /// What it is: `d-left`.
    pub fn kind(&self) -> FilterKind {
        FilterKind::DLeft
    }

    /// Its bits, and as k those of a slot.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// What it was sized for.
    pub fn design(&self) -> Design {
        self.design
    }

    /// The instruction set that answers.
    pub fn level(&self) -> Level {
        self.kernels.level()
    }

    /// The same filter, answering with the kernels of `level`, or the best below when this machine lacks it. For tests
    /// and benchmarks; the answers are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.kernels = BucketKernels::of(level);
        self
    }

    /// Bytes of its buckets.
    pub fn size_in_bytes(&self) -> u64 {
        self.geometry.bits / 8
    }

    /// Its buckets.
    pub fn as_bytes(&self) -> &[u8] {
        self.store.as_ref()
    }

    /// Share of slots that are taken, 0 to 1. Reads the whole filter.
    pub fn occupancy(&self) -> f64 {
        self.slots_taken() as f64 / (self.geometry.bits / 512 * u64::from(self.slots.in_bucket())) as f64
    }

    /// Slots that are taken: as many as keys that are told apart, and more for keys that are there over three times.
    pub fn slots_taken(&self) -> u64 {
        self.slots.elements(self.buckets()).count() as u64
    }

    /// How often keys are there, all together: insertions less removals. Reads the whole filter.
    pub fn total(&self) -> u64 {
        self.slots.elements(self.buckets()).map(|element| u64::from(element.count)).sum()
    }

    /// Distinct keys that are present, of which this filter can tell: its slots that are taken, corrected for keys that are
    /// not told apart. Reads the whole filter.
    pub fn estimated_cardinality(&self) -> f64 {
        let taken = self.slots_taken() as f64;
        let elements = self.slots.buckets as f64 * (1u64 << self.slots.fingerprint_bits()) as f64;
        if taken >= elements { f64::INFINITY } else { -elements * libm::log1p(-taken / elements) }
    }

    /// The rate at which it answers "maybe" for absent keys now. Reads the whole filter.
    pub fn current_fpr(&self) -> f64 {
        let elements = self.slots.buckets as f64 * (1u64 << self.slots.fingerprint_bits()) as f64;
        self.slots_taken() as f64 / elements
    }

    /// Whether more keys are present than it was sized for. Reads the whole filter.
    pub fn is_past_design(&self) -> bool {
        self.design.keys > 0 && self.slots_taken() > self.design.keys
    }

    /// A copy that owns its buckets.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn to_owned_filter(&self) -> Result<DLeftCountingBloom<Owned<Bucket>, H>, AllocError> {
        let mut store = table(self.geometry)?;
        for (to, from) in store.as_bytes_mut().iter_mut().zip(self.as_bytes()) {
            *to = *from;
        }
        Ok(DLeftCountingBloom::from_parts(store, self.geometry, self.design, self.hasher.clone(), self.level()))
    }
}

impl<H: KeyHasher> DLeftCountingBloom<Owned<Bucket>, H> {
    /// Inserts a key once more: it has to be removed as often as it was inserted.
    ///
    /// # Errors
    /// When both of its buckets are full. Nothing has changed, and nothing is lost.
    #[inline]
    pub fn insert<K: ?Sized>(&mut self, key: &K) -> Result<(), TableFull>
    where
        H: Hashes<K>,
    {
        self.insert_digest(self.hasher.digest(key))
    }

    /// As [`DLeftCountingBloom::insert`], the key with this digest.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> Result<(), TableFull> {
        if self.kernels.insert(self.slots, self.store.as_units_mut(), digest) { Ok(()) } else { Err(self.full(0)) }
    }

    fn full(&self, inserted: usize) -> TableFull {
        TableFull { slots: TABLES as u32 * self.slots.in_bucket(), keys: self.design.keys, inserted }
    }

    /// Inserts a key unless it is reported present already; true when it was inserted: a set, where
    /// [`DLeftCountingBloom::insert`] makes a bag.
    ///
    /// # Errors
    /// As there.
    pub fn insert_unique<K: ?Sized>(&mut self, key: &K) -> Result<bool, TableFull>
    where
        H: Hashes<K>,
    {
        let digest = self.hasher.digest(key);
        if self.contains_digest(digest) { Ok(false) } else { self.insert_digest(digest).map(|()| true) }
    }

    /// Inserts them all, in order.
    ///
    /// # Errors
    /// At the first for which there is no room; those before it were inserted, and the error says how many.
    pub fn insert_batch(&mut self, digests: &[Digest]) -> Result<(), TableFull> {
        let done = self.kernels.insert_batch(self.slots, self.store.as_units_mut(), digests);
        done.map_err(|inserted| self.full(inserted))
    }

    /// Removes a key that was inserted, once.
    ///
    /// # Errors
    /// When neither of its buckets has its fingerprint: it is not there, and nothing has changed.
    #[inline]
    pub fn remove<K: ?Sized>(&mut self, key: &K) -> Result<(), NotPresent>
    where
        H: Hashes<K>,
    {
        self.remove_digest(self.hasher.digest(key))
    }

    /// As [`DLeftCountingBloom::remove`], the key with this digest.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn remove_digest(&mut self, digest: Digest) -> Result<(), NotPresent> {
        if self.kernels.remove(self.slots, self.store.as_units_mut(), digest) { Ok(()) } else { Err(NotPresent) }
    }

    /// Removes them all; bit i % 64 of word i / 64 of `out`: digest i was there. The bits after the last digest are 0.
    ///
    /// # Errors
    /// When `out` has fewer than ⌈digests / 64⌉ words. Nothing is removed then.
    pub fn remove_batch(&mut self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        check_output(digests.len(), out)?;
        self.kernels.remove_batch(self.slots, self.store.as_units_mut(), digests, out);
        Ok(())
    }

    /// Makes it the filter of the keys of both, each as often as in both together.
    ///
    /// # Errors
    /// When size, slots, hasher or seed differ, or there is no room; the receiver is then as it was.
    pub fn merge<S2: AsRef<[u8]>, H2: KeyHasher>(
        &mut self,
        other: &DLeftCountingBloom<S2, H2>,
    ) -> Result<(), DLeftMergeError> {
        super::filter::check_like((self.geometry, &self.hasher), (other.geometry, &other.hasher))?;
        let mut merged = self.to_owned_filter().map_err(DLeftMergeError::Alloc)?;
        let mut elements = Vec::new();
        let count = other.slots_taken() as usize; // no more than there are bytes
        let refused = AllocError::Refused { bytes: (count * size_of::<(Digest, u16)>()) as u64 };
        elements.try_reserve_exact(count).map_err(|_| DLeftMergeError::Alloc(refused))?;
        let all = other.slots.elements(other.buckets());
        elements.extend(all.map(|element| (other.slots.digest_of(element), element.count)));
        // Bucket after bucket they would come to few keys with a choice: so in steps that visit all of them.
        let step = (count as f64 * 0.618) as usize | 1;
        let step = (step..).step_by(2).find(|&step| gcd(step, count) == 1).unwrap_or(1);
        let mut at = 0;
        for _ in 0..count {
            at = (at + step) % count;
            let (digest, times) = elements[at];
            for _ in 0..times {
                merged.insert_digest(digest).map_err(DLeftMergeError::Full)?;
            }
        }
        self.store = merged.store;
        Ok(())
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.store.as_bytes_mut()
    }

    /// Forgets every key. The memory is kept.
    pub fn clear(&mut self) {
        self.store.as_bytes_mut().fill(0);
    }
}

impl<'b, H: KeyHasher> DLeftView<'b, H> {
    /// A filter over buckets that lie in somebody else's bytes, at any alignment, without copying. The bytes are trusted to
    /// be those of such a filter.
    ///
    /// # Errors
    /// When the geometry is none of a d-left table, or the bytes are not as many as it needs.
    pub fn from_bytes(bytes: &'b [u8], geometry: Geometry, design: Design, hasher: H) -> Result<Self, BuildError> {
        DLeft::validate(geometry)?;
        if bytes.len() as u64 != geometry.bits / 8 {
            return Err(BuildError::Length { bytes: bytes.len() as u64, needed: geometry.bits / 8 });
        }
        Ok(DLeftCountingBloom::from_parts(bytes, geometry, design, hasher, Level::get()))
    }
}

impl<S: AsRef<[u8]>, H: KeyHasher> Contains for DLeftCountingBloom<S, H> {
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        DLeftCountingBloom::contains_digest(self, digest)
    }
    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        DLeftCountingBloom::contains_batch(self, digests, out)
    }
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        self.hasher.digest_bytes(key)
    }
    fn size_in_bytes(&self) -> u64 {
        DLeftCountingBloom::size_in_bytes(self)
    }
}
