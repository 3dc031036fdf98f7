//! The tables of kernels: the only file where `#[target_feature]` wrappers and pointers to them exist.
//!
//! A kernel is `#[inline(always)]` generic code; a wrapper here gives it the features of one instruction set, and must
//! inline all of it: a call left over from a wrapper into `core::arch` costs about 18 times the kernel, and
//! `scripts/check-asm` looks for one.
#![allow(unsafe_code)]
#![allow(clippy::allow_attributes, reason = "unsafe code is re-allowed for a whole room")]

use super::{
    Level, LoadLoop,
    buckets::{Bucket, Slots},
    counting,
};
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use crate::isa::Neon;
#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512, Avx512Vbmi};
use crate::{
    hash::Digest,
    isa::{Portable, Scalar},
    layout::{CounterLayout, CounterUnit, CounterWalk, Layout, Walk},
    mem::{Memory, Partitioner, Plain, Shape, Slab, Units, UnitsMut},
    nibbles,
};
use core::fmt;

/// The kernels of one layout over one memory model, compiled for one instruction set.
///
/// # Invariants
/// A table is reachable through [`Kernels::of`] alone, which gives the table of an available level.
pub(crate) struct Kernels<L: Layout, M: Memory> {
    level: Level,
    contains: unsafe fn(&Units<'_, M, L::Unit>, Digest) -> bool,
    contains_batch: unsafe fn(&Units<'_, M, L::Unit>, &[Digest], &mut [u64], bool),
    contains_each: unsafe fn(&[Units<'_, M, L::Unit>], Digest) -> u64,
    insert: unsafe fn(&mut UnitsMut<'_, M, L::Unit>, Digest) -> bool,
    insert_batch: unsafe fn(&mut UnitsMut<'_, M, L::Unit>, &[Digest], bool),
    partition: unsafe fn(Shape, usize, &[Digest], u32, &mut Partitioner, &mut dyn FnMut(usize, &[u64])),
    insert_items: unsafe fn(&mut Slab<'_, L::Unit>, &[u64]),
}

impl<L: Layout, M: Memory> fmt::Debug for Kernels<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernels({} {})", L::KIND, self.level)
    }
}

impl<L: Layout, M: Memory> Kernels<L, M> {
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    #[inline(always)]
    pub(crate) fn contains(&self, units: &Units<'_, M, L::Unit>, digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.contains)(units, digest) }
    }

    /// `out` has at least a word for every 64 digests.
    #[inline]
    pub(crate) fn contains_batch(
        &self,
        units: &Units<'_, M, L::Unit>,
        digests: &[Digest],
        out: &mut [u64],
        prefetch: bool,
    ) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.contains_batch)(units, digests, out, prefetch) }
    }

    /// Bit i: may filter i, of at most 64, have the digest?
    #[inline]
    pub(crate) fn contains_each(&self, filters: &[Units<'_, M, L::Unit>], digest: Digest) -> u64 {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.contains_each)(filters, digest) }
    }

    #[inline(always)]
    pub(crate) fn insert(&self, units: &mut UnitsMut<'_, M, L::Unit>, digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.insert)(units, digest) }
    }

    #[inline]
    pub(crate) fn insert_batch(&self, units: &mut UnitsMut<'_, M, L::Unit>, digests: &[Digest], prefetch: bool) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.insert_batch)(units, digests, prefetch) }
    }

    pub(crate) fn partition(
        &self,
        shape: Shape,
        units: usize,
        digests: &[Digest],
        log2: u32,
        parts: &mut Partitioner,
        full: &mut dyn FnMut(usize, &[u64]),
    ) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.partition)(shape, units, digests, log2, parts, full) }
    }

    pub(crate) fn insert_items(&self, region: &mut Slab<'_, L::Unit>, items: &[u64]) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.insert_items)(region, items) }
    }
}

