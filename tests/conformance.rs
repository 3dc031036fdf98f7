//! One answer: for one geometry and one digest, every instruction set, every memory model and every way to ask set and
//! test the same bits.
//!
//! Bytes are compared, not only answers, and both with a reference that is written from the definitions
//! (`common/reference.rs`). Everything is stamped from the one list of layouts and runs on every level of the machine.

#[path = "common/random.rs"]
mod random;
#[path = "common/reference.rs"]
mod reference;

use bloomline::{
    AnyFilter, BulkOptions, Contains, Design, Digest, Filter, FilterView, Layout, Level, NegativeGate,
    error::BatchError,
    for_each_layout,
    hash::{AnyHasher, Hashes, PreHashedTrusted, Xxh3},
    mem::{Owned, Store},
    sizing::{Geometry, Model},
};
use random::Random;
use reference::{Reference, positions};

type Plain<L> = Filter<L, Owned<<L as Layout>::Unit>, PreHashedTrusted>;

const DESIGN: Design = Design { keys: 1, fpr: 0.5 };

/// Batch lengths: all up to two words and a bit, then around whole words and around what is hashed at once.
fn lengths() -> Vec<usize> {
    if cfg!(miri) {
        return vec![0, 1, 7, 8, 9, 63, 64, 65, 130, 513];
    }
    let more = [191, 192, 193, 255, 256, 257, 511, 512, 513, 1000, 4097];
    (0..=130).chain(more).collect()
}

/// Every k that the layout takes.
fn probes<L: Layout>() -> impl Iterator<Item = u32> {
    (1..=L::MODEL.max_k()).filter(|&k| L::MODEL.validate(Geometry { bits: L::MODEL.unit_bits(k), k }).is_ok())
}

fn units<L: Layout>(units: u64, k: u32) -> Geometry {
    Geometry { bits: units * L::MODEL.unit_bits(k), k }
}

/// Geometries with few units and with odd numbers of them, each with all k.
fn geometries<L: Layout>() -> Vec<Geometry> {
    let sizes: &[u64] = if cfg!(miri) { &[1, 5] } else { &[1, 2, 3, 5, 8, 31, 1000] };
    probes::<L>().flat_map(|k| sizes.iter().map(move |&n| units::<L>(n, k))).collect()
}

fn empty<L: Layout>(geometry: Geometry, level: Level) -> Plain<L> {
    Filter::<L>::builder(1).geometry(geometry).hasher(PreHashedTrusted).level(level).build().expect("a valid geometry")
}

/// Digests among which are the extremes: the ends of every range a layout maps them to.
fn digests(seed: u64, n: usize) -> Vec<Digest> {
    let extremes = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, u64::MAX << 32];
    let random = Random(seed).enumerate().map(move |(i, word)| match i % 17 {
        3 => word << 32, // one half zero
        11 => word >> 32,
        _ => word,
    });
    extremes.into_iter().chain(random).take(n).map(Digest).collect()
}

/// Keys enough to fill about a third of the filter, so that answers differ.
fn some_keys(geometry: Geometry) -> usize {
    (geometry.bits / u64::from(geometry.k) / 3 + 1) as usize
}

/// Whether bit i of an answer equals `expected[i]`, the bits after are 0, and the words after are as they were.
#[track_caller]
fn check_words(out: &[u64], expected: &[bool], dirt: u64) {
    let needed = expected.len().div_ceil(64);
    for (i, &answer) in expected.iter().enumerate() {
        assert_eq!(out[i / 64] >> (i % 64) & 1 != 0, answer, "answer {i} of {}", expected.len());
    }
    if !expected.len().is_multiple_of(64) {
        assert_eq!(out[needed - 1] >> (expected.len() % 64), 0, "bits after the last of {} answers", expected.len());
    }
    assert!(out[needed..].iter().all(|&word| word == dirt), "words after the last of {} answers", expected.len());
}

