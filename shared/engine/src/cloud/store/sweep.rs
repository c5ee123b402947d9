//! The sweep: the index of runs by the minute in which recovery looks at them, and recovery's
//! bookmark.

use belfry_core::id::RunId;
use belfry_core::instant::{self, Instant};
use belfry_core::run::{Run, Status};
use chrono::{Duration, DurationRound};

use super::expression::Update;
use super::paging;
use super::runs::{Outcome, kept, read_run, reason, time, unlaunched};
use super::{FORMAT, Item, MAX_BATCH, Store, conditions, number, string, text};
use crate::cloud::store::tables::{
    EXPIRES_AT, PART, RECOVERY, RUN_AT, SCHEDULE_ID, SWEEP, SWEEP_INDEX,
};
use crate::fault::{Fault, sdk};

impl Store {
    /// The key of the sweep index: the minute in which recovery looks at the run, no earlier than
    /// `look_at`, and the shard of the run.
    pub(super) fn sweep_bucket(&self, id: &RunId, look_at: Instant) -> String {
        let minute = look_at.duration_round_up(Duration::minutes(1)).unwrap_or(look_at);
        bucket(minute, id.schedule_id.shard(self.due_shards))
    }

    /// The runs that recovery looks at in `minute`, read consistently.
    pub async fn swept_runs(
        &self,
        minute: Instant,
        shard: u32,
    ) -> Result<Vec<Result<Run, Fault>>, Fault> {
        let query = self
            .client
            .query()
            .table_name(&self.runs)
            .index_name(SWEEP_INDEX)
            .key_condition_expression("#sweep = :sweep")
            .expression_attribute_names("#sweep", SWEEP)
            .expression_attribute_values(":sweep", text(bucket(minute, shard)));
        let mut keys = paging::all(query, "query the sweep".to_owned()).await?;
        for key in &mut keys {
            key.retain(|name, _| name == SCHEDULE_ID || name == RUN_AT);
        }
        let mut found = Vec::with_capacity(keys.len());
        for some in keys.chunks(MAX_BATCH) {
            let runs = self.get_all(&self.runs, some.to_vec(), true).await?;
            found.extend(runs.into_iter().map(read_run));
        }
        Ok(found)
    }

    /// Makes recovery look at a run again, no earlier than `look_at`.
    pub async fn look_again(&self, id: &RunId, look_at: Instant) -> Result<(), Fault> {
        let update = Update::default().set(SWEEP, text(self.sweep_bucket(id, look_at)));
        self.update_run(id, update, conditions::RUN_EXISTS, "schedule the next sweep of").await?;
        Ok(())
    }

    /// Counts an attempt to recover a run and makes the run claimable. `false`: the run has changed
    /// since recovery read it.
    pub async fn recover_run(
        &self,
        seen: &Run,
        look_at: Instant,
        now: Instant,
    ) -> Result<bool, Fault> {
        let attempts = seen.recovery.map_or(0, |recovery| recovery.attempts) + 1;
        let recovery = Item::from([
            ("attempts".to_owned(), number(attempts)),
            ("recovery_attempt_time".to_owned(), time(now)),
        ]);
        let what = "no record: its launcher stopped, and recovery found the run";
        let attempts = match seen.status {
            Status::Started => kept(&seen.attempts_with(what, None, now)),
            _ => None,
        };
        let update = Update::default()
            .set("status", text(Status::Enqueued.as_str()))
            .set_if("attempts", attempts)
            .set("recovery", aws_sdk_dynamodb::types::AttributeValue::M(recovery))
            .set(SWEEP, text(self.sweep_bucket(&seen.id, look_at)))
            .remove("lease_until")
            .remove("holder")
            .remove("claim")
            .remove("retry_at")
            .naming_status()
            .given(":seen", text(seen.status.as_str()))
            .given(":fence", number(seen.attempt));
        self.update_run(&seen.id, update, conditions::RUN_IS_AS_READ, "recover run").await
    }

    /// Abandons a run that never launched. `false`: it has launched or ended meanwhile.
    pub async fn abandon_run(
        &self,
        id: &RunId,
        outcome: &Outcome,
        now: Instant,
    ) -> Result<bool, Fault> {
        let update = Update::default()
            .set("status", text(outcome.status.as_str()))
            .set_if("reason", reason(outcome.reason))
            .set_if("error", outcome.error.as_ref().map(text))
            .set("finished_at", time(now))
            .set(EXPIRES_AT, self.expires_at(now));
        self.update_run(id, unlaunched(update), conditions::RUN_IS_UNLAUNCHED, "abandon run").await
    }

    /// The last minute that recovery has swept.
    pub async fn bookmark(&self) -> Result<Option<Instant>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.schedules)
            .set_key(Some(bookmark_key()))
            .consistent_read(true)
            .send()
            .await
            .map_err(sdk("read recovery's bookmark"))?;
        let swept = answer.item.as_ref().and_then(|item| string(item, "swept_until"));
        Ok(swept.and_then(instant::parse))
    }

    /// Moves the bookmark. Two recoveries may do so at once: sweeping a minute twice does no harm.
    pub async fn move_bookmark(&self, swept_until: Instant) -> Result<(), Fault> {
        let mut item = bookmark_key();
        item.insert("swept_until".into(), text(instant::text(swept_until)));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        self.client
            .put_item()
            .table_name(&self.schedules)
            .set_item(Some(item))
            .send()
            .await
            .map_err(sdk("move recovery's bookmark"))?;
        Ok(())
    }
}

fn bucket(minute: Instant, shard: u32) -> String {
    format!("{}#{shard}", instant::text(minute))
}

fn bookmark_key() -> Item {
    Item::from([(SCHEDULE_ID.into(), text(RECOVERY)), (PART.into(), text("bookmark"))])
}
