//! Schedules: what creating, changing, pausing and deleting a schedule does to its fires.

pub mod caller;
pub mod change;
pub(crate) mod create;
pub mod declare;
pub(crate) mod delete;
pub(crate) mod follow;
pub(crate) mod input;
pub(crate) mod last;
pub(crate) mod ledger;
pub(crate) mod life;
pub(crate) mod lookup;
pub(crate) mod membership;
pub(crate) mod mend;
pub(crate) mod pause;
pub mod refusal;
pub(crate) mod save;
pub(crate) mod settle;
pub(crate) mod workflows;
