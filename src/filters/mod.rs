//! The filters: one file for each variant, and what all bit layouts share.
//!
//! A layout is a type that says which bits a digest means; [`Filter`] is a layout over a store, with a hasher. The list
//! below is the only one: it feeds the names, the wire tags, [`AnyFilter`], the command line, the tests and the
//! benchmarks. A new layout is a new file and a new line.

mod any;
mod any_counting;
mod blocked;
mod blocked_128;
mod builder;
mod classic;
mod counting;
mod d_left;
mod filter;
mod gate;
mod kind;
mod many;
mod partitioned;
mod split_block;
mod split_line;
mod word;

pub use any::AnyFilter;
pub use any_counting::AnyCounting;
pub use blocked::Blocked;
pub use blocked_128::Blocked128;
pub use builder::Builder;
pub(crate) use builder::default_cap;
pub use classic::Classic;
pub use counting::{CountingBloom, CountingBuilder, CountingView, PlainCountingBloom};
pub use d_left::{DLeftBuilder, DLeftCountingBloom, DLeftView};
pub use filter::{Design, Filter, FilterView, SharedFilter};
pub use gate::{Contains, NegativeGate};
pub use kind::FilterKind;
pub use partitioned::Partitioned;
pub use split_block::SplitBlock;
pub use split_line::SplitLine;
pub use word::Word;

pub(crate) use crate::mem::Holder;
use crate::{layout::Layout, sizing::Model};
use core::fmt;
pub(crate) use filter::check_output;
pub(crate) use many::AnyMany;

/// Odd multipliers whose products with a digest feed the probes within a unit: the first three odd words of BLAKE2b's
/// initial vector (RFC 7693, section 2.6), numbers nobody chose for this.
pub(crate) const MULTIPLIERS: [u64; 3] = [0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

/// Calls a macro with the list of bit layouts, `name Type = tag "printed name", …`, after a first token if one is given.
///
/// ```
/// macro_rules! count { ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { [$(stringify!($name)),*].len() } }
/// assert_eq!(bloomline::for_each_layout!(count), 7);
/// ```
#[macro_export]
macro_rules! for_each_layout {
    ($callback:ident $(, $first:tt)?) => {
        $callback! {
            $($first)?
            classic Classic = 1 "classic",
            partitioned Partitioned = 2 "partitioned",
            blocked Blocked = 3 "blocked",
            split_block SplitBlock = 4 "split-block",
            split_line SplitLine = 5 "split-line",
            word Word = 6 "word",
            blocked_128 Blocked128 = 7 "blocked-128",
        }
    };
}

macro_rules! kinds {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => {
        /// The bit layouts, by name. The numbers are their wire tags and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum LayoutKind {
            $(
                #[doc = concat!("[`", stringify!($Layout), "`].")]
                $Layout = $tag,
            )*
        }

        impl LayoutKind {
            /// Every layout there is.
            pub const ALL: &'static [LayoutKind] = &[$(LayoutKind::$Layout),*];

            /// The false positive formula.
            pub const fn model(self) -> Model {
                match self {
                    $(Self::$Layout => <$Layout as Layout>::MODEL,)*
                }
            }

            /// The name on the command line, in reports and in documents.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Layout => $printed,)*
                }
            }

            /// The layout with this wire tag.
            pub const fn from_tag(tag: u8) -> Option<Self> {
                match tag {
                    $($tag => Some(Self::$Layout),)*
                    _ => None,
                }
            }
        }
    };
}
for_each_layout!(kinds);

impl LayoutKind {
    /// The number that stands for the layout in files.
    pub const fn tag(self) -> u8 {
        self as u8
    }

    /// The layout of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for LayoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
