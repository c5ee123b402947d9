//! Queued runs: runs that wait for their turn.

use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::{Run, Status};
use chrono::Duration;

use super::expression::Update;
use super::paging::{self, until};
use super::runs::read_run;
use super::{Store, conditions, text};
use crate::fault::Fault;

/// How far back queued runs are looked for, if the clock has no last claimed run yet.
const LOOK_BACK: Duration = Duration::hours(2);

impl Store {
    /// Makes a run QUEUED that no launcher has claimed. `false`: the run is QUEUED already, or has
    /// launched or ended.
    pub async fn queue_run(&self, id: &RunId) -> Result<bool, Fault> {
        let update = Update::default()
            .set("status", text(Status::Queued.as_str()))
            .naming_status()
            .given(":enqueued", text(Status::Enqueued.as_str()));
        self.update_run(id, update, conditions::RUN_IS_ENQUEUED, "queue run").await
    }

    /// The runs between the last claimed run and `before` that have not ended, read consistently.
    pub async fn earlier_runs(
        &self,
        before: &RunId,
        last_claimed: Option<&str>,
        now: Instant,
    ) -> Result<Vec<(String, Status)>, Fault> {
        let me = before.sort_key();
        let from = from(last_claimed.filter(|last| **last < *me), now);
        if from >= me {
            return Ok(Vec::new());
        }
        let wanted = [Status::Enqueued, Status::Queued, Status::Started];
        let found = self.runs_between(&before.schedule_id, &from, &me, &wanted, usize::MAX).await?;
        let keys = found.into_iter().map(|run| (run.id.sort_key(), run.status));
        Ok(keys.filter(|(key, _)| *key != me).collect())
    }

    /// The queued run whose turn comes next, if there is one.
    pub async fn next_queued(
        &self,
        schedule: &ScheduleId,
        last_claimed: Option<&str>,
        now: Instant,
    ) -> Result<Option<Run>, Fault> {
        let from = from(last_claimed, now);
        // A tilde sorts after every time.
        let found = self.runs_between(schedule, &from, "~", &[Status::Queued], 1).await?;
        Ok(found.into_iter().next())
    }

    /// The runs in one of these statuses, oldest first, both ends included.
    pub(super) async fn runs_between(
        &self,
        schedule: &ScheduleId,
        from: &str,
        to: &str,
        statuses: &[Status],
        limit: usize,
    ) -> Result<Vec<Run>, Fault> {
        let places: Vec<_> = (0..statuses.len()).map(|n| format!(":s{n}")).collect();
        let mut query = self
            .client
            .query()
            .table_name(&self.runs)
            .consistent_read(true)
            .key_condition_expression("schedule_id = :id AND run_at BETWEEN :from AND :to")
            .filter_expression(format!("#status IN ({})", places.join(", ")))
            .expression_attribute_names("#status", "status")
            .expression_attribute_values(":id", text(schedule.as_str()))
            .expression_attribute_values(":from", text(from))
            .expression_attribute_values(":to", text(to));
        for (place, status) in places.iter().zip(statuses) {
            query = query.expression_attribute_values(place, text(status.as_str()));
        }
        let mut found = Vec::new();
        let take = |item| {
            found.push(read_run(item)?);
            until(&found, limit)
        };
        paging::each(query, format!("read runs of {schedule}"), take).await?;
        Ok(found)
    }
}

fn from(last_claimed: Option<&str>, now: Instant) -> String {
    last_claimed.map_or_else(|| instant::text(now - LOOK_BACK), str::to_owned)
}
