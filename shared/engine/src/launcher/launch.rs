//! A launch: starts a run at its target, once.

use std::sync::Arc;

use belfry_core::fire::verdict::{Verdict, judge};
use belfry_core::id::RunId;
use belfry_core::run::{Reason, Run, Status};
use belfry_core::schedule::{Clock, Overlap, Spec};
use belfry_core::workflow::{Completion, Workflow};
use chrono::Duration;

use crate::app::App;
use crate::cloud::message::Message;
use crate::cloud::store::{Claim, Claimant, Outcome, Slot, Stored};
use crate::cloud::targets::{Accepted, Launch, Refused};
use crate::cloud::together::Together;
use crate::ending::failures::after_failure;
use crate::fault::Fault;
use crate::fires::backfill;
use crate::fires::chain::{self, Follows};
use crate::fires::slots::{self, Waited};
use crate::launcher::preread::Known;

/// A message this much too early is waited for: the queue counts in seconds, a fire in less.
const WORTH_WAITING: Duration = Duration::seconds(2);
/// A schedule that changes under a launcher's hands is read again so often, then the queue retries.
const READS: usize = 3;
/// A run that follows another is recorded a moment before the other's end is.
const UPSTREAM_S: i64 = 5;
/// The longest pause between two tries of a launch.
const MAX_BACKOFF_S: i64 = 300;

/// What became of a fire.
#[derive(Debug)]
pub(crate) enum Handled {
    /// The target has the run.
    Launched { drift_ms: i64, ended: Option<Status> },
    /// The run ended without its target.
    Ended(Reason),
    /// There was nothing to do: another message does it, or it was done before.
    Nothing(&'static str),
    /// It shall come again after so many seconds.
    Again { after_s: i64, why: String, by: By },
    /// It comes again by a message of its own.
    Apart,
}

/// What brings a fire again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Any message that names it.
    Any,
    /// The message that brought it now, which its claim names.
    This,
}

fn again(after_s: i64, why: impl Into<String>) -> Handled {
    Handled::Again { after_s, why: why.into(), by: By::Any }
}

/// Launches the run that a fire names, in the name of the message that brought it.
pub(crate) async fn launch(
    app: &App,
    together: &Together<'_>,
    message: &Message,
    holder: &str,
) -> Result<Handled, Fault> {
    let early = message.launch_at - app.now();
    if early > WORTH_WAITING {
        return Ok(again(early.num_seconds(), "too early"));
    }
    if early > Duration::zero() {
        let known = Known::ahead(together, message).await;
        app.time.sleep_until(message.launch_at).await;
        if let Some(known) = known
            && let Some(handled) = try_launch(app, together, message, holder, &known).await?
        {
            return Ok(handled);
        }
    }
    for _ in 0..READS {
        let known = Known::now(together, message).await?;
        if let Some(handled) = try_launch(app, together, message, holder, &known).await? {
            return Ok(handled);
        }
    }
    Ok(again(1, "the schedule keeps changing"))
}

