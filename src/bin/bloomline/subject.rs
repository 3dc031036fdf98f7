//! A filter of any layout as `compare` sees it: every operation that is checked or measured, one call for each sample.
//!
//! The loops are inside, so that the call through the trait costs once for a sample and not once for a key.

use std::hint::black_box;

use bloomline::error::BuildError;
use bloomline::hash::Xxh3;
use bloomline::mem::Owned;
use bloomline::sizing::Geometry;
use bloomline::{
    Blocked128, BulkOptions, Classic, Contains, CounterLayout, CountingBloom, DLeftCountingBloom, Digest, Filter,
    FilterKind, Layout, LayoutKind, Level, PlainCountingBloom,
};

use crate::check;

/// Digests for one call of the batched lookup: large enough that the call costs nothing, with answers that stay in L1
/// beside the filter.
pub(crate) const AT_ONCE: usize = 1 << 13;

pub(crate) trait Subject: Send {
    fn kind(&self) -> FilterKind;
    fn geometry(&self) -> Geometry;
    fn bytes(&self) -> &[u8];
    /// From now on this level answers and inserts.
    fn set_level(&mut self, level: Level);
    fn clear(&mut self);

    fn insert_batch(&mut self, digests: &[Digest]);
    fn insert_bulk(&mut self, digests: &[Digest], options: BulkOptions) -> Result<(), String>;

    /// Hits, looked up in batches.
    fn batch(&self, digests: &[Digest]) -> u64;
    /// Hits, looked up one by one through the filter's table of kernels.
    fn lookups(&self, digests: &[Digest]) -> u64;
    /// Hits, looked up one by one in a loop that is compiled for the level.
    fn kernel(&self, digests: &[Digest]) -> u64;
    /// Lookups one by one, each at a place that depends on the answer before it; as many as are left in `digests` when
    /// a hit skips one. Returns how many were made.
    fn chain(&self, digests: &[Digest]) -> usize;
    /// Hits of byte keys, hashed and looked up in batches.
    fn keys_batch(&self, keys: &[&[u8]]) -> u64;
    /// The variance of its own rate around the formula's, with so many keys.
    fn variance(&self, keys: u64) -> f64;
    /// The answers, a bit for each digest.
    fn answers(&self, digests: &[Digest]) -> Vec<u64>;
}

struct Of<L: Layout> {
    /// Always there: only `set_level` takes it, to put it back.
    filter: Option<Filter<L>>,
}

impl<L: Layout> Of<L> {
    fn filter(&self) -> &Filter<L> {
        self.filter.as_ref().expect("put back by set_level")
    }

    fn filter_mut(&mut self) -> &mut Filter<L> {
        self.filter.as_mut().expect("put back by set_level")
    }
}

/// An empty filter of a layout, sized for `keys`, with the default cap of memory.
pub(crate) fn new(
    kind: FilterKind,
    keys: u64,
    geometry: Geometry,
    hasher: Xxh3,
) -> Result<Box<dyn Subject>, BuildError> {
    let layout = match kind {
        FilterKind::Bits(layout) => layout,
        FilterKind::Counting => return counting::<Classic>(keys, geometry, hasher),
        FilterKind::BlockedCounting => return counting::<Blocked128>(keys, geometry, hasher),
        FilterKind::DLeft => {
            let filter = DLeftCountingBloom::builder(keys).geometry(geometry).hasher(hasher).build()?;
            return Ok(Box::new(OfBuckets { filter: Some(filter) }));
        }
        _ => unreachable!("the list holds every kind"),
    };
    macro_rules! by_kind {
        ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => {
            match layout {
                $(LayoutKind::$Layout => {
                    let filter = Filter::<bloomline::$Layout>::builder(keys).geometry(geometry).hasher(hasher).build()?;
                    Ok(Box::new(Of { filter: Some(filter) }))
                })*
                _ => unreachable!("the list holds every layout"),
            }
        };
    }
    bloomline::for_each_layout!(by_kind)
}

impl<L: Layout> Subject for Of<L> {
    fn kind(&self) -> FilterKind {
        L::KIND.into()
    }

    fn variance(&self, keys: u64) -> f64 {
        check::variance(L::MODEL, self.geometry(), keys, self.bytes())
    }

    fn geometry(&self) -> Geometry {
        self.filter().geometry()
    }

