//! The store: DynamoDB, through its SDK.
//!
//! Nothing outside this module knows a table, an attribute or a condition.

mod clocks;
mod conditions;
mod expression;
mod history;
mod runs;
mod schedules;
mod workflows;

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::Instant;
use chrono::Duration;

pub use clocks::{DuePage, Slot};
pub use history::{Changes, Traces, is_change_cursor};
pub use runs::{Claim, History, HistoryQuery, Outcome, Put};
pub use schedules::{Change, Edit, Saved, Stored};
pub use workflows::Published;

use crate::settings::Settings;
use crate::tables::{PART, RUN_AT, SCHEDULE_ID};

/// The three tables and what is needed to write them.
#[derive(Clone)]
pub struct Store {
    client: Client,
    schedules: String,
    runs: String,
    workflows: String,
    due_shards: u32,
    run_ttl: Duration,
    lost_after: Duration,
}

type Item = HashMap<String, AttributeValue>;

/// Stored items carry the version of their format, for the code that reads them in years.
const FORMAT: (&str, &str) = ("v", "1");

impl Store {
    /// The store of a deployment.
    pub fn new(client: Client, settings: &Settings) -> Store {
        Store {
            client,
            schedules: settings.schedules_table.clone(),
            runs: settings.runs_table.clone(),
            workflows: settings.workflows_table.clone(),
            due_shards: settings.due_shards,
            run_ttl: settings.run_ttl,
            lost_after: settings.lost_after,
        }
    }

    fn due_shard(&self, id: &ScheduleId) -> AttributeValue {
        text(id.shard(self.due_shards).to_string())
    }

    /// When a run finished at `now` may be forgotten.
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