/// One try on the schedule as it was read. `None`: it changed meanwhile.
async fn try_launch(
    app: &App,
    together: &Together<'_>,
    message: &Message,
    holder: &str,
    known: &Known,
) -> Result<Option<Handled>, Fault> {
    let id = &message.run_id;
    let (clock, spec) = match &*known.stored {
        Stored::Schedule(both) => (Some(&both.0), Some(&both.1)),
        _ => (None, None),
    };
    let (clock, spec) = match (judge(clock, id, message.revision), clock, spec) {
        (Verdict::Launch, Some(clock), Some(spec)) => (clock, spec),
        (verdict, clock, _) => {
            let reason = match verdict {
                Verdict::Cancel(reason) => reason,
                Verdict::Launch => Reason::Deleted,
            };
            let by = clock.map_or(message.revision, |clock| clock.revision);
            let cancelled = app.store.cancel_run(id, reason, by, app.now()).await?;
            if let Some(clock) = clock {
                // Whoever had it may have died before its slot was given back.
                let holds_slot = clock.active.contains(&id.sort_key());
                if holds_slot && (cancelled || is_over(app, id).await?) {
                    slots::pass_on(app, clock, id).await?;
                } else {
                    slots::wake_next(app, clock, id).await?;
                }
            }
            return Ok(Some(match cancelled {
                true => Handled::Ended(reason),
                false => Handled::Nothing("it launched or ended before"),
            }));
        }
    };
    // Only runs with a cause carry a policy of their own, or follow another.
    let record = match id.cause {
        Some(_) => app.store.run(id).await?,
        None => None,
    };
    if let Some(run) = &record {
        match chain::follows(app, run).await? {
            Follows::Starts => {}
            Follows::Waits => {
                return Ok(Some(again(UPSTREAM_S, "the run it follows has not ended")));
            }
            Follows::Never => {
                let reason = Reason::Upstream;
                app.store.cancel_run(id, reason, clock.revision, app.now()).await?;
                return Ok(Some(Handled::Ended(reason)));
            }
        }
    }
    let own = record.and_then(|run| run.overlap_policy);
    let overlap = own.unwrap_or(clock.policies.overlap_policy);
    if overlap == Overlap::Queue {
        match slots::wait_for_turn(app, clock, id).await? {
            Waited::Starts => {}
            Waited::Waits => return Ok(Some(Handled::Nothing("it waits for its turn"))),
            Waited::Full => return Ok(Some(Handled::Ended(Reason::QueueFull))),
        }
    }
    let now = app.now();
    let lease = app.settings.launch_lease;
    let this_call = app.call_id();
    let claimant = Claimant { message: holder, call: &this_call, ahead: known.ahead };
    let claim =
        app.store.claim_run_together(together, id, clock.revision, &claimant, lease, now).await?;
    let run = match claim {
        Claim::Won(run) => run,
        Claim::Changed => return Ok(None),
        // It may hold a slot that was not taken yet when the clock was read.
        Claim::Over(_) if known.ahead => return Ok(None),
        Claim::Held(until) => {
            let after_s = (until - now).num_seconds() + 1;
            let why = "an earlier delivery of this message is at work".to_owned();
            return Ok(Some(Handled::Again { after_s, why, by: By::This }));
        }
        Claim::Busy => return Ok(Some(Handled::Nothing("another message has it"))),
        Claim::Over(run) => {
            if run.status.is_terminal() && clock.active.contains(&id.sort_key()) {
                slots::pass_on(app, clock, id).await?;
            }
            return Ok(Some(Handled::Nothing("it ended before")));
        }
        Claim::Missing => return Ok(Some(Handled::Nothing("there is no such run"))),
    };
    if outlived(app, &run) {
        return Ok(Some(too_slow()));
    }
    if overlap != Overlap::Allow {
        match take_slot(app, clock, id).await? {
            Slot::Taken => {}
            Slot::Changed => {
                app.store.give_back_run(id, run.attempt, None).await?;
                return Ok(None);
            }
            Slot::Full(_) if overlap == Overlap::Queue => {
                app.store.give_back_run(id, run.attempt, None).await?;
                return Ok(Some(again(1, "another run was faster")));
            }
            Slot::Full(holders) => {
                let outcome = Outcome {
                    blocked_by: holders.into_iter().next(),
                    ..Outcome::because(Status::Skipped, Reason::Overlap)
                };
                app.store.finish_run(id, Some(run.attempt), &outcome, now).await?;
                return Ok(Some(Handled::Ended(Reason::Overlap)));
            }
        }
    }
    let holds_slot = overlap != Overlap::Allow;
    call(app, Claimed { id, run, clock, spec, holds_slot, together }).await.map(Some)
}

/// Takes a slot, if need be one whose run has ended.
async fn take_slot(app: &App, clock: &Clock, id: &RunId) -> Result<Slot, Fault> {
    let slot = app.store.take_slot(clock, id).await?;
    let Slot::Full(holders) = &slot else { return Ok(slot) };
    let clock = Clock { active: holders.iter().cloned().collect(), ..clock.clone() };
    match slots::free_ended(app, &clock, id).await? {
        true => app.store.take_slot(&clock, id).await,
        false => Ok(slot),
    }
}

/// A run that is ours to launch.
struct Claimed<'a, 't> {
    id: &'a RunId,
    run: Run,
    clock: &'a Clock,
    spec: &'a Spec,
    holds_slot: bool,
    together: &'a Together<'t>,
}

