//! Feedback: what follows from an executor's word on a run, whichever way the word came.

use belfry_core::id::RunId;
use belfry_core::run::feedback::Feedback;
use belfry_core::run::{Reason, Run, Status};
use tracing::info;

use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::store::{Outcome, Stored};
use crate::ending::failures::after_failure;
use crate::fault::Fault;
use crate::fires::backfill;
use crate::fires::chain;
use crate::fires::slots;

/// What became of an executor's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The run is as it says.
    Yes,
    /// It was so before.
    Before,
    /// A run in this state cannot become what it says.
    No(Status),
}

/// Takes an executor's word on `run`. The same word again changes nothing.
pub(crate) async fn hear(
    app: &App,
    id: &RunId,
    run: &Run,
    said: &Feedback,
) -> Result<Heard, Fault> {
    if run.status == said.status {
        return match (said.status, &said.external_run_id) {
            (Status::Started, Some(name)) => {
                app.store.link_run(id, run.attempt, name).await?;
                Ok(Heard::Yes)
            }
            _ => Ok(Heard::Before),
        };
    }
    if said.status == Status::Started || !run.status.may_become(said.status) {
        return Ok(Heard::No(run.status));
    }
    let outcome = Outcome {
        reason: (said.status == Status::Failed).then_some(Reason::Executor),
        error: said.error.clone(),
        external_run_id: said.external_run_id.clone(),
        result: said.result.clone(),
        ..Outcome::of(said.status)
    };
    let stored = app.store.schedule(&id.schedule_id).await?;
    let followers = match &stored {
        Stored::Schedule(both) if said.status == Status::Success => {
            chain::record(app, &both.0, id, run).await?
        }
        _ => Vec::new(),
    };
    if !app.store.finish_run(id, None, &outcome, app.now()).await? {
        // Somebody was faster; the same word is still welcome.
        let now = app.store.run(id).await?.map_or(run.status, |run| run.status);
        return Ok(if now == said.status { Heard::Yes } else { Heard::No(now) });
    }
    info!(run_id = %id, status = said.status.as_str(), "ended by its executor");
    chain::send(app, &followers).await;
    backfill::after_run(app, id).await;
    app.events.tell(&[Event::run(id, said.status, outcome.reason)]).await;
    if let Stored::Schedule(both) = stored {
        let (clock, spec) = both.as_ref();
        // Most runs hold no slot. One that does took it before it was started.
        if clock.active.contains(&id.sort_key()) {
            slots::pass_on(app, clock, id).await?;
        }
        if said.status == Status::Failed {
            after_failure(app, clock, spec, id).await?;
        }
    }
    Ok(Heard::Yes)
}