    fn bytes(&self) -> &[u8] {
        self.filter().as_bytes()
    }

    fn set_level(&mut self, level: Level) {
        self.filter = self.filter.take().map(|filter| filter.with_level(level));
    }

    fn clear(&mut self) {
        self.filter_mut().clear();
    }

    fn insert_batch(&mut self, digests: &[Digest]) {
        self.filter_mut().insert_batch(digests);
    }

    fn insert_bulk(&mut self, digests: &[Digest], options: BulkOptions) -> Result<(), String> {
        self.filter_mut().insert_bulk(digests, options).map_err(|error| error.to_string())
    }

    fn batch(&self, digests: &[Digest]) -> u64 {
        let filter = self.filter();
        let mut out = [0; AT_ONCE / 64];
        let mut hits = 0;
        for digests in digests.chunks(AT_ONCE) {
            let words = &mut out[..digests.len().div_ceil(64)];
            filter.contains_batch(digests, words).expect("a word for every 64 digests");
            hits += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        hits
    }

    fn lookups(&self, digests: &[Digest]) -> u64 {
        // The compiler must not know which level's table this is.
        let filter = black_box(self.filter());
        let mut hits = 0;
        for &digest in digests {
            hits += u64::from(filter.contains_digest(digest));
        }
        hits
    }

    fn kernel(&self, digests: &[Digest]) -> u64 {
        self.filter().with_kernel(|kernel| {
            let mut hits = 0;
            for &digest in digests {
                hits += u64::from(kernel.contains(digest));
            }
            hits
        })
    }

    fn chain(&self, digests: &[Digest]) -> usize {
        let filter = black_box(self.filter());
        let (mut at, mut made) = (0, 0);
        while let Some(&digest) = digests.get(at) {
            at += 1 + usize::from(filter.contains_digest(digest));
            made += 1;
        }
        made
    }

    fn keys_batch(&self, keys: &[&[u8]]) -> u64 {
        let filter = self.filter();
        let mut out = [0; AT_ONCE / 64];
        let mut hits = 0;
        for keys in keys.chunks(AT_ONCE) {
            let words = &mut out[..keys.len().div_ceil(64)];
            filter.contains_keys(keys, words).expect("a word for every 64 keys");
            hits += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        hits
    }

    fn answers(&self, digests: &[Digest]) -> Vec<u64> {
        let mut out = vec![0; digests.len().div_ceil(64)];
        self.filter().contains_batch(digests, &mut out).expect("a word for every 64 digests");
        out
    }
}

/// Filters that count, for one writer.
struct OfCounters<L: CounterLayout> {
    filter: Option<PlainCountingBloom<L>>,
}

struct OfBuckets {
    filter: Option<DLeftCountingBloom<Owned<[u8; 64]>>>,
}

fn counting<L: CounterLayout>(keys: u64, geometry: Geometry, hasher: Xxh3) -> Result<Box<dyn Subject>, BuildError> {
    let filter = CountingBloom::<L>::builder(keys).geometry(geometry).hasher(hasher).build_plain()?;
    Ok(Box::new(OfCounters { filter: Some(filter) }))
}

impl<L: CounterLayout> OfCounters<L> {
    fn insert(filter: &mut PlainCountingBloom<L>, digests: &[Digest]) -> Result<(), String> {
        filter.insert_batch(digests);
        Ok(())
    }

    fn own_variance(&self, keys: u64) -> f64 {
        let bits = self.filter.as_ref().and_then(|filter| filter.to_bloom().ok());
        bits.map_or(0.25, |bits| check::variance(L::MODEL, bits.geometry(), keys, bits.as_bytes()))
    }
}

impl OfBuckets {
    fn insert(filter: &mut DLeftCountingBloom<Owned<[u8; 64]>>, digests: &[Digest]) -> Result<(), String> {
        filter.insert_batch(digests).map_err(|full| format!("{full}, after {} keys", full.inserted))
    }

    /// How many elements are members is all that matters, and hardly varies.
    fn own_variance(&self, _: u64) -> f64 {
        0.0
    }
}

macro_rules! counts {
    ($([$($generics:tt)*] $Of:ty;)*) => { $(
        impl<$($generics)*> Subject for $Of {
            fn kind(&self) -> FilterKind {
                self.filter.as_ref().expect("put back by set_level").kind()
            }

            fn geometry(&self) -> Geometry {
                self.filter.as_ref().expect("put back by set_level").geometry()
            }

            fn bytes(&self) -> &[u8] {
                self.filter.as_ref().expect("put back by set_level").as_bytes()
            }

            fn set_level(&mut self, level: Level) {
                self.filter = self.filter.take().map(|filter| filter.with_level(level));
            }

            fn clear(&mut self) {
                self.filter.as_mut().expect("put back by set_level").clear();
            }

            fn insert_batch(&mut self, digests: &[Digest]) {
                Self::insert(self.filter.as_mut().expect("put back by set_level"), digests).expect("room for its keys");
            }

            /// One thread, key after key: counters have no bulk insertion.
            fn insert_bulk(&mut self, digests: &[Digest], _: BulkOptions) -> Result<(), String> {
                Self::insert(self.filter.as_mut().expect("put back by set_level"), digests)
            }

            fn batch(&self, digests: &[Digest]) -> u64 {
                let filter = self.filter.as_ref().expect("put back by set_level");
                let mut out = [0; AT_ONCE / 64];
                let mut hits = 0;
                for digests in digests.chunks(AT_ONCE) {
                    let words = &mut out[..digests.len().div_ceil(64)];
                    filter.contains_batch(digests, words).expect("a word for every 64 digests");
                    hits += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
                }
                hits
            }

            fn lookups(&self, digests: &[Digest]) -> u64 {
                let filter = black_box(self.filter.as_ref().expect("put back by set_level"));
                digests.iter().fold(0, |hits, &digest| hits + u64::from(filter.contains_digest(digest)))
            }

            /// There is no kernel for loops of the caller's.
            fn kernel(&self, digests: &[Digest]) -> u64 {
                self.lookups(digests)
            }

            fn chain(&self, digests: &[Digest]) -> usize {
                let filter = black_box(self.filter.as_ref().expect("put back by set_level"));
                let (mut at, mut made) = (0, 0);
                while let Some(&digest) = digests.get(at) {
                    at += 1 + usize::from(filter.contains_digest(digest));
                    made += 1;
                }
                made
            }

            fn keys_batch(&self, keys: &[&[u8]]) -> u64 {
                let filter = self.filter.as_ref().expect("put back by set_level");
                let mut digests = [Digest(0); 512];
                keys.chunks(512).fold(0, |hits, keys| {
                    for (digest, key) in digests.iter_mut().zip(keys) {
                        *digest = filter.digest(*key);
                    }
                    hits + self.batch(&digests[..keys.len()])
                })
            }

            fn variance(&self, keys: u64) -> f64 {
                self.own_variance(keys)
            }

            fn answers(&self, digests: &[Digest]) -> Vec<u64> {
                let filter = self.filter.as_ref().expect("put back by set_level");
                let mut out = vec![0; digests.len().div_ceil(64)];
                Contains::contains_batch(filter, digests, &mut out).expect("a word for every 64 digests");
                out
            }
        }
    )* };
}
counts! {
    [L: CounterLayout] OfCounters<L>;
    [] OfBuckets;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Digests;

    #[test]
    fn every_way_to_look_up_agrees() {
        let digests: Vec<Digest> = (0..20_000).map(|i| Digests::new(1).member(i)).collect();
        let (members, absent) = digests.split_at(5_000);
        for kind in FilterKind::all() {
            let geometry = kind.size_for_fpr(5_000, 0.01).unwrap();
            let mut subject = new(kind, 5_000, geometry, Xxh3::default()).unwrap();
            assert_eq!((subject.kind(), subject.geometry()), (kind, geometry));
            subject.insert_batch(members);
            for &level in Level::available() {
                subject.set_level(level);
                let hits = subject.lookups(absent);
                assert!(hits > 20 && hits < 500, "{kind}: {hits}");
                assert_eq!(subject.batch(absent), hits);
                assert_eq!(subject.kernel(absent), hits);
                assert_eq!(subject.answers(absent).iter().map(|word| u64::from(word.count_ones())).sum::<u64>(), hits);
                assert_eq!(subject.lookups(members), 5_000);
                let made = subject.chain(members);
                assert_eq!(made, 2_500);
                assert!(subject.chain(absent) < absent.len() && subject.chain(absent) > absent.len() - 1000);
            }
            subject.clear();
            assert_eq!(subject.batch(members), 0);
        }
    }
}
