//! The filters of many segments, probed together.

use super::{Count, SegmentFilter, counters::ones};
use crate::{
    Contains, Digest,
    error::BatchError,
    filters::{AnyMany, check_output},
    hash::{AnyHasher, KeyHasher},
};
use alloc::{sync::Arc, vec, vec::Vec};

/// Keys that are hashed and probed together: their digests and answers stay in L1 while one filter after the other is
/// asked.
const KEYS_AT_ONCE: usize = 512;

/// The filters of the segments that a store would have to read, newest first: one version of the tree.
///
/// Filters of different size, layout and hasher live together; each hasher runs once for a key. A key is looked up in all
/// filters at the same time: their first lines are on the way before the first is tested.
///
/// ```
/// use bloomline::{LayoutKind, gate::{SegmentPolicy, Segments}, hash::Xxh3};
/// use std::sync::Arc;
///
/// let policy = SegmentPolicy::new(LayoutKind::SplitBlock, Xxh3::default());
/// let mut filters = Vec::new();
/// for segment in 0..3u64 {
///     let mut builder = policy.builder();
///     (0..100).for_each(|key| builder.add_key(&(segment * 100 + key).to_be_bytes()));
///     filters.push(Arc::new(policy.open(builder.finish()?)?));
/// }
///
/// let segments = Segments::new(filters);
/// let mut may_have = [0; 1];
/// segments.contains(&205u64.to_be_bytes(), &mut may_have)?;
/// assert_eq!(may_have[0] & 4, 4); // segment 2 has it; the others are unlikely to say so
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Segments<C = ()> {
    filters: Vec<Arc<SegmentFilter>>,
    groups: Vec<Group>,
    counters: C,
}

/// The segments of one hasher, by their numbers, ascending.
#[derive(Clone, Debug)]
struct Group {
    hasher: AnyHasher,
    members: Vec<Member>,
    /// The same segments for one key: up to 64 of one layout at a time.
    runs: Vec<Run>,
    /// And those that are in no run: small filters.
    single: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    segment: usize,
    prefetch: bool,
}

#[derive(Clone, Debug)]
struct Run {
    filters: Arc<AnyMany>,
    segments: Vec<usize>,
}

impl Group {
    fn new(hasher: &AnyHasher) -> Self {
        Self { hasher: hasher.clone(), members: Vec::new(), runs: Vec::new(), single: Vec::new() }
    }

    fn is_of(&self, hasher: &AnyHasher) -> bool {
        self.hasher.id() == hasher.id() && self.hasher.seed() == hasher.seed()
    }

    /// Takes a segment into the run of its layout.
    fn run(&mut self, segment: usize, filter: &SegmentFilter) {
        let Some(filter) = filter.any() else { return self.single.push(segment) };
        for run in self.runs.iter_mut().rev() {
            // The `Arc` is shared by clones of the whole, of which there are none while it is being made.
            if Arc::get_mut(&mut run.filters).is_some_and(|filters| filters.push(filter)) {
                return run.segments.push(segment);
            }
        }
        match AnyMany::new(filter) {
            Some(filters) => self.runs.push(Run { filters: Arc::new(filters), segments: vec![segment] }),
            None => self.single.push(segment),
        }
    }
}

impl Segments {
    /// These filters. The order, newest first by custom, is that of the answers.
    pub fn new(filters: impl IntoIterator<Item = Arc<SegmentFilter>>) -> Self {
        let filters: Vec<_> = filters.into_iter().collect();
        let bytes = filters.iter().map(|filter| filter.size_in_bytes()).sum();
        let mut groups: Vec<Group> = Vec::new();
        for (segment, filter) in filters.iter().enumerate() {
            let at = groups.iter().position(|group| group.is_of(filter.hasher())).unwrap_or_else(|| {
                groups.push(Group::new(filter.hasher()));
                groups.len() - 1
            });
            groups[at].members.push(Member { segment, prefetch: filter.prefetches_among(bytes) });
            groups[at].run(segment, filter);
        }
        Self { filters, groups, counters: () }
    }
}

impl<C: Count> Segments<C> {
    /// The same filters, telling `counters` once for each call: a lookup for each segment and key.
    pub fn with_counters<C2: Count>(self, counters: C2) -> Segments<C2> {
        Segments { filters: self.filters, groups: self.groups, counters }
    }

    /// Who is told.
    pub fn counters(&self) -> &C {
        &self.counters
    }