/// Asks in every way for a batch of every length.
#[track_caller]
fn check_answers<L: Layout, S: Store<Unit = L::Unit>>(
    filter: &Filter<L, S, PreHashedTrusted>,
    digests: &[Digest],
    expected: &[bool],
    lengths: &[usize],
) {
    let keys: Vec<u64> = digests.iter().map(|digest| digest.0).collect();
    let gate: &dyn NegativeGate = filter;
    for (&digest, &answer) in digests.iter().zip(expected) {
        assert_eq!(filter.contains_digest(digest), answer);
        assert_eq!(filter.contains(&digest.0), answer);
        assert_eq!(gate.contains_digest(digest), answer);
    }
    let inlined: Vec<bool> = filter.with_kernel(|kernel| {
        let mut answers = Vec::with_capacity(digests.len());
        for &digest in digests {
            answers.push(kernel.contains(digest));
        }
        answers
    });
    assert_eq!(inlined, expected);

    let mut indices = vec![usize::MAX; 3];
    for (round, &n) in lengths.iter().enumerate() {
        let first = (round * 37) % (digests.len() - n + 1);
        let range = first..first + n;
        let (digests, keys, expected) = (&digests[range.clone()], &keys[range.clone()], &expected[range]);
        let dirt = if round % 2 == 0 { u64::MAX } else { 0x5555_5555_5555_5555 };
        let mut out = vec![dirt; n.div_ceil(64) + round % 3];

        filter.contains_batch(digests, &mut out).expect("the output is long enough");
        check_words(&out, expected, dirt);
        out.fill(dirt);
        filter.contains_keys(keys, &mut out).expect("the output is long enough");
        check_words(&out, expected, dirt);
        out.fill(dirt);
        gate.contains_batch(digests, &mut out).expect("the output is long enough");
        check_words(&out, expected, dirt);

        let selected: Vec<usize> = (0..n).filter(|&i| expected[i]).collect();
        filter.select_batch(digests, &mut indices);
        assert_eq!(indices, selected);
        indices.push(usize::MAX);
        filter.select_keys(keys, &mut indices);
        assert_eq!(indices, selected);

        let needed = n.div_ceil(64);
        if needed > 0 {
            let mut short = vec![dirt; needed - 1];
            let error = Err(BatchError { words: needed - 1, needed });
            assert_eq!(filter.contains_batch(digests, &mut short), error);
            assert_eq!(filter.contains_keys(keys, &mut short), error);
            assert_eq!(gate.contains_batch(digests, &mut short), error);
            assert!(short.iter().all(|&word| word == dirt), "a refused batch writes nothing");
        }
    }
}

/// The same for a filter whose layout is known at run time.
#[track_caller]
fn check_any(filter: &AnyFilter<'_>, digests: &[Digest], expected: &[bool], lengths: &[usize]) {
    for (&digest, &answer) in digests.iter().zip(expected) {
        assert_eq!(filter.contains_digest(digest), answer);
    }
    let mut indices = vec![0];
    for &n in lengths {
        let mut out = vec![u64::MAX; n.div_ceil(64) + 1];
        filter.contains_batch(&digests[..n], &mut out).expect("the output is long enough");
        check_words(&out, &expected[..n], u64::MAX);
        filter.select_batch(&digests[..n], &mut indices);
        assert!(indices.iter().copied().eq((0..n).filter(|&i| expected[i])));
        if n > 0 {
            let (words, needed) = (n.div_ceil(64) - 1, n.div_ceil(64));
            let refused = filter.contains_batch(&digests[..n], &mut vec![7; words]);
            assert_eq!(refused, Err(BatchError { words, needed }));
        }
    }
}

