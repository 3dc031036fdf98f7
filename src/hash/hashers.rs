//! The hashers, and their names on the wire.

use super::Digest;
use alloc::boxed::Box;
use blake2::{
    Blake2bMac,
    digest::{FixedOutput, KeyInit, Update, consts::U8},
};
use core::fmt;

/// Which hasher made a filter's digests. The numbers are written to files and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum HasherId {
    /// [`Xxh3`].
    Xxh3 = 1,
    /// [`Xxh64`].
    Xxh64 = 2,
    /// [`Blake2b`].
    Blake2b = 3,
    /// [`PreHashed`].
    PreHashed = 4,
    /// [`PreHashedTrusted`].
    PreHashedTrusted = 5,
}

impl HasherId {
    /// Every hasher there is.
    pub const ALL: [HasherId; 5] = [Self::Xxh3, Self::Xxh64, Self::Blake2b, Self::PreHashed, Self::PreHashedTrusted];

    /// The hasher with this wire id.
    pub const fn from_tag(tag: u8) -> Option<Self> {
        Some(match tag {
            1 => Self::Xxh3,
            2 => Self::Xxh64,
            3 => Self::Blake2b,
            4 => Self::PreHashed,
            5 => Self::PreHashedTrusted,
            _ => return None,
        })
    }

    /// The number that stands for the hasher in files.
    pub const fn tag(self) -> u8 {
        self as u8
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xxh3 => "xxh3",
            Self::Xxh64 => "xxh64",
            Self::Blake2b => "blake2b",
            Self::PreHashed => "prehashed",
            Self::PreHashedTrusted => "prehashed-trusted",
        }
    }
}

impl fmt::Display for HasherId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a filter remembers of the hasher that made its digests: two filters can be combined only when both agree.
pub trait KeyHasher: Clone + fmt::Debug + Send + Sync {
    /// Which hasher this is.
    fn id(&self) -> HasherId;
    /// The seed, or for a keyed hasher a 64-bit check of the key (never the key), or 0 where there is neither.
    fn seed(&self) -> u64;
    /// The digest of a byte string; `None` when the hasher takes hashes instead of bytes.
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest>;
}

/// A hasher of byte strings.
pub(crate) trait ByteHasher: KeyHasher {
    fn digest_of(&self, key: &[u8]) -> Digest;
}

macro_rules! seeded {
    ($(#[$doc:meta])* $name:ident, $hash:path) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            seed: u64,
        }
        impl $name {
            /// With this seed. The seed is no secret: it is written beside the filter, and a fast hash is not promised
            /// to withstand keys that were chosen against it.
            pub const fn with_seed(seed: u64) -> Self {
                Self { seed }
            }
        }
        impl KeyHasher for $name {
            fn id(&self) -> HasherId {
                HasherId::$name
            }
            fn seed(&self) -> u64 {
                self.seed
            }
            #[inline]
            fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
                Some(self.digest_of(key))
            }
        }
        impl ByteHasher for $name {
            #[inline(always)]
            fn digest_of(&self, key: &[u8]) -> Digest {
                Digest($hash(key, self.seed))
            }
        }
    };
}

seeded! {
    /// XXH3, 64 bits, seeded: the default.
    ///
    /// ```
    /// use bloomline::hash::{Hashes, Xxh3};
    /// assert_ne!(Xxh3::with_seed(1).digest(&7u64), Xxh3::with_seed(2).digest(&7u64));
    /// assert_eq!(Xxh3::default().digest(&7u32), Xxh3::default().digest(&[7u8, 0, 0, 0]));
    /// ```
    Xxh3, xxhash_rust::xxh3::xxh3_64_with_seed
}
seeded! {
    /// XXH64, seeded: the hash of Parquet's Bloom filters (with seed 0).
    Xxh64, xxhash_rust::xxh64::xxh64
}

/// BLAKE2b with a secret key and 8 bytes of output (RFC 7693): the one hasher that is promised to withstand keys
/// chosen by an adversary who does not know the secret.
///
/// The secret never reaches a file; a 64-bit check of it does, so that a filter opened under another secret is refused
/// instead of answering nonsense.
///
/// ```
/// use bloomline::hash::{Blake2b, Hashes};
/// let hasher = Blake2b::new(b"sixteen or more secret bytes")?;
/// assert_eq!(hasher.digest("key"), hasher.digest("key"));
/// assert!(Blake2b::new(&[0; 65]).is_err());
/// # Ok::<(), bloomline::hash::KeyLengthError>(())
/// ```
#[derive(Clone)]
pub struct Blake2b {
    // Elsewhere: it is larger than all other hashers together, and a filter should not grow by it.
    keyed: Box<Blake2bMac<U8>>,
    check: u64,
}

/// A secret key of no bytes or of more than 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLengthError {
    /// Bytes in the key that was given.
    pub bytes: usize,
}

