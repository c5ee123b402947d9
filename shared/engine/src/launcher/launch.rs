//! A launch: starts a run at its target, once. The steps: read, decide, claim, call.

use belfry_core::fire::jitter::waits_until;
use belfry_core::fire::lateness::{self, Lateness};
use belfry_core::fire::overlap::Decision;
use belfry_core::fire::verdict::{Verdict, judge};
use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use belfry_core::run::{Reason, Run, Status};
use belfry_core::schedule::{Clock, Overlap, Schedule};
use chrono::Duration;

use super::call::{Claimed, call, outlived, too_slow};
use super::handled::{Handled, With, again};
use super::limit;
use super::preread::Known;
use crate::app::App;
use crate::cloud::message::Message;
use crate::cloud::store::{Batch, Claim, Claimant, GivenBack, Outcome};
use crate::ending::{By, End, end};
use crate::fault::Fault;
use crate::fires::chain::{self, Follows};
use crate::fires::slots::{self, Taken};

/// If a message is early by no more than this, the launcher waits for the launch time: SQS delays
/// in whole seconds, and launch times are finer.
const MAX_WAIT: Duration = Duration::seconds(2);
/// How often a launcher reads a schedule that changes under its hands, before it leaves the retry
/// to the queue.
const READS: usize = 3;
/// The delay of a run whose upstream run has not ended: a follower is recorded just before that end
/// is.
const UPSTREAM_RETRY_S: i64 = 5;

/// A fire as a message delivered it.
pub(crate) struct Delivered<'a> {
    /// The store's batch, shared with the other launches of this invocation.
    pub(crate) batch: &'a Batch,
    /// The fire: the run, its launch time and its revision.
    pub(crate) message: &'a Message,
    /// The id of the SQS message that delivered it; the run's claim names this id.
    pub(crate) holder: &'a str,
}

/// Why an attempt to launch a run ends before the call.
enum Stop {
    /// The fire has been handled.
    Handled(Handled),
    /// The schedule has changed since it was read, and must be read again.
    Changed,
    /// A service failed.
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}

/// Launches the run that a fire names.
pub(crate) async fn launch(app: &App, fire: &Delivered<'_>) -> Result<Handled, Fault> {
    let (batch, message) = (fire.batch, fire.message);
    let early = message.launch_at - app.now();
    if early > MAX_WAIT {
        return Ok(again(early.num_seconds(), "too early"));
    }
    if message.limit {
        return limit::enforce(app, message).await;
    }
    let mut ahead = None;
    if early > Duration::zero() {
        ahead = Known::ahead(batch, message).await;
        app.time.sleep_until(message.launch_at).await;
    }
    let reads = READS + usize::from(ahead.is_some());
    for _ in 0..reads {
        let known = match ahead.take() {
            Some(known) => known,
            None => Known::now(batch, message).await?,
        };
        match try_launch(app, fire, &known).await {
            Ok(handled) | Err(Stop::Handled(handled)) => return Ok(handled),
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Changed) => {}
        }
    }
    Ok(again(1, "the schedule keeps changing"))
}

/// One attempt, with the schedule as it was read.
async fn try_launch(app: &App, fire: &Delivered<'_>, known: &Known) -> Result<Handled, Stop> {
    let (schedule, policy) = decide(app, fire.message, known).await?;
    let run = claim(app, fire, known, &schedule.clock).await?;
    if outlived(app, &run) {
        return Ok(too_slow());
    }
    let holds_slot = policy != Overlap::Allow;
    if holds_slot {
        take_slot(app, fire.batch, &run, schedule, policy).await?;
    }
    Ok(call(app, Claimed { run, schedule, holds_slot, batch: fire.batch }).await?)
}

