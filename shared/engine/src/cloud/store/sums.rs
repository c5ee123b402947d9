//! What is counted of runs: the sums of a schedule's life, the stored totals of many schedules, and
//! the rows of the schedules that are failing.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, Put, Select, TransactWriteItem, Update as UpdateItem,
};
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::sums::Sums;
use belfry_core::run::totals::Totals;
use belfry_core::schedule::Clock;
use futures::FutureExt;

use super::expression::Update;
use super::limits::{COUNT, owner_key};
use super::{FORMAT, Item, Store, conditions, number, paging, part_key, string, text};
use crate::cloud::store::tables::{CLOCK, EXPIRES_AT, PART, RECOVERY, SCHEDULE_ID};
use crate::fault::{Fault, Unreadable, sdk};

/// The sort key of a schedule's sums.
const SUMS: &str = "sums";
/// The sort key of stored totals.
const TOTALS: &str = "totals";
/// The prefix of the sort keys of an owner's failing schedules.
const FAILING: &str = "failing#";

/// Whose totals are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of<'a> {
    /// Those of one owner.
    Owner(&'a str),
    /// Those of all owners together.
    All,
}

/// A schedule that is failing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The failure since which it is failing.
    pub run: RunId,
    /// When that was noted.
    pub since: Instant,
}

impl Store {
    /// The sums of a schedule's life, if there are any.
    pub async fn sums(&self, id: &ScheduleId) -> Result<Option<Sums>, Fault> {
        let doing = || format!("read the sums of {id}");
        let found = self.one(part_key(id, SUMS), &doing()).await?;
        let read = |item| {
            serde_dynamo::from_item(item)
                .map_err(|e| Fault::new(doing(), Unreadable(e.to_string())))
        };
        found.map(read).transpose()
    }

    /// Writes the sums of a schedule, if they still are as `seen`, whichever owner they are of. Two
    /// functions that add the same runs at once add them once.
    pub async fn save_sums(
        &self,
        id: &ScheduleId,
        seen: Option<&Sums>,
        sums: &Sums,
    ) -> Result<bool, Fault> {
        let doing = format!("write the sums of {id}");
        let mut item: Item =
            serde_dynamo::to_item(sums).map_err(|e| Fault::new(doing.clone(), e))?;
        item.extend(part_key(id, SUMS));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let (condition, given) = match seen {
            None => (conditions::SUMS_ARE_NEW, None),
            Some(seen) => {
                let written = number(seen.written);
                (conditions::SUMS_ARE_AS_READ, Some((":written", written)))
            }
        };
        Ok(self.put_if(&self.schedules, item, condition, given, &doing).await?.is_none())
    }

    /// The stored totals.
    pub async fn totals(&self, of: Of<'_>) -> Result<Option<Totals>, Fault> {
        let item = self.one(totals_key(of), "read stored totals").await?;
        // Totals of another release are counted anew.
        Ok(item.and_then(|item| serde_json::from_str(string(&item, TOTALS)?).ok()))
    }

    /// Stores totals.
    pub async fn save_totals(&self, of: Of<'_>, totals: &Totals) -> Result<(), Fault> {
        let doing = "store totals";
        let told = serde_json::to_string(totals).map_err(|e| Fault::new(doing, e))?;
        let mut item = totals_key(of);
        item.insert(TOTALS.into(), text(told));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = self.client.put_item().table_name(&self.schedules).set_item(Some(item));
        put.send().boxed().await.map_err(sdk(doing))?;
        Ok(())
    }

    /// The number of an owner's schedules.
    pub async fn count_of(&self, owner: &str) -> Result<u64, Fault> {
        let doing = format!("read the number of schedules of {owner}");
        let item = self.one(owner_key(owner, COUNT), &doing).await?;
        let count = item.as_ref().and_then(|item| item.get("schedules")?.as_n().ok());
        Ok(count.and_then(|count| count.parse().ok()).unwrap_or(0))
    }

