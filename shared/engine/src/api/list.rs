//! Reading schedules: one with its statistics, or a page of those that match.

use belfry_core::id::{ScheduleId, WorkflowId};
use belfry_core::instant::Instant;
use belfry_core::page::Page;
use belfry_core::schedule::definition::object;
use belfry_core::schedule::view;
use belfry_core::schedule::warning::Warning;
use belfry_core::schedule::{Clock, Schedule, Spec, Status};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_json::{Value, json};

use super::stats::{CONCURRENCY, in_short, of_schedule};
use super::whose::{PAGE, Whose};
use crate::app::App;
use crate::cloud::store::{Owned, Stored};
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::lookup::load;
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
    /// Only schedules with this tag, or with this tag and value.
    pub tag: Option<(String, Option<String>)>,
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
    let Schedule { clock, spec } = load(app, caller, id).await?;
    let mut schedule = object(&view::schedule(&clock, &spec, app.now()));
    schedule.extend(of_schedule(app, &clock).await?);
    if let Some(Value::Array(warnings)) = schedule.get_mut("warnings") {
        let missing = missing(app, &clock, &spec).await?;
        warnings.extend(missing.into_iter().map(|warning| json!(warning)));
    }
    Ok((ScheduleView(Value::Object(schedule)), clock.revision))
}

/// Warnings about what a schedule needs and is not there. They take a look at other tables, so that
/// lists leave them out.
async fn missing(app: &App, clock: &Clock, spec: &Spec) -> Result<Vec<Warning>, Refusal> {
    let mut warnings = Vec::new();
    let mut warn = |code: &str, message: String| {
        warnings.push(Warning { code: code.to_owned(), message });
    };
    let (workflow, version) = (&clock.workflow_id, clock.version);
    if app.store.workflow(workflow, version).await?.is_none() {
        let message = format!("workflow {workflow} has no version {version}: its runs fail");
        warn("missing_workflow", message);
    }
    if let Some(other) = &spec.options.after_schedule_id
        && !matches!(app.store.schedule(other).await?, Stored::Schedule(_))
    {
        let message = format!("schedule {other}, which this one follows, does not exist");
        warn("missing_schedule", message);
    }
    Ok(warnings)
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
    let shown = found_now.map(|Schedule { clock, spec }| shown(app, clock, spec, wanted.recent));
    let shown: Vec<_> = shown.collect();
    let items = stream::iter(shown).buffered(CONCURRENCY).try_collect().await?;
    Ok(Page { items, next_cursor: found.cursor.map(|last| wanted.whose.cursor(&last)) })
}

async fn shown(
    app: &App,
    clock: &Clock,
    spec: &Spec,
    recent: usize,
) -> Result<ScheduleView, Fault> {
    let mut schedule = object(&view::schedule(clock, spec, app.now()));
    if recent > 0 {
        schedule.extend(in_short(app, clock, recent).await?);
    }
    Ok(ScheduleView(Value::Object(schedule)))
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
            if wanted.fits(clock, spec, now) {
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

impl Wanted {
    fn fits(&self, clock: &Clock, spec: &Spec, now: Instant) -> bool {
        let tagged = |(key, value): &(String, Option<String>)| match spec.options.tags.get(key) {
            None => false,
            Some(has) => value.as_ref().is_none_or(|value| has == value),
        };
        self.tag.as_ref().is_none_or(tagged)
            && self.workflow_id.as_ref().is_none_or(|id| *id == clock.workflow_id)
            && self.status.is_none_or(|status| status == clock.status(now))
    }
}
