//! Fires: which there are, when they are due, and what policy does with them.

pub mod backfill;
pub mod catchup;
pub mod expected;
pub mod jitter;
pub mod overlap;
pub mod plan;
pub mod verdict;