/// The kernels of one layout's counters over one memory model, compiled for one instruction set.
///
/// # Invariants
/// A table is reachable through [`CounterKernels::of`] alone, which gives the table of an available level.
pub(crate) struct CounterKernels<L: CounterLayout, M: Memory> {
    level: Level,
    contains: unsafe fn(&Units<'_, M, CounterUnit<L>>, Digest) -> bool,
    contains_batch: unsafe fn(&Units<'_, M, CounterUnit<L>>, &[Digest], &mut [u64], bool),
    insert: unsafe fn(&mut UnitsMut<'_, M, CounterUnit<L>>, Digest) -> bool,
    insert_batch: unsafe fn(&mut UnitsMut<'_, M, CounterUnit<L>>, &[Digest]),
    remove: unsafe fn(&mut UnitsMut<'_, M, CounterUnit<L>>, Digest) -> bool,
    remove_batch: unsafe fn(&mut UnitsMut<'_, M, CounterUnit<L>>, &[Digest], &mut [u64]),
    add: unsafe fn(&mut [u64; 64], &[u64; 64]),
    occupied: unsafe fn(&[u64; 64], &mut [u64; 16]),
    histogram: unsafe fn(&[u64; 64], &mut [u64; 16]),
}

impl<L: CounterLayout, M: Memory> fmt::Debug for CounterKernels<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CounterKernels({} {})", L::COUNTING, self.level)
    }
}

impl<L: CounterLayout, M: Memory> CounterKernels<L, M> {
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    #[inline(always)]
    pub(crate) fn contains(&self, units: &Units<'_, M, CounterUnit<L>>, digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.contains)(units, digest) }
    }

    /// `out` has at least a word for every 64 digests.
    #[inline]
    pub(crate) fn contains_batch(
        &self,
        units: &Units<'_, M, CounterUnit<L>>,
        digests: &[Digest],
        out: &mut [u64],
        prefetch: bool,
    ) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.contains_batch)(units, digests, out, prefetch) }
    }

    #[inline(always)]
    pub(crate) fn insert(&self, units: &mut UnitsMut<'_, M, CounterUnit<L>>, digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.insert)(units, digest) }
    }

    #[inline]
    pub(crate) fn insert_batch(&self, units: &mut UnitsMut<'_, M, CounterUnit<L>>, digests: &[Digest]) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.insert_batch)(units, digests) }
    }

    #[inline(always)]
    pub(crate) fn remove(&self, units: &mut UnitsMut<'_, M, CounterUnit<L>>, digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.remove)(units, digest) }
    }

    /// `out` has at least a word for every 64 digests.
    #[inline]
    pub(crate) fn remove_batch(
        &self,
        units: &mut UnitsMut<'_, M, CounterUnit<L>>,
        digests: &[Digest],
        out: &mut [u64],
    ) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.remove_batch)(units, digests, out) }
    }

    /// Counter by counter the sum, or 15.
    pub(crate) fn add(&self, into: &mut [u64; 64], from: &[u64; 64]) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.add)(into, from) }
    }

    /// Bit i of the result: counter i is not 0.
    pub(crate) fn occupied(&self, words: &[u64; 64], bits: &mut [u64; 16]) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.occupied)(words, bits) }
    }

    /// Adds to `counts[v]` how many counters are v.
    pub(crate) fn histogram(&self, words: &[u64; 64], counts: &mut [u64; 16]) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.histogram)(words, counts) }
    }
}

/// The kernels of d-left tables, compiled for one instruction set.
///
/// # Invariants
/// A table is reachable through [`BucketKernels::of`] alone, which gives the table of an available level.
pub(crate) struct BucketKernels {
    level: Level,
    contains: unsafe fn(Slots, &[Bucket], Digest) -> bool,
    contains_batch: unsafe fn(Slots, &[Bucket], &[Digest], &mut [u64], bool),
    insert: unsafe fn(Slots, &mut [Bucket], Digest) -> bool,
    insert_batch: unsafe fn(Slots, &mut [Bucket], &[Digest]) -> Result<(), usize>,
    remove: unsafe fn(Slots, &mut [Bucket], Digest) -> bool,
    remove_batch: unsafe fn(Slots, &mut [Bucket], &[Digest], &mut [u64]),
}

