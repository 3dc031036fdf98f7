//! Counting Bloom filters: a 4-bit counter in the place of each bit, so that keys can be removed.

use super::{
    Builder, Classic, Contains, Design, Filter, FilterKind, filter,
    filter::{KEYS_AT_ONCE, check_like, check_output, hash_into, is_beyond_cache, is_past},
};
use crate::{
    Level,
    block::Unit,
    dispatch::CounterKernels,
    error::{AllocError, BatchError, BuildError, CombineError, NotPresent},
    hash::{Digest, Hashes, KeyHasher, Xxh3},
    layout::{CounterLayout, CounterUnit, CounterWalk, Layout},
    mem::{HugePages, Memory, Owned, Shared, Store, View},
    sizing::{Geometry, counter_overflow_bound},
};

/// Bits of a counter.
const COUNTER_BITS: u64 = 4;
/// A counter that has this value is stuck.
const STUCK: u32 = 15;

/// A counting Bloom filter: m counters of 4 bits at the positions of layout `L`, in `S`, keys hashed by `H`.
///
/// Fan, Cao, Almeida and Broder, "Summary Cache: A Scalable Wide-Area Web Cache Sharing Protocol", 2000 (IEEE/ACM
/// Transactions on Networking 8(3)). Sixteen counters share a word, so that one atomic step changes all of a key's
/// counters that lie in it.
///
/// ```text
/// counting          |..2.....1......1.........3....1...|   m counters, k of them for each key, anywhere
/// blocked-counting  | line | line | line | … |             a line has 128 counters, all of a key's in one
/// word              counter i is bits 4·i to 4·i + 3 of 16
/// ```
///
/// The positions are those of a bit layout, [`Classic`] or [`Blocked128`](super::Blocked128), and so are the rate, the size
/// for a rate, and the bit filter that [`CountingBloom::to_bloom`] makes.
///
/// **Rules.**
///
/// * A counter that reaches 15 is stuck: never lowered again, since more keys than it can tell may stand behind it. Lowering
///   it could make a key absent that is present. What is stuck stays set when all its keys are gone.
/// * A key raises each of its counters once, also one that two of its probes fall on. (Raising it twice would want two at
///   least wherever it is looked up or removed, and fill counters for nothing.)
/// * A removal looks at all counters of the key first. When one is 0 the key was never there: nothing changes, and it is an
///   error. That catches most keys that were never inserted, not those that read "maybe" by chance: removing such a
///   stranger lowers counters of others, and may make them absent.
///
/// **Threads.** Inserts, removals and lookups take `&self`. As long as every removal is of a key whose insertion came before
/// it (balanced callers), no key that is present is ever reported absent: each counter is at least the number of present
/// keys that have it, in every value that it takes, and each value that a reader can see is one of those. A lookup has to be
/// ordered after the insertion as told at [`Atomic`](crate::mem::Atomic).
///
/// With strangers' removals beside them this can't be kept. Of a stranger whose counters are a and b, key K has a:
///
/// | stranger's removal | others | a | b |
/// |---|---|---|---|
/// | looks: a = 1, b = 1 | | 1 | 1 |
/// | | another key's removal lowers b | 1 | 0 |
/// | lowers a | | 0 | 0 |
/// | | K is looked up: absent, though it is there | 0 | 0 |
/// | finds b at 0, raises a again, is refused | | 1 | 0 |
///
/// **When.** When the set changes and cannot be rebuilt: four times the memory of bits is the price. `blocked-counting`
/// touches one line for each key, at a worse rate (1.35 % at ten counters for each key, where `counting` has 0.82 %).
///
/// **When not.** In front of data that never changes; and never as a gate: a removal of a stranger makes it lie.
/// [`CountingBloom::to_bloom`] makes a gate of it.
///
/// ```
/// use bloomline::{Classic, CountingBloom, error::NotPresent};
///
/// let filter = CountingBloom::<Classic>::builder(10_000).fpr(0.01).build()?;
/// filter.insert("key"); // any number of threads at once
/// assert!(filter.contains("key"));
/// assert_eq!(filter.remove("key"), Ok(()));
/// assert!(!filter.contains("key"));
/// assert_eq!(filter.remove("key"), Err(NotPresent)); // nothing has changed
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
///
/// | store | made by | writes |
/// |---|---|---|
/// | [`Shared`] | [`CountingBuilder::build`] | `&self`, many threads |
/// | [`Owned`] | [`CountingBuilder::build_plain`], [`CountingBloom::freeze`] | `&mut self` |
/// | [`View`] | [`CountingView::from_bytes`] | never |
#[derive(Debug)]
pub struct CountingBloom<L: CounterLayout = Classic, S: Store<Unit = CounterUnit<L>> = Shared<CounterUnit<L>>, H = Xxh3>
{
    kernels: &'static CounterKernels<L, S::Mem>,
    store: S,
    geometry: Geometry,
    design: Design,
    prefetch: bool,
    hasher: H,
}

