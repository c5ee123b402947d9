//! Fires: emission by the tick, slots and their order, chains of schedules, and backfills.

pub(crate) mod backfill;
pub(crate) mod chain;
pub mod emit;
pub(crate) mod slots;