impl fmt::Debug for BucketKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketKernels({})", self.level)
    }
}

impl BucketKernels {
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    #[inline(always)]
    pub(crate) fn contains(&self, slots: Slots, table: &[Bucket], digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.contains)(slots, table, digest) }
    }

    /// `out` has at least a word for every 64 digests.
    #[inline]
    pub(crate) fn contains_batch(
        &self,
        slots: Slots,
        table: &[Bucket],
        digests: &[Digest],
        out: &mut [u64],
        prefetch: bool,
    ) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.contains_batch)(slots, table, digests, out, prefetch) }
    }

    #[inline(always)]
    pub(crate) fn insert(&self, slots: Slots, table: &mut [Bucket], digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.insert)(slots, table, digest) }
    }

    #[inline(always)]
    pub(crate) fn remove(&self, slots: Slots, table: &mut [Bucket], digest: Digest) -> bool {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.remove)(slots, table, digest) }
    }

    /// How many were inserted, when there is no room for the next.
    #[inline]
    pub(crate) fn insert_batch(&self, slots: Slots, table: &mut [Bucket], digests: &[Digest]) -> Result<(), usize> {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.insert_batch)(slots, table, digests) }
    }

    /// `out` has at least a word for every 64 digests.
    #[inline]
    pub(crate) fn remove_batch(&self, slots: Slots, table: &mut [Bucket], digests: &[Digest], out: &mut [u64]) {
        // SAFETY: the level of a reachable table is available.
        unsafe { (self.remove_batch)(slots, table, digests, out) }
    }
}