/// A counting filter for one writer.
pub type PlainCountingBloom<L = Classic, H = Xxh3> = CountingBloom<L, Owned<CounterUnit<L>>, H>;

/// A counting filter in somebody else's bytes.
pub type CountingView<'b, L = Classic, H = Xxh3> = CountingBloom<L, View<'b, CounterUnit<L>>, H>;

impl<L: CounterLayout> CountingBloom<L> {
    /// Starts a filter for `keys` distinct keys at a time.
    pub fn builder(keys: u64) -> CountingBuilder<L> {
        CountingBuilder(Builder::new(keys))
    }
}

/// Sizes a counting filter by its layout's formula, and makes it. A rate of 1 % unless told otherwise.
///
/// ```
/// use bloomline::{Blocked128, CountingBloom};
/// let builder = CountingBloom::<Blocked128>::builder(1_000_000).counters_per_key(10.0);
/// assert_eq!(builder.estimated_bytes()?, 4_999_680); // half a byte each
/// let filter = builder.build()?;
/// assert_eq!(format!("{:.4}", filter.design().fpr), "0.0135");
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CountingBuilder<L: CounterLayout, H = Xxh3>(Builder<L, H>);

impl<L: CounterLayout, H: KeyHasher> CountingBuilder<L, H> {
    /// The fewest counters whose expected false positive rate with all keys is at most `fpr`.
    #[must_use]
    pub fn fpr(self, fpr: f64) -> Self {
        Self(self.0.fpr(fpr))
    }

    /// At most this many counters for each key, and at least one unit.
    #[must_use]
    pub fn counters_per_key(self, counters: f64) -> Self {
        Self(self.0.bits_per_key(counters))
    }

    /// At most this many bytes in all.
    #[must_use]
    pub fn with_byte_budget(self, bytes: u64) -> Self {
        Self(self.0.with_byte_budget(bytes / COUNTER_BITS))
    }

    /// Exactly these counters (the geometry's bits) and probes.
    #[must_use]
    pub fn geometry(self, geometry: Geometry) -> Self {
        Self(self.0.geometry(geometry))
    }

    /// Keys hashed by this hasher.
    #[must_use]
    pub fn hasher<H2: KeyHasher>(self, hasher: H2) -> CountingBuilder<L, H2> {
        CountingBuilder(self.0.hasher(hasher))
    }

    /// Answered by this instruction set, or the best below when this machine lacks it.
    #[must_use]
    pub fn level(self, level: Level) -> Self {
        Self(self.0.level(level))
    }

    /// At most this many bytes are allocated: see [`Builder::memory_cap`].
    #[must_use]
    pub fn memory_cap(self, bytes: u64) -> Self {
        Self(self.0.memory_cap(bytes))
    }