/// Decides whether the fire is still valid, and under which overlap policy it starts. Under `queue`
/// it also waits for the run's turn.
async fn decide<'a>(
    app: &App,
    message: &Message,
    known: &'a Known,
) -> Result<(&'a Schedule, Overlap), Stop> {
    let (id, schedule) = (&message.run_id, known.schedule());
    let clock = schedule.map(|schedule| &schedule.clock);
    let schedule = match (judge(clock, id, message.revision), schedule) {
        (Verdict::Launch, Some(schedule)) => schedule,
        (Verdict::Launch, None) => return cancel(app, message, clock, Reason::Deleted).await,
        (Verdict::Cancel(reason), _) => return cancel(app, message, clock, reason).await,
    };
    let clock = &schedule.clock;
    if app.now() - message.launch_at > app.settings.horizon.grace {
        heed_lateness(app, message, clock).await?;
    }
    let own = match id.cause {
        // Only a run with a cause can have a policy of its own, or follow another run.
        Some(_) => own_policy(app, clock, id).await?,
        None => None,
    };
    let policy = own.unwrap_or(clock.policies.overlap_policy);
    if policy == Overlap::Queue {
        match slots::wait_for_turn(app, clock, id).await? {
            Decision::Start => {}
            Decision::Wait => {
                return Err(Stop::Handled(Handled::Nothing("the run waits for its turn")));
            }
            Decision::Skip(_) => return Err(Stop::Handled(Handled::Ended(Reason::QueueFull))),
        }
    }
    Ok((schedule, policy))
}

/// Lets the catch-up policy decide about a fire that comes after the grace, as the tick does about
/// fires that were not sent ahead. `Ok` if the fire launches now.
async fn heed_lateness(app: &App, message: &Message, clock: &Clock) -> Result<(), Stop> {
    let id = &message.run_id;
    let Some(run) = app.store.run(id).await? else { return Ok(()) };
    match lateness::judge(&run, clock, app.now(), &app.settings.horizon) {
        Lateness::Launch => when_due(app, run.launch_at),
        Lateness::Missed => cancel(app, message, Some(clock), Reason::Missed).await,
        Lateness::CatchUp(at) => {
            app.store.catch_up_run(id, at).await?;
            when_due(app, at)
        }
    }
}

/// `Ok` if a missed fire that is caught up at `at` may start.
fn when_due(app: &App, at: Instant) -> Result<(), Stop> {
    let early = at - app.now();
    match early <= MAX_WAIT {
        true => Ok(()),
        false => {
            Err(Stop::Handled(again(early.num_seconds(), "the fire was missed and is caught up")))
        }
    }
}

/// Cancels a fire that is no longer valid. Always returns `Err`.
async fn cancel<T>(
    app: &App,
    message: &Message,
    clock: Option<&Clock>,
    reason: Reason,
) -> Result<T, Stop> {
    let id = &message.run_id;
    let by = clock.map_or(message.revision, |clock| clock.revision);
    let cancelled = app.store.cancel_run(id, reason, by, app.now()).await?;
    if let Some(clock) = clock {
        // A launcher that held the run may have died before it released the slot.
        let holds_slot = clock.active.contains(&id.sort_key());
        if holds_slot && (cancelled || slots::is_over(app, id).await?) {
            slots::pass_on(app, clock, id).await?;
        } else {
            slots::wake_next(app, clock, id).await?;
        }
    }
    Err(Stop::Handled(match cancelled {
        true => Handled::Ended(reason),
        false => Handled::Nothing("the run launched or ended before"),
    }))
}

/// The overlap policy that a run with a cause was given. A run that follows another waits for the
/// success of that run.
async fn own_policy(app: &App, clock: &Clock, id: &RunId) -> Result<Option<Overlap>, Stop> {
    let Some(run) = app.store.run(id).await? else { return Ok(None) };
    match chain::follows(app, &run).await? {
        Follows::Starts => Ok(run.overlap_policy),
        Follows::Waits => {
            Err(Stop::Handled(again(UPSTREAM_RETRY_S, "the run that it follows has not ended")))
        }
        Follows::Never => {
            app.store.cancel_run(id, Reason::Upstream, clock.revision, app.now()).await?;
            Err(Stop::Handled(Handled::Ended(Reason::Upstream)))
        }
    }
}

