//! Schedules as their owners change them: clock, spec and change log are written in one
//! transaction.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Delete, Put, TransactWriteItem, Update as UpdateItem,
};
use belfry_core::id::{ScheduleId, SetName};
use belfry_core::instant::{self, Instant};
pub use belfry_core::schedule::change::Change;
use belfry_core::schedule::{Clock, Schedule, Spec};
use chrono::SecondsFormat;
use futures::FutureExt;

use super::clocks::{is_deleted, read_clock};
use super::expression::Update;
use super::{FORMAT, Item, MAX_BATCH, PAUSES, Store, conditions, number, part_key, string, text};
use crate::cloud::store::tables::{
    CHANGE, CLOCK, DUE_SHARD, EXPIRES_AT, NEXT_RUN_AT, PART, SCHEDULE_ID, SPEC, USER_ID, WAKE,
};
use crate::fault::{Fault, Unreadable, sdk};

/// What is stored under a schedule id.
#[derive(Debug)]
pub enum Stored {
    /// A schedule.
    Schedule(Box<Schedule>),
    /// The tombstone of a deleted schedule. If the id is used again, its revisions continue.
    Deleted {
        /// The last revision.
        revision: u64,
        /// The schedules that followed it. They will follow the next schedule with this id.
        then: BTreeSet<ScheduleId>,
    },
    /// Nothing.
    Nothing,
}

/// The answer to a conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The write succeeded.
    Yes,
    /// The schedule has changed since it was read; nothing was written.
    Stale,
}

/// A change of another item, written in one transaction with the change of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// The schedule follows this one from now on.
    Follow(ScheduleId),
    /// The schedule no longer follows this one.
    Leave(ScheduleId),
    /// The schedule belongs to this set from now on.
    Join {
        /// The owner of the set.
        owner: String,
        /// The name of the set.
        set: SetName,
    },
    /// The schedule no longer belongs to this set.
    Quit {
        /// The owner of the set.
        owner: String,
        /// The name of the set.
        set: SetName,
    },
}

/// The answer to a new schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// The schedule was created.
    Yes,
    /// The id is taken.
    Taken,
    /// The owner has as many schedules as allowed.
    Full,
}

/// What an edit does to the position of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The fires stay the same: the clock keeps its position.
    KeepPosition,
    /// The fires change: the clock starts anew from its `next_run_at`.
    MovePosition,
}

/// Attributes of a clock that a definition may leave out.
const OPTIONAL: [&str; 6] =
    ["start_at", "end_at", "dst_gap", "dst_fold", "catchup_window_s", "zone_lost"];
/// Attributes of a clock that only the tick and the launcher write.
const SYSTEM_ATTRIBUTES: [&str; 8] = [
    SCHEDULE_ID,
    "last_run_at",
    "last_run_id",
    "active",
    "then",
    "last_claimed",
    "failing",
    "created_at",
];

fn read_stored(id: &ScheduleId, clock: Option<Item>, spec: Option<Item>) -> Result<Stored, Fault> {
    match (clock, spec) {
        (Some(clock), _) if is_deleted(&clock) => {
            let revision = clock.get("revision").and_then(|v| v.as_n().ok()?.parse().ok());
            let then = clock.get("then").and_then(|then| then.as_ss().ok());
            let then = then.into_iter().flatten().filter_map(|id| id.parse().ok()).collect();
            Ok(Stored::Deleted { revision: revision.unwrap_or(0), then })
        }
        (Some(clock), Some(spec)) => {
            let (spec, clock) = (read_spec(id, spec)?, read_clock(clock)?);
            Ok(Stored::Schedule(Box::new(Schedule { clock, spec })))
        }
        _ => Ok(Stored::Nothing),
    }
}

impl Store {
    /// One schedule, read consistently.
    pub async fn schedule(&self, id: &ScheduleId) -> Result<Stored, Fault> {
        let mut found = self.stored(std::slice::from_ref(id)).await?;
        found.remove(id).unwrap_or(Ok(Stored::Nothing))
    }

