//! Backfills: items beside the clock, which are in the due index while the backfill runs.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem, Update as TransactUpdate};
use belfry_core::fire::backfill::{Backfill, State};
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::Status;
use belfry_core::schedule::Clock;
use futures::FutureExt;

use super::expression::Update;
use super::paging;
use super::runs::read_run;
use super::schedules::{Change, saved};
use super::{
    FORMAT, Item, MAX_BATCH, Saved, Store, conditions, number, part_key, run_key, string, text,
};
use crate::cloud::store::tables::{BACKFILL, DUE_SHARD, EXPIRES_AT, NEXT_RUN_AT, RUN_AT};
use crate::fault::{Fault, Unreadable, sdk};

/// Backfills of one schedule at work at once that are looked at in one transaction; DynamoDB takes
/// no more than 100 writes.
const MAX_BESIDE: usize = 99;

impl Store {
    /// One backfill, read consistently.
    pub async fn backfill(
        &self,
        schedule: &ScheduleId,
        backfill_id: &str,
    ) -> Result<Option<Backfill>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.schedules)
            .set_key(Some(part_key(schedule, &part(backfill_id))))
            .consistent_read(true)
            .send()
            .boxed()
            .await
            .map_err(sdk(format!("read backfill {backfill_id} of {schedule}")))?;
        answer.item.map(|item| read_backfill(schedule, item)).transpose()
    }

    /// The backfills of a schedule, read consistently.
    pub async fn backfills(&self, schedule: &ScheduleId) -> Result<Vec<Backfill>, Fault> {
        let query = self
            .client
            .query()
            .table_name(&self.schedules)
            .consistent_read(true)
            .key_condition_expression("schedule_id = :id AND begins_with(sk, :backfill)")
            .expression_attribute_values(":id", text(schedule.as_str()))
            .expression_attribute_values(":backfill", text(BACKFILL));
        let items = paging::all(query, format!("list backfills of {schedule}")).await?;
        items.into_iter().map(|item| read_backfill(schedule, item)).collect()
    }

    /// Writes a new backfill and its entry in the change log. A tick looks at the backfill from
    /// `look_at` on.
    pub async fn create_backfill(
        &self,
        schedule: &ScheduleId,
        backfill: &Backfill,
        look_at: Instant,
        change: &Change,
    ) -> Result<Saved, Fault> {
        let doing = format!("create backfill {} of {schedule}", backfill.backfill_id);
        let put = Put::builder()
            .table_name(&self.schedules)
            .set_item(Some(self.backfill_item(schedule, backfill, look_at)?))
            .condition_expression(conditions::BACKFILL_IS_NEW)
            .build()
            .map_err(sdk(doing.clone()))?;
        let writes =
            vec![TransactWriteItem::builder().put(put).build(), self.put_change(schedule, change)?];
        Ok(saved(&self.write_together(writes, &doing).await?))
    }

    /// Writes the progress of a backfill, unless another function has written it since it was at
    /// version `seen`, or has written one of those `beside` it since they were read.
    pub async fn save_backfill(
        &self,
        schedule: &ScheduleId,
        seen: u64,
        backfill: &Backfill,
        look_at: Instant,
        beside: &[Backfill],
    ) -> Result<Saved, Fault> {
        let at_work: Vec<_> = beside.iter().filter(|b| b.state == State::Running).collect();
        if !at_work.is_empty() {
            return self.save_beside(schedule, seen, backfill, look_at, &at_work).await;
        }
        let saved = self
            .client
            .put_item()
            .table_name(&self.schedules)
            .set_item(Some(self.backfill_item(schedule, backfill, look_at)?))
            .condition_expression(conditions::BACKFILL_IS_AS_READ)
            .expression_attribute_values(":version", number(seen))
            .expression_attribute_names("#version", "version")
            .send()
            .boxed()
            .await;
        match saved {
            Ok(_) => Ok(Saved::Yes),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(Saved::Stale),
                _ => {
                    let doing = format!("save backfill {} of {schedule}", backfill.backfill_id);
                    Err(sdk(doing)(error))
                }
            },
        }
    }

    /// Writes the progress of a backfill in one transaction with a look at the others. Of two
    /// backfills that decide about the same fire at once, one is refused and decides again.
    async fn save_beside(
        &self,
        schedule: &ScheduleId,
        seen: u64,
        backfill: &Backfill,
        look_at: Instant,
        at_work: &[&Backfill],
    ) -> Result<Saved, Fault> {
        let doing = format!("save backfill {} of {schedule}", backfill.backfill_id);
        let put = Put::builder()
            .table_name(&self.schedules)
            .set_item(Some(self.backfill_item(schedule, backfill, look_at)?))
            .condition_expression(conditions::BACKFILL_IS_AS_READ)
            .expression_attribute_values(":version", number(seen))
            .expression_attribute_names("#version", "version")
            .build()
            .map_err(sdk(doing.clone()))?;
        let mut writes = vec![TransactWriteItem::builder().put(put).build()];
        for other in at_work.iter().take(MAX_BESIDE) {
            let update = Update::default()
                .set("looked_at_by", text(&backfill.backfill_id))
                .given(":version", number(other.version))
                .naming("#version", "version");
            let update = update
                .in_transaction(TransactUpdate::builder())
                .table_name(&self.schedules)
                .set_key(Some(part_key(schedule, &part(&other.backfill_id))))
                .condition_expression(conditions::BACKFILL_IS_AS_READ)
                .build()
                .map_err(sdk(doing.clone()))?;
            writes.push(TransactWriteItem::builder().update(update).build());
        }
        Ok(saved(&self.write_together(writes, &doing).await?))
    }

    /// The statuses of some runs of an owner, by their sort keys. Runs that do not exist are left out,
    /// and those that another owner had under the same id.
    pub async fn run_states(
        &self,
        owner: &str,
        ids: &[RunId],
    ) -> Result<BTreeMap<String, Status>, Fault> {
        let mut states = BTreeMap::new();
        for some in ids.chunks(MAX_BATCH) {
            let keys = some.iter().map(run_key).collect();
            for item in self.get_all(&self.runs, keys, true).await? {
                let key = string(&item, RUN_AT).unwrap_or_default().to_owned();
                let run = read_run(item)?;
                if run.owner == owner {
                    states.insert(key, run.status);
                }
            }
        }
        Ok(states)
    }

    /// Those of the given fires that have run, or will run, on schedule or in a backfill of those
    /// `beside`.
    pub async fn ran(
        &self,
        clock: &Clock,
        fires: &[Instant],
        beside: &[Backfill],
    ) -> Result<BTreeSet<Instant>, Fault> {
        let schedule = &clock.schedule_id;
        let mut ids: Vec<_> = fires.iter().map(|at| RunId::scheduled(schedule, *at)).collect();
        for other in beside {
            let theirs = fires.iter().filter(|at| (other.from..=other.to).contains(at));
            ids.extend(theirs.map(|at| other.run_id(schedule, *at)));
        }
        let states = self.run_states(&clock.owner, &ids).await?;
        let ran = |(_, status): &(String, Status)| {
            !matches!(status, Status::Failed | Status::Skipped | Status::Abandoned)
        };
        let fire = |(key, _): (String, Status)| instant::parse(key.split('~').next()?);
        // A run that a backfill has decided on may not have a record yet.
        let at_work = |at: &Instant, other: &Backfill| {
            let has_record = states.contains_key(&other.run_id(schedule, *at).sort_key());
            other.state == State::Running
                && other.active.contains(&instant::text(*at))
                && !has_record
        };
        let decided = |at: &&Instant| beside.iter().any(|other| at_work(at, other));
        let decided: Vec<_> = fires.iter().filter(decided).copied().collect();
        Ok(states.into_iter().filter(ran).filter_map(fire).chain(decided).collect())
    }

    fn backfill_item(
        &self,
        schedule: &ScheduleId,
        backfill: &Backfill,
        look_at: Instant,
    ) -> Result<Item, Fault> {
        let doing = || format!("write backfill {}", backfill.backfill_id);
        let mut item: Item = serde_dynamo::to_item(backfill).map_err(|e| Fault::new(doing(), e))?;
        item.extend(part_key(schedule, &part(&backfill.backfill_id)));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        if !backfill.is_over() {
            item.insert(DUE_SHARD.into(), self.due_shard(schedule));
            item.insert(NEXT_RUN_AT.into(), text(instant::text(look_at)));
        } else {
            item.insert(EXPIRES_AT.into(), self.expires_at(look_at));
        }
        Ok(item)
    }
}

fn part(backfill_id: &str) -> String {
    format!("{BACKFILL}{backfill_id}")
}

fn read_backfill(schedule: &ScheduleId, item: Item) -> Result<Backfill, Fault> {
    serde_dynamo::from_item(item)
        .map_err(|e| Fault::new(format!("read backfill of {schedule}"), Unreadable(e.to_string())))
}
