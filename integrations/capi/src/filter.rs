//! Opened filters.

use crate::{
    Policy,
    input::{bytes, free, keys as each_key, shared},
    refusal::{Refusal, guard},
};
use bloomline::{Contains, Digest, gate::SegmentFilter};
use std::{
    ffi::c_void,
    ptr::{null_mut, write_bytes},
    slice,
};

/// A filter whose frame was read once, for many questions.
#[derive(Debug)]
pub struct Filter(SegmentFilter);

/// Opens a filter over a copy of its bytes. Constant time but for the copy; `bloomline_policy_verify` finds changed
/// bits. `NULL` when the bytes are no filter of the policy's frame, hasher and seed, or a pointer is null, or there is
/// no memory. Freed by `bloomline_filter_free`.
///
/// # Safety
/// `policy` is null or a live policy; `filter` is null or can be read for its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_filter_open_copy(
    policy: *const Policy,
    filter: *const c_void,
    filter_length: usize,
) -> *mut Filter {
    guard(null_mut(), || {
        // SAFETY: the caller's promise for both.
        let (policy, filter) = unsafe { (shared("the policy", policy)?, bytes("the filter", filter, filter_length)?) };
        let mut copy = Vec::new();
        copy.try_reserve_exact(filter.len()).map_err(|_| Refusal::Memory { bytes: filter.len() as u64 })?;
        copy.extend_from_slice(filter);
        Ok(Box::into_raw(Box::new(Filter(policy.policy.open(copy)?))))
    })
}

/// Opens a filter over its bytes where they lie, without copying, at any alignment. They must stay where they are,
/// unchanged, until `bloomline_filter_free`: the pages of a mapping, a block pinned in a cache. Otherwise as
/// `bloomline_filter_open_copy`.
///
/// # Safety
/// `policy` is null or a live policy; `filter` is null or can be read for its length until the filter is freed, and
/// nobody writes there before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_filter_open_borrowed(
    policy: *const Policy,
    filter: *const c_void,
    filter_length: usize,
) -> *mut Filter {
    guard(null_mut(), || {
        // SAFETY: the caller's promise for both. The bytes are promised until the filter is freed, and the slice goes
        // into that filter alone: nothing outside sees that it is called 'static.
        let (policy, filter): (_, &'static [u8]) =
            unsafe { (shared("the policy", policy)?, bytes("the filter", filter, filter_length)?) };
        Ok(Box::into_raw(Box::new(Filter(policy.policy.open(filter)?))))
    })
}

/// Frees a filter; null does nothing. Borrowed bytes are left alone.
///
/// # Safety
/// `filter` is null or came from an open function, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_filter_free(filter: *mut Filter) {
    // SAFETY: the caller's promise.
    guard((), || unsafe { free(filter) });
}

/// May `key` be in the filter? As `bloomline_policy_may_contain`.
///
/// # Safety
/// `filter` is null or a live filter; `key` is null or can be read for its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_filter_may_contain(
    filter: *const Filter,
    key: *const c_void,
    key_length: usize,
) -> bool {
    guard(true, || {
        // SAFETY: the caller's promise for both.
        let (filter, key) = unsafe { (shared("the filter", filter)?, bytes("the key", key, key_length)?) };
        Ok(filter.0.contains_bytes(key))
    })
}

/// Keys hashed before they are looked up together.
const WINDOW: usize = 512;

/// May `count` keys be in the filter? Bit i % 64 of `out[i / 64]` answers for `keys[i]`; `out` has count / 64 words,
/// rounded up. Large filters answer several times faster than key by key. Bits behind the last key are 0. `false` when
/// a pointer is null that should not be: then the keys from there on, in steps of 512, are answered "may contain".
///
/// # Safety
/// `filter` is null or a live filter; `keys` and `key_lengths` are null or can be read for `count` items; each key is
/// null or can be read for its length; `out` is null or can be written for its words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_filter_contains_batch(
    filter: *const Filter,
    keys: *const *const c_void,
    key_lengths: *const usize,
    count: usize,
    out: *mut u64,
) -> bool {
    guard(false, || {
        if count == 0 {
            return Ok(true);
        }
        if out.is_null() {
            return Err(Refusal::Null("the array of answers"));
        }
        let words = count.div_ceil(64);
        // SAFETY: the caller's promise: room for so many words. Whole words of ones are numbers, so the memory is
        // initialised before a slice of it exists.
        let out = unsafe {
            write_bytes(out, 0xff, words);
            slice::from_raw_parts_mut(out, words)
        };
        if !count.is_multiple_of(64) {
            out[words - 1] = (1 << (count % 64)) - 1;
        }
        // SAFETY: the caller's promise for all of them.
        let (filter, mut keys) = unsafe { (&shared("the filter", filter)?.0, each_key(keys, key_lengths, count)?) };
        let mut digests = [Digest(0); WINDOW];
        for (window, out) in out.chunks_mut(WINDOW / 64).enumerate() {
            let digests = &mut digests[..WINDOW.min(count - window * WINDOW)];
            for (digest, key) in digests.iter_mut().zip(&mut keys) {
                // XXH3, the only hasher of this interface, takes any bytes.
                *digest = filter.digest_bytes(key?).ok_or(Refusal::Bug)?;
            }
            filter.contains_batch(digests, out)?;
        }
        Ok(true)
    })
}
