//! The time limit of a tracked run. When the target has accepted the run, a message is sent that
//! arrives at the limit and ends the run if it is still going, within seconds. If the message is
//! lost, recovery ends the run, within minutes.

use belfry_core::recovery;
use belfry_core::run::{Reason, Run, Status};
use belfry_core::schedule::Schedule;
use tracing::{info, warn};

use super::handled::{Handled, again};
use crate::app::App;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::message::Message;
use crate::cloud::store::{Outcome, Stored};
use crate::ending::{By, End, end};
use crate::fault::Fault;
use crate::metrics::{self, Metric};

/// Sends the message that ends an accepted run at its limit. A schedule without a limit of its own
/// has the limit of the deployment, which is long: recovery sees to that one, without a message for
/// every run.
pub(crate) async fn watch(app: &App, run: &Run, schedule: &Schedule) {
    let Some(max_runtime) = schedule.spec.options.max_runtime() else { return };
    let at = recovery::limit(run, Some(max_runtime), &app.settings.recovery);
    let sent = app.queue.send(&[Parcel::limit(run, at)], app.now()).await;
    if let Some(Err(fault)) = sent.into_iter().next() {
        warn!(run_id = %run.id, %fault, "time limit not sent: recovery will enforce it");
    }
}

/// Ends a run whose time is over. The limit is the schedule's present one.
pub(crate) async fn enforce(app: &App, message: &Message) -> Result<Handled, Fault> {
    let id = &message.run_id;
    let going = |run: &Run| run.status == Status::Started && run.lease_until.is_none();
    let Some(run) = app.store.run(id).await?.filter(going) else {
        return Ok(Handled::Nothing("the run ended within its time"));
    };
    let schedule = match app.store.schedule(&id.schedule_id).await? {
        Stored::Schedule(schedule) => Some(schedule),
        _ => None,
    };
    let max_runtime = schedule.as_ref().and_then(|schedule| schedule.spec.options.max_runtime());
    let left = recovery::limit(&run, max_runtime, &app.settings.recovery) - app.now();
    if left > chrono::Duration::zero() {
        return Ok(again(left.num_seconds() + 1, "the run has time left"));
    }
    let outcome = &Outcome::because(Status::Failed, Reason::Timeout);
    if end(app, &End { run: &run, schedule: schedule.as_deref(), outcome, by: By::Recovery })
        .await?
    {
        info!(run_id = %id, "run ended by its time limit");
        app.count(&[Metric::count(metrics::RUNS_TIMED_OUT, 1)]);
    }
    Ok(Handled::Nothing("the run took too long"))
}
