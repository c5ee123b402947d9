//! Reading schedules.

use belfry_core::access::Scope;
use belfry_core::definition::object;
use belfry_core::id::{ScheduleId, WorkflowId, hex};
use belfry_core::instant::Instant;
use belfry_core::schedule::{Clock, Spec, Status};
use belfry_core::view;
use serde_json::Value;

use super::edit::load;
use super::stats::of_schedule;
use super::{Caller, Refusal};
use crate::app::App;
use crate::fault::Fault;
use crate::store::Owned;

/// Schedules read at once while looking for those that are wanted.
pub(super) const PAGE: usize = 50;

/// Which schedules are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Only those doing this.
    pub status: Option<Status>,
    /// Only those that launch this.
    pub workflow_id: Option<WorkflowId>,
    /// Only those with this tag, or with this tag and value.
    pub tag: Option<(String, Option<String>)>,
    /// Whose.
    pub whose: Whose,
    /// At most so many.
    pub limit: usize,
    /// The name the previous page ended at.
    pub cursor: Option<ScheduleId>,
}

/// Whose schedules are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whose {
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
    fn cursor(&self, last: &Clock) -> String {
        match self {
            Whose::All { .. } => format!("{}~{}", last.schedule_id, hex(last.owner.as_bytes())),
            _ => last.schedule_id.to_string(),
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

/// Some schedules.
pub struct Listing {
    /// As the API shows them.
    pub items: Vec<Value>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// One schedule with its statistics, and its revision. Lists leave them out: they cost a query
/// each.
pub async fn one(app: &App, caller: &Caller, id: &ScheduleId) -> Result<(Value, u64), Refusal> {
    let (clock, spec) = load(app, caller, id).await?;
    let mut schedule = object(&view::schedule(&clock, &spec, app.now()));
    schedule.extend(of_schedule(app, &clock).await?);
    Ok((Value::Object(schedule), clock.revision))
}

/// The caller's schedules in the order of their names: a page begins behind a name, so that
/// schedules made meanwhile neither repeat nor hide others.
pub async fn list(app: &App, caller: &Caller, wanted: &Wanted) -> Result<Listing, Refusal> {
    wanted.whose.check(caller)?;
    let now = app.now();
    let mut items = Vec::new();
    let after = match &wanted.whose {
        Whose::All { after } => after.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let mut cursor = wanted.cursor.clone().map(|id| (after, id));
    loop {
        let page = wanted.whose.some(app, caller, cursor.as_ref()).await?;
        let ids: Vec<_> = page.iter().map(|(_, id)| id.clone()).collect();
        for (clock, spec) in app.store.schedules(&ids).await? {
            if wanted.fits(&clock, &spec, now) {
                items.push(view::schedule(&clock, &spec, now));
                if items.len() == wanted.limit {
                    let next_cursor = Some(wanted.whose.cursor(&clock));
                    return Ok(Listing { items, next_cursor });
                }
            }
        }
        if ids.len() < PAGE {
            return Ok(Listing { items, next_cursor: None });
        }
        cursor = page.into_iter().next_back();
    }
}

impl Wanted {
    fn fits(&self, clock: &Clock, spec: &Spec, now: Instant) -> bool {
        let tagged = |(key, value): &(String, Option<String>)| match spec.tags.get(key) {
            None => false,
            Some(has) => value.as_ref().is_none_or(|value| has == value),
        };
        self.tag.as_ref().is_none_or(tagged)
            && self.workflow_id.as_ref().is_none_or(|id| *id == clock.workflow_id)
            && self.status.is_none_or(|status| status == clock.status(now))
    }
}