    /// The counters (as bits) and probes that the filter will have.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn sized(&self) -> Result<Geometry, BuildError> {
        self.0.sized()
    }

    /// The bytes that the counters will take. Nothing is allocated, and no cap applies.
    ///
    /// # Errors
    /// When there is no such size.
    pub fn estimated_bytes(&self) -> Result<u64, BuildError> {
        Ok(bytes_of(self.sized()?))
    }

    /// Makes a filter for one writer, empty.
    ///
    /// # Errors
    /// When there is no such size, when it is over the cap, or when the system has no memory for it; all before anything
    /// is allocated but the last.
    pub fn build_plain(self) -> Result<PlainCountingBloom<L, H>, BuildError> {
        let geometry = self.sized()?;
        let (keys, hasher, level, cap) = self.0.into_parts();
        let bytes = bytes_of(geometry);
        if bytes > cap {
            return Err(AllocError::OverCap { bytes, cap }.into());
        }
        let design = Design { keys, fpr: L::MODEL.fpr(keys, geometry) };
        Ok(CountingBloom::from_parts(counters::<L>(geometry)?, geometry, design, hasher, level))
    }

    /// Makes a filter that many threads may write, empty.
    ///
    /// # Errors
    /// As [`CountingBuilder::build_plain`].
    pub fn build(self) -> Result<CountingBloom<L, Shared<CounterUnit<L>>, H>, BuildError> {
        self.build_plain().map(CountingBloom::into_shared)
    }
}

/// Bytes of so many counters.
pub(crate) const fn bytes_of(g: Geometry) -> u64 {
    g.bits / 8 * COUNTER_BITS
}

/// Zeroed counters for a geometry that was validated.
fn counters<L: CounterLayout>(g: Geometry) -> Result<Owned<CounterUnit<L>>, AllocError> {
    let units = bytes_of(g) / CounterUnit::<L>::BYTES as u64;
    Owned::zeroed(units, L::shape(g))?.ok_or(AllocError::Refused { bytes: bytes_of(g) })
}

/// An empty filter of a geometry that was validated.
pub(super) fn empty<L: CounterLayout, H: KeyHasher>(
    geometry: Geometry,
    design: Design,
    hasher: H,
    level: Level,
) -> Result<PlainCountingBloom<L, H>, AllocError> {
    Ok(CountingBloom::from_parts(counters::<L>(geometry)?, geometry, design, hasher, level))
}

impl<L: CounterLayout, S: Store<Unit = CounterUnit<L>>, H: KeyHasher> CountingBloom<L, S, H> {
    fn from_parts(store: S, geometry: Geometry, design: Design, hasher: H, level: Level) -> Self {
        // Shared memory is read by words, with fewer keys in flight.
        let in_l3 = L::CounterWalk::PREFETCH_IN_L3 || !<S::Mem as Memory>::VECTORS;
        let prefetch = is_beyond_cache(bytes_of(geometry), in_l3);
        Self { kernels: CounterKernels::of(level), store, geometry, design, prefetch, hasher }
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
        self.kernels.contains(self.store.units(), digest)
    }

    /// Bit i % 64 of word i / 64 of `out`: may digest i be present? The bits after the last digest are 0, and words
    /// beyond those needed are left alone.
    ///
    /// # Errors
    /// When `out` has fewer than ⌈digests / 64⌉ words. Nothing is written then.
    #[inline]
    pub fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        check_output(digests.len(), out)?;
        self.kernels.contains_batch(self.store.units(), digests, out, self.prefetch);
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

    /// What it is: `counting` or `blocked-counting`.
    pub fn kind(&self) -> FilterKind {
        L::COUNTING
    }