/// Every level, owned, shared and viewed, gives the reference's answers to batches of every length.
fn answers<L: Layout>() {
    let lengths = lengths();
    for k in probes::<L>() {
        let geometry = units::<L>(if cfg!(miri) { 3 } else { 61 }, k);
        let members = digests(u64::from(k), some_keys(geometry));
        let mut reference = Reference::new(L::KIND, geometry);
        let mut filter = empty::<L>(geometry, Level::Scalar);
        for &digest in &members {
            reference.insert(digest);
            filter.insert_digest(digest);
        }
        assert_eq!(filter.as_bytes(), reference.bytes(), "{} {geometry:?}", L::KIND);

        // Members and strangers in turn.
        let longest = lengths[lengths.len() - 1];
        let strangers = digests(1000 + u64::from(k), longest + 50);
        let asked: Vec<Digest> = strangers
            .iter()
            .zip(members.iter().cycle())
            .zip(Random(5))
            .map(|((&stranger, &member), coin)| if coin % 3 == 0 { member } else { stranger })
            .collect();
        let expected: Vec<bool> = asked.iter().map(|&digest| reference.contains(digest)).collect();

        let bytes = filter.as_bytes().to_vec();
        for &level in Level::available() {
            filter = filter.with_level(level);
            assert_eq!(filter.level(), level);
            check_answers(&filter, &asked, &expected, &lengths);

            let shared = filter.into_shared();
            assert_eq!(shared.level(), level);
            check_answers(&shared, &asked, &expected, &lengths);
            filter = shared.freeze();
            assert_eq!(filter.as_bytes(), bytes);

            let view = FilterView::<L, _>::from_bytes(&bytes, geometry, DESIGN, PreHashedTrusted)
                .expect("as many bytes as it needs")
                .with_level(level);
            check_answers(&view, &asked, &expected, &lengths);

            let any = AnyFilter::from_bytes(L::KIND, &bytes, geometry, DESIGN, PreHashedTrusted.into())
                .expect("as many bytes as it needs")
                .with_level(level);
            assert_eq!(any.level(), level);
            check_any(&any, &asked, &expected, &lengths);
        }
    }
}

/// Every way to insert, on every level, sets the reference's bits and says truly whether it set any.
fn bytes<L: Layout>() {
    for geometry in geometries::<L>() {
        let members = digests(geometry.bits, some_keys(geometry).min(3000));
        let keys: Vec<u64> = members.iter().map(|digest| digest.0).collect();
        let mut reference = Reference::new(L::KIND, geometry);
        let changed: Vec<bool> = members.iter().map(|&digest| reference.insert(digest)).collect();
        let expected = reference.bytes();

        for &level in Level::available() {
            let context = || format!("{} {level} {geometry:?}", L::KIND);
            let empty = || empty::<L>(geometry, level);

            let mut filter = empty();
            let told: Vec<bool> = members.iter().map(|&digest| filter.insert_digest(digest)).collect();
            assert_eq!(told, changed, "{}", context());
            assert_eq!(filter.as_bytes(), expected, "insert_digest {}", context());
            assert!(members.iter().all(|&digest| !filter.insert_digest(digest)), "{}", context());
            let mut filter = empty();
            let told: Vec<bool> = keys.iter().map(|key| filter.insert(key)).collect();
            assert_eq!(told, changed, "{}", context());

            let mut filter = empty();
            filter.insert_batch(&members);
            assert_eq!(filter.as_bytes(), expected, "insert_batch {}", context());
            let mut filter = empty();
            filter.insert_keys(&keys);
            assert_eq!(filter.as_bytes(), expected, "insert_keys {}", context());
            let mut filter = empty();
            filter.insert_bulk(&members, BulkOptions::default()).expect("memory for the partition");
            assert_eq!(filter.as_bytes(), expected, "insert_bulk {}", context());

            let shared = empty().into_shared();
            let told: Vec<bool> = members.iter().map(|&digest| shared.insert_digest(digest)).collect();
            assert_eq!(told, changed, "shared {}", context());
            assert_eq!(shared.freeze().as_bytes(), expected, "shared insert_digest {}", context());
            let shared = empty().into_shared();
            shared.insert_batch(&members);
            assert_eq!(shared.freeze().as_bytes(), expected, "shared insert_batch {}", context());
            let shared = empty().into_shared();
            shared.insert_keys(&keys);
            assert_eq!(shared.freeze().as_bytes(), expected, "shared insert_keys {}", context());
            let shared = empty().into_shared();
            assert!(keys.iter().map(|key| shared.insert(key)).eq(changed.iter().copied()));

            let hasher = AnyHasher::from(PreHashedTrusted);
            let mut any = AnyFilter::with_geometry(L::KIND, geometry, DESIGN, hasher, level).expect("a valid geometry");
            any.insert_bulk(&members, BulkOptions::default()).expect("it owns its bits");
            assert_eq!(any.as_bytes(), expected, "any insert_bulk {}", context());
        }
    }
}

