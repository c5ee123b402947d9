//! Whose schedules a call asks for.

use belfry_core::guard::access::Scope;

use crate::app::App;
use crate::cloud::store::Owned;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// Schedules read at once while looking for those that are wanted.
pub(super) const PAGE: usize = 50;

/// Whose schedules are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The caller's own.
    Own,
    /// Somebody's.
    Of(String),
    /// Everybody's. A page begins behind a schedule and its owner.
    All {
        /// Who owns the schedule the previous page ended at.
        after: Option<String>,
    },
}

impl Whose {
    /// Only an admin may look at what others have.
    pub(super) fn check(&self, caller: &Caller) -> Result<(), Refusal> {
        let allowed = match self {
            Whose::Own => true,
            Whose::Of(owner) => caller.acts_for(owner),
            Whose::All { .. } => caller.scopes.allow(Scope::Admin),
        };
        if allowed { Ok(()) } else { Err(Refusal::Forbidden(Scope::Admin)) }
    }

    /// What a page that ends with this schedule is continued by.
    pub(super) fn cursor(&self, (owner, id): &Owned) -> String {
        match self {
            Whose::All { .. } => format!("{id}~{}", hex::encode(owner.as_bytes())),
            _ => id.to_string(),
        }
    }

    /// Schedules of theirs from behind `cursor`, each with its owner.
    pub(super) async fn some(
        &self,
        app: &App,
        caller: &Caller,
        cursor: Option<&Owned>,
    ) -> Result<Vec<Owned>, Fault> {
        let owner = match self {
            Whose::All { .. } => return app.store.schedules_of_all(PAGE, cursor).await,
            Whose::Own => &caller.sub,
            Whose::Of(owner) => owner,
        };
        let cursor = cursor.map(|(_, id)| id);
        let ids = app.store.schedules_of(owner, PAGE, cursor).await?;
        Ok(ids.into_iter().map(|id| (owner.clone(), id)).collect())
    }
}
