//! Alerts: failures in a row are told on the bus and to a destination of the schedule, once for each
//! streak, and the schedule continues.

use std::time::Instant;

use aws_sdk_dynamodb::types::AttributeValue;
use belfry_tests::aws::{Calls, world_beside};
use belfry_tests::{Executor, Launch, World};
use chrono::Duration;
use serde_json::{Value, json};

/// An executor that refuses every launch except those of these minutes.
fn fails_except(world: &World, good: &'static [&'static str]) {
    let minute = |launch: &Launch| launch.run_id[launch.run_id.len() - 6..][..2].to_owned();
    world.executor.answers(move |launch| match good.contains(&minute(launch).as_str()) {
        true => (200, String::new()),
        false => (404, "gone".to_owned()),
    });
}

fn alerting(to: &Executor, more: &Value) -> Value {
    let mut body = json!({"alert_after_failures": 3, "alert_to": {"kind": "http", "url": to.url}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The details of the events `schedule.failing` so far.
fn failing(calls: &Calls) -> Vec<Value> {
    let calls = calls.lock().unwrap();
    let entries = calls.iter().filter_map(|call| call.body["Entries"].as_array()).flatten();
    let failing = entries.filter(|entry| entry["DetailType"] == "schedule.failing");
    failing.map(|entry| serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_streak_of_failures_is_told_once_and_the_schedule_continues() {
    let calls = Calls::default();
    let world = world_beside(calls.clone(), &[("EVENT_BUS", "ours")]).await;
    let pager = Executor::start().await;
    fails_except(&world, &["05"]);
    world.schedule("report", "* * * * *", &alerting(&pager, &json!({}))).await;
    world.pass(Duration::minutes(3)).await;
    let told = pager.launches();
    assert_eq!(told.len(), 1, "at the third failure");
    assert_eq!(
        told[0].body,
        json!({
            "kind": "schedule.failing", "schedule_id": "report", "user_id": "ann", "failures": 3,
            "paused": false, "last_run_id": "report@2026-01-01T00:03:00Z",
            "error": "HTTP 404: gone", "at": told[0].body["at"],
        })
    );
    assert!(told[0].body["at"].as_str().unwrap().starts_with("2026-01-01T00:03:00"));
    assert!(told[0].headers.contains_key("belfry-signature"), "signed like a launch");
    assert_eq!(told[0].headers["belfry-schedule-id"], "report");
    world.pass(Duration::minutes(3)).await;
    assert_eq!(pager.launches().len(), 1, "a fourth failure, and a success");
    world.pass(Duration::minutes(4)).await;
    let told = pager.launches();
    assert_eq!(told.len(), 2, "three new failures");
    assert_eq!(told[1].body["last_run_id"], "report@2026-01-01T00:08:00Z");
    assert_ne!(told[0].key, told[1].key);
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(schedule["status"], "active");
    assert_eq!(world.executor.launches().len(), 10);
    let event =
        |last: &str| json!({"schedule_id": "report", "failures": 3, "last": last, "paused": false});
    let expected = [event("report@2026-01-01T00:03:00Z"), event("report@2026-01-01T00:08:00Z")];
    assert_eq!(failing(&calls), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_is_told_with_the_key_and_a_bus_alone_needs_no_destination() {
    let calls = Calls::default();
    let world = world_beside(calls.clone(), &[("EVENT_BUS", "ours")]).await;
    fails_except(&world, &[]);
    let topics = ["arn:aws:sns:us-east-1:1:plain", "arn:aws:sns:us-east-1:1:ordered.fifo"];
    for (id, topic) in ["plain", "ordered"].into_iter().zip(topics) {
        let to = json!({"kind": "sns", "topic_arn": topic});
        let more = json!({"alert_after_failures": 2, "alert_to": to});
        world.schedule(id, "* * * * *", &more).await;
    }
    world.schedule("bus", "* * * * *", &json!({"alert_after_failures": 2})).await;
    world.pass(Duration::minutes(4)).await;
    let published: Vec<_> = {
        let calls = calls.lock().unwrap();
        calls.iter().filter(|call| call.body["Action"] == "Publish").cloned().collect()
    };
    assert_eq!(published.len(), 2, "once for each topic");
    for (id, topic) in ["plain", "ordered"].into_iter().zip(topics) {
        let call = published.iter().find(|call| call.body["TopicArn"] == topic).unwrap();
        let message: Value = serde_json::from_str(call.body["Message"].as_str().unwrap()).unwrap();
        assert_eq!((&message["schedule_id"], &message["failures"]), (&json!(id), &json!(2)));
        let key = &call.body["MessageAttributes.entry.1.Value.StringValue"];
        assert!(key.as_str().unwrap().starts_with("alert-"), "{key}");
        let is_fifo = topic.ends_with(".fifo");
        assert_eq!(call.body["MessageDeduplicationId"] == *key, is_fifo);
        assert_eq!(call.body["MessageGroupId"].is_string(), is_fifo);
    }
    let mut told: Vec<_> = failing(&calls).iter().map(|told| told["schedule_id"].clone()).collect();
    told.sort_by_key(ToString::to_string);
    assert_eq!(told, ["bus", "ordered", "plain"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_fails_is_told_again_with_the_same_key() {
    let world = World::new().await;
    let pager = Executor::start().await;
    pager.answers(|told| match told.body["failures"].as_u64() {
        Some(3 | 4) => (500, "secret".to_owned()),
        _ => (202, r#"{"status": "filed"}"#.to_owned()),
    });
    fails_except(&world, &[]);
    world.schedule("report", "* * * * *", &alerting(&pager, &json!({}))).await;
    world.pass(Duration::minutes(8)).await;
    let told = pager.launches();
    let failures: Vec<_> = told.iter().map(|told| told.body["failures"].clone()).collect();
    assert_eq!(failures, [3, 4, 5], "until it is accepted");
    assert!(told.iter().all(|again| again.key == told[0].key));
    let runs = world.runs("report").await;
    assert!(runs[..8].iter().all(|run| run["status"] == "FAILED"), "its runs end all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_died_is_replaced_at_the_next_failure_with_the_same_key() {
    let world = World::new().await;
    let pager = Executor::start().await;
    fails_except(&world, &[]);
    world.schedule("report", "* * * * *", &alerting(&pager, &json!({}))).await;
    world.pass(Duration::minutes(4)).await;
    assert_eq!(pager.launches().len(), 1);
    // As if it had died between the call and the mark.
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let update = client.update_item().table_name(&world.app.settings.schedules_table);
    let update = update.key("schedule_id", text("report")).key("sk", text("alert"));
    let update = update.update_expression("SET told = :no");
    let update = update.expression_attribute_values(":no", AttributeValue::Bool(false));
    update.send().await.unwrap();
    world.pass(Duration::minutes(3)).await;
    let told = pager.launches();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0].key, told[1].key);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_never_answers_delays_an_end_by_seconds_at_most() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let world = World::new().await;
    fails_except(&world, &[]);
    let to = json!({"kind": "http", "url": url});
    let more = json!({"alert_after_failures": 1, "alert_to": to, "overlap_policy": "skip"});
    world.schedule("report", "0 5 0 * * *", &more).await;
    let begun = Instant::now();
    world.pass(Duration::minutes(6)).await;
    assert!(begun.elapsed().as_secs() < 9, "{:?}", begun.elapsed());
    assert_eq!(world.story("report").await[0].1, "FAILED");
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_and_an_alert_at_the_same_failure_are_one_event() {
    let calls = Calls::default();
    let world = world_beside(calls.clone(), &[("EVENT_BUS", "ours")]).await;
    let pager = Executor::start().await;
    fails_except(&world, &[]);
    let both = alerting(&pager, &json!({"pause_after_failures": 3}));
    world.schedule("both", "* * * * *", &both).await;
    world.pass(Duration::minutes(5)).await;
    let told = pager.launches();
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0].body["paused"], &told[0].body["failures"]), (&json!(true), &json!(3)));
    let event = json!({
        "schedule_id": "both", "failures": 3, "last": "both@2026-01-01T00:03:00Z", "paused": true,
    });
    assert_eq!(failing(&calls), [event]);
    // A run by hand that fails adds to the streak, which has its alert.
    world.ok("POST", "/schedules/both/trigger", &Value::Null).await;
    world.deliver().await;
    assert_eq!(pager.launches().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_failures_at_the_same_time_are_one_alert() {
    let world = World::new().await;
    let pager = Executor::start().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let more = alerting(&pager, &json!({"workflow_id": "t", "alert_after_failures": 2}));
    world.schedule("report", "* * * * *", &more).await;
    world.pass(Duration::minutes(4)).await;
    let failed = json!({"status": "FAILED"});
    let report = |time: &str| {
        let (path, failed) = (format!("/runs/report@2026-01-01T{time}Z/status"), &failed);
        let world = &world;
        async move { world.ok("POST", &path, failed).await }
    };
    tokio::join!(report("00:01:00"), report("00:02:00"), report("00:03:00"), report("00:04:00"));
    assert_eq!(pager.launches().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_that_fails_is_no_alert() {
    let world = World::new().await;
    let pager = Executor::start().await;
    fails_except(&world, &[]);
    world.pass(Duration::minutes(30)).await;
    world.schedule("report", "0 12 * * *", &alerting(&pager, &json!({}))).await;
    let range = json!({"from": "2025-12-20T00:00:00Z", "to": "2025-12-30T00:00:00Z"});
    world.ok("POST", "/schedules/report/backfill", &range).await;
    world.pass(Duration::minutes(10)).await;
    assert!(world.runs("report").await.len() >= 3);
    assert_eq!(pager.launches().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_destination_that_belfry_may_not_reach_is_refused() {
    let world = World::new().await;
    let body = |to: Value| {
        json!({
            "workflow_id": "w", "cron_expr": "0 * * * *", "alert_after_failures": 3, "alert_to": to,
        })
    };
    let inside = json!({"kind": "http", "url": "https://10.0.0.1/?token=hunter2"});
    world.ok("PUT", "/schedules/s", &body(Value::Null)).await;
    let set = json!({"schedules": [{"schedule_id": "d", "workflow_id": "w",
        "cron_expr": "0 * * * *", "alert_after_failures": 3, "alert_to": inside}]});
    for (method, path, body) in [
        ("PUT", "/schedules/new", &body(inside.clone())),
        ("PUT", "/schedules/s", &body(inside.clone())),
        ("PUT", "/schedules/s?dry_run=true", &body(inside.clone())),
        ("PATCH", "/schedules/s", &json!({"alert_to": inside})),
    ] {
        let (status, answer) = world.call(method, path, body).await;
        assert_eq!(status, 422, "{method} {path}: {answer}");
        assert_eq!(answer["errors"][0]["field"], "alert_to.url", "{answer}");
        assert!(!answer.to_string().contains("hunter2"), "{answer}");
    }
    let planned = world.ok("PUT", "/sets/some?dry_run=true", &set).await;
    assert!(planned.to_string().contains("alert_to.url"), "{planned}");
    for wrong in [json!({"kind": "pager"}), json!({"kind": "sns", "topic_arn": "t"}), json!("x")] {
        let (status, answer) =
            world.call("PATCH", "/schedules/s", &json!({"alert_to": wrong})).await;
        assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("alert_to")), "{answer}");
    }
    // A patch replaces one destination by another, and null removes it.
    let topic = json!({"kind": "sns", "topic_arn": "arn:aws:sns:us-east-1:1:t"});
    let reachable = json!({"kind": "http", "url": "https://example.com/"});
    for to in [reachable, topic, Value::Null] {
        let changed = world.ok("PATCH", "/schedules/s", &json!({"alert_to": to})).await;
        assert_eq!(changed["alert_to"], to);
    }
    let alone = json!({"alert_to": {"kind": "http", "url": "https://example.com/"},
        "alert_after_failures": null});
    let changed = world.ok("PATCH", "/schedules/s", &alone).await;
    assert_eq!(changed["warnings"][0]["code"], "alert_without_limit");
}
