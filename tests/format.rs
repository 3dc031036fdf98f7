//! Filters as bytes: round trips, golden bytes, and every kind of damage.

#[path = "common/random.rs"]
mod random;
#[path = "common/reference.rs"]
mod reference;

use bloomline::{
    AnyCounting, AnyFilter, Blocked128, BulkOptions, Classic, Contains, CountingBloom, Design, Digest, Filter,
    FilterKind, FilterView, LayoutKind, Level, SplitBlock,
    error::FormatError,
    format::{
        self, Frame, HEADER_BYTES, Header,
        compact::{self, Compact},
    },
    hash::{AnyHasher, Blake2b, HasherId, Hashes, KeyHasher, PreHashed, Xxh3, Xxh64},
    sizing::Geometry,
};
use random::Random;
use reference::Reference;
use xxhash_rust::xxh3::xxh3_64;

/// A filter of `keys` digests at about 10 bits each.
fn filter(kind: LayoutKind, keys: u64, hasher: impl Into<AnyHasher>) -> (AnyFilter<'static>, Vec<Digest>) {
    let digests: Vec<Digest> = Random(keys).take(keys as usize).map(Digest).collect();
    let geometry = kind.model().size_for_bits_per_key(keys, 10.0).expect("a size");
    let design = Design { keys, fpr: kind.model().fpr(keys, geometry) };
    let mut filter =
        AnyFilter::with_geometry(kind, geometry, design, hasher.into(), Level::get()).expect("a small filter");
    filter.insert_bulk(&digests, BulkOptions::default()).expect("memory");
    (filter, digests)
}

/// The kinds that count.
fn counting_kinds() -> impl Iterator<Item = FilterKind> {
    FilterKind::all().filter(|kind| kind.counts())
}

/// A counting filter of `keys` digests at about 40 bits each, some of them twice.
fn counting(kind: FilterKind, keys: u64, hasher: impl Into<AnyHasher>) -> (AnyCounting, Vec<Digest>) {
    let digests: Vec<Digest> = Random(keys).take(keys as usize).map(Digest).collect();
    let geometry = kind.size_for_bits_per_key(keys, 40.0).expect("a size");
    let design = Design { keys, fpr: kind.fpr(keys, geometry) };
    let filter = AnyCounting::with_geometry(kind, geometry, design, hasher.into(), Level::get());
    let mut filter = filter.expect("a small filter");
    filter.insert_batch(&digests).expect("room");
    filter.insert_batch(&digests[..keys as usize / 3]).expect("room");
    (filter, digests)
}

