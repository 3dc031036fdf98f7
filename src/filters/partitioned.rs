//! The partitioned Bloom filter: k regions of m/k bits, one probe in each.

use super::LayoutKind;
use crate::{
    dispatch::ByProbe,
    layout::Layout,
    mem::Shape,
    sizing::{Geometry, Model},
};

/// One probe in each of k regions.
///
/// Almeida, Baquero, Preguiça and Hutchison, "Scalable Bloom Filters", 2007 (and Mullin 1983 before it).
///
/// ```text
/// filter  |..1.....|1.......|.....1..|...1....|   k regions of r = m/k bits, a whole number of words
/// ```
///
/// **Rate.** (1 − (1 − 1/r)^n)^k, exact: [`Model::Partitioned`]. A little above `classic` for small filters, the same
/// for large ones.
///
/// **When.** A key always sets k distinct bits, and each region fills alike, which makes the occupancy easy to reason
/// about: the slices of a scalable filter.
///
/// **When not.** As `classic`: beyond the caches.
///
/// **Wire tag** 2.
///
/// ```
/// use bloomline::{Filter, Partitioned};
/// let mut filter = Filter::<Partitioned>::builder(1_000).fpr(0.001).build()?;
/// filter.insert("key");
/// assert!(filter.contains("key"));
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Partitioned {}

impl Layout for Partitioned {
    const KIND: LayoutKind = LayoutKind::Partitioned;
    const MODEL: Model = Model::Partitioned;
    type Unit = [u8; 8];
    type Walk = ByProbe;
    fn shape(g: Geometry) -> Shape {
        let region = g.bits / g.k.max(1) as u64;
        Shape { span: region, stride: region, k: g.k }
    }
}