    /// Notes that a schedule is failing since `run`, or with `None` that it is not. The clock and the
    /// row of its owner are written together.
    pub async fn note_failing(
        &self,
        clock: &Clock,
        run: Option<&RunId>,
        now: Instant,
    ) -> Result<(), Fault> {
        let id = &clock.schedule_id;
        let doing = format!("note whether {id} is failing");
        let update = match run {
            Some(_) => Update::default().set("failing", AttributeValue::Bool(true)),
            None => Update::default().remove("failing"),
        };
        let request = UpdateItem::builder()
            .table_name(&self.schedules)
            .set_key(Some(part_key(id, CLOCK)))
            .condition_expression(conditions::CLOCK_IS_ALIVE);
        let update = update.given(":owner", text(&clock.owner)).naming("#owner", "owner");
        let update = update.in_transaction(request).build().map_err(sdk(doing.clone()))?;
        let row = match run {
            Some(run) => self.put_failing(clock, run, now)?,
            None => self.end_failing(clock, now)?,
        };
        let writes = vec![TransactWriteItem::builder().update(update).build(), row];
        // Refused: the schedule is gone.
        self.write_together(writes, &doing).await.map(|_| ())
    }

    fn put_failing(
        &self,
        clock: &Clock,
        run: &RunId,
        now: Instant,
    ) -> Result<TransactWriteItem, Fault> {
        let mut item = failing_key(clock);
        item.insert("run_id".into(), text(run.to_string()));
        item.insert("since".into(), text(instant::observed_text(now)));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = Put::builder().table_name(&self.schedules).set_item(Some(item)).build();
        let put = put.map_err(sdk(format!("note that {} fails", clock.schedule_id)))?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    /// Ends the row of a schedule that is failing no longer. The row expires: a launcher may not
    /// delete items.
    pub(super) fn end_failing(
        &self,
        clock: &Clock,
        now: Instant,
    ) -> Result<TransactWriteItem, Fault> {
        let update = Update::default()
            .set("ended_at", text(instant::observed_text(now)))
            .set(EXPIRES_AT, number(now.timestamp()));
        let request =
            UpdateItem::builder().table_name(&self.schedules).set_key(Some(failing_key(clock)));
        let update = update.in_transaction(request).build();
        let doing = format!("note that {} does not fail", clock.schedule_id);
        Ok(TransactWriteItem::builder().update(update.map_err(sdk(doing))?).build())
    }

    /// The number of an owner's schedules that are failing.
    pub async fn count_failing(&self, owner: &str) -> Result<u64, Fault> {
        let mut query = self.query_failing(owner).select(Select::Count);
        let mut count = 0;
        loop {
            let doing = || format!("count the failing schedules of {owner}");
            let page = query.clone().send().boxed().await.map_err(sdk(doing()))?;
            count += u64::try_from(page.count).unwrap_or(0);
            match page.last_evaluated_key {
                Some(last) => query = query.set_exclusive_start_key(Some(last)),
                None => return Ok(count),
            }
        }
    }

    /// At most `limit` of an owner's schedules that are failing.
    pub async fn failing_of(&self, owner: &str, limit: usize) -> Result<Vec<Failing>, Fault> {
        let mut found = Vec::new();
        let take = |item: Item| {
            let run = string(&item, "run_id").and_then(|run| run.parse().ok());
            let since = string(&item, "since").and_then(|since| since.parse().ok());
            found.extend(run.zip(since).map(|(run, since)| Failing { run, since }));
            paging::until(&found, limit)
        };
        let doing = format!("list the failing schedules of {owner}");
        paging::each(self.query_failing(owner), doing, take).await?;
        Ok(found)
    }

    fn query_failing(&self, owner: &str) -> QueryFluentBuilder {
        let key = owner_key(owner, FAILING);
        self.client
            .query()
            .table_name(&self.schedules)
            .key_condition_expression("schedule_id = :owner AND begins_with(sk, :failing)")
            .filter_expression("attribute_not_exists(ended_at)")
            .set_expression_attribute_values(Some(Item::from([
                (":owner".to_owned(), key[SCHEDULE_ID].clone()),
                (":failing".to_owned(), key[PART].clone()),
            ])))
    }

    /// One item of the table of schedules, read consistently.
    async fn one(&self, key: Item, doing: &str) -> Result<Option<Item>, Fault> {
        let get = self.client.get_item().table_name(&self.schedules).set_key(Some(key));
        let answer = get.consistent_read(true).send().boxed().await.map_err(sdk(doing))?;
        Ok(answer.item)
    }
}

fn totals_key(of: Of<'_>) -> Item {
    match of {
        Of::Owner(owner) => owner_key(owner, TOTALS),
        Of::All => Item::from([(SCHEDULE_ID.into(), text(RECOVERY)), (PART.into(), text(TOTALS))]),
    }
}

fn failing_key(clock: &Clock) -> Item {
    owner_key(&clock.owner, &format!("{FAILING}{}", clock.schedule_id))
}