async fn call(app: &App, claimed: Claimed<'_, '_>) -> Result<Handled, Fault> {
    let Claimed { id, run, clock, spec, .. } = &claimed;
    let workflow = app.workflow(&clock.workflow_id, clock.version).await?;
    let Some(workflow) = workflow else {
        let error = format!("workflow {} version {} is gone", clock.workflow_id, clock.version);
        let outcome = Outcome {
            error: Some(error),
            ..Outcome::because(Status::Failed, Reason::WorkflowMissing)
        };
        finish(app, &claimed, &outcome).await?;
        return Ok(Handled::Ended(Reason::WorkflowMissing));
    };
    if outlived(app, run) {
        return Ok(too_slow());
    }
    let launch = Launch { id, run, clock, spec, workflow: &workflow };
    let calling = claimed.together.calling();
    let answer = app.targets.launch(&launch, app.now()).await;
    drop(calling);
    match answer {
        Ok(accepted) => record(app, &claimed, &workflow, accepted).await,
        Err(refused) => retry_or_fail(app, &claimed, refused).await,
    }
}

/// Whether a claim is older than its lease: somebody may have taken the run over, slot and all, and
/// what is called now would run beside whatever came after it.
fn outlived(app: &App, run: &Run) -> bool {
    run.lease_until.is_some_and(|until| until <= app.now())
}

fn too_slow() -> Handled {
    let why = "its lease was over before the call".to_owned();
    Handled::Again { after_s: 1, why, by: By::This }
}

async fn record(
    app: &App,
    claimed: &Claimed<'_, '_>,
    workflow: &Arc<Workflow>,
    accepted: Accepted,
) -> Result<Handled, Fault> {
    let done = accepted.status.or(match workflow.completion {
        Completion::OnLaunch => Some(Status::Success),
        Completion::Tracked => None,
    });
    match done {
        Some(status) => {
            let outcome = Outcome {
                status,
                reason: accepted.status.filter(|s| *s == Status::Failed).map(|_| Reason::Executor),
                error: accepted.error,
                result: accepted.result,
                external_run_id: accepted.external_run_id,
                blocked_by: None,
            };
            finish(app, claimed, &outcome).await?;
        }
        // The executor reports the end. Only a name it chose to tell is worth a write of its own.
        None if accepted.told => {
            let name = accepted.external_run_id.unwrap_or_default();
            app.store.link_run(claimed.id, claimed.run.attempt, &name).await?;
        }
        None => {}
    }
    Ok(Handled::Launched { drift_ms: claimed.run.drift_ms().unwrap_or(0), ended: done })
}

async fn retry_or_fail(
    app: &App,
    claimed: &Claimed<'_, '_>,
    refused: Refused,
) -> Result<Handled, Fault> {
    let attempt = claimed.run.attempt;
    if refused.retryable && attempt < app.settings.launch_attempts {
        // What the target may have keeps its slot: the next try finds it its own.
        if claimed.holds_slot && !refused.unheard && !outlived(app, &claimed.run) {
            // Before the run, which another message for it may claim at once: the slot it finds
            // then is its own. Nobody is woken: under `queue` the runs behind it wait for this one.
            app.store.release_slot(&claimed.id.schedule_id, &claimed.id.sort_key()).await?;
        }
        app.store.give_back_run(claimed.id, attempt, Some(&refused.message)).await?;
        let after_s = (1i64 << attempt.min(16)).min(MAX_BACKOFF_S);
        return Ok(again(after_s, refused.message));
    }
    let outcome = Outcome {
        error: Some(refused.message),
        ..Outcome::because(Status::Failed, Reason::LaunchFailed)
    };
    finish(app, claimed, &outcome).await?;
    Ok(Handled::Ended(Reason::LaunchFailed))
}

/// Ends a run and gives its slot back. If a newer claim has the run, so it has the slot.
async fn finish(app: &App, claimed: &Claimed<'_, '_>, outcome: &Outcome) -> Result<(), Fault> {
    let followers = match outcome.status {
        Status::Success => chain::record(app, claimed.clock, claimed.id, &claimed.run).await?,
        _ => Vec::new(),
    };
    let Claimed { id, run, together, .. } = claimed;
    let ended = app.store.finish_run_together(together, id, run, outcome, app.now()).await?;
    if ended {
        chain::send(app, &followers).await;
        Box::pin(backfill::after_run(app, claimed.id)).await;
    }
    if claimed.holds_slot && (ended || is_over(app, claimed.id).await?) {
        slots::pass_on(app, claimed.clock, claimed.id).await?;
    }
    if ended && outcome.status == Status::Failed {
        Box::pin(after_failure(app, claimed.clock, claimed.spec, claimed.id)).await?;
    }
    Ok(())
}

async fn is_over(app: &App, id: &RunId) -> Result<bool, Fault> {
    Ok(app.store.run(id).await?.is_none_or(|run| run.status.is_terminal()))
}
