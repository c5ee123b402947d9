//! Fires: which fires a schedule has, when each is due, and how the policies apply to them.

pub mod backfill;
pub mod catchup;
pub mod expected;
pub mod jitter;
pub mod lateness;
pub mod overlap;
pub mod plan;
pub mod verdict;
