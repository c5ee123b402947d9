//! Fires: recorded, sent, held in order, and followed by others.

pub(crate) mod backfill;
pub(crate) mod chain;
pub mod emit;
pub(crate) mod slots;
