//! Schedules that run when another's run succeeds.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// Two schedules: `load` at every full hour, and `report` after it.
async fn load_and_report(load: &Value, report: &Value) -> World {
    let world = World::new().await;
    world.schedule("load", "0 * * * *", load).await;
    let mut body = json!({"workflow_id": "w", "after_schedule_id": "load"});
    for (field, value) in report.as_object().unwrap() {
        body[field] = value.clone();
    }
    world.ok("PUT", "/schedules/report", &body).await;
    world
}

#[tokio::test]
async fn a_success_is_followed_by_a_run_that_names_it() {
    let world = load_and_report(&json!({}), &json!({})).await;
    world.pass(Duration::hours(2)).await;
    let runs = world.runs("report").await;
    let row = |run: &Value| format!("{} {}", run["trigger"], run["status"]).replace('"', "");
    assert_eq!(
        runs.iter().map(row).collect::<Vec<_>>(),
        ["after:load@2026-01-01T01:00:00Z SUCCESS", "after:load@2026-01-01T02:00:00Z SUCCESS"]
    );
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!((&schedule["status"], &schedule["cron_expr"]), (&json!("active"), &Value::Null));
    assert_eq!(schedule["warnings"], json!([]));
    let ledger = world.ok("GET", "/schedules/report/ledger", &Value::Null).await;
    assert_eq!((&ledger["expected"], &ledger["extra"]), (&json!(0), &json!({"after": 2})));
}

#[tokio::test]
async fn a_failure_is_followed_by_nothing() {
    let world = load_and_report(&json!({}), &json!({})).await;
    world.executor.answers(|_| (200, r#"{"status": "FAILED", "error": "no"}"#.to_owned()));
    world.pass(Duration::hours(1)).await;
    assert_eq!(world.runs("load").await[0]["status"], "FAILED");
    assert_eq!(world.runs("report").await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_tracked_run_is_followed_when_its_executor_says_so() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world
        .workflow("t", &json!({"definition": {}, "target": target, "completion": "tracked"}))
        .await;
    world.schedule("load", "0 * * * *", &json!({"workflow_id": "t"})).await;
    world.schedule("report", "30 0 1 1 *", &json!({"after_schedule_id": "load"})).await;
    world.pass(Duration::minutes(90)).await;
    let own: Vec<_> = world.runs("report").await;
    assert_eq!(own.len(), 1, "only its own fire: {own:?}");
    let done = json!({"status": "SUCCESS"});
    for _ in 0..2 {
        world.ok("POST", "/runs/load@2026-01-01T01:00:00Z/status", &done).await;
    }
    world.pass(Duration::minutes(1)).await;
    assert_eq!(world.runs("report").await.len(), 2);
}

#[tokio::test]
async fn a_paused_follower_records_why_it_does_not_run() {
    let world = load_and_report(&json!({}), &json!({"paused": true})).await;
    world.pass(Duration::hours(1)).await;
    let runs = world.runs("report").await;
    assert_eq!((&runs[0]["status"], &runs[0]["reason"]), (&json!("SKIPPED"), &json!("paused")));
}

#[tokio::test]
async fn a_follower_whose_message_was_lost_is_recovered() {
    let world = load_and_report(&json!({}), &json!({})).await;
    world.pass(Duration::minutes(59)).await;
    world.time.set(world.fire("load", "01:00:00").run_at);
    // One delivery: the load runs, and its follower's message is lost.
    let messages = world.mapping.receive(0).await;
    world.mapping.deliver(messages).await;
    world.lose_messages().await;
    assert_eq!(world.runs("report").await[0]["status"], "ENQUEUED");
    world.pass(Duration::minutes(6)).await;
    world.recover().await;
    world.pass(Duration::minutes(1)).await;
    let runs = world.runs("report").await;
    assert_eq!(
        (&runs[0]["status"], &runs[0]["recovery"]["attempts"]),
        (&json!("SUCCESS"), &json!(1))
    );
}

#[tokio::test]
async fn what_no_longer_follows_does_not_run() {
    let world = load_and_report(&json!({}), &json!({})).await;
    let patch = json!({"after_schedule_id": null, "cron_expr": "30 0 1 6 *"});
    world.ok("PATCH", "/schedules/report", &patch).await;
    world.pass(Duration::hours(1)).await;
    assert_eq!(world.runs("report").await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_schedule_made_anew_is_followed_as_before() {
    let world = load_and_report(&json!({}), &json!({})).await;
    world.ok("DELETE", "/schedules/load", &Value::Null).await;
    let warned = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(warned["warnings"][0]["code"], "missing_schedule");
    world.schedule("load", "0 * * * *", &json!({})).await;
    world.pass(Duration::hours(1)).await;
    assert_eq!(world.runs("report").await.len(), 1);
}

#[tokio::test]
async fn a_circle_and_a_stranger_are_refused() {
    let world = load_and_report(&json!({}), &json!({})).await;
    let refused = async |path: &str, other: &str| {
        let body = json!({"after_schedule_id": other});
        let (status, answer) = world.call("PATCH", path, &body).await;
        assert_eq!(
            (status, &answer["errors"][0]["field"]),
            (422, &json!("after_schedule_id")),
            "{path} after {other}: {answer}"
        );
    };
    refused("/schedules/load", "report").await;
    refused("/schedules/load", "load").await;
    refused("/schedules/load", "nobody").await;
    let theirs = json!({"workflow_id": "w", "cron_expr": "0 * * * *"});
    world.call_as(Some("bob"), "PUT", "/schedules/bobs", &theirs, &[]).await;
    refused("/schedules/load", "bobs").await;
    let (status, _) = world.call("PUT", "/schedules/none", &json!({"workflow_id": "w"})).await;
    assert_eq!(status, 422);
}
