//! Tables restored to an older state, as by point-in-time recovery: what launches again, what does
//! not, and how to prevent it.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

type Item = HashMap<String, AttributeValue>;

/// The contents of the tables at one moment.
struct Backup {
    tables: Vec<(String, Vec<Item>)>,
}

impl Backup {
    async fn of(world: &World) -> Backup {
        let client = Client::new(&world.services.sdk());
        let settings = &world.app.settings;
        let mut tables = Vec::new();
        for table in [&settings.schedules_table, &settings.runs_table, &settings.workflows_table] {
            tables.push((table.clone(), items(&client, table).await));
        }
        Backup { tables }
    }

    /// Restores the tables. The queue stays as it is, because a queue cannot be restored.
    async fn restore(&self, world: &World) {
        let client = Client::new(&world.services.sdk());
        for (table, then) in &self.tables {
            let keys = ["schedule_id", "sk", "run_at", "workflow_id", "version"];
            let described = client.describe_table().table_name(table).send().await.unwrap();
            let schema = described.table.unwrap().key_schema.unwrap();
            let is_key = |name: &str| schema.iter().any(|key| key.attribute_name() == name);
            for mut item in items(&client, table).await {
                item.retain(|name, _| keys.contains(&name.as_str()) && is_key(name));
                client.delete_item().table_name(table).set_key(Some(item)).send().await.unwrap();
            }
            for item in then {
                let put = client.put_item().table_name(table).set_item(Some(item.clone()));
                put.send().await.unwrap();
            }
        }
    }
}

async fn items(client: &Client, table: &str) -> Vec<Item> {
    let mut pages = client.scan().table_name(table).into_paginator().items().send();
    let mut found = Vec::new();
    while let Some(item) = pages.next().await {
        found.push(item.unwrap());
    }
    found
}

const POLICIES: [&str; 3] = ["none", "once", "fire_immediately"];

/// Schedules that fire every ten minutes, one for each policy, backed up at 00:39:30, when the
/// fires of 00:40 were already sent. It is 01:31 now, and all of them ran.
async fn lived_on() -> (World, Backup) {
    let world = World::new().await;
    for policy in POLICIES {
        world.schedule(policy, "*/10 * * * *", &json!({"catchup_policy": policy})).await;
    }
    world.recover().await;
    world.pass(Duration::minutes(39) + Duration::seconds(30)).await;
    world.recover().await;
    let backup = Backup::of(&world).await;
    world.pass(Duration::minutes(51) + Duration::seconds(30)).await;
    for policy in POLICIES {
        assert_eq!(fires(&world, policy, 1), every_ten("00:10", 9), "{policy}");
    }
    (world, backup)
}

/// The times of a schedule's fires that were launched this often, in order.
fn fires(world: &World, schedule: &str, times: usize) -> Vec<String> {
    let mut counts = std::collections::BTreeMap::<String, (usize, String)>::new();
    for launch in world.executor.launches() {
        if let Some(at) = launch.run_id.strip_prefix(&format!("{schedule}@2026-01-01T")) {
            let known = counts.entry(at[..5].to_owned()).or_insert((0, launch.key.clone()));
            assert_eq!(known.1, launch.key, "a fire that is launched again has the same key");
            known.0 += 1;
        }
    }
    counts.into_iter().filter(|(_, (count, _))| *count == times).map(|(at, _)| at).collect()
}

fn every_ten(from: &str, count: usize) -> Vec<String> {
    let from = from[..2].parse::<usize>().unwrap() * 6 + from[3..4].parse::<usize>().unwrap();
    (from..from + count).map(|n| format!("{:02}:{}0", n / 6, n % 6)).collect()
}

async fn unexplained(world: &World, schedule: &str) -> Value {
    let path =
        format!("/schedules/{schedule}/ledger?from=2026-01-01T00:00:00Z&to=2026-01-01T01:59:00Z");
    world.ok("GET", &path, &Value::Null).await["unexplained"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn restored_clocks_catch_up_and_unlaunched_runs_launch_again() {
    let (world, backup) = lived_on().await;
    backup.restore(&world).await;
    for _ in 0..20 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    // Those of 00:40 were already sent at the time of the backup: recovery finds them, and the
    // policy decides about them as about the others. Late by less than the grace: they still run.
    let again = |more: &[&str]| {
        let mut all: Vec<_> = more.iter().map(|at| (*at).to_owned()).collect();
        all.push("01:30".to_owned());
        all
    };
    assert_eq!(fires(&world, "none", 2), again(&[]));
    assert_eq!(fires(&world, "once", 2), again(&["01:20"]));
    let missed = ["00:40", "00:50", "01:00", "01:10", "01:20"];
    assert_eq!(fires(&world, "fire_immediately", 2), again(&missed));
    for policy in POLICIES {
        // What had ended by the time of the backup does not launch again; nothing launches more
        // than twice; then all is normal.
        assert_eq!(fires(&world, policy, 3), Vec::<String>::new());
        let once = fires(&world, policy, 1);
        assert!(once.starts_with(&every_ten("00:10", 3)), "{policy}: {once:?}");
        assert!(once.ends_with(&every_ten("01:40", 2)), "{policy}: {once:?}");
        assert_eq!(unexplained(&world, policy).await, json!([]), "{policy}");
    }
    let missed: Vec<_> =
        world.story("none").await.into_iter().filter(|r| r.2 == "missed").collect();
    let missed: Vec<_> = missed.iter().map(|(at, ..)| at[..5].to_owned()).collect();
    assert_eq!(missed, every_ten("00:40", 5), "they ran, and the record says that they did not");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_behind_a_pause_launches_nothing_again() {
    let (world, backup) = lived_on().await;
    // The rules and the event source mapping are off: only the API works.
    backup.restore(&world).await;
    let launched = world.executor.launches().len();
    for policy in POLICIES {
        world.ok("POST", &format!("/schedules/{policy}/pause"), &json!({"note": "restore"})).await;
    }
    for policy in POLICIES {
        let body = json!({"catchup": "none"});
        world.ok("POST", &format!("/schedules/{policy}/resume"), &body).await;
    }
    // And now they are on again.
    for _ in 0..8 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    assert_eq!(world.executor.launches().len(), launched, "{:?}", world.executor.run_ids());
    for _ in 0..12 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    for policy in POLICIES {
        assert_eq!(fires(&world, policy, 2), Vec::<String>::new());
        assert_eq!(fires(&world, policy, 1), every_ten("00:10", 11), "{policy}");
        assert_eq!(unexplained(&world, policy).await, json!([]), "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executors_word_that_the_backup_has_not_heard_must_be_given_again() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let more = json!({"workflow_id": "t", "overlap_policy": "skip"});
    world.schedule("report", "*/10 * * * *", &more).await;
    world.pass(Duration::minutes(11)).await;
    let backup = Backup::of(&world).await;
    let status = format!("/runs/{}/status", world.fire("report", "00:10:00"));
    world.ok("POST", &status, &json!({"status": "SUCCESS"})).await;
    backup.restore(&world).await;
    world.pass(Duration::minutes(10)).await;
    let story = world.story("report").await;
    let states: Vec<_> = story.iter().map(|(_, status, reason)| (&**status, &**reason)).collect();
    assert_eq!(states, [("STARTED", ""), ("SKIPPED", "overlap")], "it holds the slot again");
    world.ok("POST", &status, &json!({"status": "SUCCESS"})).await;
    world.pass(Duration::minutes(10)).await;
    assert_eq!(world.story("report").await[2].1, "STARTED");
    assert_eq!(fires(&world, "report", 1), ["00:10", "00:30"]);
}