/// Batches of every length insert what single insertions insert.
fn batches_insert_all<L: Layout>() {
    let model = L::MODEL;
    let k = probes::<L>().last().expect("a layout makes probes").min(9);
    let k = if model.validate(units::<L>(1, k)).is_ok() { k } else { model.max_k() };
    for &level in Level::available() {
        for n in lengths() {
            let geometry = units::<L>(n as u64 / 8 + 1, k);
            let members = digests(n as u64, n);
            let mut reference = Reference::new(L::KIND, geometry);
            for &digest in &members {
                reference.insert(digest);
            }
            let mut filter = empty::<L>(geometry, level);
            filter.insert_batch(&members);
            assert_eq!(filter.as_bytes(), reference.bytes(), "{} {level} {n}", L::KIND);
            let shared = empty::<L>(geometry, level).into_shared();
            shared.insert_batch(&members);
            assert_eq!(shared.freeze().as_bytes(), reference.bytes(), "{} {level} {n}", L::KIND);
        }
    }
}

/// 100,000 random digests go in on every level: the same bytes; 100,000 others are asked for: the same answers.
fn a_hundred_thousand<L: Layout>() {
    let n = if cfg!(miri) { 300 } else { 100_000 };
    let geometry = L::MODEL.size_for_fpr(n as u64, 0.01).expect("a size");
    let (members, strangers) = (digests(1, n), digests(2, n));
    let mut reference = Reference::new(L::KIND, geometry);
    for &digest in &members {
        reference.insert(digest);
    }
    let bytes = reference.bytes();
    let mut expected = vec![0u64; n.div_ceil(64)];
    for (i, &digest) in strangers.iter().enumerate() {
        expected[i / 64] |= u64::from(reference.contains(digest)) << (i % 64);
    }
    for &level in Level::available() {
        let mut filter = empty::<L>(geometry, level);
        let shared = empty::<L>(geometry, level).into_shared();
        for &digest in &members {
            filter.insert_digest(digest);
            shared.insert_digest(digest);
        }
        assert_eq!(filter.as_bytes(), bytes, "{} {level}", L::KIND);
        let mut out = vec![u64::MAX; n.div_ceil(64)];
        filter.contains_batch(&strangers, &mut out).expect("the output is long enough");
        assert_eq!(out, expected, "{} {level}", L::KIND);
        shared.contains_batch(&strangers, &mut out).expect("the output is long enough");
        assert_eq!(out, expected, "shared {} {level}", L::KIND);
        filter.contains_batch(&members, &mut out).expect("the output is long enough");
        assert_eq!(out.iter().map(|word| word.count_ones() as usize).sum::<usize>(), n, "{} {level}", L::KIND);
        assert_eq!(shared.freeze().as_bytes(), bytes, "shared {} {level}", L::KIND);
    }
}

/// A view answers alike wherever its bytes lie.
fn views_at_every_offset<L: Layout>() {
    for k in [1, 4, 6, 7, 8, 13, 16, 32] {
        let geometry = units::<L>(9, k);
        if L::MODEL.validate(geometry).is_err() {
            continue;
        }
        let mut filter = empty::<L>(geometry, Level::Scalar);
        filter.insert_batch(&digests(k.into(), some_keys(geometry)));
        let asked = digests(77, 300);
        let expected: Vec<bool> = asked.iter().map(|&digest| filter.contains_digest(digest)).collect();
        let bytes = filter.as_bytes();
        // What lies around the view is full of ones, which no answer may see.
        let mut buffer = vec![0xff; bytes.len() + 64 + 64];
        let to_line = buffer.as_ptr().align_offset(64) % 64;
        for offset in 0..64 {
            let range = to_line + offset..to_line + offset + bytes.len();
            buffer.fill(0xff);
            buffer[range.clone()].copy_from_slice(bytes);
            for &level in Level::available() {
                let view = FilterView::<L, _>::from_bytes(&buffer[range.clone()], geometry, DESIGN, PreHashedTrusted)
                    .expect("as many bytes as it needs")
                    .with_level(level);
                check_answers(&view, &asked, &expected, &[1, 8, 64, 77, 130, 300]);
                assert_eq!(view.as_bytes(), bytes);
                let any =
                    AnyFilter::from_bytes(L::KIND, &buffer[range.clone()], geometry, DESIGN, PreHashedTrusted.into())
                        .expect("as many bytes as it needs")
                        .with_level(level);
                check_any(&any, &asked, &expected, &[1, 64, 130]);
            }
        }
    }
}

