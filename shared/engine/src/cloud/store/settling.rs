//! Settling: what a change writes on runs that are on their way, so that nobody launches them by what
//! was before it.

use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::{Reason, Run, Status};

use super::expression::Update;
use super::runs::{reason, time, unlaunched};
use super::{Store, conditions, number, text};
use crate::cloud::store::tables::EXPIRES_AT;
use crate::fault::Fault;

impl Store {
    /// The runs of a schedule that have not ended, from `from` on, as they are at this moment.
    pub async fn unended_runs(
        &self,
        schedule: &ScheduleId,
        from: Instant,
    ) -> Result<Vec<Run>, Fault> {
        let wanted = [Status::Enqueued, Status::Queued, Status::Started];
        // A tilde sorts behind every time.
        self.runs_between(schedule, &instant::text(from), "~", &wanted, usize::MAX).await
    }

    /// Records that a fire will not launch, by the word of `revision`.
    pub async fn cancel_run(
        &self,
        id: &RunId,
        why: Reason,
        revision: u64,
        now: Instant,
    ) -> Result<bool, Fault> {
        let update = Update::default()
            .set("status", text(Status::Skipped.as_str()))
            .set_if("reason", reason(Some(why)))
            .set("cancelled_by", number(revision))
            .set("finished_at", time(now))
            .set(EXPIRES_AT, self.expires_at(now));
        self.update_run(id, unlaunched(update), conditions::RUN_IS_UNLAUNCHED, "cancel run").await
    }

    /// Records that `revision` has this fire too, so that no launcher judges it by an older one.
    pub async fn confirm_run(&self, id: &RunId, revision: u64) -> Result<bool, Fault> {
        let update = unlaunched(Update::default().set("revision", number(revision)));
        self.update_run(id, update, conditions::RUN_IS_UNLAUNCHED, "confirm run").await
    }

    /// Records that a run which is in a launcher's hands met `revision`: if it comes back from
    /// there, nobody claims it by an older one.
    pub async fn settle_started_run(&self, id: &RunId, revision: u64) -> Result<bool, Fault> {
        let update = unlaunched(Update::default().set("settled_by", number(revision)))
            .given(":started", text(Status::Started.as_str()));
        self.update_run(id, update, conditions::RUN_IS_UNENDED, "settle run").await
    }

    /// Marks the run so that a launcher which read the schedule ahead reads it again. For changes
    /// that leave the definition as it is.
    pub async fn invalidate_preread(&self, id: &RunId) -> Result<bool, Fault> {
        let update = unlaunched(Update::default().set("settled_by", number(0)))
            .given(":started", text(Status::Started.as_str()));
        // The revision that a change of the definition wrote there says more.
        let condition =
            format!("{} AND {}", conditions::RUN_IS_UNENDED, conditions::NO_CHANGE_MET_IT);
        self.update_run(id, update, &condition, "invalidate what was read ahead of").await
    }
}
