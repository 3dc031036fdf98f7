//! What a filter is, by name: the bit layouts and the filters beyond them.

use super::{LayoutKind, counting};
use crate::{
    error::SizingError,
    sizing::{DLeft, Geometry, Model},
};
use core::fmt;

/// Every kind of filter, as the command line, reports and files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FilterKind {
    /// A bit filter.
    Bits(LayoutKind),
    /// [`CountingBloom`](crate::CountingBloom) with counters anywhere.
    Counting,
    /// [`CountingBloom`](crate::CountingBloom) with the counters of a key in one line.
    BlockedCounting,
    /// [`DLeftCountingBloom`](crate::DLeftCountingBloom).
    DLeft,
}

impl FilterKind {
    /// The kinds beyond the bit layouts.
    const OTHERS: [Self; 3] = [Self::Counting, Self::BlockedCounting, Self::DLeft];

    /// Every kind there is.
    pub fn all() -> impl Iterator<Item = Self> {
        LayoutKind::ALL.iter().map(|&layout| Self::Bits(layout)).chain(Self::OTHERS)
    }

    /// The name on the command line, in reports and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bits(layout) => layout.name(),
            Self::Counting => "counting",
            Self::BlockedCounting => "blocked-counting",
            Self::DLeft => "d-left",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// The number that stands for the kind in files: 1 to 31 for bit layouts.
    pub const fn tag(self) -> u8 {
        match self {
            Self::Bits(layout) => layout.tag(),
            Self::Counting => 32,
            Self::BlockedCounting => 33,
            Self::DLeft => 34,
        }
    }

    /// The layout of a bit filter.
    pub const fn bits(self) -> Option<LayoutKind> {
        match self {
            Self::Bits(layout) => Some(layout),
            _ => None,
        }
    }

    /// The bit layout whose positions it has: its own, or that of its counters. A d-left table has none.
    pub const fn layout(self) -> Option<LayoutKind> {
        match self {
            Self::Bits(layout) => Some(layout),
            Self::Counting => Some(LayoutKind::Classic),
            Self::BlockedCounting => Some(LayoutKind::Blocked128),
            Self::DLeft => None,
        }
    }

    /// The formula of its positions. A d-left table has its own: [`DLeft`].
    pub fn model(self) -> Option<Model> {
        self.layout().map(LayoutKind::model)
    }

    /// Whether keys can be removed from it.
    pub const fn counts(self) -> bool {
        !matches!(self, Self::Bits(_))
    }

    /// Is it a geometry of this kind? The bits of counting filters are their counters, and k of a d-left table is the bits
    /// of a slot.
    ///
    /// # Errors
    /// When it is none.
    pub fn validate(self, geometry: Geometry) -> Result<(), SizingError> {
        match self.model() {
            Some(model) => model.validate(geometry),
            None => DLeft::validate(geometry),
        }
    }

    /// Bytes of memory that a filter of this geometry takes.
    pub const fn bytes(self, geometry: Geometry) -> u64 {
        match self {
            Self::Counting | Self::BlockedCounting => counting::bytes_of(geometry),
            Self::Bits(_) | Self::DLeft => geometry.bits / 8,
        }
    }

    /// Expected false positive rate with n distinct keys.
    pub fn fpr(self, n: u64, geometry: Geometry) -> f64 {
        match self.model() {
            Some(model) => model.fpr(n, geometry),
            None => DLeft::fpr(n, geometry),
        }
    }

    /// The smallest filter for n keys at a rate.
    ///
    /// # Errors
    /// As [`Model::size_for_fpr`] and [`DLeft::size_for_fpr`].
    pub fn size_for_fpr(self, n: u64, fpr: f64) -> Result<Geometry, SizingError> {
        match self.model() {
            Some(model) => model.size_for_fpr(n, fpr),
            None => DLeft::size_for_fpr(n, fpr),
        }
    }

    /// The largest filter for n keys within so many bits of memory for each.
    ///
    /// # Errors
    /// As [`Model::size_for_bits_per_key`] and [`DLeft::size_for_bits_per_key`].
    pub fn size_for_bits_per_key(self, n: u64, bits_per_key: f64) -> Result<Geometry, SizingError> {
        match (self, self.model()) {
            (Self::Bits(_), Some(model)) => model.size_for_bits_per_key(n, bits_per_key),
            (_, Some(model)) => model.size_for_bits_per_key(n, bits_per_key / 4.0),
            (_, None) => DLeft::size_for_bits_per_key(n, bits_per_key),
        }
    }

    /// The kind with this number.
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::all().find(|kind| kind.tag() == tag)
    }
}

impl From<LayoutKind> for FilterKind {
    fn from(layout: LayoutKind) -> Self {
        Self::Bits(layout)
    }
}

impl fmt::Display for FilterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