/// Every single bit counts: a digest is absent when any one of its bits is cleared, present when only its bits are set.
fn each_bit_counts<L: Layout>() {
    for k in probes::<L>() {
        let geometry = units::<L>(7, k);
        for &digest in &digests(u64::from(k) + 5, if cfg!(miri) { 2 } else { 40 }) {
            let mut bytes = vec![0; (geometry.bits / 8) as usize];
            let mut all = positions(L::KIND, geometry, digest);
            for &at in &all {
                bytes[(at / 8) as usize] |= 1 << (at % 8);
            }
            all.sort_unstable();
            all.dedup();
            for &level in Level::available() {
                let check = |bytes: &[u8], expected: bool| {
                    let view = FilterView::<L, _>::from_bytes(bytes, geometry, DESIGN, PreHashedTrusted)
                        .expect("as many bytes as it needs")
                        .with_level(level);
                    let mut out = [0];
                    // Nine: a whole group of eight and one alone.
                    view.contains_batch(&[digest; 9], &mut out).expect("the output is long enough");
                    assert_eq!(out, [if expected { 0x1ff } else { 0 }], "{} {level} {geometry:?} {digest:?}", L::KIND);
                    assert_eq!(view.contains_digest(digest), expected, "{} {level} {geometry:?} {digest:?}", L::KIND);
                };
                check(&bytes, true);
                for at in &all {
                    let (byte, bit) = ((at / 8) as usize, 1 << (at % 8));
                    let mut damaged = bytes.clone();
                    damaged[byte] &= !bit;
                    check(&damaged, false);
                    // Everything but that one bit.
                    damaged.fill(0xff);
                    damaged[byte] &= !bit;
                    check(&damaged, false);
                }
            }
        }
    }
}

/// Byte-string keys of all lengths, hashed in the pipeline, are found under the digest that the hasher gives them.
fn byte_string_keys<L: Layout>() {
    let text: Vec<u8> = Random(9).take(64).flat_map(u64::to_le_bytes).collect();
    let n = if cfg!(miri) { 70 } else { 1500 };
    let keys: Vec<&[u8]> = (0..n).map(|i| &text[i % 100..i % 100 + i % 300]).collect();
    let geometry = L::MODEL.size_for_fpr(n as u64, 0.05).expect("a size");
    let hasher = Xxh3::with_seed(3);
    let mut reference = Reference::new(L::KIND, geometry);
    for key in keys.iter().step_by(2) {
        reference.insert(hasher.digest(*key));
    }
    let expected: Vec<bool> = keys.iter().map(|key| reference.contains(hasher.digest(*key))).collect();
    let members: Vec<&[u8]> = keys.iter().copied().step_by(2).collect();
    for &level in Level::available() {
        let mut filter =
            Filter::<L>::builder(1).geometry(geometry).hasher(hasher).level(level).build().expect("a filter");
        filter.insert_keys(&members);
        assert_eq!(filter.as_bytes(), reference.bytes(), "{} {level}", L::KIND);
        let mut out = vec![u64::MAX; n.div_ceil(64) + 1];
        filter.contains_keys(&keys, &mut out).expect("the output is long enough");
        check_words(&out, &expected, u64::MAX);
        let mut indices = vec![];
        filter.select_keys(&keys, &mut indices);
        assert!(indices.into_iter().eq((0..n).filter(|&i| expected[i])));
        for (&key, &answer) in keys.iter().zip(&expected) {
            assert_eq!(filter.contains(key), answer);
            assert_eq!(filter.contains_bytes(key), answer);
            assert_eq!(filter.contains_digest(filter.digest(key)), answer);
        }
    }
}

