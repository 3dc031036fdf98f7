//! Filters, from keys.

use crate::{
    Policy,
    input::{bytes, free, keys as each_key, malloc_copy, shared, unique, write},
    refusal::{Refusal, guard},
};
use bloomline::gate::{SegmentFilterBuilder, SegmentPolicy};
use std::{ffi::c_void, ptr::null_mut};

/// Takes the keys of a segment, and makes its filter when their number is known. It holds 8 bytes for each key.
#[derive(Debug)]
pub struct Builder {
    policy: SegmentPolicy,
    keys: SegmentFilterBuilder,
}

impl Builder {
    pub(crate) fn new(policy: &SegmentPolicy) -> Self {
        Self { policy: policy.clone(), keys: policy.builder() }
    }

    pub(crate) fn add(&mut self, key: &[u8]) {
        self.keys.add_key(key);
    }

    /// The filter, in memory of `malloc`, and its length.
    pub(crate) fn finish(&self) -> Result<(*mut c_void, usize), Refusal> {
        let filter = self.keys.finish()?;
        Ok((malloc_copy(&filter)?.cast(), filter.len()))
    }

    fn bytes(&self) -> Result<u64, Refusal> {
        Ok(self.policy.plan(self.keys.len() as u64)?.bytes)
    }
}

/// A builder without keys. `NULL` when `policy` is null. Freed by `bloomline_builder_free`; the policy may be freed
/// before.
///
/// # Safety
/// `policy` is null or a live policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_create(policy: *const Policy) -> *mut Builder {
    guard(null_mut(), || {
        // SAFETY: the caller's promise.
        let policy = unsafe { shared("the policy", policy) }?;
        Ok(Box::into_raw(Box::new(Builder::new(&policy.policy))))
    })
}

/// Frees a builder; null does nothing.
///
/// # Safety
/// `builder` is null or came from `bloomline_builder_create`, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_free(builder: *mut Builder) {
    // SAFETY: the caller's promise.
    guard((), || unsafe { free(builder) });
}

/// Takes a key. One that equals the key before is not counted again. `false` when the builder is null, or the key is
/// null and has a length: no key was taken.
///
/// # Safety
/// `builder` is null or a live builder that no other thread uses; `key` is null or can be read for its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_add(builder: *mut Builder, key: *const c_void, key_length: usize) -> bool {
    guard(false, || {
        // SAFETY: the caller's promise for both.
        let (builder, key) = unsafe { (unique("the builder", builder)?, bytes("the key", key, key_length)?) };
        builder.add(key);
        Ok(true)
    })
}

/// Takes `count` keys: `keys[i]` of `key_lengths[i]` bytes. `false` when a pointer is null that should not be; the keys
/// before it were taken.
///
/// # Safety
/// `builder` is null or a live builder that no other thread uses; `keys` and `key_lengths` are null or can be read for
/// `count` items; each key is null or can be read for its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_add_many(
    builder: *mut Builder,
    keys: *const *const c_void,
    key_lengths: *const usize,
    count: usize,
) -> bool {
    guard(false, || {
        // SAFETY: the caller's promise for all of them.
        let (builder, keys) = unsafe { (unique("the builder", builder)?, each_key(keys, key_lengths, count)?) };
        for key in keys {
            builder.add(key?);
        }
        Ok(true)
    })
}

/// Forgets the keys and keeps their memory, for the next filter. Null does nothing.
///
/// # Safety
/// `builder` is null or a live builder that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_clear(builder: *mut Builder) {
    guard((), || {
        // SAFETY: the caller's promise.
        if let Some(builder) = unsafe { builder.as_mut() } {
            builder.keys.clear();
        }
        Ok(())
    });
}

/// Bytes that the filter of the keys so far takes, frame included: what a buffer for `bloomline_builder_finish_into`
/// needs. 0 when the builder is null or there is no such size; no filter takes 0 bytes.
///
/// # Safety
/// `builder` is null or a live builder that no other thread changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_bytes(builder: *const Builder) -> u64 {
    // SAFETY: the caller's promise.
    guard(0, || unsafe { shared("the builder", builder) }?.bytes())
}

/// The filter of the keys so far, in memory that is freed by `free` (or `bloomline_free`), and its length. The builder
/// keeps its keys. Without keys the filter is the smallest there is, and contains nothing. `NULL` when a pointer is
/// null, or the filter would be over half of the machine's memory, or there is no memory; the length is then 0.
///
/// # Safety
/// `builder` is null or a live builder that no other thread changes; `filter_length` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_finish(builder: *const Builder, filter_length: *mut usize) -> *mut c_void {
    guard(null_mut(), || {
        // SAFETY: the caller's promise.
        unsafe { write("the filter's length", filter_length, 0) }?;
        // SAFETY: the caller's promise.
        let (filter, length) = unsafe { shared("the builder", builder) }?.finish()?;
        // SAFETY: as above.
        unsafe { write("the filter's length", filter_length, length) }?;
        Ok(filter)
    })
}

/// The same into the caller's buffer of `capacity` bytes. Sets `filter_length` to the bytes that the filter takes, also
/// when the buffer is too small for them: then nothing is built, and the answer is `false`.
///
/// # Safety
/// As `bloomline_builder_finish`, and `buffer` is null or can be written for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_builder_finish_into(
    builder: *const Builder,
    buffer: *mut c_void,
    capacity: usize,
    filter_length: *mut usize,
) -> bool {
    guard(false, || {
        // SAFETY: the caller's promise.
        unsafe { write("the filter's length", filter_length, 0) }?;
        // SAFETY: the caller's promise.
        let builder = unsafe { shared("the builder", builder) }?;
        let needed = builder.bytes()?;
        let length = usize::try_from(needed).map_err(|_| Refusal::Memory { bytes: needed })?;
        // SAFETY: as above.
        unsafe { write("the filter's length", filter_length, length) }?;
        if length > capacity {
            return Err(Refusal::Room { needed, capacity });
        }
        if buffer.is_null() {
            return Err(Refusal::NullWithLength { what: "the buffer", length: capacity });
        }
        let filter = builder.keys.finish()?;
        if filter.len() != length {
            return Err(Refusal::Bug); // a plan that does not hold is a bug
        }
        // SAFETY: `buffer` has room for `capacity` bytes by the caller's promise, and the filter is no longer than
        // that; a new vector overlaps nothing.
        unsafe { buffer.cast::<u8>().copy_from_nonoverlapping(filter.as_ptr(), filter.len()) };
        Ok(true)
    })
}

/// Frees what `bloomline_builder_finish` gave, for programs whose `free` is that of another C library. Null does
/// nothing.
///
/// # Safety
/// `memory` is null or came from `bloomline_builder_finish`, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_free(memory: *mut c_void) {
    // SAFETY: null, or of this library's malloc by the caller's promise.
    unsafe { libc::free(memory) }
}
