//! Everything that can go wrong, one enum per concern. Every error names the value and the limit.
