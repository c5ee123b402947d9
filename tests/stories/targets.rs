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
