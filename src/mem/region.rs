//! One aligned, zeroed allocation.

use crate::{
    block::{Line, Unit},
    error::AllocError,
};
use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use core::{
    ptr::NonNull,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// Alignment of owned memory: a cache line.
const ALIGN: usize = align_of::<Line>();

/// The size of a huge page on x86-64 and on most AArch64 kernels, and the size from which they are asked for.
const HUGE: usize = 2 << 20;

/// Regions from this size on begin at lines of different colours.
const COLOURED: usize = 64 << 10;

/// The next region's colour, counted.
static NEXT_COLOUR: AtomicUsize = AtomicUsize::new(0);

/// Bytes by which the next region of this size shall begin beyond its alignment.
///
/// A digest chooses the same relative place in every filter of one size. Were they all to begin at a multiple of a page,
/// one key's lines in 64 filters would fall into one set of each cache and push each other out: lookups of a key in 64
/// filters of 2.5 MB took twice as long. So regions begin at different lines of a page (the sets of an L1), large ones at
/// different lines of 128 KiB (the sets of an L2), in an order that visits them all.
fn colour(bytes: usize) -> usize {
    let colours = match bytes {
        HUGE.. => 2048,
        COLOURED.. => 64,
        _ => return 0,
    };
    NEXT_COLOUR.fetch_add(1, Relaxed).wrapping_mul(805) % colours * ALIGN
}

/// What the kernel said about huge pages for a filter's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HugePages {
    /// Not asked: the filter is smaller than one, or the system has no way to ask.
    NotAsked,
    /// Asked and granted: the kernel will use them as far as it has free ones.
    Granted,
    /// Asked and refused.
    Refused,
}

/// Zeroed memory of a whole number of lines, aligned to a line; in huge pages from [`HUGE`] on.
///
/// Large memory comes from the allocator's zeroed call, which for fresh pages of the system touches nothing: each page
/// is touched once, when its first bit is set. Room for the alignment is asked for beside the size (address space,
/// not memory), since an aligned request would make the allocator clear by hand.
#[derive(Debug)]
pub(super) struct Region {
    base: NonNull<u8>,
    bytes: usize,
    allocation: NonNull<u8>,
    layout: Layout,
    huge: HugePages,
}

// SAFETY: `Region` owns its memory alone; access goes through `&` and `&mut` or through atomics.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// `bytes` zeroed bytes, at least one line of them allocated.
    pub(super) fn zeroed(bytes: usize) -> Result<Self, AllocError> {
        let refused = AllocError::Refused { bytes: bytes as u64 };
        let (align, colour) = (if bytes >= HUGE { HUGE } else { ALIGN }, colour(bytes));
        let padded = bytes.max(1).checked_next_multiple_of(ALIGN).ok_or(refused)?;
        let coloured = padded.checked_add(colour).ok_or(refused)?;
        let total = coloured.checked_add(align - 8).ok_or(refused)?;
        let layout = Layout::from_size_align(total, 8).map_err(|_| refused)?;
        // SAFETY: the layout's size is not zero.
        let allocation = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(refused)?;
        let skip = allocation.as_ptr().align_offset(align);
        debug_assert!(skip <= align - 8);
        // SAFETY: a pointer aligned to 8 is at most `align - 8` bytes before a multiple of `align`, and the allocation
        // has that many bytes beyond `coloured`.
        let aligned = unsafe { allocation.add(skip) };
        let huge = if bytes >= HUGE { ask_for_huge_pages(aligned, coloured) } else { HugePages::NotAsked };
        // SAFETY: `padded` bytes follow, of the `coloured` that the allocation has from here.
        let base = unsafe { aligned.add(colour) };
        Ok(Self { base, bytes, allocation, layout, huge })
    }

    pub(super) fn huge(&self) -> HugePages {
        self.huge
    }

    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        // SAFETY: `bytes` initialised bytes that live as long as `self`; the caller's `&self` keeps writers out (shared
        // memory, which is written through `&self`, never hands this out while shared: see `Shared`).
        unsafe { core::slice::from_raw_parts(self.base.as_ptr(), self.bytes) }
    }

    pub(super) fn as_bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` is exclusive.
        unsafe { core::slice::from_raw_parts_mut(self.base.as_ptr(), self.bytes) }
    }

    /// The same memory as units.
    pub(super) fn units_mut<U: Unit>(&mut self) -> &mut [U] {
        let n = self.bytes / U::BYTES;
        // SAFETY: a unit is an array of bytes: any alignment and any content will do, and `n` of them fit.
        unsafe { core::slice::from_raw_parts_mut(self.base.as_ptr().cast(), n) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: allocated by the same allocator with this layout, and freed once.
        unsafe { dealloc(self.allocation.as_ptr(), self.layout) };
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn ask_for_huge_pages(base: NonNull<u8>, bytes: usize) -> HugePages {
    let whole = bytes / 4096 * 4096;
    // SAFETY: the range lies within one allocation of this process, page-aligned; the advice changes no content.
    match unsafe { libc::madvise(base.as_ptr().cast(), whole, libc::MADV_HUGEPAGE) } {
        0 => HugePages::Granted,
        _ => HugePages::Refused,
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn ask_for_huge_pages(_: NonNull<u8>, _: usize) -> HugePages {
    HugePages::NotAsked
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn is_zero_and_aligned() {
        for bytes in [0, 1, 8, 63, 64, 65, 4096, HUGE - 1, HUGE, HUGE + 64] {
            let mut region = Region::zeroed(bytes).unwrap();
            assert_eq!(region.as_bytes().len(), bytes);
            // Under Miri a look here and there, or the large ones would take minutes.
            assert!(region.as_bytes().iter().step_by(if cfg!(miri) { 4095 } else { 1 }).all(|&b| b == 0));
            assert_eq!(region.base().as_ptr().addr() % ALIGN, 0);
            if let Some(last) = region.as_bytes_mut().last_mut() {
                *last = 0xff;
            }
            assert_eq!(region.units_mut::<[u8; 8]>().len(), bytes / 8);
        }
    }

    #[test]
    fn regions_of_one_size_begin_at_different_lines() {
        for (bytes, different) in [(COLOURED, 64), (HUGE, 64)] {
            let regions: Vec<Region> = (0..different).map(|_| Region::zeroed(bytes).unwrap()).collect();
            let sets = regions.iter().map(|region| region.base().as_ptr().addr() / ALIGN % 64);
            let mut sets: Vec<usize> = sets.collect();
            sets.sort_unstable();
            sets.dedup();
            // All 64, but for what other tests allocate meanwhile and the allocator's own offsets.
            assert!(sets.len() >= 16, "{} of 64 sets of a page", sets.len());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends where an allocator would refuse")]
    fn refuses_what_no_machine_has() {
        for bytes in [usize::MAX, usize::MAX - 63, isize::MAX as usize, isize::MAX as usize - HUGE] {
            assert_eq!(Region::zeroed(bytes).unwrap_err(), AllocError::Refused { bytes: bytes as u64 });
        }
    }
}