    /// Some schedules, read consistently. A schedule that cannot be read is an error of its own and
    /// does not affect the others. A schedule that does not exist is left out.
    pub async fn stored(
        &self,
        ids: &[ScheduleId],
    ) -> Result<HashMap<ScheduleId, Result<Stored, Fault>>, Fault> {
        let mut parts: HashMap<ScheduleId, (Option<Item>, Option<Item>)> = HashMap::new();
        for ids in ids.chunks(MAX_BATCH / 2) {
            let keys = ids.iter().flat_map(|id| [part_key(id, CLOCK), part_key(id, SPEC)]);
            for item in self.get_all(&self.schedules, keys.collect(), true).await? {
                let Some(id) = string(&item, SCHEDULE_ID).and_then(|id| id.parse().ok()) else {
                    continue;
                };
                let (clock, spec) = parts.entry(id).or_default();
                match string(&item, PART) {
                    Some(CLOCK) => *clock = Some(item),
                    _ => *spec = Some(item),
                }
            }
        }
        let stored = parts.into_iter().map(|(id, (clock, spec))| {
            let stored = read_stored(&id, clock, spec);
            (id, stored)
        });
        Ok(stored.collect())
    }

    /// Writes a new schedule, if its owner has fewer than `most`.
    pub async fn create_schedule(
        &self,
        schedule: &Schedule,
        change: &Change,
        most: u32,
        links: &[Link],
    ) -> Result<Created, Fault> {
        let Schedule { clock, spec } = schedule;
        let id = &clock.schedule_id;
        let doing = || format!("create schedule {id}");
        let mut item: Item = serde_dynamo::to_item(clock).map_err(|e| Fault::new(doing(), e))?;
        item.extend(part_key(id, CLOCK));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        if self.is_due_some_day(clock) {
            item.insert(DUE_SHARD.into(), self.due_shard(id));
        }
        item.extend(followers(clock));
        let put_clock = Put::builder()
            .table_name(&self.schedules)
            .set_item(Some(item))
            .condition_expression(conditions::NAME_IS_FREE)
            .build()
            .map_err(sdk(doing()))?;
        let mut writes = vec![
            TransactWriteItem::builder().put(put_clock).build(),
            self.count_one_more(&clock.owner, most)?,
            self.put_spec(clock, spec)?,
            self.put_change(id, change)?,
        ];
        for link in links {
            writes.push(self.write_link(id, link)?);
        }
        let refused = self.write_together(writes, &doing()).await?;
        Ok(match refused.as_slice() {
            [] => Created::Yes,
            // If both conditions fail, the taken id is the better answer: the owner may be saving a
            // schedule of its own again.
            [COUNTED] => Created::Full,
            _ => Created::Taken,
        })
    }

    /// Writes a changed definition, if the stored one still has the revision `seen`.
    pub async fn edit_schedule(
        &self,
        seen: u64,
        schedule: &Schedule,
        change: &Change,
        edit: Edit,
        links: &[Link],
    ) -> Result<Saved, Fault> {
        let Schedule { clock, spec } = schedule;
        let id = &clock.schedule_id;
        let doing = || format!("edit schedule {id}");
        let mut item: Item = serde_dynamo::to_item(clock).map_err(|e| Fault::new(doing(), e))?;
        item.retain(|attribute, _| !SYSTEM_ATTRIBUTES.contains(&attribute.as_str()));
        let mut update = Update::default().given(":revision", number(seen));
        for attribute in OPTIONAL.iter().filter(|attribute| !item.contains_key(**attribute)) {
            update = update.remove(attribute);
        }
        match edit {
            Edit::KeepPosition => {
                item.remove(NEXT_RUN_AT);
            }
            Edit::MovePosition if self.is_due_some_day(clock) => {
                item.insert(DUE_SHARD.into(), self.due_shard(id));
            }
            Edit::MovePosition => {
                update = update.remove(DUE_SHARD);
                if clock.next_run_at.is_none() {
                    update = update.remove(NEXT_RUN_AT);
                }
            }
        }
        let update_clock = UpdateItem::builder()
            .table_name(&self.schedules)
            .set_key(Some(part_key(id, CLOCK)))
            .condition_expression(conditions::DEFINITION_IS_AS_READ);
        let update_clock =
            update.set_all(item).in_transaction(update_clock).build().map_err(sdk(doing()))?;
        let mut writes = vec![
            TransactWriteItem::builder().update(update_clock).build(),
            self.put_spec(clock, spec)?,
            self.put_change(id, change)?,
        ];
        if let Some(until) = spec.pause_until {
            writes.push(self.put_wake(id, until)?);
        }
        for link in links {
            writes.push(self.write_link(id, link)?);
        }
        Ok(saved(&self.write_together(writes, &doing()).await?))
    }

