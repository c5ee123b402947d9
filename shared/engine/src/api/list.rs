//! Reading schedules: one with its statistics, or a page of those that match.

use belfry_core::id::{ScheduleId, WorkflowId};
use belfry_core::instant::Instant;
use belfry_core::page::Page;
use belfry_core::schedule::{Clock, Schedule, Spec, Status};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_json::Value;

use super::fitting::fitting;
use super::stats::{in_short, of_schedule};
use super::totals::CONCURRENCY;
use super::whose::{PAGE, Whose};
use crate::app::App;
use crate::cloud::store::Owned;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::last::{newest, warn};
use crate::schedules::lookup::load;
use crate::schedules::mend::mend;
use crate::schedules::refusal::Refusal;

/// Schedules read in one call: a filter that matches few schedules must not read all of them.
pub(super) const MAX_LOOKED_AT: usize = 2000;

/// The filter and the page that a caller asks for.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Only schedules with this status.
    pub status: Option<Status>,
    /// Only schedules of this workflow.
    pub workflow_id: Option<WorkflowId>,
    /// Only schedules with this tag, or with this tag and value: `team`, `team:data`. Tags and values
    /// may have colons themselves: any of them may be the one in between.
    pub tag: Option<String>,
    /// How many of each schedule's newest runs are shown. 0 shows none and saves a query per
    /// schedule.
    pub recent: usize,
    /// Whose schedules are listed.
    pub whose: Whose,
    /// The page size.
    pub limit: usize,
    /// The id of the last schedule of the previous page.
    pub cursor: Option<ScheduleId>,
}

/// A schedule as the API shows it.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ScheduleView(pub(crate) Value);

/// One schedule with its statistics, and its revision.
pub(crate) async fn one(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
) -> Result<(ScheduleView, u64), Refusal> {
    let mut found = load(app, caller, id).await?;
    // A reader need not wait for the self-check; if mending fails, the self-check tries again.
    if mend(app, &found.clock, true, app.now()).await.unwrap_or(false) {
        found = load(app, caller, id).await?;
    }
    let mut schedule = of_schedule(app, &found).await?;
    warn(app, &found, &mut schedule).await?;
    Ok((ScheduleView(Value::Object(schedule)), found.clock.revision))
}

/// The caller's schedules in the order of their names: a page begins behind a name, so that
/// schedules made meanwhile neither repeat nor hide others.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<Page<ScheduleView>, Refusal> {
    wanted.whose.check(caller)?;
    let now = app.now();
    let found = find(app, caller, wanted, now).await?;
    let found_now = found.schedules.iter();
    let shown = found_now.map(|schedule| async {
        let schedule = in_short(app, schedule, wanted.recent).await?;
        Ok::<_, Fault>(ScheduleView(Value::Object(schedule)))
    });
    let shown: Vec<_> = shown.collect();
    let mut items: Vec<_> = stream::iter(shown).buffered(CONCURRENCY).try_collect().await?;
    let kept = fitting(&items);
    let last = match found.schedules.get(kept.saturating_sub(1)) {
        Some(Schedule { clock, .. }) if kept < items.len() => {
            Some((clock.owner.clone(), clock.schedule_id.clone()))
        }
        _ => found.cursor,
    };
    items.truncate(kept);
    Ok(Page { items, next_cursor: last.map(|last| wanted.whose.cursor(&last)) })
}

/// The schedules that a search found.
pub(super) struct Found {
    pub(super) schedules: Vec<Schedule>,
    /// The last schedule that was looked at, after which the search continues; `None` if it is
    /// complete.
    pub(super) cursor: Option<Owned>,
}

/// The schedules that match, up to the page size or up to the number that one call may read.
pub(super) async fn find(
    app: &App,
    caller: &Caller,
    wanted: &Wanted,
    now: Instant,
) -> Result<Found, Fault> {
    let mut schedules = Vec::new();
    let after = match &wanted.whose {
        Whose::All { after } => after.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let mut cursor = wanted.cursor.clone().map(|id| (after, id));
    for _ in 0..MAX_LOOKED_AT / PAGE {
        let page = wanted.whose.some(app, caller, cursor.as_ref()).await?;
        let ids: Vec<_> = page.iter().map(|(_, id)| id.clone()).collect();
        for schedule in app.store.schedules(&ids).await? {
            let Schedule { clock, spec } = &schedule;
            if wanted.fits(clock, spec) && wanted.has_status(app, clock, now).await? {
                let last = (clock.owner.clone(), clock.schedule_id.clone());
                schedules.push(schedule);
                if schedules.len() == wanted.limit {
                    return Ok(Found { schedules, cursor: Some(last) });
                }
            }
        }
        if ids.len() < PAGE {
            return Ok(Found { schedules, cursor: None });
        }
        cursor = page.into_iter().next_back();
    }
    Ok(Found { schedules, cursor })
}

/// Whether a schedule has a tag, `team`, or a tag with a value, `team:data`.
pub(super) fn is_tagged(spec: &Spec, tag: &str) -> bool {
    let tags = &spec.options.tags;
    let mut parts = tag.match_indices(':').map(|(at, _)| (&tag[..at], &tag[at + 1..]));
    tags.contains_key(tag)
        || parts.any(|(key, value)| tags.get(key).is_some_and(|has| has == value))
}

impl Wanted {
    /// Only a schedule without further fires costs a look at its runs: it is active until the last
    /// of them has ended.
    async fn has_status(&self, app: &App, clock: &Clock, now: Instant) -> Result<bool, Fault> {
        let Some(wanted) = self.status else { return Ok(true) };
        let status = match clock.status(now, false) {
            Status::Expired => clock.status(now, newest(app, clock, now).await?.is_going),
            status => status,
        };
        Ok(status == wanted)
    }

    fn fits(&self, clock: &Clock, spec: &Spec) -> bool {
        self.tag.as_ref().is_none_or(|tag| is_tagged(spec, tag))
            && self.workflow_id.as_ref().is_none_or(|id| *id == clock.workflow_id)
    }
}
