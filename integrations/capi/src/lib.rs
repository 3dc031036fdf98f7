//! bloomline for C. `include/bloomline.h` is made from this crate; README.md shows how to build and link.
//!
//! What holds for every function:
//!
//! * **Nothing unwinds into C.** Each entry that does more than free runs in `refusal::guard`, which catches a panic
//!   and gives the answer that is safe. bloomline promises not to panic, so a panic is a bug; but a filter only saves
//!   reads, and an engine should not die of a bug in it, as it would if `extern "C"` turned the panic into an abort.
//! * **Doubt means "may contain".** A null policy, a null pointer with a length, damaged bytes: a question is answered
//!   `true`, which costs a read. Everything else fails with `NULL` or `false`, and `bloomline_last_error` says why.
//! * **Null with length 0 is the empty string.** Freeing null does nothing.
//! * Policies and filters may be used by any number of threads at once, builders by one at a time.
//!
//! Memory that a C program is to free comes from `malloc`. A filter over half of the machine's memory is refused with
//! an error. When the system refuses what a builder's keys or the bytes of a filter take, the process is aborted, as
//! elsewhere in Rust.

mod builder;
mod filter;
mod input;
mod leveldb;
mod policy;
mod refusal;

pub use builder::{
    Builder, bloomline_builder_add, bloomline_builder_add_many, bloomline_builder_bytes, bloomline_builder_clear,
    bloomline_builder_create, bloomline_builder_finish, bloomline_builder_finish_into, bloomline_builder_free,
    bloomline_free,
};
pub use filter::{
    Filter, bloomline_filter_contains_batch, bloomline_filter_free, bloomline_filter_may_contain,
    bloomline_filter_open_borrowed, bloomline_filter_open_copy,
};
pub use leveldb::{
    bloomline_leveldb_policy_create_filter, bloomline_leveldb_policy_destroy, bloomline_leveldb_policy_key_may_match,
    bloomline_leveldb_policy_name,
};
pub use policy::{
    BLOOMLINE_COMPACT, BLOOMLINE_FULL, Plan, Policy, bloomline_policy_create, bloomline_policy_free,
    bloomline_policy_may_contain, bloomline_policy_name, bloomline_policy_plan, bloomline_policy_verify,
    bloomline_version,
};
pub use refusal::bloomline_last_error;

/// Policies and filters may be used by any number of threads at once; a builder may be handed from one to another.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    const fn handed_on<T: Send>() {}
    shared::<Policy>();
    shared::<Filter>();
    handed_on::<Builder>();
};
