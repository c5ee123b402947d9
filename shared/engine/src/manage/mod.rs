//! Managing schedules, runs and workflows: what the API does, without HTTP.

mod apply;
mod backfill;
mod bulk;
mod declare;
mod diff;
mod edit;
mod follow;
mod ledger;
mod overview;
mod pause;
mod read;
mod runs;
mod sets;
mod settle;
mod stats;
mod workflows;

use belfry_core::access::{Scope, Scopes};
use belfry_core::change::Origin;
use belfry_core::invalid::Invalid;
use chrono::Duration;

pub use backfill::{
    Asked, backfills, cancel_backfill, one_backfill, preview_backfill, start as start_backfill,
};
pub use bulk::{Action, MAX_CHANGED, bulk};
pub use declare::{adopt, declare, release, withdraw};
pub use diff::{diff_patch, diff_put};
pub use edit::{Saving, create, delete, patch, put};
pub(crate) use ledger::reconcile;
pub use ledger::{changes, ledger};
pub use overview::overview;
pub(crate) use pause::end_pause;
pub use pause::{pause, preview_resume, resume};
pub use read::{Listing, Wanted, Whose, list, one};
pub use runs::{Trigger, executor, feedback, history, one_run, trigger};
pub use sets::{Wish, apply, export, sets};
pub use stats::overall;
pub use workflows::{publish, version, versions};

use crate::fault::Fault;

/// Who asks, as the gateway verified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The token's subject: it owns what it creates.
    pub sub: String,
    /// What its token lets it do.
    pub scopes: Scopes,
    /// Where it asks from; nowhere if the system acts by itself.
    pub origin: Option<Origin>,
}

impl Caller {
    /// The system, acting in an owner's name.
    pub fn in_the_name_of(owner: &str) -> Caller {
        Caller { sub: owner.to_owned(), scopes: Scopes::default(), origin: None }
    }

    /// Whether it may see and change what is `owner`'s.
    pub fn acts_for(&self, owner: &str) -> bool {
        self.sub == owner || self.scopes.allow(Scope::Admin)
    }
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
    /// The caller has made too much, or too much at once.
    #[error("{why}")]
    TooMany {
        /// What there is too much of.
        why: String,
        /// When to ask again.
        wait: Duration,
    },
    /// The state of things does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// The caller's token does not carry the scope for it.
    #[error("this needs the scope {0}")]
    Forbidden(Scope),
    /// Something around us did not work.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Refusal {
    fn invalid(field: &str, message: impl Into<String>) -> Refusal {
        Refusal::Invalid(vec![Invalid::new(field, message)])
    }
}
