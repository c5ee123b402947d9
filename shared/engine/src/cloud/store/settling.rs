//! Settling: what a change writes to runs that are on their way, so that no launcher launches them
//! by the definition before the change.

use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::{Reason, Run, Status, Trigger};

use super::expression::Update;
use super::runs::{reason, time, unlaunched};
use super::{Store, conditions, number, text};
use crate::cloud::store::tables::EXPIRES_AT;
use crate::fault::Fault;

impl Store {
    /// The runs of a schedule from `from` on that have not ended, read consistently.
    pub async fn unended_runs(
        &self,
        schedule: &ScheduleId,
        from: Instant,
    ) -> Result<Vec<Run>, Fault> {
        let wanted = [Status::Enqueued, Status::Queued, Status::Started];
        // A tilde sorts after every time.
        self.runs_between(schedule, &instant::text(from), "~", &wanted, usize::MAX).await
    }

    /// Cancels an unlaunched run, by the definition of `revision`.
    pub async fn cancel_run(
        &self,
        id: &RunId,
        why: Reason,
        revision: u64,
        now: Instant,
    ) -> Result<bool, Fault> {
        // A missed fire stays missed, whatever a newer definition says.
        let replaceable = why != Reason::Missed;
        let update = Update::default()
            .set("status", text(Status::Skipped.as_str()))
            .set_if("reason", reason(Some(why)))
            .set_if("cancelled_by", replaceable.then(|| number(revision)))
            .set("finished_at", time(now))
            .set(EXPIRES_AT, self.expires_at(now));
        self.update_run(id, unlaunched(update), conditions::RUN_IS_UNLAUNCHED, "cancel run").await
    }

    /// Records that the catch-up policy launches a missed fire, at `launch_at`.
    pub async fn catch_up_run(&self, id: &RunId, launch_at: Instant) -> Result<bool, Fault> {
        let update = Update::default()
            .set("trigger", text(String::from(Trigger::Catchup)))
            .set("launch_at", time(launch_at));
        self.update_run(id, unlaunched(update), conditions::RUN_IS_UNLAUNCHED, "catch up").await
    }

    /// Confirms an unlaunched run under `revision`, so that no launcher decides about it by an
    /// older one.
    pub async fn confirm_run(&self, id: &RunId, revision: u64) -> Result<bool, Fault> {
        let update = unlaunched(Update::default().set("revision", number(revision)));
        self.update_run(id, update, conditions::RUN_IS_UNLAUNCHED, "confirm run").await
    }

    /// Marks a run that a launcher holds with `revision`. If the launcher gives the run back, no
    /// launcher can claim it by an older revision.
    pub async fn settle_started_run(&self, id: &RunId, revision: u64) -> Result<bool, Fault> {
        let update = unlaunched(Update::default().set("settled_by", number(revision)))
            .given(":started", text(Status::Started.as_str()));
        self.update_run(id, update, conditions::RUN_IS_UNENDED, "settle run").await
    }

    /// Marks the run so that a launcher which read the schedule ahead reads it again. For changes
    /// that do not raise the revision.
    pub async fn invalidate_preread(&self, id: &RunId) -> Result<bool, Fault> {
        let update = unlaunched(Update::default().set("settled_by", number(0)))
            .given(":started", text(Status::Started.as_str()));
        // A mark that a change of the definition wrote is stricter, and stays.
        let condition =
            format!("{} AND {}", conditions::RUN_IS_UNENDED, conditions::NO_CHANGE_MET_IT);
        self.update_run(id, update, &condition, "invalidate the pre-read schedule of").await
    }
}
