//! Sizing mathematics.
