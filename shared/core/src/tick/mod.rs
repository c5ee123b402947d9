//! The tick: how its work is shared out, and in which order owners are served.

pub mod fair;
pub mod share;
