//! The end of a run, and what follows from it.

pub(crate) mod failures;
pub(crate) mod feedback;
