//! Indexes that lag: what a query of an index answers while the newest writes have not reached it.

use std::collections::BTreeMap;

use belfry_core::instant::Instant;
use chrono::Duration;
use serde_json::{Value, json};

use crate::embedded;

/// The key attributes of an index.
struct Index {
    name: &'static str,
    partition: &'static str,
    sort: Option<&'static str>,
    carries: Option<&'static str>,
}

const INDEXES: [Index; 2] = [
    Index {
        name: "due",
        partition: "due_shard",
        sort: Some("next_run_at"),
        carries: Some("owner"),
    },
    Index { name: "sweep", partition: "sweep", sort: None, carries: None },
];

/// What an index contained of an item, and since when.
type Version = (Instant, Option<Value>);

/// What the indexes contained of every item, newest last.
#[derive(Debug, Default)]
pub(super) struct Lag {
    items: BTreeMap<(&'static str, String), Vec<Version>>,
}

impl Lag {
    /// Records what the indexes contain of an item that was just written; `item` is null if it was
    /// deleted.
    pub(super) fn note(&mut self, key: &Value, item: &Value, now: Instant) {
        for index in &INDEXES {
            let of = |name: &str| item.get(name).filter(|value| !value.is_null()).cloned();
            let row = of(index.partition).map(|partition| {
                let mut row = key.clone();
                row[index.partition] = partition;
                if let Some(sort) = index.sort {
                    row[sort] = of(sort).unwrap_or_default();
                }
                if let Some((name, value)) = index.carries.and_then(|name| Some((name, of(name)?)))
                {
                    row[name] = value;
                }
                row
            });
            let versions = self.items.entry((index.name, key.to_string())).or_default();
            if versions.last().map(|(_, last)| last) != Some(&row) {
                versions.push((now, row));
            }
        }
    }

    /// Changes an answer to what the index contained before the writes after `then`.
    pub(super) fn age(&self, asked: &Value, answer: &mut Value, then: Instant) {
        let Some(index) = INDEXES.iter().find(|index| asked["IndexName"] == index.name) else {
            return;
        };
        let values = &asked["ExpressionAttributeValues"];
        let partition = [":shard", ":sweep"].iter().find_map(|name| values.get(name));
        let until = values[":until"]["S"].as_str();
        let Some(rows) = answer["Items"].as_array_mut() else { return };
        for ((_, key), versions) in self.items.iter().filter(|((name, _), _)| *name == index.name) {
            if versions.last().is_none_or(|(at, _)| *at <= then) {
                continue;
            }
            let old = versions.iter().rev().find(|(at, _)| *at <= then);
            let key: Value = serde_json::from_str(key).unwrap_or_default();
            let is_it = |row: &Value| {
                key.as_object().into_iter().flatten().all(|(name, value)| row[name] == *value)
            };
            rows.retain(|row| !is_it(row));
            if let Some((_, Some(row))) = old {
                let sort = index.sort.map(|sort| row[sort]["S"].as_str().unwrap_or_default());
                let is_asked = row.get(index.partition) == partition
                    && until.is_none_or(|until| sort.is_none_or(|sort| sort <= until));
                if is_asked {
                    rows.push(row.clone());
                }
            }
        }
        if let Some(sort) = index.sort {
            rows.sort_by_key(|row| row[sort]["S"].as_str().unwrap_or_default().to_owned());
        }
        answer["Count"] = json!(answer["Items"].as_array().map_or(0, Vec::len));
    }

    /// Drops what is older than any lag.
    pub(super) fn forget(&mut self, now: Instant, longest: Duration) {
        for versions in self.items.values_mut() {
            let old = versions.iter().take_while(|(at, _)| *at < now - longest).count();
            versions.drain(..old.saturating_sub(1));
        }
    }
}

/// The keys a write touches, and their tables.
pub(super) fn written(operation: &str, body: &Value) -> Vec<(String, Value)> {
    let one = |write: &Value| {
        let table = write["TableName"].as_str().unwrap_or_default().to_owned();
        let from = if write["Key"].is_object() { &write["Key"] } else { &write["Item"] };
        let names =
            if table.ends_with("runs") { ["schedule_id", "run_at"] } else { ["schedule_id", "sk"] };
        let key: Value =
            names.iter().map(|name| ((*name).to_owned(), from[*name].clone())).collect();
        (table, key)
    };
    let writes: Vec<_> = match operation {
        "PutItem" | "UpdateItem" | "DeleteItem" => vec![one(body)],
        "TransactWriteItems" => body["TransactItems"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| item.as_object()?.values().next())
            .map(one)
            .collect(),
        "BatchExecuteStatement" => embedded::statements(body),
        _ => Vec::new(),
    };
    // Workflows never change, and have no index.
    writes.into_iter().filter(|(table, _)| *table != super::WORKFLOWS).collect()
}