/// Stamps out one table for each instruction set, and what chooses among them.
macro_rules! tables {
    ($( $(#[$cfg:meta])? $level:ident $module:ident [$(#[$feature:meta])?] $token:expr; )*) => {
        $(
            $(#[$cfg])?
            mod $module {
                use super::*;
                struct Table<L, M>(core::marker::PhantomData<(L, M)>);
                impl<L: Layout, M: Memory> Table<L, M> {
                    $(#[$feature])?
                    fn contains(units: &Units<'_, M, L::Unit>, digest: Digest) -> bool {
                        L::Walk::contains::<_, M>($token, units, digest)
                    }
                    $(#[$feature])?
                    fn contains_batch(
                        units: &Units<'_, M, L::Unit>,
                        digests: &[Digest],
                        out: &mut [u64],
                        prefetch: bool,
                    ) {
                        if prefetch {
                            L::Walk::contains_batch::<_, M, true>($token, units, digests, out);
                        } else {
                            L::Walk::contains_batch::<_, M, false>($token, units, digests, out);
                        }
                    }
                    $(#[$feature])?
                    fn contains_each(filters: &[Units<'_, M, L::Unit>], digest: Digest) -> u64 {
                        L::Walk::contains_each::<_, M>($token, filters, digest)
                    }
                    $(#[$feature])?
                    fn insert(units: &mut UnitsMut<'_, M, L::Unit>, digest: Digest) -> bool {
                        L::Walk::insert::<_, M>($token, units, digest)
                    }
                    $(#[$feature])?
                    fn insert_batch(units: &mut UnitsMut<'_, M, L::Unit>, digests: &[Digest], prefetch: bool) {
                        if prefetch {
                            L::Walk::insert_batch::<_, M, true>($token, units, digests);
                        } else {
                            L::Walk::insert_batch::<_, M, false>($token, units, digests);
                        }
                    }
                    $(#[$feature])?
                    fn partition(
                        shape: Shape,
                        units: usize,
                        digests: &[Digest],
                        log2: u32,
                        parts: &mut Partitioner,
                        full: &mut dyn FnMut(usize, &[u64]),
                    ) {
                        let mut full = full;
                        L::Walk::partition($token, shape, units, digests, log2, |run, item| {
                            parts.push($token, run, item, &mut full)
                        });
                    }
                    $(#[$feature])?
                    fn insert_items(region: &mut Slab<'_, L::Unit>, items: &[u64]) {
                        L::Walk::insert_items($token, region, items)
                    }
                    const KERNELS: &'static Kernels<L, M> = &Kernels {
                        level: Level::$level,
                        contains: Self::contains,
                        contains_batch: Self::contains_batch,
                        contains_each: Self::contains_each,
                        insert: Self::insert,
                        insert_batch: Self::insert_batch,
                        partition: Self::partition,
                        insert_items: Self::insert_items,
                    };
                }
                pub(super) fn table<L: Layout, M: Memory>() -> &'static Kernels<L, M> {
                    Table::<L, M>::KERNELS
                }
                impl<L: CounterLayout, M: Memory> Table<L, M> {
                    $(#[$feature])?
                    fn counted(units: &Units<'_, M, CounterUnit<L>>, digest: Digest) -> bool {
                        L::CounterWalk::contains::<_, M>($token, units, digest)
                    }
                    $(#[$feature])?
                    fn counted_batch(
                        units: &Units<'_, M, CounterUnit<L>>,
                        digests: &[Digest],
                        out: &mut [u64],
                        prefetch: bool,
                    ) {
                        if prefetch {
                            L::CounterWalk::contains_batch::<_, M, true>($token, units, digests, out);
                        } else {
                            L::CounterWalk::contains_batch::<_, M, false>($token, units, digests, out);
                        }
                    }
                    $(#[$feature])?
                    fn raise(units: &mut UnitsMut<'_, M, CounterUnit<L>>, digest: Digest) -> bool {
                        L::CounterWalk::insert::<_, M>($token, units, digest)
                    }
                    $(#[$feature])?
                    fn raise_batch(units: &mut UnitsMut<'_, M, CounterUnit<L>>, digests: &[Digest]) {
                        counting::insert_batch::<L, _, M>($token, units, digests);
                    }
                    $(#[$feature])?
                    fn lower(units: &mut UnitsMut<'_, M, CounterUnit<L>>, digest: Digest) -> bool {
                        L::CounterWalk::remove::<_, M>($token, units, digest)
                    }
                    $(#[$feature])?
                    fn lower_batch(
                        units: &mut UnitsMut<'_, M, CounterUnit<L>>,
                        digests: &[Digest],
                        out: &mut [u64],
                    ) {
                        counting::remove_batch::<L, _, M>($token, units, digests, out);
                    }
                    $(#[$feature])?
                    fn add(into: &mut [u64; 64], from: &[u64; 64]) {
                        for (into, from) in into.iter_mut().zip(from) {
                            *into = nibbles::add(*into, *from);
                        }
                    }
                    $(#[$feature])?
                    fn occupied(words: &[u64; 64], bits: &mut [u64; 16]) {
                        nibbles::occupied_bits(words, bits)
                    }
                    $(#[$feature])?
                    fn histogram(words: &[u64; 64], counts: &mut [u64; 16]) {
                        nibbles::histogram(words, counts)
                    }
                    const COUNTERS: &'static CounterKernels<L, M> = &CounterKernels {
                        level: Level::$level,
                        contains: Self::counted,
                        contains_batch: Self::counted_batch,
                        insert: Self::raise,
                        insert_batch: Self::raise_batch,
                        remove: Self::lower,
                        remove_batch: Self::lower_batch,
                        add: Self::add,
                        occupied: Self::occupied,
                        histogram: Self::histogram,
                    };
                }
                $(#[$feature])?
                fn bucket_contains(slots: Slots, table: &[Bucket], digest: Digest) -> bool {
                    slots.contains($token, table, digest)
                }
                $(#[$feature])?
                fn bucket_contains_batch(
                    slots: Slots,
                    table: &[Bucket],
                    digests: &[Digest],
                    out: &mut [u64],
                    prefetch: bool,
                ) {
                    if prefetch {
                        slots.contains_batch::<_, true>($token, table, digests, out);
                    } else {
                        slots.contains_batch::<_, false>($token, table, digests, out);
                    }
                }
                $(#[$feature])?
                fn bucket_insert(slots: Slots, table: &mut [Bucket], digest: Digest) -> bool {
                    slots.insert($token, table, digest)
                }
                $(#[$feature])?
                fn bucket_remove(slots: Slots, table: &mut [Bucket], digest: Digest) -> bool {
                    slots.remove($token, table, digest)
                }
                $(#[$feature])?
                fn bucket_insert_batch(slots: Slots, table: &mut [Bucket], digests: &[Digest]) -> Result<(), usize> {
                    slots.insert_batch($token, table, digests)
                }
                $(#[$feature])?
                fn bucket_remove_batch(slots: Slots, table: &mut [Bucket], digests: &[Digest], out: &mut [u64]) {
                    slots.remove_batch($token, table, digests, out)
                }
                pub(super) static BUCKETS: BucketKernels = BucketKernels {
                    level: Level::$level,
                    contains: bucket_contains,
                    contains_batch: bucket_contains_batch,
                    insert: bucket_insert,
                    insert_batch: bucket_insert_batch,
                    remove: bucket_remove,
                    remove_batch: bucket_remove_batch,
                };
                pub(super) fn counters<L: CounterLayout, M: Memory>() -> &'static CounterKernels<L, M> {
                    Table::<L, M>::COUNTERS
                }
                $(#[$feature])?
                pub(super) fn enter<L: Layout, M: Memory, R>(
                    units: Units<'_, M, L::Unit>,
                    body: impl FnOnce(Kernel<'_, L, M>) -> R,
                ) -> R {
                    body(Kernel { level: Level::$level, kernels: table(), units })
                }
                $(#[$feature])?
                pub(super) fn random_lines(
                    units: &Units<'_, Plain, [u8; 64]>,
                    digests: &[Digest],
                    which: LoadLoop,
                ) -> u64 {
                    super::super::limit::run($token, units, digests, which)
                }
            }
        )*

        /// `level`, or the best level below when this machine lacks it, so that no value of `Level` can reach an
        /// instruction that is not there.
        fn available(level: Level) -> Level {
            let level = Level::available().iter().copied().filter(|&below| below <= level).max();
            level.unwrap_or(Level::Scalar)
        }

        impl<L: Layout, M: Memory> Kernels<L, M> {
            /// The table of `level`, or of the best available one below.
            pub(crate) fn of(level: Level) -> &'static Self {
                match available(level) {
                    $( $(#[$cfg])? Level::$level => $module::table(), )*
                    #[allow(unreachable_patterns, reason = "the levels of other architectures")]
                    _ => scalar::table(),
                }
            }
        }

        impl BucketKernels {
            /// The table of `level`, or of the best available one below.
            pub(crate) fn of(level: Level) -> &'static Self {
                match available(level) {
                    $( $(#[$cfg])? Level::$level => &$module::BUCKETS, )*
                    #[allow(unreachable_patterns, reason = "the levels of other architectures")]
                    _ => &scalar::BUCKETS,
                }
            }
        }

        impl<L: CounterLayout, M: Memory> CounterKernels<L, M> {
            /// The table of `level`, or of the best available one below.
            pub(crate) fn of(level: Level) -> &'static Self {
                match available(level) {
                    $( $(#[$cfg])? Level::$level => $module::counters(), )*
                    #[allow(unreachable_patterns, reason = "the levels of other architectures")]
                    _ => scalar::counters(),
                }
            }
        }

        /// Runs `body` inside the instruction set of `level`.
        #[inline]
        pub(crate) fn with_kernel<L: Layout, M: Memory, R>(
            level: Level,
            units: Units<'_, M, L::Unit>,
            body: impl FnOnce(Kernel<'_, L, M>) -> R,
        ) -> R {
            if !level.is_available() {
                return scalar::enter(units, body);
            }
            match level {
                $(
                    $(#[$cfg])?
                    #[allow(unused_unsafe, reason = "the scalar levels need no feature")]
                    // SAFETY: the level is available.
                    Level::$level => unsafe { $module::enter(units, body) },
                )*
                #[allow(unreachable_patterns, reason = "the levels of other architectures")]
                _ => scalar::enter(units, body),
            }
        }

        /// A load-only loop in the instruction set of `level`, or in plain Rust when this machine lacks it.
        pub(super) fn random_lines(
            level: Level,
            units: &Units<'_, Plain, [u8; 64]>,
            digests: &[Digest],
            which: LoadLoop,
        ) -> u64 {
            if !level.is_available() {
                return scalar::random_lines(units, digests, which);
            }
            match level {
                $(
                    $(#[$cfg])?
                    #[allow(unused_unsafe, reason = "the scalar levels need no feature")]
                    // SAFETY: the level is available.
                    Level::$level => unsafe { $module::random_lines(units, digests, which) },
                )*
                #[allow(unreachable_patterns, reason = "the levels of other architectures")]
                _ => scalar::random_lines(units, digests, which),
            }
        }
    };
}

tables! {
    Scalar scalar [] Scalar;
    Portable portable [] Portable;
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon neon [#[target_feature(enable = "neon")]] Neon::here();
    #[cfg(target_arch = "x86_64")]
    Avx2 avx2 [#[target_feature(enable = "avx2,bmi1,bmi2")]] Avx2::here();
    #[cfg(target_arch = "x86_64")]
    Avx512 avx512 [#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2")]] Avx512::here();
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi avx512vbmi [
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,bmi1,bmi2")]
    ] Avx512Vbmi::here();
}

/// A filter's lookup, inside a loop that was compiled for the filter's instruction set: see
/// [`Filter::with_kernel`](crate::Filter::with_kernel).
///
/// # Invariants
/// `level` is available: only `with_kernel` makes one. Inside it the level is a constant, and the choice below vanishes.
pub struct Kernel<'a, L: Layout, M: Memory> {
    level: Level,
    kernels: &'static Kernels<L, M>,
    units: Units<'a, M, L::Unit>,
}

impl<L: Layout, M: Memory> fmt::Debug for Kernel<'_, L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kernel({} {})", L::KIND, self.level)
    }
}

/// One lookup in one instruction set, for [`Kernel`].
macro_rules! one {
    ($kernel:ident, $digest:ident, $feature:literal, $token:expr) => {{
        #[inline]
        #[target_feature(enable = $feature)]
        fn one<L: Layout, M: Memory>(units: &Units<'_, M, L::Unit>, digest: Digest) -> bool {
            L::Walk::contains::<_, M>($token, units, digest)
        }
        // SAFETY: the level of a `Kernel` is available.
        unsafe { one::<L, M>(&$kernel.units, $digest) }
    }};
}

impl<L: Layout, M: Memory> Kernel<'_, L, M> {
    /// May the key with this digest be present?
    // The fewer arms, the sooner the compiler inlines a caller's loop into `with_kernel`, which is the point of it: both
    // strengths of AVX-512 look one key up alike, and the sets without features of their own go through the table.
    #[inline(always)]
    pub fn contains(&self, digest: Digest) -> bool {
        match self.level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Vbmi => {
                one!(self, digest, "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2", Avx512::here())
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => one!(self, digest, "avx2,bmi1,bmi2", Avx2::here()),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Level::Neon => one!(self, digest, "neon", Neon::here()),
            _ => self.kernels.contains(&self.units, digest),
        }
    }
}
