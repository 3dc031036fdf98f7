//! Everything that can go wrong, one enum per concern. Every error names the value and the limit, and comes before any
//! allocation.

use crate::hash::HasherId;
use core::fmt;