impl fmt::Display for KeyLengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a BLAKE2b key has 1 to {} bytes, not {}", Blake2b::MAX_KEY_BYTES, self.bytes)
    }
}

impl core::error::Error for KeyLengthError {}

impl Blake2b {
    /// The longest key.
    pub const MAX_KEY_BYTES: usize = 64;

    /// With this secret key.
    ///
    /// # Errors
    /// When the key is empty or longer than [`Self::MAX_KEY_BYTES`].
    pub fn new(key: &[u8]) -> Result<Self, KeyLengthError> {
        let error = KeyLengthError { bytes: key.len() };
        if key.is_empty() || key.len() > Self::MAX_KEY_BYTES {
            return Err(error);
        }
        let keyed = Box::new(Blake2bMac::<U8>::new_from_slice(key).map_err(|_| error)?);
        let mut hasher = Self { keyed, check: 0 };
        hasher.check = hasher.digest_of(b"bloomline: which key is this?").0;
        Ok(hasher)
    }
}

impl fmt::Debug for Blake2b {
    /// Shows the check, never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blake2b").field("check", &format_args!("{:#018x}", self.check)).finish_non_exhaustive()
    }
}

impl KeyHasher for Blake2b {
    fn id(&self) -> HasherId {
        HasherId::Blake2b
    }
    fn seed(&self) -> u64 {
        self.check
    }
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        Some(self.digest_of(key))
    }
}

impl ByteHasher for Blake2b {
    fn digest_of(&self, key: &[u8]) -> Digest {
        let mut state = (*self.keyed).clone();
        state.update(key);
        Digest(u64::from_le_bytes(state.finalize_fixed().into()))
    }
}

macro_rules! prehashed {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name;
        impl KeyHasher for $name {
            fn id(&self) -> HasherId {
                HasherId::$name
            }
            fn seed(&self) -> u64 {
                0
            }
            fn digest_bytes(&self, _: &[u8]) -> Option<Digest> {
                None
            }
        }
    };
}

prehashed! {
    /// The caller has a 64-bit hash of the key. A bijective finaliser is applied, since the unit is chosen by the high
    /// bits: a 32-bit hash that was zero-extended would put every key into unit 0.
    ///
    /// ```
    /// use bloomline::hash::{Hashes, PreHashed};
    /// assert_ne!(PreHashed.digest(&1).0 >> 32, 0);
    /// ```
    PreHashed
}
prehashed! {
    /// The caller has a 64-bit hash that is uniform in all of its bits: it becomes the digest as it is.
    PreHashedTrusted
}

/// A hasher of which only the name and the seed, or the check of its key, are known: for whoever describes, unites or
/// folds filters and has no secret key. It digests nothing, so a filter with it answers "maybe" for every byte string.
///
/// [`Header::unkeyed`](crate::format::Header::unkeyed) makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unkeyed {
    pub(crate) id: HasherId,
    pub(crate) seed: u64,
}

impl KeyHasher for Unkeyed {
    fn id(&self) -> HasherId {
        self.id
    }
    fn seed(&self) -> u64 {
        self.seed
    }
    fn digest_bytes(&self, _: &[u8]) -> Option<Digest> {
        None
    }
}

/// A hasher known only at run time: what an engine reads from a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyHasher {
    /// [`Xxh3`].
    Xxh3(Xxh3),
    /// [`Xxh64`].
    Xxh64(Xxh64),
    /// [`Blake2b`].
    Blake2b(Blake2b),
    /// [`PreHashed`].
    PreHashed(PreHashed),
    /// [`PreHashedTrusted`].
    PreHashedTrusted(PreHashedTrusted),
    /// [`Unkeyed`].
    Unkeyed(Unkeyed),
}

macro_rules! each {
    ($self:ident, $h:ident => $e:expr) => {
        match $self {
            Self::Xxh3($h) => $e,
            Self::Xxh64($h) => $e,
            Self::Blake2b($h) => $e,
            Self::PreHashed($h) => $e,
            Self::PreHashedTrusted($h) => $e,
            Self::Unkeyed($h) => $e,
        }
    };
}

impl KeyHasher for AnyHasher {
    fn id(&self) -> HasherId {
        each!(self, h => h.id())
    }
    fn seed(&self) -> u64 {
        each!(self, h => h.seed())
    }
    #[inline]
    fn digest_bytes(&self, key: &[u8]) -> Option<Digest> {
        each!(self, h => h.digest_bytes(key))
    }
}

macro_rules! any_from { ($($name:ident)*) => { $(
    impl From<$name> for AnyHasher {
        fn from(hasher: $name) -> Self {
            Self::$name(hasher)
        }
    }
)* } }
any_from!(Xxh3 Xxh64 Blake2b PreHashed PreHashedTrusted Unkeyed);
