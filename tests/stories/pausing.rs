//! Pauses that end by themselves.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

async fn paused_until(catchup: &str, until: &str) -> World {
    let world = World::new().await;
    world.schedule("s", "*/10 * * * *", &json!({"catchup_policy": catchup})).await;
    world.pass(Duration::minutes(5)).await;
    let pause = json!({"note": "a quiet while", "until": format!("2026-01-01T{until}Z")});
    let paused = world.ok("POST", "/schedules/s/pause", &pause).await;
    assert_eq!(paused["status"], "paused");
    assert_eq!(paused["pause_until"], format!("2026-01-01T{until}Z"));
    world
}

fn statuses(story: &[(String, String, String)]) -> Vec<String> {
    story.iter().map(|(at, status, reason)| format!("{at} {status} {reason}")).collect()
}

#[tokio::test]
async fn a_pause_ends_when_its_time_has_come_and_that_very_fire_launches() {
    let world = paused_until("none", "00:40:00").await;
    world.pass(Duration::hours(1)).await;
    assert_eq!(
        statuses(&world.story("s").await),
        ["00:40:00 SUCCESS ", "00:50:00 SUCCESS ", "01:00:00 SUCCESS "]
    );
    let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!((&schedule["status"], &schedule["pause_until"]), (&json!("active"), &Value::Null));
    let ledger = world.ok("GET", "/schedules/s/ledger", &Value::Null).await;
    assert_eq!(ledger["by_reason"], json!({"paused": 3, "on_time": 3}));
    assert_eq!(ledger["unexplained"], json!([]));
}

#[tokio::test]
async fn fires_after_the_end_are_not_lost_when_the_tick_comes_late() {
    let world = paused_until("none", "00:39:30").await;
    world.pass(Duration::minutes(30)).await;
    world.pass_without_ticks(Duration::minutes(6)).await;
    world.pass(Duration::minutes(20)).await;
    assert_eq!(
        statuses(&world.story("s").await),
        ["00:40:00 SUCCESS ", "00:50:00 SUCCESS ", "01:00:00 SUCCESS "]
    );
}

#[tokio::test]
async fn what_the_pause_kept_back_is_caught_up_by_the_schedules_own_policy() {
    let world = paused_until("once", "00:40:00").await;
    world.pass(Duration::minutes(40)).await;
    let runs = world.runs("s").await;
    let row = |run: &Value| format!("{} {}", run["run_at"], run["trigger"]).replace('"', "");
    assert_eq!(
        runs.iter().filter(|run| run["status"] == "SUCCESS").map(row).collect::<Vec<_>>(),
        ["2026-01-01T00:30:00Z catchup", "2026-01-01T00:40:00Z schedule:*/10 * * * *"]
    );
}

#[tokio::test]
async fn a_pause_told_anew_replaces_its_end() {
    let world = paused_until("none", "00:20:00").await;
    world.ok("POST", "/schedules/s/pause", &json!({"until": "2026-01-01T00:40:00Z"})).await;
    world.pass(Duration::minutes(30)).await;
    assert_eq!(world.ok("GET", "/schedules/s", &Value::Null).await["status"], "paused");
    world.ok("POST", "/schedules/s/pause", &json!({})).await;
    world.pass(Duration::hours(1)).await;
    let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!((&schedule["status"], &schedule["pause_until"]), (&json!("paused"), &Value::Null));
}

#[tokio::test]
async fn resuming_before_the_end_leaves_nothing_behind() {
    let world = paused_until("none", "00:40:00").await;
    world.ok("POST", "/schedules/s/resume", &json!({})).await;
    world.ok("POST", "/schedules/s/pause", &json!({"note": "for good"})).await;
    world.pass(Duration::hours(1)).await;
    assert_eq!(world.ok("GET", "/schedules/s", &Value::Null).await["status"], "paused");
}

#[tokio::test]
async fn an_end_in_the_past_is_refused() {
    let world = World::new().await;
    world.schedule("s", "* * * * *", &json!({})).await;
    for until in [json!("2025-12-31T23:59:59Z"), json!("tomorrow"), json!(7)] {
        let (status, answer) =
            world.call("POST", "/schedules/s/pause", &json!({"until": until})).await;
        assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("until")), "{until}");
    }
}

#[tokio::test]
async fn a_repeated_put_leaves_a_pause_alone() {
    let world = World::new().await;
    let definition = json!({
        "workflow_id": "w", "cron_expr": "*/10 * * * *", "catchup_policy": "fire_immediately",
    });
    let path = "/schedules/s";
    world.ok("PUT", path, &definition).await;
    let pause = json!({"note": "moving", "until": "2026-01-01T09:00:00Z"});
    world.ok("POST", "/schedules/s/pause", &pause).await;
    world.pass(Duration::hours(1)).await;
    let changed = json!({"payload": {"new": true}});
    let mut other = definition.clone();
    other["payload"] = changed["payload"].clone();
    for body in [&definition, &other, &definition] {
        let diff = world.ok("PUT", "/schedules/s?dry_run=true", body).await;
        let fields: Vec<_> =
            diff["changes"].as_array().unwrap().iter().map(|c| &c["field"]).collect();
        assert!(!fields.contains(&&json!("paused")), "{diff}");
        let put = world.ok("PUT", path, body).await;
        assert_eq!((&put["paused"], &put["status"]), (&json!(true), &json!("paused")));
        assert_eq!(put["pause_note"], "moving");
        assert_eq!(put["pause_until"], "2026-01-01T09:00:00Z");
    }
    world.pass(Duration::minutes(30)).await;
    assert!(world.executor.launches().is_empty(), "nothing was caught up");

    let mut resuming = definition.clone();
    resuming["paused"] = json!(false);
    resuming["catchup_policy"] = json!("none");
    let put = world.ok("PUT", path, &resuming).await;
    assert_eq!((&put["paused"], &put["pause_note"]), (&json!(false), &Value::Null));
    let log = world.ok("GET", "/schedules/s/changes", &Value::Null).await;
    assert_eq!(log["items"][0]["verb"], "resumed", "{log:#}");
    resuming["enabled"] = json!(false);
    resuming.as_object_mut().unwrap().remove("paused");
    world.ok("PUT", path, &resuming).await;
    let log = world.ok("GET", "/schedules/s/changes", &Value::Null).await;
    assert_eq!(log["items"][0]["verb"], "paused", "{log:#}");
}
