//! The API: what its calls do (schedules, runs, sets, reads), and HTTP in front of it.

pub(crate) mod backfills;
pub(crate) mod bulk;
pub(crate) mod diff;
pub mod http;
pub(crate) mod ledger;
pub(crate) mod list;
pub(crate) mod overview;
pub(crate) mod runs;
pub(crate) mod sets;
pub(crate) mod stats;
pub(crate) mod whose;
