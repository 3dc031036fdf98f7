//! What a filter is, by name: the bit layouts and the filters beyond them.

use super::LayoutKind;
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
