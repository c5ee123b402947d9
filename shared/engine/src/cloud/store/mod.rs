//! The store: DynamoDB, through its SDK.
//!
//! Nothing outside this module knows a table, an attribute or a condition.
//!
//! The calls that a launch may make are boxed: thousands of launches wait at once, and without
//! boxes each would be as large as the largest of its calls.

mod alerts;
mod backfills;
mod batch;
mod check;
mod clocks;
mod conditions;
mod expression;
mod history;
mod limits;
mod listing;
mod paging;
mod queued;
mod runs;
mod schedules;
mod sets;
mod settling;
mod statements;
mod sums;
mod sweep;
pub mod tables;
mod workflows;

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, KeysAndAttributes, ReturnValuesOnConditionCheckFailure,
};
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::Instant;
use chrono::TimeDelta;
use futures::FutureExt;

pub(crate) use batch::Batch;
pub use check::CheckMark;
pub use clocks::{DuePage, Slot};
pub use history::{Changes, Traces, is_change_cursor};
pub use limits::Spent;
pub use listing::Owned;
pub use runs::{Claim, Claimant, GivenBack, History, HistoryQuery, Outcome, Put, RunFilter, Step};
pub use schedules::{Change, Created, Edit, Link, Saved, Stored};
pub use statements::Advance;
pub(crate) use statements::MAX_STATEMENTS;
pub use sums::{Failing, Of};
pub use workflows::{Published, Users, VersionHead, Versions};

use crate::cloud::store::tables::{PART, RUN_AT, SCHEDULE_ID};
use crate::cloud::throttle::Gate;
use crate::fault::{Fault, sdk};
use crate::settings::Settings;

/// The three tables, and the settings needed to write them.
#[derive(Clone)]
pub struct Store {
    client: Client,
    schedules: String,
    runs: String,
    workflows: String,
    due_shards: u32,
    run_ttl: TimeDelta,
    lost_after: TimeDelta,
    writes: Gate,
}

type Item = HashMap<String, AttributeValue>;

/// The delays before a busy table is asked again for the items that it left out of an answer. The
/// SDK repeats calls, but not the items that a call left out.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
];

/// BatchGetItem takes no more keys.
const MAX_BATCH: usize = 100;

/// Stored items carry the version of their format, for code that reads them years later.
const FORMAT: (&str, &str) = ("v", "1");

impl Store {
    /// The store of a deployment. `writes` limits how many batches of writes are made at once; it
    /// must be an interceptor of `client`, so that it sees throttled answers.
    pub fn new(client: Client, settings: &Settings, writes: Gate) -> Store {
        Store {
            client,
            writes,
            schedules: settings.schedules_table.clone(),
            runs: settings.runs_table.clone(),
            workflows: settings.workflows_table.clone(),
            due_shards: settings.due_shards,
            run_ttl: settings.run_ttl,
            lost_after: settings.recovery.lost_after,
        }
    }

    /// The gate that batches of writes pass through.
    pub fn writes(&self) -> &Gate {
        &self.writes
    }

    /// A batch that the launches of one invocation share.
    pub(crate) fn batch(&self) -> Batch {
        Batch::on(self)
    }

    /// Reads items, and asks again for those that a busy table left out. Items that do not exist
    /// are missing in the answer. The order is DynamoDB's.
    async fn get_all(
        &self,
        table: &str,
        keys: Vec<Item>,
        consistent: bool,
    ) -> Result<Vec<Item>, Fault> {
        let doing = || format!("read from {table}");
        let mut found = Vec::with_capacity(keys.len());
        let mut wanted = keys;
        let mut rest_of = PAUSES.iter();
        while !wanted.is_empty() {
            let request = KeysAndAttributes::builder()
                .set_keys(Some(wanted))
                .consistent_read(consistent)
                .build()
                .map_err(sdk(doing()))?;
            let request = self.client.batch_get_item().request_items(table, request);
            let mut answer = request.send().boxed().await.map_err(sdk(doing()))?;
            let items = answer.responses.take().and_then(|mut tables| tables.remove(table));
            found.extend(items.unwrap_or_default());
            let rest = answer.unprocessed_keys.take().and_then(|mut tables| tables.remove(table));
            wanted = rest.map(|rest| rest.keys).unwrap_or_default();
            match rest_of.next() {
                _ if wanted.is_empty() => {}
                Some(pause) => tokio::time::sleep(*pause).await,
                None => {
                    return Err(Fault { doing: doing(), source: "the table is too busy".into() });
                }
            }
        }
        Ok(found)
    }

    /// Puts an item under a condition. If the condition does not hold, answers with the stored
    /// item.
    async fn put_if(
        &self,
        table: &str,
        item: Item,
        condition: &str,
        given: Option<(&str, AttributeValue)>,
        doing: &str,
    ) -> Result<Option<Item>, Fault> {
        let mut request = self
            .client
            .put_item()
            .table_name(table)
            .set_item(Some(item))
            .condition_expression(condition)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        if let Some((place, value)) = given {
            request = request.expression_attribute_values(place, value);
        }
        match request.send().boxed().await {
            Ok(_) => Ok(None),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(refusal)) => {
                    Ok(Some(refusal.item().cloned().unwrap_or_default()))
                }
                _ => Err(sdk(doing)(error)),
            },
        }
    }

    fn due_shard(&self, id: &ScheduleId) -> AttributeValue {
        text(id.shard(self.due_shards).to_string())
    }

    /// When the record of a run that ended at `now` expires.
    fn expires_at(&self, now: Instant) -> AttributeValue {
        number((now + self.run_ttl).timestamp())
    }
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

#[expect(clippy::needless_pass_by_value, reason = "numbers are passed by value")]
fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn part_key(id: &ScheduleId, part: &str) -> Item {
    Item::from([(SCHEDULE_ID.into(), text(id.as_str())), (PART.into(), text(part))])
}

fn run_key(id: &RunId) -> Item {
    Item::from([
        (SCHEDULE_ID.into(), text(id.schedule_id.as_str())),
        (RUN_AT.into(), text(id.sort_key())),
    ])
}

fn string<'a>(item: &'a Item, attribute: &str) -> Option<&'a str> {
    item.get(attribute)?.as_s().ok().map(String::as_str)
}
