//! [`Filter`]: a layout over a store, with a hasher.

use super::{Builder, LayoutKind};
use crate::{
    Level,
    block::Unit,
    dispatch::{BulkOptions, Kernel, Kernels, insert_bulk, with_kernel},
    error::{AllocError, BatchError, BuildError, CombineError, FoldError, WriteError},
    hash::{AnyHasher, Digest, Hashes, KeyHasher, Xxh3},
    layout::{Layout, Walk},
    mem::{Held, HugePages, MaybeOwned, Memory, Owned, Shared, Store, View},
    sizing::{Geometry, Model},
};
use alloc::vec::Vec;

/// Digests that are hashed and probed together when a batch of keys is given.
pub(super) const KEYS_AT_ONCE: usize = 512;

/// What a filter was sized for. It goes on answering beyond that, with a rate that rises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// Distinct keys n; 0 where that was not recorded.
    pub keys: u64,
    /// Expected false positive rate with that many keys.
    pub fpr: f64,
}

/// A Bloom filter: layout `L`, bits in `S`, keys hashed by `H`.
///
/// ```
/// use bloomline::{Filter, SplitBlock};
///
/// let mut filter = Filter::<SplitBlock>::builder(10_000).fpr(0.01).build()?;
/// assert!(filter.insert("inserted"));
/// assert!(filter.contains("inserted")); // never absent
/// assert!(!filter.contains("not inserted")); // absent, but for 1 key in 100
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
///
/// | store | made by | writes |
/// |---|---|---|
/// | [`Owned`] | [`Filter::builder`] | `&mut self` |
/// | [`Shared`] | [`Builder::build_shared`], [`Filter::into_shared`] | `&self`, many threads |
/// | [`View`] | [`FilterView::from_bytes`] | never |
#[derive(Debug)]
pub struct Filter<L: Layout, S: Store<Unit = L::Unit> = Owned<<L as Layout>::Unit>, H = Xxh3> {
    kernels: &'static Kernels<L, S::Mem>,
    store: S,
    geometry: Geometry,
    design: Design,
    prefetch: bool,
    hasher: H,
}

/// A filter that many threads may fill at the same time.
pub type SharedFilter<L, H = Xxh3> = Filter<L, Shared<<L as Layout>::Unit>, H>;

/// A filter in somebody else's bytes.
pub type FilterView<'b, L, H = Xxh3> = Filter<L, View<'b, <L as Layout>::Unit>, H>;

impl<L: Layout> Filter<L> {
    /// Starts a filter for `keys` distinct keys.
    pub fn builder(keys: u64) -> Builder<L> {
        Builder::new(keys)
    }
}

/// Whether batches should prefetch: when the filter is larger than the caches in which its layout does without.
fn wants_prefetch<L: Layout>(bytes: u64) -> bool {
    is_beyond_cache(bytes, L::Walk::PREFETCH_IN_L3)
}

/// Is memory of this size larger than L2, or than L3?
pub(super) fn is_beyond_cache(bytes: u64, than_l2: bool) -> bool {
    #[cfg(all(feature = "std", not(miri)))]
    {
        use crate::machine::{Machine, Tier};
        match Machine::get().tier(bytes) {
            Tier::L1 | Tier::L2 => false,
            Tier::L3 => than_l2,
            Tier::Dram => true,
        }
    }
    #[cfg(any(not(feature = "std"), miri))]
    {
        bytes > if than_l2 { 1 << 20 } else { 8 << 20 }
    }
}

impl<L: Layout, S: Store<Unit = L::Unit>, H: KeyHasher> Filter<L, S, H> {
    /// From its parts. The store was made with the shape of the geometry.
    pub(crate) fn from_parts(store: S, geometry: Geometry, design: Design, hasher: H, level: Level) -> Self {
        let prefetch = wants_prefetch::<L>(geometry.bits / 8);
        Self { kernels: Kernels::of(level), store, geometry, design, prefetch, hasher }
    }

