//! What can be a key.

use super::Digest;
use super::{KeyHasher, PreHashed, PreHashedTrusted};
use alloc::{borrow::Cow, boxed::Box, string::String, sync::Arc, vec::Vec};

/// A key that is hashed as bytes: byte strings and text as they are, integers as the little-endian bytes of their
/// width.
///
/// `usize` and `isize` are left out, since their width differs between machines.
pub trait KeyBytes {
    /// Calls `f` with the bytes of the key.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;
}

macro_rules! bytes { ($($t:ty: $self:ident => $e:expr;)*) => { $(
    impl KeyBytes for $t {
        #[inline(always)]
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            let $self = self;
            f($e)
        }
    }
)* } }
bytes! {
    [u8]: k => k;
    str: k => k.as_bytes();
    String: k => k.as_bytes();
    Vec<u8>: k => k.as_slice();
    u8: k => &k.to_le_bytes();
    u16: k => &k.to_le_bytes();
    u32: k => &k.to_le_bytes();
    u64: k => &k.to_le_bytes();
    u128: k => &k.to_le_bytes();
    i8: k => &k.to_le_bytes();
    i16: k => &k.to_le_bytes();
    i32: k => &k.to_le_bytes();
    i64: k => &k.to_le_bytes();
    i128: k => &k.to_le_bytes();
}

impl<const N: usize> KeyBytes for [u8; N] {
    #[inline(always)]
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(self)
    }
}

macro_rules! through { ($($t:ty: [$($g:tt)*];)*) => { $(
    impl<$($g)*> KeyBytes for $t {
        #[inline(always)]
        fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
            (**self).with_bytes(f)
        }
    }
)* } }
through! {
    &T: [T: KeyBytes + ?Sized];
    Box<T>: [T: KeyBytes + ?Sized];
    Arc<T>: [T: KeyBytes + ?Sized];
    Cow<'_, T>: [T: KeyBytes + alloc::borrow::ToOwned + ?Sized];
}

/// A hasher that can digest keys of type `K`.
///
/// The byte hashers digest everything that is [`KeyBytes`]; the pre-hashed ones only `u64` and [`Digest`], so that a
/// string can't be handed to them by mistake.
pub trait Hashes<K: ?Sized>: KeyHasher {
    /// The digest of `key`.
    fn digest(&self, key: &K) -> Digest;
}

impl<K: KeyBytes + ?Sized, H: super::hashers::ByteHasher> Hashes<K> for H {
    #[inline]
    fn digest(&self, key: &K) -> Digest {
        key.with_bytes(|bytes| self.digest_of(bytes))
    }
}

impl Hashes<u64> for PreHashed {
    #[inline(always)]
    fn digest(&self, hash: &u64) -> Digest {
        Digest(super::mix(*hash))
    }
}

impl Hashes<u64> for PreHashedTrusted {
    #[inline(always)]
    fn digest(&self, hash: &u64) -> Digest {
        Digest(*hash)
    }
}
