//! Bloom filters and their relatives.
#![cfg_attr(not(feature = "std"), no_std)]
extern crate alloc;

pub mod block;
pub mod error;
pub mod hash;
#[cfg(feature = "std")]
pub mod machine;
pub mod sizing;