    /// May `key` be present? `false` is exact, `true` is wrong at the filter's rate.
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
    ///
    /// ```
    /// # use bloomline::{Filter, Word};
    /// # let mut filter = Filter::<Word>::builder(100).build()?;
    /// filter.insert(&7u64);
    /// let digests = [filter.digest(&7u64), filter.digest(&8u64)];
    /// let mut out = [0; 1];
    /// filter.contains_batch(&digests, &mut out)?;
    /// assert_eq!(out[0] & 1, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        check_output(digests.len(), out)?;
        self.kernels.contains_batch(self.store.units(), digests, out, self.prefetch);
        Ok(())
    }

    /// Replaces the contents of `indices` by the positions in `digests` of those that may be present, ascending.
    pub fn select_batch(&self, digests: &[Digest], indices: &mut Vec<usize>) {
        indices.clear();
        let mut out = [0; KEYS_AT_ONCE / 64];
        for (c, chunk) in digests.chunks(KEYS_AT_ONCE).enumerate() {
            self.kernels.contains_batch(self.store.units(), chunk, &mut out, self.prefetch);
            select(&out[..chunk.len().div_ceil(64)], c * KEYS_AT_ONCE, indices);
        }
    }

    /// As [`Filter::contains_batch`], for keys: they are hashed a few hundred at a time, just before they are probed.
    ///
    /// # Errors
    /// When `out` has fewer than ⌈keys / 64⌉ words. Nothing is written then.
    pub fn contains_keys<K>(&self, keys: &[K], out: &mut [u64]) -> Result<(), BatchError>
    where
        H: Hashes<K>,
    {
        check_output(keys.len(), out)?;
        let mut digests = [Digest(0); KEYS_AT_ONCE];
        for (keys, out) in keys.chunks(KEYS_AT_ONCE).zip(out.chunks_mut(KEYS_AT_ONCE / 64)) {
            let digests = hash_into(&self.hasher, keys, &mut digests);
            self.kernels.contains_batch(self.store.units(), digests, out, self.prefetch);
        }
        Ok(())
    }

    /// As [`Filter::select_batch`], for keys.
    pub fn select_keys<K>(&self, keys: &[K], indices: &mut Vec<usize>)
    where
        H: Hashes<K>,
    {
        indices.clear();
        let mut digests = [Digest(0); KEYS_AT_ONCE];
        let mut out = [0; KEYS_AT_ONCE / 64];
        for (c, keys) in keys.chunks(KEYS_AT_ONCE).enumerate() {
            let digests = hash_into(&self.hasher, keys, &mut digests);
            self.kernels.contains_batch(self.store.units(), digests, &mut out, self.prefetch);
            select(&out[..keys.len().div_ceil(64)], c * KEYS_AT_ONCE, indices);
        }
    }

    /// Runs `body` once, compiled for this filter's instruction set, so that the lookups of a loop in it become part of
    /// the loop: no call, no table (for `classic`, `partitioned` and `blocked-128`, whose lookups are long, a direct call).
    ///
    /// ```
    /// # use bloomline::{Filter, SplitBlock, hash::Digest};
    /// # let mut filter = Filter::<SplitBlock>::builder(1_000).build()?;
    /// # let digests = [Digest(1), Digest(2)];
    /// let hits = filter.with_kernel(|kernel| {
    ///     let mut hits = 0;
    ///     for &digest in &digests {
    ///         hits += kernel.contains(digest) as usize;
    ///     }
    ///     hits
    /// });
    /// # assert_eq!(hits, 0);
    /// # Ok::<(), bloomline::error::BuildError>(())
    /// ```
    #[inline]
    pub fn with_kernel<R>(&self, body: impl FnOnce(Kernel<'_, L, S::Mem>) -> R) -> R {
        with_kernel(self.kernels.level(), *self.store.units(), body)
    }

    /// The digest of a key, by this filter's hasher: hash once, probe many filters.
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

    /// Its layout.
    pub fn kind(&self) -> LayoutKind {
        L::KIND
    }

    /// Its bits m and probes k.
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
        self.kernels = Kernels::of(level);
        self
    }

    /// Whether batches should prefetch when this filter is probed together with others, `bytes` in all. By itself a
    /// filter takes the caches for its own.
    pub(crate) fn prefetches_among(&self, bytes: u64) -> bool {
        wants_prefetch::<L>(bytes.max(self.geometry.bits / 8))
    }

    /// As [`Filter::contains_batch`], for an `out` that is known to be long enough, prefetching or not as told.
    pub(crate) fn contains_window(&self, digests: &[Digest], out: &mut [u64], prefetch: bool) {
        self.kernels.contains_batch(self.store.units(), digests, out, prefetch);
    }

    /// Asks the memory for the line where a lookup of this digest begins, and does not wait for it: before one key is
    /// looked up in many filters.
    #[inline]
    pub fn prefetch(&self, digest: Digest) {
        L::Walk::prefetch(self.store.units(), digest);
    }

    /// Bytes of its bits.
    pub fn size_in_bytes(&self) -> u64 {
        self.geometry.bits / 8
    }

    /// What the kernel said about huge pages for its memory.
    pub fn huge_pages(&self) -> HugePages {
        self.store.huge_pages()
    }

    /// Share of bits that are set, 0 to 1. Reads the whole filter.
    pub fn occupancy(&self) -> f64 {
        let set: u64 = self.words().map(|word| word.count_ones() as u64).sum();
        set as f64 / self.geometry.bits as f64
    }

    /// Distinct keys that were inserted, estimated from the occupancy by the layout's own formula
    /// ([`Model::cardinality`]); infinite when every bit is set. Reads the whole filter.
    pub fn estimated_cardinality(&self) -> f64 {
        L::MODEL.cardinality(self.occupancy(), self.geometry)
    }

    /// The rate at which it answers "maybe" for absent keys now: the exact chance that the probes of a random digest all
    /// fall on set bits, block by block. Reads the whole filter.
    pub fn current_fpr(&self) -> f64 {
        let k = self.geometry.k as i32;
        let (units, words) = (self.store.units(), self.words());
        match L::MODEL {
            Model::Scattered => libm::pow(self.occupancy(), k as f64),
            Model::Partitioned => {
                let region = (self.geometry.bits / 64 / self.geometry.k as u64) as usize;
                let mut rate = 1.0;
                let (mut set, mut n) = (0u64, 0);
                for word in words {
                    set += word.count_ones() as u64;
                    n += 1;
                    if n == region {
                        rate *= set as f64 / (region * 64) as f64;
                        (set, n) = (0, 0);
                    }
                }
                rate
            }
            Model::Block { block_bits, .. } => {
                let rate = |set: u32| libm::pow(set as f64 / block_bits as f64, k as f64);
                let mut by_occupancy = [0u64; 513];
                let (mut set, mut n) = (0u32, 0);
                for word in words {
                    set += word.count_ones();
                    n += 64;
                    if n == block_bits {
                        by_occupancy[set as usize] += 1;
                        (set, n) = (0, 0);
                    }
                }
                let sum: f64 = (0..).zip(by_occupancy).map(|(set, blocks)| rate(set) * blocks as f64).sum();
                sum / units.len() as f64
            }
            Model::Lanes { lanes, lane_bits } => {
                let (mut sum, mut product, mut lane) = (0.0, 1.0, 0);
                for word in words {
                    for part in 0..64 / lane_bits {
                        let bits = word >> (part * lane_bits) & (u64::MAX >> (64 - lane_bits));
                        product *= bits.count_ones() as f64 / lane_bits as f64;
                        lane += 1;
                    }
                    if lane == lanes {
                        sum += product;
                        (product, lane) = (1.0, 0);
                    }
                }
                sum / units.len() as f64
            }
        }
    }

    /// Whether more keys are in it than it was sized for, by more than chance explains: rebuild, rotate or grow then.
    /// Reads the whole filter. False where it is not known what it was sized for.
    ///
    /// The estimate of a filter that holds exactly its design's keys is above them as often as below. Its standard error
    /// is √(m·(e^t − t − 1)) / k with t = k·n / m (Whang, Vander-Zanden and Taylor 1990, "A Linear-Time Probabilistic
    /// Counting Algorithm for Database Applications", TODS 15(2)); four of them are left to chance.
    pub fn is_past_design(&self) -> bool {
        is_past(self.design, self.geometry, self.estimated_cardinality())
    }

    /// All its words in order, bit j of word i being bit 64·i + j.
    fn words(&self) -> impl Iterator<Item = u64> {
        let units = self.store.units();
        (0..units.len())
            .filter_map(|i| units.get(i))
            .flat_map(|cell| (0..L::Unit::WORDS).map(move |w| <S::Mem as Memory>::word::<L::Unit>(cell, w)))
    }

    /// Whether another filter's bits mean the same as this one's.
    fn check_like<S2: Store<Unit = L::Unit>, H2: KeyHasher>(
        &self,
        other: &Filter<L, S2, H2>,
    ) -> Result<(), CombineError> {
        check_like((self.geometry, &self.hasher), (other.geometry, &other.hasher))
    }

    /// A copy that owns its bits.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn to_owned_filter(&self) -> Result<Filter<L, Owned<L::Unit>, H>, AllocError> {
        let mut store = owned::<L>(self.geometry)?;
        for (to, word) in store.as_bytes_mut().as_chunks_mut::<8>().0.iter_mut().zip(self.words()) {
            *to = word.to_le_bytes();
        }
        Ok(Filter::from_parts(store, self.geometry, self.design, self.hasher.clone(), self.level()))
    }

    /// The greatest factor by which [`Filter::fold`] can shrink this filter while the rate that its estimated keys
    /// would then have stays at most `fpr`; 1 when there is none. Reads the whole filter.
    pub fn best_fold(&self, fpr: f64) -> u64 {
        let keys = libm::ceil(self.estimated_cardinality()) as u64;
        let Geometry { bits, k } = self.geometry;
        let (units, unit_bits) = (foldable_units::<L>(self.geometry), L::MODEL.unit_bits(k));
        let (mut low, mut high) = (1, units); // the fewest units that keep the rate
        while low < high {
            let middle = low + (high - low) / 2;
            if L::MODEL.fpr(keys, Geometry { bits: middle * unit_bits, k }) <= fpr {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        debug_assert!(bits == units * unit_bits);
        let most = units / low;
        let divisors = (1..).take_while(|d| d * d <= units && *d < 1 << 20).filter(|d| units.is_multiple_of(*d));
        divisors.flat_map(|d| [d, units / d]).filter(|&q| q <= most).max().unwrap_or(1)
    }

    /// The filter that the same keys would have made with m / `factor` bits and the same k, bit for bit.
    ///
    /// Units `factor`·j to `factor`·j + `factor` − 1 are ORed into unit j, where a unit is a block (of the block
    /// layouts), or a bit of all (`classic`) or of each region (`partitioned`): fastrange maps a digest to ⌊h·z/2ʷ⌋, and
    /// ⌊⌊h·z/2ʷ⌋/q⌋ = ⌊h·(z/q)/2ʷ⌋ when q divides z.
    ///
    /// The result was sized for as many keys as keep the design's rate in the new size, or for those that it holds where they
    /// are more: it is not past its design for having been folded.
    ///
    /// # Errors
    /// When the factor is 0 or leaves no whole number of units (of 64-bit words, for the scattered layouts), or when
    /// there is no memory.
    ///
    /// ```
    /// # use bloomline::{Blocked, Filter};
    /// let mut filter = Filter::<Blocked>::builder(1_000_000).build()?; // ten times too many
    /// for key in 0..100_000u64 {
    ///     filter.insert(&key);
    /// }
    /// let small = filter.fold(8)?;
    /// assert_eq!(small.size_in_bytes(), filter.size_in_bytes() / 8);
    /// assert!((0..100_000u64).all(|key| small.contains(&key)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fold(&self, factor: u64) -> Result<Filter<L, Owned<L::Unit>, H>, FoldError> {
        let units = foldable_units::<L>(self.geometry);
        if factor == 0 || !units.is_multiple_of(factor) {
            return Err(FoldError::NotADivisor { factor, units });
        }
        let geometry = Geometry { bits: self.geometry.bits / factor, k: self.geometry.k };
        let mut store = owned::<L>(geometry)?;
        let words = store.as_bytes_mut().as_chunks_mut::<8>().0;
        match L::MODEL {
            Model::Scattered | Model::Partitioned => {
                let shape = L::shape(self.geometry);
                for (i, mut word) in (0u64..).zip(self.words()) {
                    while word != 0 {
                        let at = i * 64 + word.trailing_zeros() as u64;
                        word &= word - 1;
                        // Regions stay whole, and a position moves within its own.
                        let to = at / shape.span * (shape.span / factor) + at % shape.span / factor;
                        if let Some(word) = words.get_mut((to / 64) as usize) {
                            word.or_word(0, 1 << (to % 64));
                        }
                    }
                }
            }
            Model::Block { .. } | Model::Lanes { .. } => {
                let in_unit = L::Unit::WORDS as u64;
                for (i, word) in (0u64..).zip(self.words()) {
                    let to = i / in_unit / factor * in_unit + i % in_unit;
                    if let Some(to) = words.get_mut(to as usize) {
                        to.or_word(0, word);
                    }
                }
            }
        }
        let mut folded = Filter::from_parts(store, geometry, self.design, self.hasher.clone(), self.level());
        if self.design.keys > 0 {
            let held = libm::ceil(folded.estimated_cardinality()) as u64; // saturates where every bit is set
            let keys = L::MODEL.capacity(self.design.fpr, geometry).max(held).max(1);
            folded.design = Design { keys, fpr: L::MODEL.fpr(keys, geometry) };
        }
        Ok(folded)
    }
}

