//! The callbacks of LevelDB's `leveldb_filterpolicy_create`. `state` is the policy.

use crate::{
    Policy, bloomline_policy_free, bloomline_policy_name,
    builder::Builder,
    input::{bytes, keys as each_key, shared, write},
    refusal::{Refusal, guard},
};
use std::{
    ffi::{c_char, c_int, c_void},
    ptr::null_mut,
};

/// `destructor` for `leveldb_filterpolicy_create`: frees the policy.
///
/// # Safety
/// As `bloomline_policy_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_leveldb_policy_destroy(state: *mut c_void) {
    // SAFETY: the caller's promise.
    unsafe { bloomline_policy_free(state.cast()) }
}

/// `create_filter` for `leveldb_filterpolicy_create`: the filter of these keys, in memory of `malloc`, which LevelDB
/// frees. When it can't be made the answer is `NULL` and the length 0: LevelDB then stores an empty filter, about which
/// `bloomline_leveldb_policy_key_may_match` says "maybe".
///
/// # Safety
/// `state` is null or a live policy; the arrays are null or can be read for `num_keys` items; each key is null or can
/// be read for its length; `filter_length` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_leveldb_policy_create_filter(
    state: *mut c_void,
    key_array: *const *const c_char,
    key_length_array: *const usize,
    num_keys: c_int,
    filter_length: *mut usize,
) -> *mut c_char {
    guard(null_mut(), || {
        // SAFETY: the caller's promise.
        unsafe { write("the filter's length", filter_length, 0) }?;
        let count = usize::try_from(num_keys).map_err(|_| Refusal::Negative { what: "keys", count: num_keys })?;
        // SAFETY: the caller's promise for all of them.
        let (policy, keys) = unsafe {
            (shared("the policy", state.cast::<Policy>())?, each_key(key_array.cast(), key_length_array, count)?)
        };
        let mut builder = Builder::new(&policy.policy);
        for key in keys {
            builder.add(key?);
        }
        let (filter, length) = builder.finish()?;
        // SAFETY: as above.
        unsafe { write("the filter's length", filter_length, length) }?;
        Ok(filter.cast())
    })
}

/// `key_may_match` for `leveldb_filterpolicy_create`: 0 when the key is certainly not in the filter. Verifies the
/// filter each time, which LevelDB by itself does not: of some 17 keys it has 27 bytes. "Maybe" when they changed.
///
/// # Safety
/// `state` is null or a live policy; `key` and `filter` are null or can be read for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_leveldb_policy_key_may_match(
    state: *mut c_void,
    key: *const c_char,
    length: usize,
    filter: *const c_char,
    filter_length: usize,
) -> u8 {
    guard(1, || {
        // SAFETY: the caller's promise for each of the three.
        let (policy, key, filter) = unsafe {
            (
                &shared("the policy", state.cast::<Policy>())?.policy,
                bytes("the key", key.cast(), length)?,
                bytes("the filter", filter.cast(), filter_length)?,
            )
        };
        let absent = policy.digest(key).is_some_and(|digest| !policy.probe(filter, digest));
        // Only an "absent" can do harm, so only an "absent" is verified.
        Ok(u8::from(!absent || policy.verify(filter).is_err()))
    })
}

/// `name` for `leveldb_filterpolicy_create`: `bloomline_policy_name`. LevelDB stores it beside the filters, and asks no
/// filter that was stored under another.
///
/// # Safety
/// As `bloomline_policy_name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_leveldb_policy_name(state: *mut c_void) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { bloomline_policy_name(state.cast()) }
}