/// A header that was changed and then sealed again: what only somebody who wants to can make.
fn resealed(frame: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    change(&mut bytes);
    bytes[12..16].fill(0);
    let checksum = xxh3_64(&bytes[..HEADER_BYTES]) as u32;
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Is what was read what was written?
fn same(read: &AnyFilter<'_>, written: &AnyFilter<'_>, members: &[Digest]) {
    assert_eq!(read.kind(), written.kind());
    assert_eq!(read.geometry(), written.geometry());
    assert_eq!(read.design(), written.design());
    let (ours, theirs) = (read.hasher(), written.hasher());
    assert_eq!((ours.id(), ours.seed()), (theirs.id(), theirs.seed()));
    assert_eq!(read.as_bytes(), written.as_bytes());
    assert!(members.iter().all(|&digest| read.contains_digest(digest)));
}

#[test]
fn full_frames_come_back_whole() {
    let key = Blake2b::new(b"a secret of sixteen bytes").expect("a key");
    let hashers: [AnyHasher; 4] =
        [Xxh3::with_seed(9).into(), Xxh64::default().into(), key.clone().into(), PreHashed.into()];
    for &kind in LayoutKind::ALL {
        for hasher in &hashers {
            let (filter, digests) = filter(kind, 777, hasher.clone());
            let bytes = format::to_vec(&filter);
            assert_eq!(bytes.len() as u64, 64 + filter.size_in_bytes());
            let mut written = Vec::new();
            assert_eq!(format::write(&filter, &mut written).expect("a vector"), bytes.len() as u64);
            assert_eq!(written, bytes);

            let decoded = format::decode(&bytes, Some(&key)).expect("what was written");
            let held = format::hold(bytes.clone(), Some(&key)).expect("what was written");
            same(&decoded, &filter, &digests);
            same(&held, &filter, &digests);
            // At every offset from a word's boundary.
            for shift in 0..8 {
                let shifted: Vec<u8> = std::iter::repeat_n(0xaa, shift).chain(bytes.iter().copied()).collect();
                let frame = Frame::open(&shifted[shift..]).expect("what was written");
                frame.verify().expect("nothing changed");
                let view = frame.filter(frame.header().hasher(Some(&key)).expect("its key")).expect("its hasher");
                same(&view, &filter, &digests);
            }
            for digest in Random(1).take(2_000).map(Digest) {
                assert_eq!(format::probe(&bytes, digest), filter.contains_digest(digest));
                assert_eq!(held.contains_digest(digest), filter.contains_digest(digest));
            }
        }
    }
}

#[test]
fn filters_that_count_come_back_whole() {
    let key = Blake2b::new(b"a secret of sixteen bytes").expect("a key");
    let hashers: [AnyHasher; 3] = [Xxh3::with_seed(9).into(), key.clone().into(), PreHashed.into()];
    for kind in counting_kinds() {
        for hasher in &hashers {
            let (filter, digests) = counting(kind, 777, hasher.clone());
            let bytes = format::to_vec(&filter);
            assert_eq!(bytes.len() as u64, 64 + filter.size_in_bytes());
            assert_eq!(bytes[8], kind.tag());
            for shift in 0..3 {
                let shifted: Vec<u8> = std::iter::repeat_n(0xaa, shift).chain(bytes.iter().copied()).collect();
                let frame = Frame::open(&shifted[shift..]).expect("what was written");
                frame.verify().expect("nothing changed");
                let read = frame.counting(frame.header().hasher(Some(&key)).expect("its key")).expect("its hasher");
                assert_eq!((read.kind(), read.geometry(), read.design()), (kind, filter.geometry(), filter.design()));
                assert_eq!(read.as_bytes(), filter.as_bytes());
                assert_eq!((read.hasher().id(), read.hasher().seed()), (hasher.id(), hasher.seed()));
                for digest in digests.iter().copied().chain(Random(1).take(2_000).map(Digest)) {
                    let expected = filter.contains_digest(digest);
                    assert_eq!(read.contains_digest(digest), expected);
                    assert_eq!(format::probe(&shifted[shift..], digest), expected);
                }
                // It goes on counting.
                let (mut read, mut out) = (read, [0; 13]);
                read.remove_batch(&digests, &mut out).expect("room");
                assert_eq!(out.iter().map(|word| word.count_ones()).sum::<u32>(), 777);
                assert!(digests[..259].iter().all(|&digest| read.contains_digest(digest)));
            }
            // It is no gate, and is not taken for one.
            let expected = Some(FormatError::Kind { kind: kind.name() });
            assert_eq!(format::decode(&bytes, Some(&key)).err(), expected);
            assert_eq!(format::hold(bytes.clone(), Some(&key)).err(), expected);
            assert_eq!(compact::to_vec(&filter).err(), expected);
            let bits = self::filter(LayoutKind::Word, 100, hasher.clone()).0;
            let bits = format::to_vec(&bits);
            let frame = Frame::open(&bits).expect("a frame");
            assert_eq!(frame.counting(hasher.clone()).err(), Some(FormatError::Kind { kind: "word" }));
        }
    }
    // Filters of one type are written as those of any.
    let plain = CountingBloom::<Classic>::builder(50).build_plain().expect("small");
    assert_eq!(Frame::open(&format::to_vec(&plain)).expect("a frame").header().kind, FilterKind::Counting);
    let plain = CountingBloom::<Blocked128>::builder(50).build_plain().expect("small");
    assert_eq!(Frame::open(&format::to_vec(&plain)).expect("a frame").header().kind, FilterKind::BlockedCounting);
    let table = bloomline::DLeftCountingBloom::builder(50).build().expect("small");
    assert_eq!(Frame::open(&format::to_vec(&table)).expect("a frame").header().kind, FilterKind::DLeft);
}

#[test]
fn filters_of_one_type_are_written_too() {
    let mut filter = Filter::<SplitBlock>::builder(100).build().expect("a filter");
    filter.insert("key");
    let bytes = format::to_vec(&filter);
    let view =
        FilterView::<SplitBlock>::from_bytes(filter.as_bytes(), filter.geometry(), filter.design(), Xxh3::default());
    assert_eq!(format::to_vec(&view.expect("its bytes")), bytes);
    assert_eq!(format::to_vec(&AnyFilter::from(filter)), bytes);
}

/// What was written once is read for ever: these bytes change only with a new version beside the old one.
#[test]
fn golden_bytes() {
    let golden = include_str!("data/golden.txt");
    let now = golden_text();
    if std::env::var_os("BLOOMLINE_WRITE_GOLDEN").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/golden.txt"), &now).expect("the file");
        return;
    }
    assert_eq!(golden, now, "the bytes of a version that is in use have changed");
    for line in golden.lines().filter(|line| line.starts_with("full ")) {
        let bytes = unhex(line.rsplit(' ').next().expect("bytes"));
        let filter = format::decode(&bytes, None).expect("golden bytes are readable");
        assert!((0..20u64).all(|key| filter.contains_digest(Xxh3::with_seed(1).digest(&key))));
    }
    for line in golden.lines().filter(|line| line.starts_with("counting ")) {
        let bytes = unhex(line.rsplit(' ').next().expect("bytes"));
        let frame = Frame::open(&bytes).expect("golden bytes are readable");
        frame.verify().expect("golden bytes are whole");
        let filter = frame.counting(Xxh3::with_seed(1)).expect("golden bytes are readable");
        assert!((0..20u64).all(|key| filter.contains_digest(Xxh3::with_seed(1).digest(&key))));
    }
}

