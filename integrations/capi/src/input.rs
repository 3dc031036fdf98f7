//! Pointers and lengths from C, made into slices and references.

use crate::refusal::Refusal;
use std::{
    ffi::{c_char, c_void},
    slice,
};

/// The bytes at `data`: none for length 0, whatever the pointer.
///
/// # Safety
/// A `data` that is not null can be read for `length` bytes, which nobody writes while the slice is used.
pub(crate) unsafe fn bytes<'a>(what: &'static str, data: *const c_void, length: usize) -> Result<&'a [u8], Refusal> {
    // SAFETY: the caller's promise. Bytes are aligned anywhere.
    unsafe { array(what, data.cast(), length) }
}

/// The items at `data`: none for length 0, whatever the pointer.
///
/// # Safety
/// A `data` that is not null is aligned and can be read for `length` items, which nobody writes while the slice is
/// used.
pub(crate) unsafe fn array<'a, T>(what: &'static str, data: *const T, length: usize) -> Result<&'a [T], Refusal> {
    if length == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Refusal::NullWithLength { what, length });
    }
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(Refusal::TooLong { what, length });
    }
    // SAFETY: not null, and by the caller's promise aligned, readable and left alone; not longer than a slice may be.
    Ok(unsafe { slice::from_raw_parts(data, length) })
}

/// Key after key of a C array of keys and one of their lengths.
///
/// # Safety
/// As [`array`] for both arrays of `count` items, and as [`bytes`] for each key and its length.
pub(crate) unsafe fn keys<'a>(
    keys: *const *const c_void,
    lengths: *const usize,
    count: usize,
) -> Result<impl Iterator<Item = Result<&'a [u8], Refusal>>, Refusal> {
    // SAFETY: the caller's promise for both arrays.
    let (keys, lengths) =
        unsafe { (array("the array of keys", keys, count)?, array("the array of lengths", lengths, count)?) };
    // SAFETY: the caller's promise for each key.
    Ok(keys.iter().zip(lengths).map(|(&key, &length)| unsafe { bytes("a key", key, length) }))
}

/// What a pointer points to.
///
/// # Safety
/// A pointer that is not null points to a live `T`, which nobody changes while the reference is used.
pub(crate) unsafe fn shared<'a, T>(what: &'static str, pointer: *const T) -> Result<&'a T, Refusal> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Refusal::Null(what))
}

/// What a pointer points to, to change it.
///
/// # Safety
/// A pointer that is not null points to a live `T`, which nobody else uses meanwhile.
pub(crate) unsafe fn unique<'a, T>(what: &'static str, pointer: *mut T) -> Result<&'a mut T, Refusal> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or(Refusal::Null(what))
}

/// Sets what an out-parameter points to.
///
/// # Safety
/// A pointer that is not null can be written.
pub(crate) unsafe fn write<T>(what: &'static str, pointer: *mut T, value: T) -> Result<(), Refusal> {
    if pointer.is_null() {
        return Err(Refusal::Null(what));
    }
    // SAFETY: not null, so it can be written by the caller's promise; what was there needs no drop in C.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Frees what `Box::into_raw` gave out; null is nothing to free, and never refused.
///
/// # Safety
/// A pointer that is not null came from `Box::into_raw` and is used no more.
pub(crate) unsafe fn free<T>(pointer: *mut T) -> Result<(), Refusal> {
    if !pointer.is_null() {
        // SAFETY: the caller's promise: it is a box of this type, and freed once.
        drop(unsafe { Box::from_raw(pointer) });
    }
    Ok(())
}

/// A copy of bytes in memory of `malloc`.
pub(crate) fn malloc_copy(bytes: &[u8]) -> Result<*mut c_char, Refusal> {
    // SAFETY: malloc takes any size.
    let to: *mut c_char = unsafe { libc::malloc(bytes.len()) }.cast();
    if to.is_null() && !bytes.is_empty() {
        return Err(Refusal::Memory { bytes: bytes.len() as u64 });
    }
    if !bytes.is_empty() {
        // SAFETY: `to` is memory of that length, new, so it does not overlap.
        unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
    Ok(to)
}