    /// Its counters m (as bits) and probes k.
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
        self.kernels = CounterKernels::of(level);
        self
    }

    /// Bytes of its counters.
    pub fn size_in_bytes(&self) -> u64 {
        bytes_of(self.geometry)
    }

    /// What the kernel said about huge pages for its memory.
    pub fn huge_pages(&self) -> HugePages {
        self.store.huge_pages()
    }

    /// Calls `visit` with all words in order, 64 at a time; the last call has zeros where there are none, and gets the
    /// number of those that are there.
    fn for_each_words(&self, mut visit: impl FnMut(&[u64; 64], usize)) {
        let (units, in_unit) = (self.store.units(), CounterUnit::<L>::WORDS);
        let all = units.len() * in_unit;
        for first in (0..all).step_by(64) {
            let mut words = [0; 64];
            let n = (all - first).min(64);
            for (w, word) in words.iter_mut().enumerate().take(n) {
                let at = first + w;
                let cell = units.get(at / in_unit);
                *word = cell.map_or(0, |cell| <S::Mem as Memory>::word::<CounterUnit<L>>(cell, at % in_unit));
            }
            visit(&words, n);
        }
    }

    /// How many counters have each value, 0 to 15. Reads the whole filter.
    pub fn histogram(&self) -> [u64; 16] {
        let mut counts = [0; 16];
        self.for_each_words(|words, n| {
            self.kernels.histogram(words, &mut counts);
            counts[0] -= 16 * (64 - n) as u64;
        });
        counts
    }

    /// Counters that are stuck at 15: they stay set when all their keys are gone. Reads the whole filter.
    pub fn stuck_counters(&self) -> u64 {
        self.histogram()[STUCK as usize]
    }

    /// The bound of Fan et al. on the chance that any counter is stuck when it holds the keys it was sized for, each once: see
    /// [`counter_overflow_bound`]. Counters of keys that are inserted often reach 15 sooner.
    pub fn overflow_bound(&self) -> f64 {
        counter_overflow_bound(self.design.keys, self.geometry, STUCK)
    }

    /// Share of counters that are not 0, 0 to 1. Reads the whole filter.
    pub fn occupancy(&self) -> f64 {
        1.0 - self.histogram()[0] as f64 / self.geometry.bits as f64
    }

    /// Distinct keys that are present, estimated from the occupancy by the layout's own formula; infinite when no counter
    /// is 0. Reads the whole filter.
    pub fn estimated_cardinality(&self) -> f64 {
        L::MODEL.cardinality(self.occupancy(), self.geometry)
    }

    /// Whether more keys are present than it was sized for, by more than chance explains. Reads the whole filter.
    pub fn is_past_design(&self) -> bool {
        is_past(self.design, self.geometry, self.estimated_cardinality())
    }

    /// The bit filter of the keys that are present, bit for bit what inserting them into layout `L` makes (and bits for
    /// counters that are stuck): a [`NegativeGate`](crate::NegativeGate), in a quarter of the memory.
    ///
    /// # Errors
    /// When there is no memory for it.
    ///
    /// ```
    /// # use bloomline::{Classic, CountingBloom, Filter};
    /// let counting = CountingBloom::<Classic>::builder(1_000).build()?;
    /// counting.insert("stays");
    /// counting.insert("goes");
    /// counting.remove("goes")?;
    /// let mut bits = Filter::<Classic>::builder(1_000).build()?;
    /// bits.insert("stays");
    /// assert_eq!(counting.to_bloom()?.as_bytes(), bits.as_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bloom(&self) -> Result<Filter<L, Owned<<L as Layout>::Unit>, H>, AllocError> {
        let mut store = filter::owned::<L>(self.geometry)?;
        let mut out = store.as_bytes_mut().chunks_mut(128);
        self.for_each_words(|words, _| {
            let mut bits = [0; 16];
            self.kernels.occupied(words, &mut bits);
            if let Some(out) = out.next() {
                for (out, bits) in out.chunks_mut(8).zip(bits) {
                    out.copy_from_slice(&bits.to_le_bytes()[..out.len()]);
                }
            }
        });
        Ok(Filter::from_parts(store, self.geometry, self.design, self.hasher.clone(), self.level()))
    }

    /// A copy for one writer.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn to_plain(&self) -> Result<PlainCountingBloom<L, H>, AllocError> {
        let mut store = counters::<L>(self.geometry)?;
        let mut out = store.as_bytes_mut().chunks_mut(512);
        self.for_each_words(|words, _| {
            let out = out.next().unwrap_or_default();
            for (out, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *out = word.to_le_bytes();
            }
        });
        Ok(CountingBloom::from_parts(store, self.geometry, self.design, self.hasher.clone(), self.level()))
    }

    /// Adds the counters of another filter to these bytes.
    fn add_to<S2: Store<Unit = CounterUnit<L>>, H2: KeyHasher>(
        kernels: &CounterKernels<L, S::Mem>,
        bytes: &mut [u8],
        other: &CountingBloom<L, S2, H2>,
    ) {
        let mut into = bytes.chunks_mut(512);
        other.for_each_words(|theirs, _| {
            let into = into.next().unwrap_or_default().as_chunks_mut::<8>().0;
            let mut ours = [0; 64];
            for (ours, bytes) in ours.iter_mut().zip(&*into) {
                *ours = u64::from_le_bytes(*bytes);
            }
            kernels.add(&mut ours, theirs);
            for (bytes, ours) in into.iter_mut().zip(ours) {
                *bytes = ours.to_le_bytes();
            }
        });
    }
}

