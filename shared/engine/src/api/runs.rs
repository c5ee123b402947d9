//! Runs: reading them, triggering one, and applying an executor's report.

use belfry_core::id::{Cause, RunId, ScheduleId};
use belfry_core::instant;
use belfry_core::page::Page;
use belfry_core::run::feedback::Feedback;
use belfry_core::run::view::RunView;
use belfry_core::run::{self, Run};
use belfry_core::schedule::Overlap;
use belfry_core::schedule::Schedule;
use belfry_core::schedule::change::{Change, Verb};
use serde_json::{Value, json};
use tracing::info;

use super::fitting::fitting;
use crate::app::App;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::run_token;
use crate::cloud::store::{HistoryQuery, Put};
use crate::ending::feedback::{Heard, hear};
use crate::schedules::caller::Caller;
use crate::schedules::change::entry;
use crate::schedules::input::check_size;
use crate::schedules::lookup::load;
use crate::schedules::refusal::Refusal;

/// One run.
pub(crate) async fn one_run(app: &App, caller: &Caller, id: &RunId) -> Result<RunView, Refusal> {
    Ok(owned_run(app, caller, id).await?.view())
}

async fn owned_run(app: &App, caller: &Caller, id: &RunId) -> Result<Run, Refusal> {
    let run = app.store.run(id).await?;
    run.filter(|run| caller.acts_for(&run.owner)).ok_or(Refusal::NotFound("run"))
}

/// The executor that holds a run's token; it acts for the run's owner. `None`: the token does not
/// belong to this run.
pub(crate) async fn executor(
    app: &App,
    id: &RunId,
    token: &str,
) -> Result<Option<Caller>, Refusal> {
    if !run_token::matches(&app.settings.run_token_key, id, token) {
        return Ok(None);
    }
    let run = app.store.run(id).await?.ok_or(Refusal::NotFound("run"))?;
    Ok(Some(Caller::in_the_name_of(&run.owner)))
}

/// One page of a schedule's runs, newest first.
pub(crate) async fn history(
    app: &App,
    caller: &Caller,
    schedule: &ScheduleId,
    wanted: &HistoryQuery,
) -> Result<Page<RunView>, Refusal> {
    let Schedule { clock, .. } = load(app, caller, schedule).await?;
    let history = app.store.history(schedule, wanted).await?;
    // Another owner may have had a schedule of this name before.
    let own: Vec<_> = history.runs.iter().filter(|run| run.owner == clock.owner).collect();
    let mut items: Vec<_> = own.iter().map(|run| run.view()).collect();
    let kept = fitting(&items);
    let next_cursor = match own.get(kept.saturating_sub(1)) {
        Some(last) if kept < items.len() => Some(last.id.sort_key()),
        _ => history.cursor,
    };
    items.truncate(kept);
    Ok(Page { items, next_cursor })
}

/// What a caller asks for when triggering a run by hand.
pub(crate) struct Trigger {
    /// An id that is unique for each request; the run is named after it.
    pub request_id: String,
    /// A key that the caller chose: asking again with the same key within a day asks for the same
    /// run.
    pub idempotency_key: Option<String>,
    /// The payload of the run, if not the schedule's payload.
    pub payload: Option<Value>,
    /// The overlap policy of the run, if not the schedule's.
    pub overlap_policy: Option<Overlap>,
}

/// Runs a schedule now, without moving its clock.
pub(crate) async fn trigger(
    app: &App,
    caller: &Caller,
    schedule: &ScheduleId,
    asked: Trigger,
) -> Result<RunView, Refusal> {
    check_size(asked.payload.as_ref())?;
    let Schedule { clock, .. } = load(app, caller, schedule).await?;
    let now = app.now();
    let unique = asked.idempotency_key.as_deref().unwrap_or(&asked.request_id);
    let id = RunId::caused(schedule, instant::whole_second(now), Cause::manual(unique));
    let id = match &asked.idempotency_key {
        None => id,
        Some(key) => {
            let content = match &asked.payload {
                // A payload of null is another request than none.
                Some(Value::Null) => json!([null, asked.overlap_policy, "payload"]),
                payload => json!([payload, asked.overlap_policy]),
            };
            let content = content.to_string();
            let known = app.store.remember_trigger(key, &content, &id, now).await?;
            known.ok_or_else(|| {
                let why = "this Idempotency-Key was used for a request with another body";
                Refusal::Conflict(why.to_owned())
            })?
        }
    };
    let run = Run {
        payload: asked.payload,
        overlap_policy: asked.overlap_policy,
        ..Run::planned(id, run::Trigger::Manual, &clock.owner, clock.revision, now, now)
    };
    let run = match app.store.put_run(&run).await? {
        Put::New => run,
        Put::Unlaunched(run) => *run,
        Put::Beyond(_) => return Ok(owned_run(app, caller, &run.id).await?.view()),
    };
    // The entry has the time of the record: asking again with the same key writes the same entry.
    let log = entry(&clock, caller, Verb::Triggered, run.enqueued_at);
    app.store.log_trigger(&Change { run_id: Some(run.id.clone()), ..log }).await?;
    // If sending fails, the caller gets an error, and recovery finds the run and sends it.
    let sent = app.queue.send(&[Parcel::of(&run)], now).await;
    sent.into_iter().collect::<Result<(), _>>()?;
    info!(run_id = %run.id, by = caller.sub, "run triggered");
    Ok(run.view())
}

/// Applies an executor's report. Applying the same report again changes nothing.
pub(crate) async fn feedback(
    app: &App,
    caller: &Caller,
    id: &RunId,
    said: &Feedback,
) -> Result<RunView, Refusal> {
    let run = owned_run(app, caller, id).await?;
    match hear(app, &run, said).await? {
        Heard::Yes => Ok(owned_run(app, caller, id).await?.view()),
        Heard::Before => Ok(run.view()),
        Heard::No(from) => {
            let (from, to) = (from.as_str(), said.status.as_str());
            Err(Refusal::Conflict(format!("a run that is {from} cannot become {to}")))
        }
    }
}
