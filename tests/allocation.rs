//! Errors come before memory: what is refused allocates next to nothing, and what is built allocates what it said.
//!
//! With the feature `std`, since without it no memory cap but the caller's is known.
#![cfg(feature = "std")]
#![expect(unsafe_code, reason = "a global allocator that counts")]

use bloomline::{
    AnyFilter, BulkOptions, Design, Digest, Filter, FilterView, Layout, Level,
    error::{AllocError, BuildError},
    for_each_layout,
    hash::{AnyHasher, Xxh3},
    sizing::Geometry,
};
use std::{
    alloc::{GlobalAlloc, System},
    cell::Cell,
};

/// The system's allocator, which remembers for each thread the largest request and the sum of all.
struct Counting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
    static SUM: Cell<usize> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    // A thread that is ending has no counters left.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
    let _ = SUM.try_with(|sum| sum.set(sum.get().saturating_add(bytes)));
}

// SAFETY: every call goes to `System` as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: std::alloc::Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's promise is the one that `System` wants.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: std::alloc::Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: std::alloc::Layout, bytes: usize) -> *mut u8 {
        count(bytes);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, bytes) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: std::alloc::Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The largest request and the sum of all that this thread makes in `body`.
fn requests<R>(body: impl FnOnce() -> R) -> (R, usize, usize) {
    LARGEST.set(0);
    SUM.set(0);
    let result = body();
    (result, LARGEST.get(), SUM.get())
}

/// Runs what must be refused: under 1 MiB is requested, all together.
#[track_caller]
fn refused<T, E>(body: impl FnOnce() -> Result<T, E>) -> E {
    let (result, _, sum) = requests(|| body().err());
    assert!(sum < 1 << 20, "{sum} bytes requested");
    result.expect("an error")
}

fn errors_come_first<L: Layout>() {
    // What the process learns of its machine once is not counted.
    let _ = Filter::<L>::builder(1).build().expect("a filter");
    for keys in [u64::MAX, 1 << 60, 1 << 50, 1 << 44] {
        refused(|| Filter::<L>::builder(keys).fpr(0.01).build());
        refused(|| Filter::<L>::builder(keys).bits_per_key(16.0).build_shared());
        refused(|| Filter::<L>::builder(keys).build_from_digests(&[Digest(1)], BulkOptions::default()));
    }
    // Over the cap that the caller set, by one byte and by many.
    let bytes = Filter::<L>::builder(50_000_000).estimated_bytes().expect("a size");
    for cap in [0, 1 << 20, bytes - 1] {
        let error = refused(|| Filter::<L>::builder(50_000_000).memory_cap(cap).build());
        assert_eq!(error, BuildError::Alloc(AllocError::OverCap { bytes, cap }));
    }
    for fpr in [0.0, -1.0, f64::NAN, 2.0, 5e-324] {
        refused(|| Filter::<L>::builder(1 << 30).fpr(fpr).build());
    }
    // Geometries that are none, or whose bytes are not there.
    let k = L::MODEL.max_k();
    let large = Geometry { bits: L::MODEL.unit_bits(k) << 24, k };
    let design = Design { keys: 1, fpr: 0.5 };
    for wrong in [Geometry { bits: large.bits + 1, ..large }, Geometry { k: k + 1, ..large }] {
        refused(|| Filter::<L>::builder(1).geometry(wrong).build());
        refused(|| AnyFilter::with_geometry(L::KIND, wrong, design, AnyHasher::from(Xxh3::default()), Level::get()));
    }
    for n in [0, 6, 64] {
        let bytes = vec![0; n];
        refused(|| FilterView::<L>::from_bytes(&bytes, large, design, Xxh3::default()));
        refused(|| AnyFilter::from_bytes(L::KIND, &bytes, large, design, Xxh3::default().into()));
    }
    // A fold that does not divide.
    let filter = Filter::<L>::builder(2_000_000).build().expect("a filter");
    let units = filter.geometry().bits / L::MODEL.unit_bits(filter.geometry().k);
    let factor = (2..).find(|factor| !units.is_multiple_of(*factor)).expect("a number beyond");
    refused(|| filter.fold(factor));
    refused(|| filter.fold(0));
}