/// Units of which a fold's factor must leave a whole number: blocks, or words (of each region).
fn foldable_units<L: Layout>(g: Geometry) -> u64 {
    g.bits / L::MODEL.unit_bits(g.k).max(1)
}

/// Zeroed memory for a geometry that was validated.
pub(crate) fn owned<L: Layout>(g: Geometry) -> Result<Owned<L::Unit>, AllocError> {
    let units = g.bits / 8 / L::Unit::BYTES as u64;
    Owned::zeroed(units, L::shape(g))?.ok_or(AllocError::Refused { bytes: g.bits / 8 })
}

fn combine<L: Layout, S: Store<Unit = L::Unit>, H: KeyHasher>(
    into: &mut Owned<L::Unit>,
    from: &Filter<L, S, H>,
    op: impl Fn(u64, u64) -> u64,
) {
    for (ours, theirs) in into.as_bytes_mut().as_chunks_mut::<8>().0.iter_mut().zip(from.words()) {
        *ours = op(u64::from_le_bytes(*ours), theirs).to_le_bytes();
    }
}

/// Do two filters of one layout mean the same by the same position?
pub(super) fn check_like(
    (a, left): (Geometry, &impl KeyHasher),
    (b, right): (Geometry, &impl KeyHasher),
) -> Result<(), CombineError> {
    if a.bits != b.bits {
        return Err(CombineError::Bits { left: a.bits, right: b.bits });
    }
    if a.k != b.k {
        return Err(CombineError::Probes { left: a.k, right: b.k });
    }
    if left.id() != right.id() {
        return Err(CombineError::Hasher { left: left.id(), right: right.id() });
    }
    if left.seed() != right.seed() {
        return Err(CombineError::Seed { left: left.seed(), right: right.seed() });
    }
    Ok(())
}