    /// Removes the entry for the end of a pause, if that end has come. The entry of a newer pause
    /// stays.
    pub async fn drop_wake(&self, id: &ScheduleId, now: Instant) -> Result<(), Fault> {
        let dropped = self
            .client
            .delete_item()
            .table_name(&self.schedules)
            .set_key(Some(part_key(id, WAKE)))
            .condition_expression(conditions::WAKE_IS_PAST)
            .expression_attribute_values(":now", text(instant::text(now)))
            .send()
            .boxed()
            .await;
        match dropped {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(sdk(format!("remove the end of the pause of {id}"))(error)),
            },
        }
    }

    /// Records that the time zone of a clock is unknown, or is known again.
    pub async fn note_zone(
        &self,
        clock: &Clock,
        lost: bool,
        change: &Change,
    ) -> Result<Saved, Fault> {
        let id = &clock.schedule_id;
        let doing = || format!("record the zone change of {id}");
        let update = Update::default().given(":revision", number(clock.revision));
        let update = match lost {
            true => update.set("zone_lost", AttributeValue::Bool(true)),
            false => update.remove("zone_lost"),
        };
        let request = UpdateItem::builder()
            .table_name(&self.schedules)
            .set_key(Some(part_key(id, CLOCK)))
            .condition_expression(conditions::DEFINITION_IS_AS_READ);
        let update = update.in_transaction(request).build().map_err(sdk(doing()))?;
        let writes =
            vec![TransactWriteItem::builder().update(update).build(), self.put_change(id, change)?];
        Ok(saved(&self.write_together(writes, &doing()).await?))
    }

    /// Deletes a schedule, if it is still at the revision of `clock`. Its history and its last
    /// revision stay until they expire.
    pub async fn delete_schedule(
        &self,
        clock: &Clock,
        change: &Change,
        links: &[Link],
    ) -> Result<Saved, Fault> {
        let id = &clock.schedule_id;
        let doing = || format!("delete schedule {id}");
        let mut tombstone = part_key(id, CLOCK);
        tombstone.extend([
            (FORMAT.0.to_owned(), number(FORMAT.1)),
            ("revision".to_owned(), number(change.revision)),
            ("deleted_at".to_owned(), text(stamp(change.at))),
            (EXPIRES_AT.to_owned(), self.expires_at(change.at)),
        ]);
        tombstone.extend(followers(clock));
        let bury = Put::builder()
            .table_name(&self.schedules)
            .set_item(Some(tombstone))
            .condition_expression(conditions::DEFINITION_IS_AS_READ)
            .expression_attribute_values(":revision", number(clock.revision))
            .build()
            .map_err(sdk(doing()))?;
        let delete_spec = Delete::builder()
            .table_name(&self.schedules)
            .set_key(Some(part_key(id, SPEC)))
            .build()
            .map_err(sdk(doing()))?;
        let mut writes = vec![
            TransactWriteItem::builder().put(bury).build(),
            TransactWriteItem::builder().delete(delete_spec).build(),
            self.count_one_less(&clock.owner)?,
            self.put_change(id, change)?,
        ];
        if clock.failing {
            writes.push(self.end_failing(clock, change.at)?);
        }
        for link in links {
            writes.push(self.write_link(id, link)?);
        }
        Ok(saved(&self.write_together(writes, &doing()).await?))
    }

    fn is_due_some_day(&self, clock: &Clock) -> bool {
        !clock.paused && clock.next_run_at.is_some()
    }

    fn put_spec(&self, clock: &Clock, spec: &Spec) -> Result<TransactWriteItem, Fault> {
        let doing = || format!("write spec {}", clock.schedule_id);
        let mut item: Item = serde_dynamo::to_item(spec).map_err(|e| Fault::new(doing(), e))?;
        item.extend(part_key(&clock.schedule_id, SPEC));
        item.insert(USER_ID.into(), text(&clock.owner));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = Put::builder().table_name(&self.schedules).set_item(Some(item)).build();
        Ok(TransactWriteItem::builder().put(put.map_err(sdk(doing()))?).build())
    }

    fn write_link(&self, id: &ScheduleId, link: &Link) -> Result<TransactWriteItem, Fault> {
        let (update, other) = match link {
            Link::Follow(other) => (Update::default().add("then", id.as_str()), other),
            Link::Leave(other) => (Update::default().delete("then", id.as_str()), other),
            Link::Join { owner, set } => return self.put_member(id, owner, set),
            Link::Quit { owner, set } => return self.delete_member(id, owner, set),
        };
        let request = UpdateItem::builder()
            .table_name(&self.schedules)
            .set_key(Some(part_key(other, CLOCK)))
            .condition_expression(conditions::CLOCK_EXISTS);
        let update = update.in_transaction(request).build();
        let update = update.map_err(sdk(format!("link {id} with {other}")))?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    /// The entry that makes the tick end a pause. If the pause ends otherwise, the entry stays
    /// behind, and the tick then finds nothing to do.
    fn put_wake(&self, id: &ScheduleId, until: Instant) -> Result<TransactWriteItem, Fault> {
        let mut item = part_key(id, WAKE);
        item.insert(DUE_SHARD.into(), self.due_shard(id));
        item.insert(NEXT_RUN_AT.into(), text(instant::text(until)));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = Put::builder().table_name(&self.schedules).set_item(Some(item)).build();
        let doing = format!("write the end of the pause of {id}");
        Ok(TransactWriteItem::builder().put(put.map_err(sdk(doing))?).build())
    }

    /// Writes the change-log entry of a run that was triggered by hand. Writing the same entry
    /// again changes nothing.
    pub async fn log_trigger(&self, change: &Change) -> Result<(), Fault> {
        let Some(run_id) = &change.run_id else { return Ok(()) };
        let doing = || format!("log trigger of {run_id}");
        let put = self
            .client
            .put_item()
            .table_name(&self.schedules)
            .set_item(Some(change_item(&run_id.schedule_id, change)?));
        put.send().boxed().await.map_err(sdk(doing()))?;
        Ok(())
    }

    pub(super) fn put_change(
        &self,
        id: &ScheduleId,
        change: &Change,
    ) -> Result<TransactWriteItem, Fault> {
        let item = change_item(id, change)?;
        let put = Put::builder().table_name(&self.schedules).set_item(Some(item)).build();
        let doing = || format!("write change of {id}");
        Ok(TransactWriteItem::builder().put(put.map_err(sdk(doing()))?).build())
    }

    /// Writes all items or none. Answers with the positions of the writes whose conditions failed;
    /// empty if everything was written. A transaction that conflicts with another waits and is
    /// tried again.
    pub(super) async fn write_together(
        &self,
        writes: Vec<TransactWriteItem>,
        doing: &str,
    ) -> Result<Vec<usize>, Fault> {
        let mut rest_of = PAUSES.iter();
        loop {
            let write = self.client.transact_write_items();
            let error = match write.set_transact_items(Some(writes.clone())).send().boxed().await {
                Ok(_) => return Ok(Vec::new()),
                Err(error) => error,
            };
            let reasons = match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(e)) => {
                    e.cancellation_reasons()
                }
                _ => return Err(sdk(doing)(error)),
            };
            let because = |code: &str| -> Vec<usize> {
                let places = reasons.iter().enumerate();
                let those = places.filter(|(_, reason)| reason.code() == Some(code));
                those.map(|(place, _)| place).collect()
            };
            let refused = because("ConditionalCheckFailed");
            let conflict = !because("TransactionConflict").is_empty();
            match rest_of.next() {
                _ if !refused.is_empty() => return Ok(refused),
                Some(pause) if conflict => tokio::time::sleep(*pause).await,
                _ => return Err(sdk(doing)(error)),
            }
        }
    }
}

