//! What every type promises whatever its parameters: threads may share it, it can be shown, its errors are one line.

use bloomline::{
    AnyFilter, Builder, BulkOptions, Contains, Design, Digest, Filter, FilterView, Kernel, Layout, LayoutKind, Level,
    NegativeGate, SharedFilter,
    error::{AllocError, BatchError, BuildError, CombineError, FoldError, LevelError, SizingError, WriteError},
    for_each_layout,
    hash::{
        AnyHasher, Blake2b, HasherId, KeyHasher, KeyLengthError, PreHashed, PreHashedTrusted, Probes, Unkeyed, Xxh3,
        Xxh64,
    },
    mem::{Atomic, HugePages, MaybeOwned, Owned, Plain, Shared, Units, View},
    sizing::{Geometry, Model},
};
use std::{error::Error, fmt::Debug};

/// Holds when it compiles.
const fn shared_between_threads<T: Send + Sync + ?Sized>() {}
const fn shown<T: Debug>() {}
const fn gate<T: NegativeGate + ?Sized>() {}

const _: () = {
    shared_between_threads::<AnyFilter<'static>>();
    shared_between_threads::<dyn NegativeGate + Send + Sync>();
    shared_between_threads::<Box<dyn NegativeGate + Send + Sync>>();
    gate::<AnyFilter<'static>>();
    gate::<dyn NegativeGate>();
    shared_between_threads::<Design>();
    shared_between_threads::<Digest>();
    shared_between_threads::<Geometry>();
    shared_between_threads::<Model>();
    shared_between_threads::<Level>();
    shared_between_threads::<LayoutKind>();
    shared_between_threads::<BulkOptions>();
    shared_between_threads::<HugePages>();
    shared_between_threads::<HasherId>();
    shared_between_threads::<Probes>();
    shown::<AnyFilter<'static>>();
    shown::<Probes>();
    shown::<BulkOptions>();
};

const fn hasher<H: KeyHasher + Into<AnyHasher> + 'static>() {
    shared_between_threads::<H>();
    shown::<H>();
}
const _: () = {
    hasher::<Xxh3>();
    hasher::<Xxh64>();
    hasher::<Blake2b>();
    hasher::<PreHashed>();
    hasher::<PreHashedTrusted>();
    hasher::<Unkeyed>();
    hasher::<AnyHasher>();
};

const fn error<E: Error + Send + Sync + Clone + PartialEq + 'static>() {}
const _: () = {
    error::<SizingError>();
    error::<AllocError>();
    error::<BuildError>();
    error::<WriteError>();
    error::<CombineError>();
    error::<FoldError>();
    error::<LevelError>();
    error::<BatchError>();
    error::<KeyLengthError>();
};

const fn filter<F: Send + Sync + Debug + NegativeGate>() {}

/// Every store and every kind of hasher, and the handles on the way.
const fn layout<L: Layout + Debug>() {
    filter::<Filter<L>>();
    filter::<Filter<L, Owned<L::Unit>, Blake2b>>();
    filter::<SharedFilter<L>>();
    filter::<SharedFilter<L, AnyHasher>>();
    filter::<FilterView<'static, L>>();
    filter::<FilterView<'static, L, PreHashed>>();
    filter::<Filter<L, MaybeOwned<'static, L::Unit>, AnyHasher>>();
    shared_between_threads::<Builder<L>>();
    shared_between_threads::<Builder<L, AnyHasher>>();
    shared_between_threads::<Owned<L::Unit>>();
    shared_between_threads::<Shared<L::Unit>>();
    shared_between_threads::<View<'static, L::Unit>>();
    shared_between_threads::<Units<'static, Plain, L::Unit>>();
    shared_between_threads::<Units<'static, Atomic, L::Unit>>();
    shared_between_threads::<Kernel<'static, L, Plain>>();
    shared_between_threads::<Kernel<'static, L, Atomic>>();
    shown::<Builder<L>>();
    shown::<Kernel<'static, L, Plain>>();
    shown::<Units<'static, Atomic, L::Unit>>();
}

macro_rules! stamp {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => {
        const _: () = {
            $(layout::<bloomline::$Layout>();)*
        };

        /// A filter's `Debug` fits a terminal: it shows what the filter is, not its bits.
        #[test]
        fn filters_show_what_they_are() {
            $({
                let filter = Filter::<bloomline::$Layout>::builder(1000).build().expect("a filter");
                let shown = format!("{filter:?}");
                assert!(shown.contains($printed), "{shown}");
                assert!(shown.len() < 2000, "{shown}");
                let shared = format!("{:?}", filter.into_shared());
                assert!(shared.contains($printed) && shared.len() < 2000, "{shared}");
            })*
        }

        /// The one list is consistent with itself, and its tags are those that files hold.
        #[test]
        fn layouts_have_names_and_tags() {
            let listed = [$((LayoutKind::$Layout, $tag, $printed)),*];
            assert!(LayoutKind::ALL.iter().copied().eq(listed.iter().map(|&(kind, ..)| kind)));
            for (kind, tag, name) in listed {
                assert_eq!((kind.tag(), kind.name()), (tag, name));
                assert_eq!(kind.to_string(), name);
                assert_eq!(format!("{kind:>12}|{kind:<12}|"), format!("{name:>12}|{name:<12}|"));
                assert_eq!(LayoutKind::from_tag(tag), Some(kind));
                assert_eq!(LayoutKind::from_name(name), Some(kind));
            }
            $(
                assert_eq!(<bloomline::$Layout as Layout>::KIND, LayoutKind::$Layout);
                assert_eq!(<bloomline::$Layout as Layout>::MODEL, LayoutKind::$Layout.model());
            )*
            let tags = listed.map(|(_, tag, _): (_, u8, _)| tag);
            assert!((0..=u8::MAX).all(|tag| LayoutKind::from_tag(tag).is_some() == tags.contains(&tag)));
            for none in ["", "Classic", "classic ", "split_block", "bloom"] {
                assert_eq!(LayoutKind::from_name(none), None);
            }
        }
    };
}
for_each_layout!(stamp);