/// Two filters of each layout, of 20 and of 200 integers: the frames of the first, and the first ten integers that both
/// hold wrongly.
fn golden_text() -> String {
    let mut text = String::from(
        "# xxh3, seed 1, of little-endian u64: frames of 0..20 (design: 20 keys, 0.25), and the first ten integers\n# from 200 on that a filter of 0..200 with 4 bits a key (24 where it counts) holds wrongly\n",
    );
    let hasher = Xxh3::with_seed(1);
    let of = |kind: LayoutKind, keys: u64, bits_per_key: f64| {
        let geometry = kind.model().size_for_bits_per_key(keys, bits_per_key).expect("a size");
        let design = Design { keys, fpr: 0.25 };
        let mut filter = AnyFilter::with_geometry(kind, geometry, design, hasher.into(), Level::get()).expect("small");
        let digests: Vec<Digest> = (0..keys).map(|key| hasher.digest(&key)).collect();
        filter.insert_bulk(&digests, BulkOptions::default()).expect("memory");
        filter
    };
    for &kind in LayoutKind::ALL {
        let filter = of(kind, 20, 32.0);
        let k = filter.geometry().k;
        text += &format!("full {kind} {k} {}\n", hex(&format::to_vec(&filter)));
        text += &format!("compact {kind} {k} {}\n", hex(&compact::to_vec(&filter).expect("64 bytes or more")));
        let filter = of(kind, 200, 4.0);
        let wrong: Vec<String> = (200..u64::MAX)
            .filter(|key| filter.contains_digest(hasher.digest(key)))
            .take(10)
            .map(|key| key.to_string())
            .collect();
        text += &format!("false-positives {kind} {} {}\n", filter.geometry().k, wrong.join(","));
    }
    for kind in counting_kinds() {
        let of = |keys: u64, bits_per_key: f64| {
            let geometry = kind.size_for_bits_per_key(keys, bits_per_key).expect("a size");
            let design = Design { keys, fpr: 0.25 };
            let filter = AnyCounting::with_geometry(kind, geometry, design, hasher.into(), Level::get());
            let mut filter = filter.expect("small");
            for key in 0..keys {
                // 0 once, 1 twice, 2 three times, and again.
                let digests = vec![hasher.digest(&key); key as usize % 3 + 1];
                filter.insert_batch(&digests).expect("room");
            }
            filter
        };
        let filter = of(20, 128.0);
        text += &format!("counting {kind} {} {}\n", filter.geometry().k, hex(&format::to_vec(&filter)));
        let filter = of(200, 24.0);
        let wrong = (200..4_000_000u64).filter(|key| filter.contains_digest(hasher.digest(key))).take(10);
        let wrong: Vec<String> = wrong.map(|key| key.to_string()).collect();
        text += &format!("false-positives {kind} {} {}\n", filter.geometry().k, wrong.join(","));
    }
    let digests: Vec<Digest> = (0..20u64).map(|key| hasher.digest(&key)).collect();
    let small = compact::small(&digests, Geometry { bits: 200, k: 7 }).expect("a size");
    text += &format!("compact small 7 {}\n", hex(&small));
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex"))
        .collect()
}

