//! A bit filter whose layout and hasher are known at run time.

use super::{Contains, Design, Filter, LayoutKind, NegativeGate, filter::owned};
use crate::{
    Level,
    dispatch::{BulkOptions, Kernels},
    error::{AllocError, BatchError, BuildError, CombineError, FoldError, WriteError},
    for_each_layout,
    hash::{AnyHasher, Digest, KeyHasher},
    layout::Layout,
    mem::{Held, Holder, HugePages, MaybeOwned, Owned, Plain, Store, View},
    sizing::Geometry,
};
use alloc::vec::Vec;
use core::ops::Range;

/// A filter of any layout and any hasher, owning its bits or viewing them where they lie.
type Any<'b, L> = Filter<L, MaybeOwned<'b, <L as Layout>::Unit>, AnyHasher>;

macro_rules! any_filter {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => {
        /// A bit filter of any layout: what an engine holds that reads filters from files.
        ///
        /// ```
        /// use bloomline::{AnyFilter, Filter, LayoutKind, Word};
        /// let mut filter = Filter::<Word>::builder(100).build()?;
        /// filter.insert("key");
        /// let any: AnyFilter = filter.into();
        /// assert_eq!(any.kind(), LayoutKind::Word);
        /// use bloomline::Contains;
        /// let digest = any.digest_bytes(b"key").expect("xxh3 takes bytes");
        /// assert!(any.contains_digest(digest));
        /// # Ok::<(), bloomline::error::BuildError>(())
        /// ```
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyFilter<'b> {
            $(
                #[doc = concat!("Of layout [`", stringify!($Layout), "`](super::", stringify!($Layout), ").")]
                $Layout(Any<'b, super::$Layout>),
            )*
        }

        impl<'b> AnyFilter<'b> {
            /// An empty filter of this layout and geometry, answered by `level` or the best below. No cap applies.
            ///
            /// # Errors
            /// When the geometry is none of the layout's, or there is no memory.
            pub fn with_geometry(
                kind: LayoutKind,
                geometry: Geometry,
                design: Design,
                hasher: AnyHasher,
                level: Level,
            ) -> Result<Self, BuildError> {
                kind.model().validate(geometry)?;
                Ok(match kind {
                    $(LayoutKind::$Layout => {
                        let store = MaybeOwned::Owned(owned::<super::$Layout>(geometry)?);
                        Self::$Layout(Filter::from_parts(store, geometry, design, hasher, level))
                    })*
                })
            }

            /// A filter over bits that lie in somebody else's bytes, at any alignment, without copying. The bytes are
            /// trusted to be bits of such a filter.
            ///
            /// # Errors
            /// When the geometry is none of the layout's, or the bytes are not as many as it needs.
            pub fn from_bytes(
                kind: LayoutKind,
                bytes: &'b [u8],
                geometry: Geometry,
                design: Design,
                hasher: AnyHasher,
            ) -> Result<Self, BuildError> {
                kind.model().validate(geometry)?;
                let length = BuildError::Length { bytes: bytes.len() as u64, needed: geometry.bits / 8 };
                if bytes.len() as u64 != geometry.bits / 8 {
                    return Err(length);
                }
                Ok(match kind {
                    $(LayoutKind::$Layout => {
                        let view = View::new(bytes, <super::$Layout as Layout>::shape(geometry)).ok_or(length)?;
                        let store = MaybeOwned::View(view);
                        Self::$Layout(Filter::from_parts(store, geometry, design, hasher, Level::get()))
                    })*
                })
            }

            /// One lookup in bits that lie in somebody else's bytes, without making a filter of them: what is left of a
            /// probe when nothing is kept between two. `None` as for [`AnyFilter::from_bytes`].
            pub(crate) fn probe(kind: LayoutKind, bytes: &[u8], geometry: Geometry, digest: Digest) -> Option<bool> {
                kind.model().validate(geometry).ok()?;
                if bytes.len() as u64 != geometry.bits / 8 {
                    return None;
                }
                match kind {
                    $(LayoutKind::$Layout => {
                        let view = View::new(bytes, <super::$Layout as Layout>::shape(geometry))?;
                        Some(Kernels::<super::$Layout, Plain>::of(Level::get()).contains(view.units(), digest))
                    })*
                }
            }

            /// A filter over bits that lie in a part of the bytes that `holder` keeps, without copying.
            pub(crate) fn from_holder(
                kind: LayoutKind,
                holder: Holder,
                part: Range<usize>,
                geometry: Geometry,
                design: Design,
                hasher: AnyHasher,
            ) -> Result<Self, BuildError> {
                kind.model().validate(geometry)?;
                let length = BuildError::Length { bytes: part.len() as u64, needed: geometry.bits / 8 };
                if part.len() as u64 != geometry.bits / 8 {
                    return Err(length);
                }
                Ok(match kind {
                    $(LayoutKind::$Layout => {
                        let held = Held::new(holder, part, <super::$Layout as Layout>::shape(geometry)).ok_or(length)?;
                        let store = MaybeOwned::Held(held);
                        Self::$Layout(Filter::from_parts(store, geometry, design, hasher, Level::get()))
                    })*
                })
            }

            /// A copy that owns its bits.
            ///
            /// # Errors
            /// When there is no memory for it.
            pub fn to_owned(&self) -> Result<AnyFilter<'static>, AllocError> {
                Ok(match self {
                    $(Self::$Layout(filter) => filter.to_owned_filter()?.into(),)*
                })
            }

            /// The same filter, answering with the kernels of `level`, or the best below when this machine lacks it.
            #[must_use]
            pub fn with_level(self, level: Level) -> Self {
                match self {
                    $(Self::$Layout(filter) => Self::$Layout(filter.with_level(level)),)*
                }
            }

            /// The same filter, its bits reference-counted if they are its own.
            pub(crate) fn into_held(self) -> Self {
                match self {
                    $(Self::$Layout(filter) => Self::$Layout(filter.into_held()),)*
                }
            }

            /// As [`Filter::fold`].
            ///
            /// # Errors
            /// As there.
            pub fn fold(&self, factor: u64) -> Result<AnyFilter<'static>, FoldError> {
                Ok(match self {
                    $(Self::$Layout(filter) => filter.fold(factor)?.into(),)*
                })
            }

            fn combine(&mut self, other: &AnyFilter<'_>, op: impl Fn(u64, u64) -> u64) -> Result<(), CombineError> {
                match (self, other) {
                    $((Self::$Layout(ours), AnyFilter::$Layout(theirs)) => ours.try_combine(theirs, op),)*
                    (ours, theirs) => Err(CombineError::Layout {
                        left: ours.kind().name(),
                        right: theirs.kind().name(),
                    }),
                }
            }
        }

        $(
            impl<H: KeyHasher + Into<AnyHasher>> From<Filter<super::$Layout, Owned<<super::$Layout as Layout>::Unit>, H>>
                for AnyFilter<'_>
            {
                fn from(filter: Filter<super::$Layout, Owned<<super::$Layout as Layout>::Unit>, H>) -> Self {
                    let (store, geometry, design, hasher, level) = filter.into_parts();
                    let store = MaybeOwned::Owned(store);
                    Self::$Layout(Filter::from_parts(store, geometry, design, hasher.into(), level))
                }
            }
        )*
    };
}
for_each_layout!(any_filter);

