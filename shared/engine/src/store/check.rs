//! The self-check's mark, its list of schedules, and the way back into the due index.

use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::schedule::Clock;

use super::clocks::is_refused;
use super::expression::Update;
use super::{FORMAT, Item, Store, conditions, number, part_key, string, text};
use crate::fault::{Fault, sdk};
use crate::tables::{
    CLOCK, DUE_SHARD, NEXT_RUN_AT, OWNER_INDEX, PART, RECOVERY, SCHEDULE_ID, SPEC, USER_ID,
};

/// How far the self-check of a day came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckMark {
    /// Which day's.
    pub day: Instant,
    /// Owner and name of the last schedule it came to.
    pub from: Option<(String, ScheduleId)>,
    /// Whether it came to the end.
    pub done: bool,
}

impl Store {
    /// How far the newest self-check came.
    pub async fn check_mark(&self) -> Result<Option<CheckMark>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.schedules)
            .set_key(Some(mark_key()))
            .consistent_read(true)
            .send()
            .await
            .map_err(sdk("read the self-check's mark"))?;
        let read = |item: Item| {
            let from = string(&item, "from_owner").zip(string(&item, "from_schedule"));
            Some(CheckMark {
                day: instant::parse(string(&item, "day")?)?,
                from: from.and_then(|(owner, id)| Some((owner.to_owned(), id.parse().ok()?))),
                done: item.get("done").and_then(|done| done.as_bool().ok().copied())?,
            })
        };
        Ok(answer.item.and_then(read))
    }

    /// Writes how far the self-check came. Two at once check some schedules twice, which does no
    /// harm.
    pub async fn move_check_mark(&self, mark: &CheckMark) -> Result<(), Fault> {
        let mut item = mark_key();
        item.insert("day".into(), text(instant::text(mark.day)));
        item.insert("done".into(), aws_sdk_dynamodb::types::AttributeValue::Bool(mark.done));
        if let Some((owner, id)) = &mark.from {
            item.insert("from_owner".into(), text(owner));
            item.insert("from_schedule".into(), text(id.as_str()));
        }
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = self.client.put_item().table_name(&self.schedules).set_item(Some(item));
        put.send().await.map_err(sdk("move the self-check's mark"))?;
        Ok(())
    }

    /// Some of all schedules there are, from behind the one that was last; and which was last now,
    /// if there are more. The index holds one small entry of each.
    pub async fn some_schedules(
        &self,
        limit: usize,
        from: Option<(String, ScheduleId)>,
    ) -> Result<(Vec<ScheduleId>, Option<(String, ScheduleId)>), Fault> {
        let start = from.map(|(owner, id)| {
            let mut key = part_key(&id, SPEC);
            key.insert(USER_ID.into(), text(owner));
            key
        });
        let page = self
            .client
            .scan()
            .table_name(&self.schedules)
            .index_name(OWNER_INDEX)
            .limit(limit as i32)
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(sdk("list all schedules"))?;
        let id = |item: &Item| string(item, SCHEDULE_ID)?.parse::<ScheduleId>().ok();
        let last = page.last_evaluated_key();
        let last = last.and_then(|key| Some((string(key, USER_ID)?.to_owned(), id(key)?)));
        Ok((page.items().iter().filter_map(id).collect(), last))
    }

    /// Puts a clock back into the due index, with a next run if it has none. `false`: somebody
    /// moved or edited it meanwhile.
    pub async fn put_back(&self, clock: &Clock, next: Option<Instant>) -> Result<bool, Fault> {
        let id = &clock.schedule_id;
        let mut update = Update::default()
            .set(DUE_SHARD, self.due_shard(id))
            .set_if(NEXT_RUN_AT, next.map(|next| text(instant::text(next))))
            .given(":revision", number(clock.revision));
        let condition = match clock.next_run_at {
            Some(seen) => {
                update = update.given(":seen", text(instant::text(seen)));
                conditions::CLOCK_IS_AS_READ
            }
            None => conditions::CLOCK_HAS_NO_NEXT,
        };
        let request = self
            .client
            .update_item()
            .table_name(&self.schedules)
            .set_key(Some(part_key(id, CLOCK)))
            .condition_expression(condition);
        match update.on(request).send().await {
            Ok(_) => Ok(true),
            Err(error) if is_refused(&error) => Ok(false),
            Err(error) => Err(sdk(format!("put clock {id} back"))(error)),
        }
    }
}

fn mark_key() -> Item {
    Item::from([(SCHEDULE_ID.into(), text(RECOVERY)), (PART.into(), text("check"))])
}
