//! The tick: how ticks divide their work, and in which order they serve owners.

pub mod fair;
pub mod share;
