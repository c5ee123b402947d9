//! Records of other versions of the code: older and newer ones can be read.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

type Item = HashMap<String, AttributeValue>;

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn number(value: &str) -> AttributeValue {
    AttributeValue::N(value.to_owned())
}

fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes.map(|(name, value)| (name.to_owned(), value)).into()
}

async fn put(world: &World, table: &str, item: Item) {
    let client = Client::new(&world.services.sdk());
    client.put_item().table_name(table).set_item(Some(item)).send().await.unwrap();
}

async fn items(world: &World, table: &str) -> Vec<Item> {
    let client = Client::new(&world.services.sdk());
    client.scan().table_name(table).send().await.unwrap().items.unwrap()
}

/// A schedule as the first version wrote it, without optional attributes, and a run of it that is
/// already sent. As long as such records exist, the code must read them: this story may be
/// extended, but not changed.
async fn put_records_of_the_first_format(world: &World) {
    let settings = &world.app.settings;
    let clock = item([
        ("schedule_id", text("old")),
        ("sk", text("clock")),
        ("v", number("1")),
        ("owner", text("ann")),
        ("revision", number("1")),
        ("workflow_id", text("w")),
        ("version", number("1")),
        ("cron_expr", text("*/10 * * * *")),
        ("timezone", text("UTC")),
        ("jitter_ms", number("0")),
        ("overlap_policy", text("skip")),
        ("max_concurrent", number("1")),
        ("catchup_policy", text("none")),
        ("created_at", text("2025-12-31T00:00:00Z")),
        ("next_run_at", text("2026-01-01T00:10:00Z")),
        ("due_shard", text(&world.id("old").shard(settings.due_shards).to_string())),
    ]);
    let spec = item([
        ("schedule_id", text("old")),
        ("sk", text("spec")),
        ("v", number("1")),
        ("user_id", text("ann")),
        ("payload", text(r#"{"say":"hello"}"#)),
        ("inject_metadata", AttributeValue::Bool(true)),
        ("revision", number("1")),
        ("updated_at", text("2025-12-31T00:00:00Z")),
    ]);
    put(world, &settings.schedules_table, clock).await;
    put(world, &settings.schedules_table, spec).await;
    let run = item([
        ("schedule_id", text("old")),
        ("run_at", text("2026-01-01T00:00:00Z")),
        ("v", number("1")),
        ("status", text("ENQUEUED")),
        ("trigger", text("schedule:*/10 * * * *")),
        ("owner", text("ann")),
        ("revision", number("1")),
        ("attempt", number("0")),
        ("launch_at", text("2026-01-01T00:00:00Z")),
        ("enqueued_at", text("2025-12-31T23:59:00Z")),
        ("sweep", text("2026-01-01T00:05:00Z#0")),
    ]);
    put(world, &settings.runs_table, run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_the_first_format_are_read() {
    let world = World::with(&[("DUE_SHARDS", "1")]).await;
    put_records_of_the_first_format(&world).await;
    for _ in 0..11 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    world.pass(Duration::minutes(1)).await;
    let ended = |at: &str| (at.to_owned(), "SUCCESS".to_owned(), String::new());
    assert_eq!(world.story("old").await, [ended("00:00:00"), ended("00:10:00")]);
    let changed = world.ok("PATCH", "/schedules/old", &json!({"timezone": "Asia/Tokyo"})).await;
    assert_eq!(changed["payload"], json!({"say": "hello"}));
    assert_eq!(changed["revision"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_newer_code_are_read_and_what_is_not_known_is_left_alone() {
    let world = World::with(&[("DUE_SHARDS", "1")]).await;
    world.schedule("new", "*/10 * * * *", &json!({"overlap_policy": "skip"})).await;
    world.pass(Duration::minutes(9)).await;
    let settings = &world.app.settings;
    let tables = [&settings.schedules_table, &settings.runs_table, &settings.workflows_table];
    for table in tables {
        for mut item in items(&world, table).await {
            item.insert("v".to_owned(), number("2"));
            item.insert("of_the_future".to_owned(), text("unheard of"));
            put(&world, table, item).await;
        }
    }
    world.pass(Duration::minutes(2)).await;
    assert_eq!(world.story("new").await[0].1, "SUCCESS");
    // An update leaves the other attributes of an item alone; an edit rewrites the spec.
    world.ok("PATCH", "/schedules/new", &json!({"timezone": "Asia/Tokyo"})).await;
    world.pass(Duration::minutes(10)).await;
    let mut kept: Vec<String> = Vec::new();
    for table in tables {
        for item in items(&world, table).await {
            if item.contains_key("of_the_future") {
                let part = item.get("sk").or(item.get("run_at")).and_then(|part| part.as_s().ok());
                kept.push(part.map_or("workflow", |part| &part[..4]).to_owned());
            }
        }
    }
    kept.sort();
    assert!(kept.contains(&"cloc".to_owned()) && !kept.contains(&"spec".to_owned()), "{kept:?}");
    assert!(kept.contains(&"2026".to_owned()), "{kept:?}");
    let ledger = world.ok("GET", "/schedules/new/ledger", &Value::Null).await;
    assert_eq!(ledger["unexplained"], json!([]));
}