/// Are so many keys more than the design's, by four standard errors of the estimate? See [`Filter::is_past_design`].
pub(super) fn is_past(design: Design, geometry: Geometry, estimate: f64) -> bool {
    let (keys, m, k) = (design.keys as f64, geometry.bits as f64, f64::from(geometry.k));
    let t = k * keys / m;
    let error = libm::sqrt(m * (libm::expm1(t) - t)) / k;
    keys > 0.0 && estimate > keys + 4.0 * error
}

/// Has the output of a batch a word for every 64 keys?
pub(crate) fn check_output(keys: usize, out: &[u64]) -> Result<(), BatchError> {
    let needed = keys.div_ceil(64);
    if out.len() < needed { Err(BatchError { words: out.len(), needed }) } else { Ok(()) }
}

/// Appends the positions of the bits that are set.
fn select(words: &[u64], first: usize, indices: &mut Vec<usize>) {
    for (w, &word) in words.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            indices.push(first + 64 * w + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

pub(super) fn hash_into<'d, K, H: Hashes<K>>(
    hasher: &H,
    keys: &[K],
    digests: &'d mut [Digest; KEYS_AT_ONCE],
) -> &'d [Digest] {
    for (digest, key) in digests.iter_mut().zip(keys) {
        *digest = hasher.digest(key);
    }
    &digests[..keys.len().min(KEYS_AT_ONCE)]
}

