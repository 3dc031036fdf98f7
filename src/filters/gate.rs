//! The contracts of a filter's answers.

use crate::{
    Filter,
    error::BatchError,
    hash::{Digest, KeyHasher},
    layout::Layout,
    mem::Store,
};

/// Something that answers whether a key may be present.
///
/// What "absent" means differs between filters: see [`NegativeGate`].
pub trait Contains {
    /// May the key with this digest be present?
    fn contains_digest(&self, digest: Digest) -> bool;

    /// Bit i % 64 of word i / 64 of `out`: may digest i be present? The bits after the last digest are 0.
    ///
    /// # Errors
    /// When `out` has fewer than ⌈digests / 64⌉ words. Nothing is written then.
    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError>;

    /// The digest of a byte string, by this filter's hasher; `None` when it takes hashes instead of bytes.
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest>;

    /// May this byte string be present? "Maybe" when the hasher takes no bytes.
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.digest_bytes(key).is_none_or(|digest| self.contains_digest(digest))
    }

    /// Bytes that the filter's bits take.
    fn size_in_bytes(&self) -> u64;
}

/// A filter whose "absent" is exact: a key that was inserted is never reported absent, so the answer may keep a reader
/// away from the data.
///
/// All bit layouts are, owned, shared or viewed. Filters that forget (stable, rotating), and filters from which a wrong
/// remove can take a member (counting, d-left), are not, and can't be put where a gate is wanted.
///
/// ```
/// use bloomline::{Filter, NegativeGate, SplitBlock, Word};
/// let mut keys = Filter::<SplitBlock>::builder(100).build()?;
/// keys.insert("present");
/// let gates: Vec<Box<dyn NegativeGate + Send + Sync>> = vec![Box::new(keys), Box::new(Filter::<Word>::builder(1).build()?)];
/// assert!(gates[0].contains_bytes(b"present"));
/// assert!(!gates[1].contains_bytes(b"present"));
/// # Ok::<(), bloomline::error::BuildError>(())
/// ```
///
/// A counting filter is none: a removal of a key that was never inserted makes it lie. What
/// [`CountingBloom::to_bloom`](crate::CountingBloom::to_bloom) makes is one.
///
/// ```compile_fail,E0277
/// use bloomline::{Classic, CountingBloom, NegativeGate};
/// let filter = CountingBloom::<Classic>::builder(100).build().unwrap();
/// let gate: Box<dyn NegativeGate> = Box::new(filter);
/// ```
///
/// ```compile_fail,E0277
/// use bloomline::{DLeftCountingBloom, NegativeGate};
/// let filter = DLeftCountingBloom::builder(100).build().unwrap();
/// let gate: Box<dyn NegativeGate> = Box::new(filter);
/// ```
///
/// ```compile_fail,E0277
/// use bloomline::{AnyCounting, NegativeGate};
/// fn gate(filter: AnyCounting) -> Box<dyn NegativeGate> {
///     Box::new(filter)
/// }
/// ```
pub trait NegativeGate: Contains {}

impl<L: Layout, S: Store<Unit = L::Unit>, H: KeyHasher> Contains for Filter<L, S, H> {
    #[inline]
    fn contains_digest(&self, digest: Digest) -> bool {
        Filter::contains_digest(self, digest)
    }
    fn contains_batch(&self, digests: &[Digest], out: &mut [u64]) -> Result<(), BatchError> {
        Filter::contains_batch(self, digests, out)
    }
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        self.hasher().digest_bytes(key)
    }
    fn size_in_bytes(&self) -> u64 {
        Filter::size_in_bytes(self)
    }
}

impl<L: Layout, S: Store<Unit = L::Unit>, H: KeyHasher> NegativeGate for Filter<L, S, H> {}
