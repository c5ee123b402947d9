//! Whose schedules a call asks for: the caller's own, another owner's, or all.

use belfry_core::guard::access::Scope;

use crate::app::App;
use crate::cloud::store::Owned;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// Schedules read in one query while looking for those that match.
pub(super) const PAGE: usize = 50;

/// Whose schedules a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The caller's own schedules.
    Own,
    /// The schedules of this owner.
    Of(String),
    /// The schedules of all owners. A page begins after a schedule and its owner.
    All {
        /// The owner of the last schedule of the previous page.
        after: Option<String>,
    },
}

impl Whose {
    /// Refuses a caller who asks for other owners' schedules without being an admin.
    pub(super) fn check(&self, caller: &Caller) -> Result<(), Refusal> {
        let allowed = match self {
            Whose::Own => true,
            Whose::Of(owner) => caller.acts_for(owner),
            Whose::All { .. } => caller.scopes.allow(Scope::Admin),
        };
        if allowed { Ok(()) } else { Err(Refusal::Forbidden(Scope::Admin)) }
    }

    /// The cursor that continues after a page whose last schedule is this one.
    pub(super) fn cursor(&self, (owner, id): &Owned) -> String {
        match self {
            Whose::All { .. } => format!("{id}~{}", hex::encode(owner.as_bytes())),
            _ => id.to_string(),
        }
    }

    /// The next schedules after `cursor`, each with its owner.
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