impl<L: Layout, H: KeyHasher> Filter<L, Owned<L::Unit>, H> {
    /// Inserts a key; true when it set a bit that was not set, so false for a key that the filter already reported
    /// present.
    #[inline]
    pub fn insert<K: ?Sized>(&mut self, key: &K) -> bool
    where
        H: Hashes<K>,
    {
        self.insert_digest(self.hasher.digest(key))
    }

    /// Inserts the key with this digest; true when it set a bit that was not set.
    #[inline]
    pub fn insert_digest(&mut self, digest: Digest) -> bool {
        self.kernels.insert(&mut self.store.units_mut(), digest)
    }

    /// Inserts them all.
    pub fn insert_batch(&mut self, digests: &[Digest]) {
        self.kernels.insert_batch(&mut self.store.units_mut(), digests, self.prefetch);
    }

    /// Inserts all keys, hashing a few hundred at a time.
    pub fn insert_keys<K>(&mut self, keys: &[K])
    where
        H: Hashes<K>,
    {
        let mut digests = [Digest(0); KEYS_AT_ONCE];
        for keys in keys.chunks(KEYS_AT_ONCE) {
            let digests = hash_into(&self.hasher, keys, &mut digests);
            self.kernels.insert_batch(&mut self.store.units_mut(), digests, self.prefetch);
        }
    }

