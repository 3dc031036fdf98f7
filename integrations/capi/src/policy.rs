//! Policies, and questions to bytes.

use crate::{
    input::{bytes, free, shared, write},
    refusal::{Refusal, guard},
};
use bloomline::{LayoutKind, gate::SegmentPolicy, hash::Xxh3};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    ptr::null,
};

/// The version of this library, as "0.1.0". Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn bloomline_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The frame with a header of 64 bytes that says layout, sizes, hasher and seed: for files and large filters.
pub const BLOOMLINE_FULL: c_int = 0;

/// The frame with a short trailer, 6 bytes or 3, for filters of few keys. Filters that would have under 64 bytes are of layout
/// "classic", of any whole number of bytes.
pub const BLOOMLINE_COMPACT: c_int = 1;

/// What all filters of a store have in common: layout, bits for each key, seed and frame.
#[derive(Debug)]
pub struct Policy {
    pub(crate) policy: SegmentPolicy,
    name: CString,
}

/// What a filter of so many keys will be.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Plan {
    /// Bytes that it takes, frame included.
    pub bytes: u64,
    /// Its bits m.
    pub bits: u64,
    /// Its probes k: bits tested for each key.
    pub probes: u32,
    /// Its expected false positive rate.
    pub fpr: f64,
}

/// A policy: `layout` is "classic", "partitioned", "blocked", "split-line", "split-block" or "word"; at most
/// `bits_per_key` bits for each key, the frame not counted; keys are hashed by XXH3 with `seed`; `frame` is
/// `BLOOMLINE_FULL` or `BLOOMLINE_COMPACT`. `NULL` when one of them is out of range. Freed by `bloomline_policy_free`.
///
/// # Safety
/// `layout` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_policy_create(
    layout: *const c_char,
    bits_per_key: f64,
    seed: u64,
    frame: c_int,
) -> *mut Policy {
    guard(std::ptr::null_mut(), || {
        if layout.is_null() {
            return Err(Refusal::Null("the layout's name"));
        }
        // SAFETY: not null, so a C string by the caller's promise.
        let name = unsafe { CStr::from_ptr(layout) }.to_string_lossy();
        let Some(layout) = LayoutKind::from_name(&name) else {
            return Err(Refusal::Layout(name.into_owned()));
        };
        let policy = SegmentPolicy::new(layout, Xxh3::with_seed(seed)).bits_per_key(bits_per_key);
        let policy = match frame {
            BLOOMLINE_FULL => policy,
            BLOOMLINE_COMPACT => policy.compact(),
            other => return Err(Refusal::Frame(other)),
        };
        policy.plan(1)?; // a number of bits that is none is refused here, not when the first filter is made
        let name = CString::new(policy.name()).unwrap_or_default(); // names have no NUL
        Ok(Box::into_raw(Box::new(Policy { policy, name })))
    })
}

/// Frees a policy; null does nothing. Builders and filters made by it live on.
///
/// # Safety
/// `policy` is null or came from `bloomline_policy_create`, and is used no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_policy_free(policy: *mut Policy) {
    // SAFETY: the caller's promise.
    guard((), || unsafe { free(policy) });
}

/// The policy's name: layout, hasher, seed, and the frame with its version. Filters of one policy can be read by every
/// policy of the same name, and by no other. It lives as long as the policy. `NULL` when `policy` is null.
///
/// # Safety
/// `policy` is null or a live policy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_policy_name(policy: *const Policy) -> *const c_char {
    // SAFETY: the caller's promise.
    guard(null(), || Ok(unsafe { shared("the policy", policy) }?.name.as_ptr()))
}

/// What a filter of `keys` keys will be, into `plan`. `false` when there is no such size, and `plan` is as it was.
///
/// # Safety
/// `policy` is null or a live policy; `plan` is null or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_policy_plan(policy: *const Policy, keys: u64, plan: *mut Plan) -> bool {
    guard(false, || {
        // SAFETY: the caller's promise.
        let planned = unsafe { shared("the policy", policy) }?.policy.plan(keys)?;
        let geometry = planned.geometry;
        let value = Plan { bytes: planned.bytes, bits: geometry.bits, probes: geometry.k, fpr: planned.fpr };
        // SAFETY: the caller's promise.
        unsafe { write("the plan", plan, value) }?;
        Ok(true)
    })
}

/// May `key` be in the filter of these bytes? `false` is certain, unless a bit of the filter was cleared after it was
/// made: `bloomline_policy_verify` finds that. Takes the same time whatever the size of the filter, and copies nothing.
/// `true` for bytes that are no filter of the policy's frame, and for null pointers that have a length.
///
/// # Safety
/// `policy` is null or a live policy; `filter` and `key` are null or can be read for their lengths.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_policy_may_contain(
    policy: *const Policy,
    filter: *const c_void,
    filter_length: usize,
    key: *const c_void,
    key_length: usize,
) -> bool {
    guard(true, || {
        // SAFETY: the caller's promise for each of the three.
        let (policy, filter, key) = unsafe {
            (
                shared("the policy", policy)?,
                bytes("the filter", filter, filter_length)?,
                bytes("the key", key, key_length)?,
            )
        };
        Ok(policy.policy.digest(key).is_none_or(|digest| policy.policy.probe(filter, digest)))
    })
}

/// Are these bytes a whole, unchanged filter of this policy? Reads them all: a checksum of 64 bits in the full frame,
/// of 24 in the compact one. `false` when not, and `bloomline_last_error` says why. Call it once when a filter is
/// loaded, unless a checksum of the engine covers its bytes.
///
/// # Safety
/// `policy` is null or a live policy; `filter` is null or can be read for its length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bloomline_policy_verify(
    policy: *const Policy,
    filter: *const c_void,
    filter_length: usize,
) -> bool {
    guard(false, || {
        // SAFETY: the caller's promise for both.
        let (policy, filter) = unsafe { (shared("the policy", policy)?, bytes("the filter", filter, filter_length)?) };
        policy.policy.verify(filter)?;
        Ok(true)
    })
}
