//! Managing schedules, runs and workflows: what the API does, without HTTP.

mod backfill;
mod bulk;
mod diff;
mod edit;
mod follow;
mod ledger;
mod overview;
mod read;
mod runs;
mod settle;
mod stats;
mod workflows;

use belfry_core::invalid::Invalid;

pub use backfill::{
    Asked, backfills, cancel_backfill, one_backfill, preview_backfill, start as start_backfill,
};
pub use bulk::{Action, MAX_CHANGED, bulk};
pub use diff::{diff_patch, diff_put};
pub(crate) use edit::end_pause;
pub use edit::{Saving, create, delete, patch, pause, preview_resume, put, resume};
pub(crate) use ledger::reconcile;
pub use ledger::{changes, ledger};
pub use overview::overview;
pub use read::{Listing, Wanted, list, one};
pub use runs::{Trigger, feedback, history, one_run, trigger};
pub use stats::overall;
pub use workflows::{publish, version, versions};

use crate::fault::Fault;

/// Who asks, as the gateway verified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The token's subject: it owns what it creates.
    pub sub: String,
}

/// Why a request was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The input has problems.
    #[error("the input is not valid")]
    Invalid(Vec<Invalid>),
    /// A field is larger than we take.
    #[error("the input is too large")]
    TooLarge(Invalid),
    /// It is not there, or not the caller's: the two look alike.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The schedule is not at the revision the caller saw.
    #[error("the schedule is at revision {current}")]
    Stale {
        /// Where it is.
        current: u64,
    },
    /// The state of things does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// Something around us did not work.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Refusal {
    fn invalid(field: &str, message: impl Into<String>) -> Refusal {
        Refusal::Invalid(vec![Invalid::new(field, message)])
    }
}