/// The frames' bits are the definition's bits, whatever the machine.
#[test]
fn payloads_are_the_definitions_bits() {
    for &kind in LayoutKind::ALL {
        let (filter, digests) = filter(kind, 300, Xxh3::default());
        let mut reference = Reference::new(kind, filter.geometry());
        for &digest in &digests {
            reference.insert(digest);
        }
        let frame = format::to_vec(&filter);
        assert!(Random(2).take(1_000).all(|h| format::probe(&frame, Digest(h)) == reference.contains(Digest(h))));
        assert_eq!(Frame::open(&format::to_vec(&filter)).expect("a frame").payload(), reference.bytes());
        assert_eq!(
            Compact::open(&compact::to_vec(&filter).expect("64 bytes or more")).expect("a frame").payload(),
            reference.bytes()
        );
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_found() {
    for kind in FilterKind::all() {
        let (whole, digests) = match kind.bits() {
            Some(layout) => {
                let (filter, digests) = filter(layout, 120, Xxh3::default());
                (format::to_vec(&filter), digests)
            }
            None => {
                let (filter, digests) = counting(kind, 60, Xxh3::default());
                (format::to_vec(&filter), digests)
            }
        };
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            match Frame::open(&bytes) {
                Ok(frame) => {
                    assert!(bit >= 8 * HEADER_BYTES, "bit {bit} of the header went unseen");
                    assert!(matches!(frame.verify(), Err(FormatError::PayloadChecksum { .. })));
                    assert!(format::decode(&bytes, None).is_err());
                }
                Err(_) => {
                    assert!(bit < 8 * HEADER_BYTES);
                    assert!(digests.iter().all(|&digest| format::probe(&bytes, digest)), "a member denied");
                }
            }
        }
        for length in 0..whole.len() {
            let error = Frame::open(&whole[..length]).expect_err("it was cut");
            assert!(matches!(error, FormatError::Truncated { .. }), "{error}");
            assert!(format::probe(&whole[..length], Digest(0)));
        }
        for more in 1..70 {
            let mut bytes = whole.clone();
            bytes.resize(whole.len() + more, 0);
            assert_eq!(Frame::open(&bytes).expect_err("bytes behind"), FormatError::Trailing { bytes: more as u64 });
        }
    }
}

#[test]
fn every_flipped_bit_and_every_cut_of_a_compact_frame_is_found() {
    let mut frames: Vec<Vec<u8>> = LayoutKind::ALL
        .iter()
        .map(|&kind| compact::to_vec(&filter(kind, 120, Xxh3::default()).0).expect("64 bytes or more"))
        .collect();
    let digests: Vec<Digest> = Random(3).take(17).map(Digest).collect();
    for bytes in [1, 2, 21, 63] {
        frames.push(compact::small(&digests, Geometry { bits: 8 * bytes, k: 5 }).expect("a size"));
    }
    for whole in frames {
        // The bits of a small filter are checked with its trailer.
        let payload_bits = if whole.len() > 66 { 8 * (whole.len() - compact::TRAILER_BYTES) } else { 0 };
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            match Compact::open(&bytes) {
                Ok(frame) => {
                    assert!(bit < payload_bits, "bit {} of the trailer went unseen", bit - payload_bits);
                    assert!(matches!(frame.verify(), Err(FormatError::PayloadChecksum { .. })));
                }
                Err(_) => {
                    assert!(bit >= payload_bits);
                    assert!(compact::probe(&bytes, Digest(bit as u64)), "maybe, where the trailer is damaged");
                }
            }
        }
        for length in 0..whole.len() {
            let cut = &whole[..length];
            assert!(Compact::open(cut).and_then(|frame| frame.verify()).is_err(), "cut to {length}");
        }
    }
}

