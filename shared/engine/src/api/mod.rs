//! The API: its operations on schedules, runs, sets and statistics, and HTTP in front of them.

pub(crate) mod across;
pub(crate) mod backfills;
pub(crate) mod bulk;
pub(crate) mod diff;
mod fitting;
pub mod http;
pub(crate) mod ledger;
pub(crate) mod list;
pub(crate) mod overview;
pub(crate) mod runs;
pub(crate) mod sets;
pub(crate) mod stats;
mod totals;
pub(crate) mod whose;
