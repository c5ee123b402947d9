//! The call of a target for a claimed run, and what the target's answer does to the run.

use belfry_core::encoding::cut;
use belfry_core::run::{Reason, Run, Status, attempts};
use belfry_core::schedule::Schedule;
use belfry_core::workflow::{Completion, Workflow};
use chrono::Duration;

use super::handled::{Handled, With, again};
use super::limit;
use crate::app::App;
use crate::cloud::store::{Batch, GivenBack, Outcome};
use crate::cloud::targets::{Accepted, Launch, Refused};
use crate::ending::{By, End, end};
use crate::fault::Fault;

/// A run that this launcher has claimed.
pub(crate) struct Claimed<'a> {
    pub(crate) run: Run,
    pub(crate) schedule: &'a Schedule,
    pub(crate) holds_slot: bool,
    pub(crate) batch: &'a Batch,
}

impl Claimed<'_> {
    async fn end(&self, app: &App, outcome: &Outcome) -> Result<(), Fault> {
        let by = By::Launcher { batch: self.batch, holds_slot: self.holds_slot };
        let schedule = Some(self.schedule);
        end(app, &End { run: &self.run, schedule, outcome, by }).await?;
        Ok(())
    }
}

/// Calls the target of a claimed run and records its answer.
pub(crate) async fn call(app: &App, claimed: Claimed<'_>) -> Result<Handled, Fault> {
    let Claimed { run, schedule, batch, .. } = &claimed;
    let (workflow_id, version) = (&schedule.clock.workflow_id, schedule.clock.version);
    let Some(workflow) = app.workflow(workflow_id, version).await? else {
        let error = Some(format!("workflow {workflow_id} version {version} is gone"));
        let outcome = Outcome::because(Status::Failed, Reason::WorkflowMissing);
        claimed.end(app, &Outcome { error, ..outcome }).await?;
        return Ok(Handled::Ended(Reason::WorkflowMissing));
    };
    if outlived(app, run) {
        return Ok(too_slow());
    }
    let launch = Launch { run, schedule, workflow: &workflow };
    let calling = batch.calling();
    let answer = app.targets.launch(&launch, app.now()).await;
    drop(calling);
    match answer {
        Ok(accepted) => record(app, &claimed, &workflow, accepted).await,
        Err(refused) => retry_or_fail(app, &claimed, workflow.completion, &refused).await,
    }
}

/// Whether a claim has outlived its lease. Another delivery may then have taken over the run and
/// its slot, and a call made now would run beside the runs that came after it.
pub(crate) fn outlived(app: &App, run: &Run) -> bool {
    run.lease_until.is_some_and(|until| until <= app.now())
}

pub(crate) fn too_slow() -> Handled {
    let why = "the lease was over before the call".to_owned();
    Handled::Again { after_s: 1, why, with: With::ThisMessage }
}

async fn record(
    app: &App,
    claimed: &Claimed<'_>,
    workflow: &Workflow,
    accepted: Accepted,
) -> Result<Handled, Fault> {
    let done = accepted.status.or(match workflow.completion {
        Completion::OnLaunch => Some(Status::Success),
        Completion::Tracked => None,
    });
    match done {
        Some(status) => {
            let outcome = Outcome {
                reason: accepted.status.filter(|s| *s == Status::Failed).map(|_| Reason::Executor),
                error: accepted.error,
                result: accepted.result,
                external_run_id: accepted.external_run_id,
                ..Outcome::of(status)
            };
            claimed.end(app, &outcome).await?;
        }
        // The executor reports the end. From here on the run is not launched again, and its time
        // is limited.
        None => {
            let (run, name) = (&claimed.run, accepted.external_run_id.as_deref());
            if app.store.link_run(&run.id, run.attempt, name).await? {
                limit::watch(app, run, claimed.schedule).await;
            }
        }
    }
    Ok(Handled::Launched { drift_ms: claimed.run.drift_ms().unwrap_or(0), ended: done })
}

async fn retry_or_fail(
    app: &App,
    claimed: &Claimed<'_>,
    completion: Completion,
    refused: &Refused,
) -> Result<Handled, Fault> {
    let Claimed { run, schedule, holds_slot, .. } = claimed;
    let (now, error) = (app.now(), cut(&refused.to_string()));
    let attempts = run.attempts_with(&refused.message, refused.answer.as_deref(), now);
    let options = &schedule.spec.options;
    let most = options.max_attempts.unwrap_or(app.settings.house.launch_attempts);
    if !refused.retryable || run.calls() >= most {
        let outcome = Outcome::because(Status::Failed, Reason::LaunchFailed);
        claimed.end(app, &Outcome { error: Some(error), attempts, ..outcome }).await?;
        return Ok(Handled::Ended(Reason::LaunchFailed));
    }
    // If the executor of a tracked run may have received it, the run may be going on: it keeps its
    // slot, and the next attempt finds it.
    let may_go_on = refused.unheard && completion == Completion::Tracked;
    if *holds_slot && !may_go_on && !outlived(app, run) {
        // The slot is released before the run is given back. After that another message may claim
        // the run at once and take a slot, and a release would then free the slot of that newer
        // claim. No queued run is woken: under `queue` the runs behind this one wait for it.
        app.store.release_slot(&run.id.schedule_id, &run.id.sort_key()).await?;
    }
    let max_runtime = options.max_runtime_s.map(|s| Duration::seconds(i64::from(s)));
    let max_age = app.settings.recovery.max_age;
    let wait = attempts::wait(run, refused.retry_after, max_runtime, max_age, now);
    let (not_called, retry_at) = (run.not_called, Some(now + wait));
    let back = GivenBack { error: Some(error), attempts, retry_at, not_called };
    app.store.give_back_run(&run.id, run.attempt, &back).await?;
    // It is logged, and the answer of a target may repeat the payload.
    Ok(again(wait.num_seconds(), &refused.message))
}