/// Claims the run for this delivery.
async fn claim(app: &App, fire: &Delivered<'_>, known: &Known, clock: &Clock) -> Result<Run, Stop> {
    let id = &fire.message.run_id;
    let (now, this_call) = (app.now(), app.call_id());
    let claimant = Claimant {
        run: id,
        revision: clock.revision,
        message: fire.holder,
        call: &this_call,
        ahead: known.ahead,
    };
    match fire.batch.claim_run(&claimant, app.settings.launch_lease, now).await? {
        Claim::Won(run) => Ok(run),
        Claim::Changed => Err(Stop::Changed),
        // The run may hold a slot that was not taken yet when the clock was read.
        Claim::Over(_) if known.ahead => Err(Stop::Changed),
        Claim::Waits(until) if until - now <= MAX_WAIT => {
            app.time.sleep_until(until).await;
            Err(Stop::Changed)
        }
        Claim::Waits(until) => {
            let after_s = (until - now).num_seconds();
            Err(Stop::Handled(again(after_s, "the run waits for its next attempt")))
        }
        Claim::Held(until) => {
            let after_s = (until - now).num_seconds() + 1;
            let why = "an earlier delivery of this message is at work".to_owned();
            Err(Stop::Handled(Handled::Again { after_s, why, with: With::ThisMessage }))
        }
        Claim::Busy => Err(Stop::Handled(Handled::Nothing("another message has the run"))),
        Claim::Over(run) => {
            if run.status.is_terminal() && clock.active.contains(&id.sort_key()) {
                slots::pass_on(app, clock, id).await?;
            }
            Err(Stop::Handled(Handled::Nothing("the run ended before")))
        }
        Claim::Missing => Err(Stop::Handled(Handled::Nothing("there is no such run"))),
    }
}

/// Waits as long as jitter may have brought the run that holds the slot too close, so that a
/// schedule never skips its own fires because of its jitter. A longer wait is left to the queue.
/// `false`: there is nothing to wait for.
async fn wait_for_jitter(app: &App, run: &Run, clock: &Clock) -> Result<bool, Stop> {
    let until = waits_until(clock, &run.id);
    let left = until - app.now();
    if left <= Duration::zero() {
        return Ok(false);
    }
    if left > MAX_WAIT {
        let why = "jitter brought the run before it too close";
        give_back(app, run, why, Some(until)).await?;
        // In whole seconds, rounded down: the run then waits the rest, so that the fire behind it
        // does not take the slot first.
        return Err(Stop::Handled(again(left.num_seconds(), why)));
    }
    app.time.sleep_until(until).await;
    Ok(true)
}

/// Takes the slot that a claimed run needs. If there is none, gives the claim back or ends the run
/// as skipped.
async fn take_slot(
    app: &App,
    batch: &Batch,
    run: &Run,
    schedule: &Schedule,
    policy: Overlap,
) -> Result<(), Stop> {
    let mut taken = slots::take(app, &schedule.clock, policy, &run.id).await?;
    if matches!(taken, Taken::No(Decision::Skip(_)))
        && wait_for_jitter(app, run, &schedule.clock).await?
    {
        taken = slots::take(app, &schedule.clock, policy, &run.id).await?;
    }
    match taken {
        Taken::Yes => Ok(()),
        Taken::Changed => {
            give_back(app, run, "the schedule changed", None).await?;
            Err(Stop::Changed)
        }
        Taken::No(Decision::Skip(blocked)) => {
            let outcome = &Outcome {
                blocked_by: slots::holder(blocked),
                ..Outcome::because(Status::Skipped, Reason::Overlap)
            };
            let by = By::Launcher { batch, holds_slot: false };
            end(app, &End { run, schedule: Some(schedule), outcome, by }).await?;
            Err(Stop::Handled(Handled::Ended(Reason::Overlap)))
        }
        Taken::No(_) => {
            let why = "another run took the slot first";
            give_back(app, run, why, None).await?;
            Err(Stop::Handled(again(1, why)))
        }
    }
}

/// Gives a claimed run back before its target was called, to be tried again at `retry_at` or at
/// once.
async fn give_back(
    app: &App,
    run: &Run,
    why: &str,
    retry_at: Option<Instant>,
) -> Result<(), Fault> {
    let attempts = run.attempts_with(&format!("not called: {why}"), None, app.now());
    let not_called = run.not_called + 1;
    let back = GivenBack { attempts, retry_at, not_called, ..GivenBack::default() };
    app.store.give_back_run(&run.id, run.attempt, &back).await?;
    Ok(())
}