/// What both filters that can be written do: `&self` or `&mut self`.
macro_rules! writes {
    ([$($mutable:ident)?] $Store:ident $threads:literal) => {
        impl<L: CounterLayout, H: KeyHasher> CountingBloom<L, $Store<CounterUnit<L>>, H> {
            /// Inserts a key once more: it has to be removed as often as it was inserted. True when a counter changed,
            /// which is always but where all of the key's counters are stuck.
            #[doc = ""]
            #[doc = $threads]
            #[inline]
            pub fn insert<K: ?Sized>(& $($mutable)? self, key: &K) -> bool
            where
                H: Hashes<K>,
            {
                self.insert_digest(self.hasher.digest(key))
            }

            /// As [`CountingBloom::insert`], the key with this digest.
            #[inline]
            pub fn insert_digest(& $($mutable)? self, digest: Digest) -> bool {
                self.kernels.insert(&mut self.store.units_mut(), digest)
            }

            /// Inserts them all.
            pub fn insert_batch(& $($mutable)? self, digests: &[Digest]) {
                self.kernels.insert_batch(&mut self.store.units_mut(), digests);
            }

            /// Inserts all keys, hashing a few hundred at a time.
            pub fn insert_keys<K>(& $($mutable)? self, keys: &[K])
            where
                H: Hashes<K>,
            {
                let mut digests = [Digest(0); KEYS_AT_ONCE];
                for keys in keys.chunks(KEYS_AT_ONCE) {
                    let digests = hash_into(&self.hasher, keys, &mut digests);
                    self.kernels.insert_batch(&mut self.store.units_mut(), digests);
                }
            }

            /// Inserts a key unless it is reported present already; true when it was inserted. A set, where
            /// [`CountingBloom::insert`] makes a bag: one removal takes the key out.
            ///
            /// A key that is reported present by chance, at the filter's rate, is not inserted: it becomes absent when the
            /// keys are removed whose counters it found. Of two threads that insert the same new key at the same time
            /// both may be told true, and then two removals are needed.
            #[inline]
            pub fn insert_unique<K: ?Sized>(& $($mutable)? self, key: &K) -> bool
            where
                H: Hashes<K>,
            {
                self.insert_unique_digest(self.hasher.digest(key))
            }

            /// As [`CountingBloom::insert_unique`], the key with this digest.
            #[inline]
            pub fn insert_unique_digest(& $($mutable)? self, digest: Digest) -> bool {
                !self.contains_digest(digest) && self.insert_digest(digest)
            }

            /// Removes a key that was inserted, once.
            ///
            /// # Errors
            /// When one of its counters is 0: it is not there, and nothing has changed. A key that was never inserted is
            /// refused but for the filter's rate; when it is not, others may become absent.
            #[inline]
            pub fn remove<K: ?Sized>(& $($mutable)? self, key: &K) -> Result<(), NotPresent>
            where
                H: Hashes<K>,
            {
                self.remove_digest(self.hasher.digest(key))
            }

            /// As [`CountingBloom::remove`], the key with this digest.
            ///
            /// # Errors
            /// As there.
            #[inline]
            pub fn remove_digest(& $($mutable)? self, digest: Digest) -> Result<(), NotPresent> {
                if self.kernels.remove(&mut self.store.units_mut(), digest) { Ok(()) } else { Err(NotPresent) }
            }

            /// Removes them all; bit i % 64 of word i / 64 of `out`: digest i was there. Those that were not are refused,
            /// as by [`CountingBloom::remove`], and the others removed. The bits after the last digest are 0.
            ///
            /// # Errors
            /// When `out` has fewer than ⌈digests / 64⌉ words. Nothing is removed then.
            pub fn remove_batch(& $($mutable)? self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
                check_output(digests.len(), out)?;
                self.kernels.remove_batch(&mut self.store.units_mut(), digests, out);
                Ok(())
            }

            /// Makes it the filter of the keys of both, each as often as in both together. A sum over 15 is 15: stuck.
            ///
            /// # Errors
            /// When size, probes, hasher or seed differ; the receiver is then as it was.
            pub fn merge<S2: Store<Unit = CounterUnit<L>>, H2: KeyHasher>(
                &mut self,
                other: &CountingBloom<L, S2, H2>,
            ) -> Result<(), CombineError> {
                check_like((self.geometry, &self.hasher), (other.geometry, &other.hasher))?;
                Self::add_to(self.kernels, self.store.as_bytes_mut(), other);
                Ok(())
            }

            /// Forgets every key, the stuck counters too. The memory is kept.
            pub fn clear(&mut self) {
                self.store.as_bytes_mut().fill(0);
            }
        }
    };
}
writes!([] Shared "Any number of threads may insert, remove and look up at the same time.");
writes!([mut] Owned "One writer at a time.");