fn what_is_built_is_what_was_estimated<L: Layout>() {
    let builder = || Filter::<L>::builder(1_000_000);
    let bytes = builder().estimated_bytes().expect("a size") as usize;
    let (built, _, sum) = requests(|| builder().build());
    let mut filter = built.expect("a filter");
    // And room for the alignment: to a line of its colour, or to a huge page.
    assert!((bytes..=bytes + (2 << 20) + (128 << 10) + 4096).contains(&sum), "{sum} bytes requested for {bytes}");

    // Lookups and insertions request nothing.
    let digests: Vec<Digest> = (0..1000u64).map(|key| filter.digest(&key)).collect();
    let keys: Vec<u64> = (0..1000).collect();
    let (mut out, mut indices) = (vec![0; 16], Vec::with_capacity(1000));
    let ((), largest, _) = requests(|| {
        for &digest in &digests {
            filter.insert_digest(digest);
            assert!(filter.contains_digest(digest));
        }
        filter.insert_batch(&digests);
        filter.insert_keys(&keys);
        filter.contains_batch(&digests, &mut out).expect("the output is long enough");
        filter.contains_keys(&keys, &mut out).expect("the output is long enough");
        filter.select_batch(&digests, &mut indices);
        filter.select_keys(&keys, &mut indices);
        assert!(filter.occupancy() > 0.0 && filter.current_fpr() > 0.0 && filter.estimated_cardinality() > 0.0);
        filter.clear();
    });
    assert_eq!(largest, 0);

    // Sharing, freezing and viewing copy nothing.
    let (filter, largest, _) = requests(|| filter.into_shared().freeze());
    assert_eq!(largest, 0);
    let (view, largest, _) = requests(|| {
        FilterView::<L>::from_bytes(filter.as_bytes(), filter.geometry(), filter.design(), Xxh3::default())
    });
    assert_eq!(largest, 0);
    assert_eq!(view.expect("a view").size_in_bytes() as usize, bytes);
}

/// The partition of a bulk insertion stays near the bound that the caller sets.
fn scratch_is_bounded<L: Layout>() {
    let digests: Vec<Digest> = (0..300_000u64).map(|i| Digest(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let mut filter = Filter::<L>::builder(1 << 20).bits_per_key(32.0).build().expect("a filter");
    // Eight threads partition whatever the size; a pool of nine has them on every machine.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(9).build().expect("nine threads");
    for scratch in [1 << 20, 16 << 20] {
        let options = BulkOptions::default().scratch_bytes(scratch).threads(8);
        let (result, _, sum) = pool.install(|| requests(|| filter.insert_bulk(&digests, options)));
        result.expect("memory for the partition");
        // Beside the bound, for each thread: 68 KiB of open lines and their counts, and up to a page between regions; and
        // from 2 MiB on as much room again for the alignment, which is address space and never touched.
        let each = (72 << 10) + if scratch / 8 >= 2 << 20 { (2 << 20) + (128 << 10) } else { 0 };
        assert!((1 << 17..=scratch + 8 * each).contains(&sum), "{sum} bytes requested with {scratch}");
    }
}

macro_rules! stamp {
    ($($name:ident $Layout:ident = $tag:literal $printed:literal,)*) => { $(
        mod $name {
            use bloomline::$Layout;

            #[test]
            #[cfg_attr(miri, ignore = "the machine's memory is no cap there")]
            fn errors_come_first() {
                super::errors_come_first::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "a large filter")]
            fn what_is_built_is_what_was_estimated() {
                super::what_is_built_is_what_was_estimated::<$Layout>();
            }
            #[test]
            #[cfg_attr(miri, ignore = "a large filter")]
            fn scratch_is_bounded() {
                super::scratch_is_bounded::<$Layout>();
            }
        }
    )* };
}
for_each_layout!(stamp);

/// The counters count.
#[test]
fn the_allocator_is_watched() {
    let (block, largest, sum) = requests(|| (vec![0u8; 12_345], vec![1u8; 77]));
    drop(block);
    assert_eq!((largest, sum), (12_345, 12_345 + 77));
}