/// The followers as a DynamoDB string set, to which an update can add and from which it can delete;
/// serde would write a list.
fn followers(clock: &Clock) -> Option<(String, AttributeValue)> {
    let then: Vec<_> = clock.then.iter().map(ToString::to_string).collect();
    (!then.is_empty()).then(|| ("then".to_owned(), AttributeValue::Ss(then)))
}

/// The position of the write that counts the owner's schedules.
const COUNTED: usize = 1;

pub(super) fn saved(refused: &[usize]) -> Saved {
    if refused.is_empty() { Saved::Yes } else { Saved::Stale }
}

fn change_item(id: &ScheduleId, change: &Change) -> Result<Item, Fault> {
    let doing = || format!("write change of {id}");
    let mut item: Item = serde_dynamo::to_item(change).map_err(|e| Fault::new(doing(), e))?;
    // The revision separates two changes in one millisecond; the idempotency key separates two
    // runs.
    let mut part = format!("{CHANGE}{}#{:08}", stamp(change.at), change.revision);
    if let Some(run_id) = &change.run_id {
        part = format!("{part}#{}", &run_id.idempotency_key()[..16]);
    }
    item.extend(part_key(id, &part));
    item.insert(FORMAT.0.into(), number(FORMAT.1));
    Ok(item)
}

fn stamp(at: Instant) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

pub(super) fn read_spec(id: &ScheduleId, item: Item) -> Result<Spec, Fault> {
    serde_dynamo::from_item(item)
        .map_err(|e| Fault::new(format!("read spec {id}"), Unreadable(e.to_string())))
}
