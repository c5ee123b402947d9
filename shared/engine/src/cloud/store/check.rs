//! The progress mark of the self-check, and putting a clock back into the due index.

use belfry_core::instant::{self, Instant};
use belfry_core::run::totals::Totals;
use belfry_core::schedule::Clock;
use serde::de::DeserializeOwned;

use super::clocks::is_refused;
use super::expression::Update;
use super::{FORMAT, Item, Owned, Store, conditions, number, part_key, string, text};
use crate::cloud::store::tables::{CLOCK, DUE_SHARD, NEXT_RUN_AT, PART, RECOVERY, SCHEDULE_ID};
use crate::fault::{Fault, sdk};

/// The progress of a self-check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckMark {
    /// The day on which the check began.
    pub day: Instant,
    /// The first day whose ledger is verified; the day before `day` is the last.
    pub since: Instant,
    /// Owner and id of the last schedule that was checked.
    pub from: Option<Owned>,
    /// Whether all schedules have been checked.
    pub done: bool,
    /// The owner of the last schedule that was checked, and the totals of the owner's schedules so
    /// far.
    pub of_owner: Option<(String, Totals)>,
    /// The totals of all schedules so far.
    pub of_all: Option<Totals>,
}

impl CheckMark {
    /// A new check, which verifies the ledgers from `since` up to `day`.
    pub fn begin(since: Instant, day: Instant) -> CheckMark {
        CheckMark { day, since, from: None, done: false, of_owner: None, of_all: None }
    }
}

impl Store {
    /// The progress of the newest self-check.
    pub async fn check_mark(&self) -> Result<Option<CheckMark>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.schedules)
            .set_key(Some(mark_key()))
            .consistent_read(true)
            .send()
            .await
            .map_err(sdk("read the progress of the self-check"))?;
        let read = |item: Item| {
            let from = string(&item, "from_owner").zip(string(&item, "from_schedule"));
            let day = instant::parse(string(&item, "day")?)?;
            Some(CheckMark {
                day,
                since: string(&item, "since")
                    .and_then(instant::parse)
                    .unwrap_or(day - chrono::Duration::days(1)),
                from: from.and_then(|(owner, id)| Some((owner.to_owned(), id.parse().ok()?))),
                done: item.get("done").and_then(|done| done.as_bool().ok().copied())?,
                of_owner: read_json(&item, "of_owner"),
                of_all: read_json(&item, "of_all"),
            })
        };
        Ok(answer.item.and_then(read))
    }

    /// Writes the progress of the self-check. Two checks at once check some schedules twice, which
    /// does no harm.
    pub async fn move_check_mark(&self, mark: &CheckMark) -> Result<(), Fault> {
        let mut item = mark_key();
        item.insert("day".into(), text(instant::text(mark.day)));
        item.insert("since".into(), text(instant::text(mark.since)));
        item.insert("done".into(), aws_sdk_dynamodb::types::AttributeValue::Bool(mark.done));
        if let Some((owner, id)) = &mark.from {
            item.insert("from_owner".into(), text(owner));
            item.insert("from_schedule".into(), text(id.as_str()));
        }
        let told = |totals: serde_json::Result<String>| {
            totals.map(text).map_err(|e| Fault::new("write the progress of the self-check", e))
        };
        if let Some(totals) = &mark.of_owner {
            item.insert("of_owner".into(), told(serde_json::to_string(totals))?);
        }
        if let Some(totals) = &mark.of_all {
            item.insert("of_all".into(), told(serde_json::to_string(totals))?);
        }
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let put = self.client.put_item().table_name(&self.schedules).set_item(Some(item));
        put.send().await.map_err(sdk("write the progress of the self-check"))?;
        Ok(())
    }

    /// Puts a clock back into the due index, and gives it a next run if it has none. `false`: a
    /// tick or an edit changed the clock meanwhile.
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

fn read_json<T: DeserializeOwned>(item: &Item, attribute: &str) -> Option<T> {
    serde_json::from_str(string(item, attribute)?).ok()
}

fn mark_key() -> Item {
    Item::from([(SCHEDULE_ID.into(), text(RECOVERY)), (PART.into(), text("check"))])
}