#[test]
fn small_frames_are_classic() {
    for (kind, bytes, k) in [(LayoutKind::Word, 8, 4), (LayoutKind::SplitBlock, 32, 8), (LayoutKind::Classic, 56, 7)] {
        let geometry = Geometry { bits: 8 * bytes, k };
        let design = Design { keys: 5, fpr: 0.1 };
        let mut filter =
            AnyFilter::with_geometry(kind, geometry, design, Xxh3::default().into(), Level::get()).expect("small");
        let digests: Vec<Digest> = Random(9).take(5).map(Digest).collect();
        filter.insert_bulk(&digests, BulkOptions::default()).expect("memory");
        match compact::to_vec(&filter) {
            Ok(frame) => {
                assert_eq!(kind, LayoutKind::Classic);
                assert_eq!(frame, compact::small(&digests, geometry).expect("a size"));
                assert_eq!(Compact::open(&frame).expect("a frame").geometry(), geometry);
                assert!(
                    Random(10)
                        .take(500)
                        .all(|h| compact::probe(&frame, Digest(h)) == filter.contains_digest(Digest(h)))
                );
            }
            Err(error) => assert_eq!(error, FormatError::Small { layout: kind.name(), bytes }),
        }
    }
}

/// Headers that are sealed and lie.
#[test]
fn lies_are_typed_errors() {
    let (filter, _) = filter(LayoutKind::Blocked, 100, Xxh3::default());
    let frame = format::to_vec(&filter);
    let put = |at: usize, value: u64| resealed(&frame, |bytes| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes()));
    let byte = |at: usize, value: u8| resealed(&frame, |bytes| bytes[at] = value);
    assert!(Frame::open(&resealed(&frame, |_| {})).is_ok());

    let error = |bytes: &[u8]| Frame::open(bytes).expect_err("a lie");
    assert!(matches!(error(&put(32, 0)), FormatError::Geometry(_)));
    assert!(matches!(error(&put(32, 100)), FormatError::Geometry(_)));
    assert!(matches!(error(&put(32, u64::MAX)), FormatError::Geometry(_)));
    assert!(matches!(error(&put(32, 1 << 42)), FormatError::Geometry(_) | FormatError::PayloadLength { .. }));
    assert!(matches!(error(&put(48, u64::MAX)), FormatError::PayloadLength { .. })); // a length of −1
    assert!(matches!(error(&put(48, (1 << 31) - 1)), FormatError::PayloadLength { .. }));
    assert!(matches!(error(&put(40, f64::NAN.to_bits())), FormatError::Fpr { .. }));
    assert!(matches!(error(&put(40, 2f64.to_bits())), FormatError::Fpr { .. }));
    for k in [0, 17, 255] {
        assert!(matches!(error(&byte(10, k)), FormatError::Geometry(_)), "k = {k}");
    }
    assert_eq!(error(&byte(8, 0)), FormatError::Layout { tag: 0 });
    assert_eq!(error(&byte(8, 200)), FormatError::Layout { tag: 200 });
    assert_eq!(error(&byte(9, 77)), FormatError::Hasher { tag: 77 });
    assert_eq!(error(&byte(11, 1)), FormatError::Flags { flags: 0, reserved: 1 });
    assert_eq!(error(&byte(6, 4)), FormatError::Flags { flags: 4, reserved: 0 });
    assert_eq!(error(&byte(4, 2)), FormatError::Version { found: 2, newest: 1 });
    assert_eq!(error(&byte(4, 0)), FormatError::Version { found: 0, newest: 1 });
    // Both lengths agree, and there are no such bytes.
    let huge = resealed(&frame, |bytes| {
        bytes[32..40].copy_from_slice(&(8u64 << 40).to_le_bytes());
        bytes[48..56].copy_from_slice(&(1u64 << 40).to_le_bytes());
    });
    assert!(matches!(error(&huge), FormatError::Geometry(_) | FormatError::Truncated { .. }));
    assert!(matches!(error(b"PAR1"), FormatError::Truncated { .. }));
    assert!(matches!(error(&[b'x'; 100]), FormatError::Magic { found: [b'x', b'x', b'x', b'x'] }));
}

#[test]
fn keyed_filters_ask_for_their_key() {
    let key = Blake2b::new(b"right").expect("a key");
    let wrong = Blake2b::new(b"wrong").expect("a key");
    let bytes = format::to_vec(&filter(LayoutKind::Word, 50, key.clone()).0);
    assert!(format::decode(&bytes, Some(&key)).is_ok());
    assert_eq!(format::decode(&bytes, None).expect_err("no key"), FormatError::KeyMissing);
    let error = format::decode(&bytes, Some(&wrong)).expect_err("another key");
    assert_eq!(error, FormatError::KeyDiffers { stored: key.seed(), given: wrong.seed() });
    assert!(!bytes.windows(5).any(|window| window == b"right"), "a secret in a file");

    let frame = Frame::open(&bytes).expect("a frame");
    let error = frame.filter(Xxh3::default()).expect_err("another hasher");
    assert_eq!(error, FormatError::HasherDiffers { stored: HasherId::Blake2b, given: HasherId::Xxh3 });
}