impl<L: CounterLayout, H: KeyHasher> CountingBloom<L, Shared<CounterUnit<L>>, H> {
    /// The filter of one writer, once no other thread needs it: taking `self` proves that. Nothing is copied.
    pub fn freeze(self) -> PlainCountingBloom<L, H> {
        let level = self.level();
        CountingBloom::from_parts(self.store.into_owned(), self.geometry, self.design, self.hasher, level)
    }
}

impl<L: CounterLayout, H: KeyHasher> PlainCountingBloom<L, H> {
    /// The same filter, for many threads at once. Nothing is copied.
    pub fn into_shared(self) -> CountingBloom<L, Shared<CounterUnit<L>>, H> {
        let level = self.level();
        CountingBloom::from_parts(self.store.into_shared(), self.geometry, self.design, self.hasher, level)
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.store.as_bytes_mut()
    }

    /// Its counters: counter i is the low half of byte i / 2 when i is even, the high half when it is odd.
    pub fn as_bytes(&self) -> &[u8] {
        self.store.as_bytes()
    }
}

impl<'b, L: CounterLayout, H: KeyHasher> CountingView<'b, L, H> {
    /// A filter over counters that lie in somebody else's bytes, at any alignment, without copying. The bytes are trusted
    /// to be counters of such a filter.
    ///
    /// # Errors
    /// When the geometry is none of the layout's, or the bytes are not as many as it needs.
    pub fn from_bytes(bytes: &'b [u8], geometry: Geometry, design: Design, hasher: H) -> Result<Self, BuildError> {
        L::MODEL.validate(geometry)?;
        let length = BuildError::Length { bytes: bytes.len() as u64, needed: bytes_of(geometry) };
        if bytes.len() as u64 != bytes_of(geometry) {
            return Err(length);
        }
        let store = View::new(bytes, L::shape(geometry)).ok_or(length)?;
        Ok(CountingBloom::from_parts(store, geometry, design, hasher, Level::get()))
    }

    /// Its counters.
    pub fn as_bytes(&self) -> &'b [u8] {
        self.store.as_bytes()
    }
}

impl<L: CounterLayout, S: Store<Unit = CounterUnit<L>>, H: KeyHasher> Contains for CountingBloom<L, S, H> {
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        CountingBloom::contains_digest(self, digest)
    }
    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        CountingBloom::contains_batch(self, digests, out)
    }
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        self.hasher.digest_bytes(key)
    }
    fn size_in_bytes(&self) -> u64 {
        CountingBloom::size_in_bytes(self)
    }
}
