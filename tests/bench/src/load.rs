//! Loads: writes many schedules and runs straight into the embedded database, as copies of those
//! that the API created.

use belfry_core::id::ScheduleId;
use belfry_tests::embedded::{RUNS, SCHEDULES, dynamodb};
use dynoxide::types::Item;
use dynoxide::{Database, ImportOptions};
use serde_json::{Value, json};

/// Items written in one transaction.
const TOGETHER: usize = 20_000;
/// The settings' default.
const SHARDS: u32 = 8;

/// Executes `order`. Copies of a schedule are named `<from>-<number>`.
pub fn load(database: &Database, order: &Value) -> Value {
    let number = |name: &str| order[name].as_u64().unwrap_or(0);
    let text = |name: &str| order[name].as_str().unwrap_or_default();
    match text("do") {
        "schedules" => {
            let mut parts = parts(database, SCHEDULES, text("from"));
            // The change log is left out: the copies' history is never read.
            let is_idle = order["idle"].as_bool() == Some(true);
            parts
                .retain(|part| !is_idle || part["sk"]["S"] == "clock" || part["sk"]["S"] == "spec");
            let copies = (number("first")..number("first") + number("count")).flat_map(|place| {
                let id = format!("{}-{place}", text("from"));
                parts
                    .iter()
                    .map(move |part| copy(part, text("from"), &id, order))
                    .collect::<Vec<_>>()
            });
            json!({"items": import(database, SCHEDULES, copies)})
        }
        "runs" => {
            let runs = parts(database, RUNS, text("from"));
            let run = runs.first().expect("a run to copy");
            let first: chrono::DateTime<chrono::Utc> = text("at").parse().expect("a time");
            let copies = (0..number("schedules")).flat_map(|schedule| {
                let id = format!("{}-{schedule}", text("from"));
                let runs = (0..number("count")).map(move |minute| {
                    let at = first + chrono::Duration::minutes(minute as i64);
                    copy_run(run, &id, &at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
                });
                runs.collect::<Vec<_>>()
            });
            json!({"items": import(database, RUNS, copies)})
        }
        "recorded" => recorded(database),
        other => panic!("unknown command {other}"),
    }
}

/// How many runs have ended, and when the last of them ended.
fn recorded(database: &Database) -> Value {
    let mut request = json!({"TableName": RUNS, "ConsistentRead": true});
    let (mut runs, mut last) = (0, chrono::DateTime::UNIX_EPOCH);
    loop {
        let page = dynamodb(database, "Scan", &request).expect("runs");
        for item in page["Items"].as_array().into_iter().flatten() {
            let ended = item["finished_at"]["S"].as_str().and_then(|at| at.parse().ok());
            if let Some(ended) = ended {
                runs += 1;
                last = last.max(ended);
            }
        }
        match page.get("LastEvaluatedKey").filter(|key| !key.is_null()) {
            Some(key) => request["ExclusiveStartKey"] = key.clone(),
            None => return json!({"runs": runs, "last": last.to_rfc3339()}),
        }
    }
}

/// Every item with a partition key.
fn parts(database: &Database, table: &str, id: &str) -> Vec<Value> {
    let request = json!({
        "TableName": table, "ConsistentRead": true,
        "KeyConditionExpression": "schedule_id = :id",
        "ExpressionAttributeValues": {":id": {"S": id}},
    });
    let page = dynamodb(database, "Query", &request).expect("items");
    let items = page["Items"].as_array().cloned().unwrap_or_default();
    assert!(!items.is_empty(), "nothing under {id} in {table}");
    items
}

fn copy(part: &Value, from: &str, id: &str, order: &Value) -> Value {
    let mut copy = part.clone();
    copy["schedule_id"]["S"] = json!(id);
    if part["sk"]["S"] == "clock" {
        let id: ScheduleId = id.parse().expect("a name");
        copy["due_shard"] = json!({"S": id.shard(SHARDS).to_string()});
        for (attribute, given) in [("next_run_at", "next"), ("cron_expr", "cron")] {
            if let Some(value) = order[given].as_str() {
                copy[attribute] = json!({"S": value});
            }
        }
    }
    debug_assert_ne!(from, id);
    copy
}

fn copy_run(run: &Value, id: &str, at: &str) -> Value {
    let mut copy = run.clone();
    copy["schedule_id"]["S"] = json!(id);
    copy["run_at"]["S"] = json!(at);
    for attribute in ["launch_at", "enqueued_at", "started_at", "finished_at"] {
        if !copy[attribute].is_null() {
            copy[attribute] = json!({"S": at});
        }
    }
    if !copy["sweep"].is_null() {
        copy["sweep"] = json!({"S": format!("{}#0", &at[..16])});
    }
    copy
}

fn import(database: &Database, table: &str, items: impl Iterator<Item = Value>) -> usize {
    let mut count = 0;
    let mut together: Vec<Item> = Vec::with_capacity(TOGETHER);
    let mut write = |together: &mut Vec<Item>| {
        count += together.len();
        let items = std::mem::take(together);
        database.import_items(table, items, ImportOptions::default()).expect("an import");
    };
    for item in items {
        together.push(serde_json::from_value(item).expect("an item"));
        if together.len() >= TOGETHER {
            write(&mut together);
        }
    }
    write(&mut together);
    count
}
