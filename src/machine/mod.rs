//! This computer.
