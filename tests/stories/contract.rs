//! The contract with the source documents: their names, and their requests and answers as they are
//! printed there.

use std::collections::BTreeSet;

use belfry_core::instant::Instant;
use belfry_core::invalid::Code;
use belfry_core::words::variants;
use belfry_engine::settings::{ROWS, Settings};
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

fn codes(answer: &Value) -> Vec<(&str, &str)> {
    let errors = answer["errors"].as_array().into_iter().flatten();
    errors.map(|e| (e["field"].as_str().unwrap(), e["code"].as_str().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_has_a_code_for_programs() {
    let world = World::new().await;
    let mut seen = BTreeSet::new();
    let mut check = |answer: &Value, expected: &[(&str, &str)]| {
        assert_eq!(codes(answer), expected, "{answer}");
        seen.extend(expected.iter().map(|(_, code)| (*code).to_owned()));
    };
    let body =
        json!({"cron_expr": "61 * * * *", "timezone": "Mars/Base", "colour": 1, "jitter_ms": -1});
    let wrong = world.call("PUT", "/schedules/a", &body).await.1;
    check(
        &wrong,
        &[
            ("workflow_id", "required"),
            ("timezone", "invalid_timezone"),
            ("jitter_ms", "invalid_value"),
            ("cron_expr", "invalid_cron_expression"),
            ("colour", "unknown_field"),
        ],
    );
    let never = json!({"cron_expression": "0 0 30 2 *", "timezone": "Mars/Base"});
    let told = world.ok("POST", "/schedules/validate", &never).await;
    check(&told, &[("cron_expr", "no_next_execution"), ("timezone", "invalid_timezone")]);
    check(&world.ok("POST", "/schedules/validate", &json!({})).await, &[("cron_expr", "required")]);
    let twice = json!({"cron_expr": "@daily", "cron_expression": "@hourly"});
    let told = world.ok("POST", "/schedules/validate", &twice).await;
    check(&told, &[("cron_expression", "invalid_value")]);
    let other = json!({"workflow_id": "none", "cron_expr": "@daily", "user_id": "ann"});
    check(&world.call("PUT", "/schedules/a", &other).await.1, &[("workflow_id", "does_not_exist")]);
    let other = json!({"workflow_id": "w", "cron_expr": "@daily", "user_id": "bob"});
    check(&world.call("PUT", "/schedules/a", &other).await.1, &[("user_id", "not_allowed")]);
    let large = json!({"payload": "x".repeat(300_000), "workflow_id": "w", "cron_expr": "@daily"});
    check(&world.call("PUT", "/schedules/a", &large).await.1, &[("payload", "too_large")]);
    world.schedule("a", "0 9 * * *", &json!({})).await;
    let stale = [("if-match", "7")];
    let answer = world.call_as(Some("ann"), "PATCH", "/schedules/a", &json!({}), &stale).await.1;
    check(&answer, &[("If-Match", "precondition_failed")]);
    let unknown = world.call("GET", "/schedules?x=1", &Value::Null).await.1;
    check(&unknown, &[("x", "unknown_field")]);
    for body in [json!({}), json!({"action": null, "tag": null})] {
        let answer = world.call("POST", "/schedules/bulk", &body).await.1;
        check(&answer, &[("action", "required"), ("tag", "required")]);
    }
    world.ok("POST", "/schedules/a/trigger", &Value::Null).await;
    let run = world.runs("a").await[0]["run_id"].as_str().unwrap().to_owned();
    let answer = world.call("POST", &format!("/runs/{run}/status"), &json!({})).await.1;
    check(&answer, &[("status", "required")]);
    for (target, expected) in [
        (json!({}), vec![("target.kind", "required")]),
        (json!({"kind": "x"}), vec![("target.kind", "invalid_value")]),
        (json!({"kind": "http"}), vec![("target.url", "required")]),
        (json!({"kind": "sqs", "queue_url": 1}), vec![("target.queue_url", "invalid_value")]),
        (
            json!({"kind": "eventbridge", "bus": "b", "x": 1}),
            vec![
                ("target.source", "required"),
                ("target.detail_type", "required"),
                ("target.x", "unknown_field"),
            ],
        ),
    ] {
        let body = json!({"target": target});
        check(&world.call("PUT", "/workflows/v/versions/1", &body).await.1, &expected);
    }
    let set = json!({
        "workflows": [{"target": {"kind": "http", "url": world.executor.url}}],
        "schedules": [{
            "cron_expr": "@daily", "workflow_id": "w", "payload": "x".repeat(300_000)
        }],
    });
    check(
        &world.call("POST", "/sets/s/plan", &set).await.1,
        &[
            ("workflows[0].workflow_id", "required"),
            ("workflows[0].version", "required"),
            ("schedules[0].schedule_id", "required"),
            ("schedules[0].payload", "too_large"),
        ],
    );
    let all: BTreeSet<_> = variants::<Code>().iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(seen, all, "a code that nothing brings about");
    let page = include_str!("../../docs/api.md");
    for code in all {
        assert!(page.contains(&format!("| `{code}` |")), "docs/api.md lacks the code {code}");
    }
}

/// Section 4.2.4 of the schedule trigger's document.
#[tokio::test(flavor = "multi_thread")]
async fn the_trigger_route_takes_the_requests_of_its_source() {
    let world = World::new().await;
    world.time.set("2025-10-21T12:00:00Z".parse().unwrap());
    let path = "/workflows/w/triggers/start-node/schedule";
    let put = json!({
        "schedule_name": "Daily Data Sync",
        "cron_expression": "0 2 * * *",
        "timezone": "UTC",
        "test_payload": {"source": "scheduled"},
        "enabled": true,
        "start_date": "2025-10-22T00:00:00Z",
        "end_date": null
    });
    let (status, made) = world.call("PUT", path, &put).await;
    assert_eq!(status, 201, "{made}");
    assert_eq!(world.call("PUT", path, &put).await.0, 200);
    let seen = world.ok("GET", path, &Value::Null).await;
    let names = ["last_execution_time", "next_execution_time", "execution_count", "failure_count"];
    let same = |answer: &Value, seen: &Value| {
        for name in names {
            assert_eq!(answer.get(name), seen.get(name), "{name}");
        }
    };
    same(&made, &seen);
    for (name, expected) in [
        ("name", json!("Daily Data Sync")),
        ("cron_expr", json!("0 2 * * *")),
        ("payload", json!({"source": "scheduled"})),
        ("paused", json!(false)),
        ("start_at", json!("2025-10-22T00:00:00Z")),
        ("end_at", json!(null)),
        ("workflow_id", json!("w")),
        ("trigger_node_id", json!("start-node")),
        ("last_execution_time", json!(null)),
        ("next_execution_time", json!("2025-10-22T02:00:00Z")),
        ("execution_count", json!(0)),
        ("failure_count", json!(0)),
    ] {
        assert_eq!(seen[name], expected, "{name}");
    }
    // What was read can be sent back, here and by the schedule's own name.
    let revision = seen["revision"].clone();
    assert_eq!(world.ok("PUT", path, &seen).await["revision"], revision);
    let own = format!("/schedules/{}", seen["schedule_id"].as_str().unwrap());
    assert_eq!(world.ok("PUT", &own, &seen).await["revision"], revision);
    let other =
        json!({"cron_expression": "0 2 * * *", "trigger_node_id": "other", "workflow_id": "x"});
    let (status, answer) = world.call("PUT", path, &other).await;
    assert_eq!((status, answer["errors"].as_array().unwrap().len()), (422, 2), "{answer}");

    // It fires; the executor and the route say so in the source's words.
    world.executor.answers(|_| (404, String::new()));
    world.pass(Duration::hours(15)).await;
    let launch = &world.executor.launches()[0];
    let metadata = &launch.body["metadata"];
    for (name, expected) in [
        ("source", "schedule"),
        ("scheduled_for", "2025-10-22T02:00:00Z"),
        ("scheduled_time", "2025-10-22T02:00:00Z"),
        ("trigger_node_id", "start-node"),
        ("next_execution_time", "2025-10-23T02:00:00Z"),
        ("user_id", "ann"),
    ] {
        assert_eq!(metadata[name], expected, "{name}");
    }
    let seen = world.ok("GET", path, &Value::Null).await;
    assert_eq!(seen["last_execution_time"], "2025-10-22T02:00:00Z");
    assert_eq!((&seen["execution_count"], &seen["failure_count"]), (&json!(1), &json!(1)));

    let patched = world.ok("PATCH", path, &json!({"description": "daily"})).await;
    same(&patched, &seen);
    assert_eq!(patched["trigger_node_id"], "start-node");
    same(&world.ok("PUT", path, &patched).await, &seen);
    let paused = world.ok("PATCH", path, &json!({"enabled": false})).await;
    assert_eq!((&paused["paused"], &paused["status"]), (&json!(true), &json!("paused")));
    assert_eq!(world.call("DELETE", path, &Value::Null).await.0, 204);
    assert_eq!(world.call("GET", path, &Value::Null).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expression_is_validated_as_the_source_prints_it() {
    let world = World::new().await;
    world.time.set("2025-10-21T12:00:00Z".parse().unwrap());
    let body = json!({"cron_expression": "0 2 * * *", "timezone": "America/New_York"});
    let answer = world.ok("POST", "/schedules/validate", &body).await;
    assert_eq!(answer["valid"], true);
    let printed = ["2025-10-22T02:00:00-04:00", "2025-10-23T02:00:00-04:00"];
    assert_eq!(answer["local_executions"].as_array().unwrap()[..2], printed);
    let same = |text: &str| json!(belfry_core::instant::text(text.parse::<Instant>().unwrap()));
    assert_eq!(answer["next_executions"].as_array().unwrap()[..2], printed.map(same));
}

/// Section 4 of the scheduler's specification: registrar and launcher.
#[tokio::test(flavor = "multi_thread")]
async fn the_registrar_takes_the_input_of_its_specification() {
    let world = World::new().await;
    let input = json!({
        "schedule_id": "s1", "workflow_id": "w", "version": 1, "user_id": "ann",
        "cron_expr": "0 9 * * *", "timezone": "America/New_York",
        "start_at": "2026-01-01T00:00:00Z", "end_at": "2026-12-31T00:00:00Z",
        "jitter_ms": 0, "overlap_policy": "skip", "catchup_policy": "none",
    });
    let deployer = Some("deployer admin");
    let upsert = async || world.call_as(deployer, "PUT", "/schedules/s1", &input, &[]).await;
    let (status, made) = upsert().await;
    assert_eq!((status, &made["schedule_id"]), (201, &json!("s1")));
    assert_eq!(made["next_run_at"], "2026-01-01T14:00:00Z");
    assert_eq!(upsert().await.0, 200);
    let mut without_id = input.clone();
    without_id.as_object_mut().unwrap().remove("schedule_id");
    let (status, made) = world.call_as(deployer, "POST", "/schedules", &without_id, &[]).await;
    assert!(status == 201 && made["schedule_id"].is_string(), "{made}");
    for paused in [true, false] {
        let set = world.ok("PATCH", "/schedules/s1", &json!({"paused": paused})).await;
        assert_eq!(set["paused"], paused);
    }
    let seen = world.ok("GET", "/schedules/s1", &Value::Null).await;
    for (name, value) in input.as_object().unwrap() {
        assert_eq!(seen[name], *value, "{name}");
    }
    assert_eq!(seen["next_runs"].as_array().unwrap().len(), 5);

    world.pass(Duration::hours(15)).await;
    let launches = world.executor.launches();
    let launch = launches.iter().find(|launch| launch.run_id.starts_with("s1@")).unwrap();
    let run = &world.runs("s1").await[0];
    for (name, expected) in [
        ("source", json!("schedule")),
        ("workflow_id", json!("w")),
        ("version", json!(1)),
        ("user_id", json!("ann")),
        ("scheduled_for", json!("2026-01-01T14:00:00Z")),
        ("idempotency_key", run["idempotency_key"].clone()),
    ] {
        assert_eq!(launch.body["metadata"][name], expected, "{name}");
    }
    assert_eq!(launch.body["dag"], json!({"steps": 3}));
    assert_eq!(world.call("DELETE", "/schedules/s1", &Value::Null).await.0, 204);
}

/// Section 11 of the same.
#[test]
fn the_settings_of_the_specification_have_its_defaults() {
    let page = include_str!("../../docs/settings.md");
    let read = |given: &[(&str, &str)]| {
        let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Settings::read(move |name| {
            let chosen = given.iter().find(|(known, _)| known == name).map(|(_, v)| v.clone());
            let row = ROWS.iter().find(|row| row.name == name)?;
            chosen.or_else(|| row.default.is_none().then(|| "a text of some length".to_owned()))
        })
    };
    let usual = read(&[]).unwrap();
    // At least what the specification says: the rule ticks once a minute and may be late.
    assert!(usual.horizon.lookahead >= Duration::milliseconds(60_000));
    for (name, default) in [
        ("TICK_MS", "1000"),
        ("LOOKAHEAD_MS", "90000"),
        ("MAX_CATCHUP_PER_TICK", "100"),
        ("DEFAULT_OVERLAP_POLICY", "skip"),
        ("DEFAULT_CATCHUP_POLICY", "none"),
        ("DEFAULT_JITTER_MS", "0"),
    ] {
        assert!(page.contains(&format!("| `{name}` | `{default}` |")), "{name}");
        let row = ROWS.iter().find(|row| row.name == name);
        assert_eq!(row.map_or(default, |row| row.default.unwrap()), default, "{name}");
    }
    let other = read(&[
        ("LOOKAHEAD_MS", "60000"),
        ("MAX_CATCHUP_PER_TICK", "7"),
        ("DEFAULT_OVERLAP_POLICY", "queue"),
        ("DEFAULT_CATCHUP_POLICY", "spread"),
        ("DEFAULT_JITTER_MS", "250"),
    ])
    .unwrap();
    assert_eq!((other.horizon.max_catchup, other.house.jitter_ms), (7, 250));
    assert_eq!(other.horizon.lookahead, Duration::milliseconds(60_000));
    let told = json!([other.house.overlap_policy, other.house.catchup_policy]);
    assert_eq!(told, json!(["queue", "spread"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_say_who_and_when_without_metadata() {
    let world = World::new().await;
    let body = json!({
        "workflow_id": "w", "cron_expr": "0 9 * * *", "inject_metadata": false,
        "user_id": "zoë 100%",
    });
    let made = world.call_as(Some("root admin"), "PUT", "/schedules/quiet", &body, &[]).await;
    assert_eq!(made.0, 201, "{}", made.1);
    world.pass(Duration::hours(10)).await;
    let launch = &world.executor.launches()[0];
    assert!(launch.body.get("metadata").is_none(), "{}", launch.body);
    let header = |name: &str| launch.headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("belfry-schedule-id"), "quiet");
    assert_eq!(header("belfry-run-id"), "quiet@2026-01-01T09:00:00Z");
    assert_eq!(header("belfry-scheduled-for"), "2026-01-01T09:00:00Z");
    assert_eq!(header("belfry-user-id"), "zo%C3%AB 100%25");
    assert_eq!(header("idempotency-key").len(), 64);
}