/// Bulk insertion in a pool of several threads, with as little scratch memory as one likes, sets the same bits.
fn bulk<L: Layout>() {
    // Eight threads partition whatever the size, and have enough to do with so many.
    let n = if cfg!(miri) { 1000 } else { 300_000 };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(9).build().expect("nine threads");
    // Several regions: 256 KiB each.
    let (k, bytes) = (L::MODEL.best_k(n as u64, 12 * n as u64), if cfg!(miri) { 8 << 10 } else { 2 << 20 });
    let whole = Geometry { bits: (bytes * 8 / L::MODEL.unit_bits(k) + 1) * L::MODEL.unit_bits(k), k };
    // Digests of which a third crowd into the first region.
    let members: Vec<Digest> = digests(4, n)
        .into_iter()
        .zip(Random(8))
        .map(|(digest, coin)| if coin % 3 == 0 { Digest(digest.0 >> 8) } else { digest })
        .collect();
    let mut serial = empty::<L>(whole, Level::Scalar);
    for &digest in &members {
        serial.insert_digest(digest);
    }
    for &level in Level::available() {
        for threads in [0, 1, 8] {
            for scratch in [0, 100_000, 512 << 20] {
                let options = BulkOptions::default().threads(threads).scratch_bytes(scratch);
                let mut filter = empty::<L>(whole, level);
                pool.install(|| filter.insert_bulk(&members, options)).expect("memory for the partition");
                assert!(
                    filter.as_bytes() == serial.as_bytes(),
                    "{} {level}: {threads} threads, {scratch} bytes of scratch",
                    L::KIND
                );
            }
        }
        let built = pool.install(|| {
            let builder = Filter::<L>::builder(1).geometry(whole).hasher(PreHashedTrusted).level(level);
            builder.build_from_digests(&members, BulkOptions::default().scratch_bytes(1 << 16))
        });
        assert!(built.expect("memory").as_bytes() == serial.as_bytes(), "{} {level}", L::KIND);
    }
}

/// Bytes at which a filter no longer fits the caches: its kernels prefetch, and its bulk insertion partitions.
fn beyond_the_caches() -> u64 {
    #[cfg(all(feature = "std", not(miri)))]
    {
        use bloomline::machine::{Machine, Tier};
        let sizes = (20..34).map(|log2| 1u64 << log2);
        let machine = Machine::get();
        sizes.into_iter().find(|&bytes| machine.tier(bytes) == Tier::Dram).expect("caches under 8 GiB")
    }
    #[cfg(any(not(feature = "std"), miri))]
    {
        16 << 20
    }
}

/// The kernels for filters beyond the caches give the answers of those within.
fn large_filters<L: Layout>() {
    let k = match L::MODEL {
        Model::Block { .. } | Model::Lanes { .. } => L::MODEL.max_k(),
        _ => 7,
    };
    let unit_bits = L::MODEL.unit_bits(k);
    let geometry = Geometry { bits: (beyond_the_caches() * 8).div_ceil(unit_bits) * unit_bits, k };
    let lengths: Vec<usize> = lengths().into_iter().filter(|n| n % 5 < 2 || *n > 130).collect();
    let members = digests(1, 5000);
    let asked: Vec<Digest> = members.iter().copied().step_by(2).chain(digests(2, 4000)).collect();
    let mut expected = None;
    for &level in Level::available() {
        let mut filter = empty::<L>(geometry, level);
        filter.insert_batch(&members);
        // The bits of all members and no others, without a comparison of so many bytes.
        let mut all: Vec<u64> = members.iter().flat_map(|&digest| positions(L::KIND, geometry, digest)).collect();
        all.sort_unstable();
        all.dedup();
        let set = all.iter().filter(|&&at| filter.as_bytes()[(at / 8) as usize] >> (at % 8) & 1 != 0).count();
        assert_eq!(set, all.len(), "{} {level}", L::KIND);
        let count = |bytes: &[u8]| {
            let words = bytes.as_chunks::<8>().0.iter();
            words.map(|&word| u64::from_le_bytes(word).count_ones() as usize).sum::<usize>()
        };
        assert_eq!(count(filter.as_bytes()), all.len(), "{} {level}", L::KIND);

        let expected = expected.get_or_insert_with(|| {
            let bit = |at: u64| all.binary_search(&at).is_ok();
            asked.iter().map(|&digest| positions(L::KIND, geometry, digest).into_iter().all(bit)).collect::<Vec<_>>()
        });
        check_answers(&filter, &asked, expected, &lengths);
        let shared = filter.into_shared();
        check_answers(&shared, &asked, expected, &lengths);
        shared.insert_batch(&members);
        let filter = shared.freeze();
        assert_eq!(count(filter.as_bytes()), all.len(), "{} {level}", L::KIND);
    }
}