    /// Inserts many digests the fastest way: when the filter lies beyond the caches, they are first partitioned by
    /// region, so that each region is written while it is in cache, on all threads of the current rayon pool. The bits
    /// equal those of one insertion after the other.
    ///
    /// # Errors
    /// When there is no memory for the partition; the filter is then as it was.
    ///
    /// ```
    /// # use bloomline::{BulkOptions, Filter, SplitLine, hash::Digest};
    /// # let mut filter = Filter::<SplitLine>::builder(1_000).build()?;
    /// let digests: Vec<Digest> = (0..1_000u64).map(|key| filter.digest(&key)).collect();
    /// filter.insert_bulk(&digests, BulkOptions::default().scratch_bytes(64 << 20))?;
    /// # assert!(filter.contains(&999u64));
    /// # Ok::<(), bloomline::error::BuildError>(())
    /// ```
    pub fn insert_bulk(&mut self, digests: &[Digest], options: BulkOptions) -> Result<(), AllocError> {
        insert_bulk(self.kernels, &mut self.store, digests, self.prefetch, options)
    }

    /// Makes it the filter of the keys of both: bit for bit what inserting all of them would have made.
    ///
    /// # Errors
    /// When size, probes, hasher or seed differ; the receiver is then as it was.
    pub fn union_with<S2: Store<Unit = L::Unit>, H2: KeyHasher>(
        &mut self,
        other: &Filter<L, S2, H2>,
    ) -> Result<(), CombineError> {
        self.check_like(other)?;
        combine(&mut self.store, other, |a, b| a | b);
        Ok(())
    }

    /// Keeps the bits that both have: every key that is in both filters is still present, and the rate is at most that of
    /// either (but higher than that of a filter built from the common keys alone).
    ///
    /// # Errors
    /// When size, probes, hasher or seed differ; the receiver is then as it was.
    pub fn intersect_with<S2: Store<Unit = L::Unit>, H2: KeyHasher>(
        &mut self,
        other: &Filter<L, S2, H2>,
    ) -> Result<(), CombineError> {
        self.check_like(other)?;
        combine(&mut self.store, other, |a, b| a & b);
        Ok(())
    }

    /// Forgets every key. The memory is kept.
    pub fn clear(&mut self) {
        self.store.as_bytes_mut().fill(0);
    }

    /// Its bits, little-endian: bit i is bit i % 8 of byte i / 8.
    pub fn as_bytes(&self) -> &[u8] {
        self.store.as_bytes()
    }

    /// The same filter, for many writers at once. Nothing is copied.
    pub fn into_shared(self) -> SharedFilter<L, H> {
        let level = self.level();
        Filter::from_parts(self.store.into_shared(), self.geometry, self.design, self.hasher, level)
    }