    /// The filters, in their order.
    pub fn filters(&self) -> &[Arc<SegmentFilter>] {
        &self.filters
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.filters.len()
    }

    /// No segment?
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Bit s % 64 of word s / 64 of `out`: may segment s have this key? "Maybe" for filters whose hasher takes no bytes.
    ///
    /// # Errors
    /// When `out` has fewer than ⌈segments / 64⌉ words. Nothing is written then.
    pub fn contains(&self, key: &[u8], out: &mut [u64]) -> Result<(), BatchError> {
        self.contains_by(|hasher| hasher.digest_bytes(key), out)
    }

    /// The same for the key with this digest, which every filter's hasher must have made.
    ///
    /// # Errors
    /// As [`Segments::contains`].
    pub fn contains_digest(&self, digest: Digest, out: &mut [u64]) -> Result<(), BatchError> {
        self.contains_by(|_| Some(digest), out)
    }

    #[inline]
    fn contains_by(&self, digest: impl Fn(&AnyHasher) -> Option<Digest>, out: &mut [u64]) -> Result<(), BatchError> {
        check_output(self.filters.len(), out)?;
        out[..self.filters.len().div_ceil(64)].fill(0);
        let mut set = |segment: usize| out[segment / 64] |= 1 << (segment % 64);
        for Group { hasher, members, runs, single } in &self.groups {
            let Some(digest) = digest(hasher) else {
                members.iter().for_each(|member| set(member.segment));
                continue;
            };
            for Run { filters, segments } in runs {
                let mut bits = filters.contains_each(digest);
                while bits != 0 {
                    set(segments[bits.trailing_zeros() as usize]);
                    bits &= bits - 1;
                }
            }
            single.iter().filter(|&&segment| self.filters[segment].contains_digest(digest)).for_each(|&s| set(s));
        }
        self.counters.record(self.filters.len() as u64, ones(&out[..self.filters.len().div_ceil(64)]));
        Ok(())
    }

    /// Bit i % 64 of word s·w + i / 64 of `out`, w being ⌈keys / 64⌉: may segment s have key i? So the keys that a segment
    /// has to be read for lie side by side.
    ///
    /// # Errors
    /// When `out` has fewer than segments·⌈keys / 64⌉ words. Nothing is written then.
    pub fn contains_batch(&self, keys: &[impl AsRef<[u8]>], out: &mut [u64]) -> Result<(), BatchError> {
        self.batch_by(keys.len(), out, |hasher, first, digests| {
            for (key, digest) in keys[first..].iter().zip(digests) {
                *digest = hasher.digest_bytes(key.as_ref())?;
            }
            Some(())
        })
    }

    /// The same for the keys with these digests, which every filter's hasher must have made.
    ///
    /// # Errors
    /// As [`Segments::contains_batch`].
    pub fn contains_digests(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        self.batch_by(digests.len(), out, |_, first, window| {
            window.copy_from_slice(&digests[first..][..window.len()]);
            Some(())
        })
    }

    /// `hash(hasher, first, digests)` fills in the digests of the keys from `first` on; `None` when it can't.
    fn batch_by(
        &self,
        keys: usize,
        out: &mut [u64],
        hash: impl Fn(&AnyHasher, usize, &mut [Digest]) -> Option<()>,
    ) -> Result<(), BatchError> {
        let words = keys.div_ceil(64);
        let needed = words.saturating_mul(self.filters.len());
        if out.len() < needed {
            return Err(BatchError { words: out.len(), needed });
        }
        let mut digests = [Digest(0); KEYS_AT_ONCE];
        for Group { hasher, members, .. } in &self.groups {
            for first in (0..keys).step_by(KEYS_AT_ONCE) {
                let digests = &mut digests[..KEYS_AT_ONCE.min(keys - first)];
                let hashed = hash(hasher, first, digests).is_some();
                for &Member { segment, prefetch } in members {
                    let out = &mut out[segment * words + first / 64..][..digests.len().div_ceil(64)];
                    if hashed {
                        self.filters[segment].contains_window(digests, out, prefetch);
                    } else {
                        all_maybe(digests.len(), out);
                    }
                }
            }
        }
        self.counters.record(keys as u64 * self.filters.len() as u64, ones(&out[..needed]));
        Ok(())
    }
}

/// "Maybe" for this many keys.
fn all_maybe(keys: usize, out: &mut [u64]) {
    for (i, word) in out.iter_mut().enumerate() {
        *word = u64::MAX >> (64 - (keys - 64 * i).min(64));
    }
}