/// One thread partitions when the filter lies beyond the caches and there are keys enough.
fn bulk_beyond_the_caches<L: Layout>() {
    let bytes = beyond_the_caches();
    let (k, n) = (L::MODEL.max_k().min(8), bytes as usize / 64 * 2 + 64);
    let unit_bits = L::MODEL.unit_bits(k);
    let geometry = Geometry { bits: (bytes * 8).div_ceil(unit_bits) * unit_bits, k };
    let members: Vec<Digest> = Random(3).take(n).map(Digest).collect();
    let mut serial = empty::<L>(geometry, Level::Scalar);
    serial.insert_batch(&members);
    for (i, &level) in Level::available().iter().enumerate() {
        // A little scratch memory on some levels, plenty on others.
        let scratch = if i % 2 == 0 { 1 << 20 } else { 512 << 20 };
        let mut filter = empty::<L>(geometry, level);
        let options = BulkOptions::default().threads(1).scratch_bytes(scratch);
        filter.insert_bulk(&members, options).expect("memory for the partition");
        assert!(filter.as_bytes() == serial.as_bytes(), "{} {level}", L::KIND);
    }
}

/// A level that the machine lacks is replaced by the best one below it.
fn missing_levels<L: Layout>() {
    let geometry = units::<L>(5, L::MODEL.max_k());
    let members = digests(6, 20);
    let mut reference = Reference::new(L::KIND, geometry);
    for &digest in &members {
        reference.insert(digest);
    }
    for level in Level::ALL {
        let instead = Level::available().iter().copied().filter(|&l| l <= level).max().expect("scalar is everywhere");
        let mut filter = empty::<L>(geometry, level);
        assert_eq!(filter.level(), instead, "{} {level}", L::KIND);
        filter.insert_batch(&members);
        assert_eq!(filter.as_bytes(), reference.bytes(), "{} {level}", L::KIND);
        assert!(members.iter().all(|&digest| filter.contains_digest(digest)));
        assert!(filter.with_kernel(|kernel| members.iter().all(|&digest| kernel.contains(digest))));
    }
}

macro_rules! stamp {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
        mod $name {
            use bloomline::$Layout;

            #[test]
            fn answers() {
                super::answers::<$Layout>();
            }
            #[test]
            fn bytes() {
                super::bytes::<$Layout>();
            }
            #[test]
            fn batches_insert_all() {
                super::batches_insert_all::<$Layout>();
            }
            #[test]
            fn a_hundred_thousand() {
                super::a_hundred_thousand::<$Layout>();
            }
            #[test]
            fn views_at_every_offset() {
                super::views_at_every_offset::<$Layout>();
            }
            #[test]
            fn each_bit_counts() {
                super::each_bit_counts::<$Layout>();
            }
            #[test]
            fn byte_string_keys() {
                super::byte_string_keys::<$Layout>();
            }
            #[test]
            fn bulk() {
                super::bulk::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "counts the bits of megabytes")]
            fn large_filters() {
                super::large_filters::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "inserts a key for every 32 bytes of a large filter")]
            fn bulk_beyond_the_caches() {
                super::bulk_beyond_the_caches::<$Layout>();
            }
            #[test]
            fn missing_levels() {
                super::missing_levels::<$Layout>();
            }
        }
    )* };
}
for_each_layout!(stamp);