/// Random bytes, random changes of real frames, and real headers before random bits.
#[test]
fn no_bytes_make_it_panic() {
    let mut random = Random(0xbad);
    let mut next = move || random.next().expect("endless");
    let frames: Vec<Vec<u8>> = LayoutKind::ALL
        .iter()
        .flat_map(|&kind| {
            let filter = filter(kind, 64, Xxh3::default()).0;
            [format::to_vec(&filter), compact::to_vec(&filter).expect("64 bytes or more")]
        })
        .collect();
    let mut opened = 0;
    for round in 0..200_000u64 {
        let mut bytes = match round % 4 {
            0 => (0..next() % 200).map(|_| next() as u8).collect(),
            _ => frames[next() as usize % frames.len()].clone(),
        };
        for _ in 0..next() % 4 {
            let at = next() as usize % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = next() as u8;
            }
        }
        if round % 8 == 3 && bytes.len() >= HEADER_BYTES {
            bytes = resealed(&bytes, |_| {});
        }
        bytes.truncate(bytes.len().saturating_sub((next() % 3) as usize));
        let digest = Digest(next());
        format::probe(&bytes, digest);
        compact::probe(&bytes, digest);
        if let Ok(frame) = Frame::open(&bytes) {
            let _ = frame.verify();
            let Header { hasher, kind, .. } = *frame.header();
            if hasher == HasherId::Xxh3 {
                let hasher = frame.header().hasher(None).expect("no key is needed");
                match kind.bits() {
                    Some(layout) => {
                        assert_eq!(frame.filter(hasher).expect("an open frame has a filter").kind(), layout)
                    }
                    None => assert_eq!(frame.counting(hasher).expect("an open frame has a filter").kind(), kind),
                }
            }
            opened += 1;
        }
        if let Ok(frame) = Compact::open(&bytes) {
            frame.contains_digest(digest);
            opened += 1;
        }
    }
    assert!(opened > 20_000, "{opened} of them could be opened: the test tests nothing");
}

/// Without its key a filter can be described, folded and united, not asked; what comes of it opens with the key.
#[test]
fn what_needs_no_key() {
    let key = Blake2b::new(b"a secret of sixteen bytes").expect("a key");
    for &kind in LayoutKind::ALL {
        let (filter, digests) = filter(kind, 100_000, key.clone());
        let bytes = format::to_vec(&filter);
        let frame = Frame::open(&bytes).expect("what was written");
        let unkeyed = frame.header().unkeyed();
        assert_eq!((unkeyed.id(), unkeyed.seed()), (HasherId::Blake2b, key.seed()));
        let mut union = frame.filter(unkeyed).expect("its hasher").to_owned().expect("memory");
        assert_eq!(union.digest_bytes(b"key"), None);
        assert!(union.contains_bytes(b"key"));
        assert_eq!(format::to_vec(&union), bytes);
        union.union_with(&filter).expect("the same hasher");
        let other = Blake2b::new(b"another secret").expect("a key");
        let (other, _) = self::filter(kind, 100_000, other);
        assert!(matches!(union.union_with(&other), Err(bloomline::error::CombineError::Seed { .. })));
        let folded = format::to_vec(&union.fold(2).expect("an even number of units"));
        same(&format::decode(&folded, Some(&key)).expect("its key"), &filter.fold(2).expect("even"), &digests);
    }
}

/// A header tells, before the bits are there, how many they will be.
#[test]
fn a_header_alone() {
    let (filter, _) = filter(LayoutKind::Blocked, 100, Xxh3::default());
    let bytes = format::to_vec(&filter);
    let header = Header::from_bytes(bytes.first_chunk().expect("a header")).expect("what was written");
    assert_eq!(&header, Frame::open(&bytes).expect("what was written").header());
    let needed = header.payload_bytes();
    assert_eq!(header.check_length(needed), Ok(()));
    assert_eq!(
        header.check_length(needed - 1),
        Err(FormatError::Truncated { bytes: needed + 63, needed: needed + 64 })
    );
    assert_eq!(header.check_length(needed + 3), Err(FormatError::Trailing { bytes: 3 }));
}