    /// The store and what else the filter knows, for [`super::AnyFilter`].
    pub(crate) fn into_parts(self) -> (Owned<L::Unit>, Geometry, Design, H, Level) {
        let level = self.level();
        (self.store, self.geometry, self.design, self.hasher, level)
    }
}

/// What [`super::AnyFilter`] needs of a filter that may own its bits.
impl<L: Layout> Filter<L, MaybeOwned<'_, L::Unit>, AnyHasher> {
    pub(crate) fn try_insert_bulk(&mut self, digests: &[Digest], options: BulkOptions) -> Result<(), WriteError> {
        let store = self.store.owned_mut().ok_or(WriteError::ReadOnly)?;
        Ok(insert_bulk(self.kernels, store, digests, self.prefetch, options)?)
    }

    pub(crate) fn try_combine(
        &mut self,
        other: &Filter<L, MaybeOwned<'_, L::Unit>, AnyHasher>,
        op: impl Fn(u64, u64) -> u64,
    ) -> Result<(), CombineError> {
        self.check_like(other)?;
        combine(self.store.owned_mut().ok_or(CombineError::ReadOnly)?, other, op);
        Ok(())
    }

    /// The same filter, its bits reference-counted if they are its own.
    pub(crate) fn into_held(mut self) -> Self {
        self.store = self.store.into_held();
        self
    }

    pub(crate) fn held(&self) -> Option<&Held<L::Unit>> {
        self.store.held()
    }

    pub(crate) fn stored_bytes(&self) -> &[u8] {
        self.store.as_bytes()
    }
}

impl<L: Layout, H: KeyHasher> SharedFilter<L, H> {
    /// Inserts a key; true when this call set a bit that was not set. Of two threads that insert the same new key at
    /// the same time both may be told true, when each set some of its bits; never neither.
    #[inline]
    pub fn insert<K: ?Sized>(&self, key: &K) -> bool
    where
        H: Hashes<K>,
    {
        self.insert_digest(self.hasher.digest(key))
    }

    /// Inserts the key with this digest; true when this call set a bit that was not set.
    #[inline]
    pub fn insert_digest(&self, digest: Digest) -> bool {
        self.kernels.insert(&mut self.store.units_mut(), digest)
    }

    /// Inserts them all.
    pub fn insert_batch(&self, digests: &[Digest]) {
        self.kernels.insert_batch(&mut self.store.units_mut(), digests, self.prefetch);
    }

    /// Inserts all keys, hashing a few hundred at a time.
    pub fn insert_keys<K>(&self, keys: &[K])
    where
        H: Hashes<K>,
    {
        let mut digests = [Digest(0); KEYS_AT_ONCE];
        for keys in keys.chunks(KEYS_AT_ONCE) {
            let digests = hash_into(&self.hasher, keys, &mut digests);
            self.kernels.insert_batch(&mut self.store.units_mut(), digests, self.prefetch);
        }
    }

    /// The plain filter, once no other thread needs it: taking `self` proves that. Nothing is copied.
    pub fn freeze(self) -> Filter<L, Owned<L::Unit>, H> {
        let level = self.level();
        Filter::from_parts(self.store.into_owned(), self.geometry, self.design, self.hasher, level)
    }
}

impl<'b, L: Layout, H: KeyHasher> FilterView<'b, L, H> {
    /// A filter over bits that lie in somebody else's bytes, at any alignment, without copying. The bytes are trusted to
    /// be bits of such a filter: any bytes give answers, and the wrong ones give wrong answers.
    ///
    /// # Errors
    /// When the geometry is none of the layout's, or the bytes are not as many as it needs.
    pub fn from_bytes(bytes: &'b [u8], geometry: Geometry, design: Design, hasher: H) -> Result<Self, BuildError> {
        L::MODEL.validate(geometry)?;
        let length = BuildError::Length { bytes: bytes.len() as u64, needed: geometry.bits / 8 };
        if bytes.len() as u64 != geometry.bits / 8 {
            return Err(length);
        }
        let store = View::new(bytes, L::shape(geometry)).ok_or(length)?;
        Ok(Filter::from_parts(store, geometry, design, hasher, Level::get()))
    }

    /// Its bits.
    pub fn as_bytes(&self) -> &'b [u8] {
        self.store.as_bytes()
    }
}
