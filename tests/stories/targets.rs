//! Every kind of target is a real call that carries the idempotency key.

use std::sync::{Arc, Mutex};

use belfry_cost::units;
use chrono::Duration;
use serde_json::{Value, json};

use belfry_tests::World;
use belfry_tests::aws::{Call, world_beside};

#[tokio::test(flavor = "multi_thread")]
async fn an_sqs_target_gets_a_message() {
    let world = World::new().await;
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    let queue = client.create_queue().queue_name("jobs").send().await.unwrap();
    let queue = queue.queue_url().unwrap();
    world.workflow("q", &json!({"target": {"kind": "sqs", "queue_url": queue}})).await;
    world.schedule("report", "0 1 0 * * *", &json!({"workflow_id": "q", "payload": 7})).await;
    world.pass(Duration::minutes(2)).await;
    let received = client
        .receive_message()
        .queue_url(queue)
        .message_attribute_names("All")
        .send()
        .await
        .unwrap();
    let [message] = received.messages() else { panic!("{received:?}") };
    let body: Value = serde_json::from_str(message.body().unwrap()).unwrap();
    assert_eq!(body["payload"], 7);
    let key = message.message_attributes().unwrap()["Idempotency-Key"].string_value().unwrap();
    assert_eq!(key, world.fire("report", "00:01:00").idempotency_key());
    let run = &world.runs("report").await[0];
    assert_eq!(run["status"], "SUCCESS");
    assert_eq!(run["external_run_id"], message.message_id().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn lambda_step_functions_and_eventbridge_targets_get_real_calls() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let world = world_beside(calls.clone(), &[]).await;
    let machine = "arn:aws:states:us-east-1:1:stateMachine:m";
    for (id, target) in [
        ("lambda", json!({"kind": "lambda", "function": "worker"})),
        ("states", json!({"kind": "step_functions", "state_machine_arn": machine})),
        ("gone", json!({"kind": "step_functions", "state_machine_arn": "arn:none"})),
        ("events", json!({"kind": "eventbridge", "bus": "b", "source": "s", "detail_type": "d"})),
    ] {
        world.workflow(id, &json!({"target": target})).await;
        world.schedule(id, "0 1 0 * * *", &json!({"workflow_id": id, "payload": id})).await;
    }
    world.pass(Duration::minutes(3)).await;

    let calls = calls.lock().unwrap().clone();
    let find = |wanted: &dyn Fn(&Call) -> bool| calls.iter().find(|call| wanted(call)).unwrap();
    let invoke = find(&|call| call.path.contains("/functions/"));
    assert_eq!(invoke.path, "/2015-03-31/functions/worker/invocations");
    assert_eq!(invoke.body["payload"], "lambda");
    let start = find(&|call| call.body["stateMachineArn"] == machine);
    let key = world.fire("states", "00:01:00").idempotency_key();
    assert_eq!(start.body["name"], key);
    let input: Value = serde_json::from_str(start.body["input"].as_str().unwrap()).unwrap();
    assert_eq!(input["metadata"]["idempotency_key"], key);
    let event = &find(&|call| call.target == "AWSEvents.PutEvents").body["Entries"][0];
    assert_eq!((&event["EventBusName"], &event["DetailType"]), (&json!("b"), &json!("d")));

    let run = |runs: Vec<Value>| runs[0].clone();
    assert_eq!(run(world.runs("lambda").await)["external_run_id"], "request-1");
    assert_eq!(run(world.runs("events").await)["external_run_id"], "event-1");
    let states = run(world.runs("states").await);
    assert_eq!(
        states["status"], "SUCCESS",
        "an existing execution of this name belongs to this run"
    );
    let execution = format!("arn:aws:states:us-east-1:1:execution:m:{key}");
    assert_eq!(states["external_run_id"], execution);
    let gone = run(world.runs("gone").await);
    assert_eq!((&gone["status"], &gone["attempt"]), (&json!("FAILED"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_is_taken_at_its_word() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let unknown = "the target answered with the unknown status \"shrug\"";
    let words = [
        ("ok", r#"{"status": "ok"}"#, ("SUCCESS", Value::Null, Value::Null)),
        ("completed", r#"{"status": "Completed"}"#, ("SUCCESS", Value::Null, Value::Null)),
        ("failed", r#"{"status": "failed"}"#, ("FAILED", json!("executor"), Value::Null)),
        (
            "error",
            r#"{"status": "ERROR", "error": "no disk"}"#,
            ("FAILED", json!("executor"), json!("no disk")),
        ),
        ("alone", r#""ERROR""#, ("FAILED", json!("executor"), Value::Null)),
        ("unknown", r#"{"status": "shrug"}"#, ("FAILED", json!("launch_failed"), json!(unknown))),
    ];
    for (id, _, _) in &words {
        let tracked = if *id == "failed" { "t" } else { "w" };
        world.schedule(id, "0 1 0 * * *", &json!({"workflow_id": tracked})).await;
    }
    let answers = words.clone();
    world.executor.answers(move |launch| {
        let said = answers.iter().find(|(id, _, _)| launch.run_id.starts_with(&format!("{id}@")));
        (200, said.unwrap().1.to_owned())
    });
    world.pass(Duration::minutes(5)).await;
    assert_eq!(world.executor.launches().len(), words.len(), "none is asked again");
    for (id, _, (status, reason, error)) in &words {
        let run = &world.runs(id).await[0];
        assert_eq!((&run["status"], &run["reason"]), (&json!(status), reason), "{id}");
        assert_eq!(run["error"], *error, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_long_or_not_whole_is_no_success() {
    let world = World::new().await;
    world.executor.answers(|launch| {
        let first = launch.body["metadata"]["attempt"] == 1;
        match launch.run_id.starts_with("long") {
            _ if !first && !launch.run_id.starts_with("never") => (200, "{}".to_owned()),
            true => (200, "x".repeat(70_000)),
            false => (200, r#"{"status": "fai"#.to_owned()),
        }
    });
    for id in ["long", "cut", "never"] {
        world.schedule(id, "0 1 0 * * *", &json!({"max_attempts": 3})).await;
    }
    world.pass(Duration::minutes(5)).await;
    for id in ["long", "cut"] {
        let run = &world.runs(id).await[0];
        assert_eq!((&run["status"], &run["attempt"]), (&json!("SUCCESS"), &json!(2)), "{id}");
    }
    let run = &world.runs("never").await[0];
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("launch_failed")));
    let error = run["error"].as_str().unwrap();
    assert!(error.starts_with("the answer is not whole JSON"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_target_is_asked_again_when_it_said() {
    let world = World::new().await;
    world.executor.answers_with(|launch| {
        let attempt = launch.body["metadata"]["attempt"].as_u64().unwrap();
        let id = launch.run_id.split('@').next().unwrap();
        let date = "Thu, 01 Jan 2026 00:03:00 GMT";
        match (id, attempt) {
            ("seconds", 1) => (429, Some(("retry-after", "100".to_owned())), String::new()),
            ("date", 1) => (503, Some(("retry-after", date.to_owned())), String::new()),
            ("long" | "limited", 1) => {
                (503, Some(("retry-after", "3600".to_owned())), String::new())
            }
            ("other", 1) => (500, Some(("retry-after", "100".to_owned())), String::new()),
            ("once", _) => (503, Some(("retry-after", "1".to_owned())), String::new()),
            _ => (200, None, String::new()),
        }
    });
    let launched_after = [
        ("seconds", json!({}), 100),
        ("date", json!({}), 120),
        ("long", json!({}), 3600),
        ("limited", json!({"max_runtime_s": 60}), 60),
        ("other", json!({}), 2),
        ("once", json!({"max_attempts": 1}), 0),
    ];
    for (id, more, _) in &launched_after {
        world.schedule(id, "0 1 0 * * *", more).await;
    }
    world.pass(Duration::minutes(62)).await;
    for (id, _, after_s) in &launched_after {
        let run = &world.runs(id).await[0];
        let drift_ms = run["drift_ms"].as_i64().unwrap();
        assert_eq!(drift_ms / 1000, *after_s, "{id}: {run}");
        let status = if *id == "once" { "FAILED" } else { "SUCCESS" };
        assert_eq!(run["status"], status, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bus_is_told_what_happens_to_runs_and_schedules() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let world = world_beside(calls.clone(), &[("EVENT_BUS", "ours")]).await;
    world.executor.answers(|launch| match launch.run_id.starts_with("bad") {
        true => (404, String::new()),
        false => (200, String::new()),
    });
    world.schedule("good", "0 1 0 * * *", &json!({})).await;
    world.schedule("bad", "0 1 0 * * *", &json!({"pause_after_failures": 1})).await;
    world.schedule("late", "0 30 0 * * *", &json!({})).await;
    world.pass(Duration::minutes(2)).await;
    world.pass_without_ticks(Duration::minutes(58)).await;
    world.pass(Duration::minutes(1)).await;

    let calls = calls.lock().unwrap().clone();
    let mut told: Vec<_> = calls
        .iter()
        .filter(|call| call.target == "AWSEvents.PutEvents")
        .flat_map(|call| call.body["Entries"].as_array().unwrap())
        .map(|entry| {
            assert_eq!(
                (&entry["EventBusName"], &entry["Source"]),
                (&json!("ours"), &json!("belfry"))
            );
            let detail: Value = serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
            let schedule = detail["schedule_id"].as_str().unwrap();
            format!("{schedule} {}", entry["DetailType"].as_str().unwrap())
        })
        .collect();
    told.sort();
    let of_good = told.iter().filter(|event| event.starts_with("good ")).count();
    assert_eq!(of_good as f64, units::EVENTS, "the number that the cost model uses");
    assert_eq!(
        told,
        [
            "bad run.failed",
            "bad schedule.failing",
            "bad schedule.paused",
            "good run.started",
            "good run.succeeded",
            "late run.missed",
        ]
    );
}