/// An engine keeps gates of all kinds in one list and asks them from many threads.
#[test]
fn gates_are_shared_between_threads() {
    let mut gates: Vec<Box<dyn NegativeGate + Send + Sync>> = vec![];
    macro_rules! push {
        ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
            let mut filter = Filter::<bloomline::$Layout>::builder(10).fpr(1e-6).build().expect("a filter");
            filter.insert($printed);
            gates.push(Box::new(filter));
        )* };
    }
    for_each_layout!(push);
    std::thread::scope(|scope| {
        for (gate, kind) in gates.iter().zip(LayoutKind::ALL) {
            scope.spawn(move || {
                assert!(gate.contains_bytes(kind.name().as_bytes()));
                assert!(!gate.contains_bytes(b"something else"));
                assert!(gate.size_in_bytes() >= 8);
            });
        }
    });
}

/// One line, without a full stop, that names what was refused.
#[test]
fn errors_are_one_line() {
    let sizing = SizingError::FprOutOfRange { fpr: 1.5 };
    let alloc = AllocError::OverCap { bytes: 4096, cap: 1024 };
    let all: Vec<(Box<dyn Error>, &[&str])> = vec![
        (Box::new(SizingError::ZeroKeys), &["0 keys"]),
        (Box::new(sizing), &["1.5"]),
        (Box::new(SizingError::FprBelowDigestFloor { fpr: 1e-19, keys: 7, floor: 6e-18 }), &["1e-19", "6e-18", "7"]),
        (Box::new(SizingError::BitsPerKeyOutOfRange { bits_per_key: -1.0 }), &["-1"]),
        (Box::new(SizingError::ProbesOutOfRange { k: 99, min: 1, max: 16 }), &["99", "16"]),
        (Box::new(SizingError::ProbesOutOfRange { k: 7, min: 8, max: 8 }), &["7", "8"]),
        (Box::new(SizingError::BlockOutOfRange { block_bits: 0, max_block_bits: 65536 }), &["0", "65536"]),
        (Box::new(SizingError::BitsNotWholeUnits { bits: 100, unit_bits: 64 }), &["100", "64"]),
        (Box::new(SizingError::TooManyBits { bits: u128::MAX, max_bits: 512 }), &["340282366", "512"]),
        (Box::new(SizingError::BudgetTooSmall { bytes: 3, min_bytes: 8 }), &["3", "8"]),
        (Box::new(alloc), &["4096", "1024"]),
        (Box::new(AllocError::Refused { bytes: 77 }), &["77"]),
        (Box::new(BuildError::Sizing(sizing)), &["1.5"]),
        (Box::new(BuildError::Alloc(alloc)), &["4096", "1024"]),
        (Box::new(BuildError::Length { bytes: 12, needed: 16 }), &["12", "16"]),
        (Box::new(WriteError::ReadOnly), &["view"]),
        (Box::new(WriteError::Alloc(alloc)), &["4096"]),
        (Box::new(CombineError::Layout { left: "word", right: "classic" }), &["layouts", "word", "classic"]),
        (Box::new(CombineError::Bits { left: 64, right: 128 }), &["sizes", "64", "128"]),
        (Box::new(CombineError::Probes { left: 3, right: 4 }), &["probes", "3", "4"]),
        (Box::new(CombineError::Hasher { left: HasherId::Xxh3, right: HasherId::Xxh64 }), &["xxh3", "xxh64"]),
        (Box::new(CombineError::Seed { left: 1, right: 255 }), &["seeds", "0x1", "0xff"]),
        (Box::new(CombineError::ReadOnly), &["view"]),
        (Box::new(FoldError::NotADivisor { factor: 7, units: 8 }), &["7", "8"]),
        (Box::new(FoldError::Alloc(alloc)), &["4096"]),
        (Box::new(LevelError::Unavailable { level: Level::Neon, best: Level::Avx2 }), &["neon", "avx2"]),
        (Box::new(LevelError::Unknown { name: "sse\n9".into() }), &["sse\\n9", "scalar", "avx512vbmi"]),
        (Box::new(BatchError { words: 1, needed: 2 }), &["1", "2"]),
        (Box::new(KeyLengthError { bytes: 65 }), &["65", "64"]),
    ];
    for (error, parts) in all {
        let line = error.to_string();
        assert!(!line.is_empty() && !line.contains('\n') && !line.ends_with('.'), "{line:?}");
        for part in parts {
            assert!(line.contains(part), "{line:?} does not name {part}");
        }
    }
    assert!(BuildError::from(alloc).source().is_some_and(|source| source.is::<AllocError>()));
    assert!(BuildError::from(sizing).source().is_some_and(|source| source.is::<SizingError>()));
}

/// A secret key is never shown.
#[test]
fn a_key_is_no_part_of_what_is_shown() {
    let hasher = Blake2b::new(b"0123456789abcdef").expect("a key");
    let shown = format!("{hasher:?} {:?}", AnyHasher::from(hasher.clone()));
    assert!(!shown.contains("48, 49") && !shown.contains("0123456789abcdef") && !shown.contains("30, 31"), "{shown}");
    assert!(shown.contains("check"), "{shown}");
    let filter = Filter::<bloomline::Word>::builder(1).hasher(hasher).build().expect("a filter");
    assert!(!filter.contains_bytes(b"key"));
    assert!(!format!("{filter:?}").contains("48, 49"));
}
