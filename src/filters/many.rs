//! Many filters that one key is looked up in.

use super::AnyFilter;
use crate::{
    Layout,
    dispatch::Kernels,
    for_each_layout,
    hash::Digest,
    mem::{HeldMany, Plain},
};

/// Filters of one layout, side by side: one call looks a digest up in all.
#[derive(Debug)]
pub(crate) struct Many<L: Layout> {
    kernels: &'static Kernels<L, Plain>,
    filters: HeldMany<L::Unit>,
}

macro_rules! any_many {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => {
        /// Filters of any one layout.
        #[derive(Debug)]
        pub(crate) enum AnyMany {
            $($Layout(Many<super::$Layout>),)*
        }

        impl AnyMany {
            /// With this filter first; `None` when its bytes are not reference-counted.
            pub(crate) fn new(filter: &AnyFilter<'_>) -> Option<Self> {
                match filter {
                    $(AnyFilter::$Layout(filter) => {
                        let filters = HeldMany::new(filter.held()?);
                        Some(Self::$Layout(Many { kernels: Kernels::of(filter.level()), filters }))
                    })*
                }
            }

            /// With one more filter; false when its layout or level is another, or there are 64.
            pub(crate) fn push(&mut self, filter: &AnyFilter<'_>) -> bool {
                match (self, filter) {
                    $((Self::$Layout(many), AnyFilter::$Layout(filter)) => match filter.held() {
                        Some(held) if many.kernels.level() == filter.level() && many.filters.units().len() < 64 => {
                            many.filters.push(held);
                            true
                        }
                        _ => false,
                    },)*
                    _ => false,
                }
            }

            /// Bit i: may filter i have the digest?
            #[inline]
            pub(crate) fn contains_each(&self, digest: Digest) -> u64 {
                match self {
                    $(Self::$Layout(Many { kernels, filters }) => kernels.contains_each(filters.units(), digest),)*
                }
            }
        }
    };
}
for_each_layout!(any_many);
