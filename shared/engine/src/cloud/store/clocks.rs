//! Clocks: finding those that are due, advancing them, and taking and releasing their slots.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::schedule::Clock;
use belfry_core::tick::fair::Due;
use belfry_core::tick::share::{Duty, Place, Stretch};
use futures::FutureExt;

use super::expression::Update;
use super::{Item, Store, conditions, number, part_key, string, text};
use crate::cloud::store::tables::{
    CLOCK, DUE_INDEX, DUE_SHARD, NEXT_RUN_AT, OWNER, PART, SCHEDULE_ID,
};
use crate::fault::{Fault, Unreadable, sdk};

/// One page of the due entries of a shard.
pub struct DuePage {
    /// The due clocks.
    pub clocks: Vec<Due>,
    /// The other due tasks: ends of pauses and steps of backfills.
    pub duties: Vec<Duty>,
    /// The last entry of this page, after which the next page begins; `None` if this is the last
    /// page.
    pub rest: Option<Place>,
}

/// The answer to a run that asks for a slot.
#[derive(Debug, PartialEq, Eq)]
pub enum Slot {
    /// The run holds a slot.
    Taken,
    /// Other runs hold all slots; these are their sort keys.
    Full(BTreeSet<String>),
    /// The definition has changed since the clock was read.
    Changed,
}

impl Store {
    /// The due entries of a stretch: at most `limit` entries whose `next_run_at` is no later than
    /// `until`, oldest first.
    pub async fn due(
        &self,
        stretch: &Stretch,
        until: Instant,
        limit: usize,
    ) -> Result<DuePage, Fault> {
        let shard = stretch.shard;
        let page = self
            .client
            .query()
            .table_name(&self.schedules)
            .index_name(DUE_INDEX)
            .key_condition_expression("#shard = :shard AND #next <= :until")
            .expression_attribute_names("#shard", DUE_SHARD)
            .expression_attribute_names("#next", NEXT_RUN_AT)
            .expression_attribute_values(":shard", text(shard.to_string()))
            .expression_attribute_values(":until", text(instant::text(until)))
            .set_exclusive_start_key(stretch.after.as_ref().map(|place| due_key(shard, place)))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .boxed()
            .await
            .map_err(sdk(format!("query due clocks of shard {shard}")))?;
        let rest = page.last_evaluated_key.as_ref().and_then(place);
        let mut due = DuePage { clocks: Vec::new(), duties: Vec::new(), rest };
        for item in page.items.unwrap_or_default() {
            let id = string(&item, SCHEDULE_ID).and_then(|id| id.parse::<ScheduleId>().ok());
            let Some(schedule_id) = id else { continue };
            let text = |name| string(&item, name).unwrap_or_default().to_owned();
            match string(&item, PART) {
                None | Some(CLOCK) => due.clocks.push(Due {
                    schedule_id,
                    owner: text(OWNER),
                    next_run_at: text(NEXT_RUN_AT),
                }),
                Some(part) => {
                    due.duties.push(Duty { schedule_id, task: part.to_owned().into() });
                }
            }
        }
        Ok(due)
    }

    /// The clocks of at most a hundred schedules. A deleted clock is left out. A clock that cannot
    /// be read is an error of its own and does not affect the others.
    pub async fn clocks(&self, ids: &[ScheduleId]) -> Result<Vec<Result<Clock, Fault>>, Fault> {
        let items = self.clock_items(ids).await?;
        Ok(items.into_iter().map(read_clock).collect())
    }

    /// The same clocks, each with whether the due index holds it.
    pub async fn placed_clocks(
        &self,
        ids: &[ScheduleId],
    ) -> Result<Vec<Result<(Clock, bool), Fault>>, Fault> {
        let placed = |item: Item| {
            let is_indexed = item.contains_key(DUE_SHARD);
            read_clock(item).map(|clock| (clock, is_indexed))
        };
        Ok(self.clock_items(ids).await?.into_iter().map(placed).collect())
    }

    async fn clock_items(&self, ids: &[ScheduleId]) -> Result<Vec<Item>, Fault> {
        let keys = ids.iter().map(|id| part_key(id, CLOCK)).collect();
        let items = self.get_all(&self.schedules, keys, false).await?;
        Ok(items.into_iter().filter(|item| !is_deleted(item)).collect())
    }

    /// Moves a clock past the fires that were handled. `false`: another tick or an edit changed the
    /// clock.
    pub async fn advance(
        &self,
        clock: &Clock,
        next: Option<Instant>,
        newest: Option<&RunId>,
    ) -> Result<bool, Fault> {
        let Some(seen) = clock.next_run_at else { return Ok(false) };
        let update = self
            .moving(clock, next, newest)
            .given(":seen", text(instant::text(seen)))
            .given(":revision", number(clock.revision));
        let request = self
            .client
            .update_item()
            .table_name(&self.schedules)
            .set_key(Some(part_key(&clock.schedule_id, CLOCK)))
            .condition_expression(conditions::CLOCK_IS_AS_READ);
        match update.on(request).send().boxed().await {
            Ok(_) => Ok(true),
            Err(error) if is_refused(&error) => Ok(false),
            Err(error) => Err(sdk(format!("advance clock {}", clock.schedule_id))(error)),
        }
    }