macro_rules! define_each {
    ($d:tt $($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => {
        /// Evaluates an expression with the filter inside.
        macro_rules! each {
            ($d any:expr, $d filter:ident => $d e:expr) => {
                match $d any {
                    $(AnyFilter::$Layout($d filter) => $d e,)*
                }
            };
        }
    };
}
for_each_layout!(define_each, $);

impl AnyFilter<'_> {
    /// Its layout.
    pub fn kind(&self) -> LayoutKind {
        each!(self, f => f.kind())
    }

    /// Its bits m and probes k.
    pub fn geometry(&self) -> Geometry {
        each!(self, f => f.geometry())
    }

    /// What it was sized for.
    pub fn design(&self) -> Design {
        each!(self, f => f.design())
    }

    /// Its hasher.
    pub fn hasher(&self) -> &AnyHasher {
        each!(self, f => f.hasher())
    }

    /// The instruction set that answers.
    pub fn level(&self) -> Level {
        each!(self, f => f.level())
    }

    /// What the kernel said about huge pages for its memory.
    pub fn huge_pages(&self) -> HugePages {
        each!(self, f => f.huge_pages())
    }

    /// Its bits, little-endian: bit i is bit i % 8 of byte i / 8.
    pub fn as_bytes(&self) -> &[u8] {
        each!(self, f => f.stored_bytes())
    }

    /// As [`Filter::prefetch`].
    #[inline]
    pub fn prefetch(&self, digest: Digest) {
        each!(self, f => f.prefetch(digest));
    }

    /// As [`Filter::prefetches_among`].
    pub(crate) fn prefetches_among(&self, bytes: u64) -> bool {
        each!(self, f => f.prefetches_among(bytes))
    }

    /// As [`Filter::contains_window`].
    pub(crate) fn contains_window(&self, digests: &[Digest], out: &mut [u64], prefetch: bool) {
        each!(self, f => f.contains_window(digests, out, prefetch));
    }

    /// As [`Filter::select_batch`].
    pub fn select_batch(&self, digests: &[Digest], indices: &mut Vec<usize>) {
        each!(self, f => f.select_batch(digests, indices));
    }

    /// As [`Filter::occupancy`].
    pub fn occupancy(&self) -> f64 {
        each!(self, f => f.occupancy())
    }

    /// As [`Filter::estimated_cardinality`].
    pub fn estimated_cardinality(&self) -> f64 {
        each!(self, f => f.estimated_cardinality())
    }

    /// As [`Filter::current_fpr`].
    pub fn current_fpr(&self) -> f64 {
        each!(self, f => f.current_fpr())
    }

    /// As [`Filter::is_past_design`].
    pub fn is_past_design(&self) -> bool {
        each!(self, f => f.is_past_design())
    }

    /// As [`Filter::best_fold`].
    pub fn best_fold(&self, fpr: f64) -> u64 {
        each!(self, f => f.best_fold(fpr))
    }

    /// As [`Filter::insert_bulk`].
    ///
    /// # Errors
    /// When the filter does not own its bits, or there is no memory for the partition.
    pub fn insert_bulk(&mut self, digests: &[Digest], options: BulkOptions) -> Result<(), WriteError> {
        each!(self, f => f.try_insert_bulk(digests, options))
    }

    /// As [`Filter::union_with`].
    ///
    /// # Errors
    /// When layout, size, probes, hasher or seed differ, or the receiver does not own its bits; it is then as it was.
    pub fn union_with(&mut self, other: &AnyFilter<'_>) -> Result<(), CombineError> {
        self.combine(other, |a, b| a | b)
    }

    /// As [`Filter::intersect_with`].
    ///
    /// # Errors
    /// As [`AnyFilter::union_with`].
    pub fn intersect_with(&mut self, other: &AnyFilter<'_>) -> Result<(), CombineError> {
        self.combine(other, |a, b| a & b)
    }
}

impl Contains for AnyFilter<'_> {
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        each!(self, f => f.contains_digest(digest))
    }
    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        each!(self, f => f.contains_batch(digests, out))
    }
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        self.hasher().digest_bytes(key)
    }
    fn size_in_bytes(&self) -> u64 {
        each!(self, f => f.size_in_bytes())
    }
}

impl NegativeGate for AnyFilter<'_> {}