    /// The update that moves a clock.
    pub(super) fn moving(
        &self,
        clock: &Clock,
        next: Option<Instant>,
        newest: Option<&RunId>,
    ) -> Update {
        let update = match next {
            // The index entry is rewritten in any case, so the shard is computed anew: after
            // DUE_SHARDS was raised, a clock moves to its new shard with its next fire.
            Some(next) => Update::default()
                .set(NEXT_RUN_AT, text(instant::text(next)))
                .set(DUE_SHARD, self.due_shard(&clock.schedule_id)),
            None => Update::default().remove(NEXT_RUN_AT).remove(DUE_SHARD),
        };
        update
            .set_if("last_run_at", newest.map(|run| text(instant::text(run.run_at))))
            .set_if("last_run_id", newest.map(|run| text(run.to_string())))
    }

    /// Takes a slot for a run, under the definition at which `clock` was read.
    pub async fn take_slot(&self, clock: &Clock, run: &RunId) -> Result<Slot, Fault> {
        // A run by hand does not move the order of fires: earlier fires may still have to be caught
        // up.
        let turn = run.cause.is_none().then(|| text(run.sort_key()));
        let update = Update::default()
            .add("active", &run.sort_key())
            .set_if("last_claimed", turn)
            .given(":revision", number(clock.revision))
            .given(":max", number(clock.policies.max_concurrent))
            .given(":run", text(run.sort_key()));
        let request = self
            .client
            .update_item()
            .table_name(&self.schedules)
            .set_key(Some(part_key(&clock.schedule_id, CLOCK)))
            .condition_expression(conditions::SLOT_IS_FREE)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match update.on(request).send().boxed().await {
            Ok(_) => Ok(Slot::Taken),
            Err(error) => match refused_item(&error) {
                Some(old) => match read_clock(old.clone()) {
                    Ok(now) if now.revision == clock.revision => Ok(Slot::Full(now.active)),
                    _ => Ok(Slot::Changed),
                },
                None if is_refused(&error) => Ok(Slot::Changed),
                None => Err(sdk(format!("take slot for {run}"))(error)),
            },
        }
    }

    /// Releases a slot. Releasing a slot that the run does not hold does nothing.
    pub async fn release_slot(&self, schedule: &ScheduleId, run_key: &str) -> Result<(), Fault> {
        let request = self
            .client
            .update_item()
            .table_name(&self.schedules)
            .set_key(Some(part_key(schedule, CLOCK)))
            .condition_expression(conditions::CLOCK_EXISTS);
        match Update::default().delete("active", run_key).on(request).send().boxed().await {
            Ok(_) => Ok(()),
            Err(error) if is_refused(&error) => Ok(()),
            Err(error) => Err(sdk(format!("release slot of {schedule}@{run_key}"))(error)),
        }
    }
}

/// The key of an entry of the due index.
fn due_key(shard: u32, place: &Place) -> Item {
    Item::from([
        (DUE_SHARD.into(), text(shard.to_string())),
        (NEXT_RUN_AT.into(), text(&place.next_run_at)),
        (SCHEDULE_ID.into(), text(&place.schedule_id)),
        (PART.into(), text(&place.part)),
    ])
}

fn place(key: &Item) -> Option<Place> {
    Some(Place {
        next_run_at: string(key, NEXT_RUN_AT)?.to_owned(),
        schedule_id: string(key, SCHEDULE_ID)?.to_owned(),
        part: string(key, PART)?.to_owned(),
    })
}

pub(super) fn is_deleted(item: &Item) -> bool {
    item.contains_key("deleted_at")
}

pub(super) fn read_clock(item: Item) -> Result<Clock, Fault> {
    let id = string(&item, SCHEDULE_ID).unwrap_or_default().to_owned();
    serde_dynamo::from_item(item)
        .map_err(|e| Fault::new(format!("read clock {id}"), Unreadable(e.to_string())))
}

pub(super) fn is_refused(error: &SdkError<UpdateItemError>) -> bool {
    matches!(error.as_service_error(), Some(UpdateItemError::ConditionalCheckFailedException(_)))
}

pub(super) fn refused_item(error: &SdkError<UpdateItemError>) -> Option<&Item> {
    match error.as_service_error()? {
        UpdateItemError::ConditionalCheckFailedException(e) => e.item(),
        _ => None,
    }
}
