//! Executions that end in AWS: their events come through the launch queue.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// A world with a tracked run of `s` in progress, and the body its executor received.
async fn under_way() -> (World, Value) {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    let tracked = json!({"definition": {}, "target": target, "completion": "tracked"});
    world.workflow("t", &tracked).await;
    let more = json!({"workflow_id": "t", "overlap_policy": "skip"});
    world.schedule("s", "0 * * * *", &more).await;
    world.pass(Duration::hours(1)).await;
    let body = world.executor.launches()[0].body.clone();
    (world, body)
}

async fn send(world: &World, event: &Value) {
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    let queue = &world.app.settings.launch_queue_url;
    client.send_message().queue_url(queue).message_body(event.to_string()).send().await.unwrap();
    world.deliver().await;
}

fn status_change(body: &Value, status: &str) -> Value {
    json!({
        "version": "0", "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "detail": {
            "executionArn": "arn:aws:states:eu-west-1:1:execution:m:e",
            "name": body["metadata"]["idempotency_key"], "status": status,
            "input": body.to_string(), "output": "{\"rows\":3}",
        },
    })
}

#[tokio::test]
async fn an_execution_that_succeeded_ends_its_run_and_frees_its_slot() {
    let (world, body) = under_way().await;
    send(&world, &status_change(&body, "RUNNING")).await;
    assert_eq!(world.runs("s").await[0]["status"], "STARTED");
    for _ in 0..2 {
        send(&world, &status_change(&body, "SUCCEEDED")).await;
    }
    let run = &world.runs("s").await[0];
    assert_eq!((&run["status"], &run["result"]), (&json!("SUCCESS"), &json!({"rows": 3})));
    assert_eq!(run["external_run_id"], "arn:aws:states:eu-west-1:1:execution:m:e");
    world.pass(Duration::hours(1)).await;
    assert_eq!(world.runs("s").await[1]["status"], "STARTED", "the slot is free again");
}

#[tokio::test]
async fn a_function_that_failed_for_good_fails_its_run() {
    let (world, body) = under_way().await;
    let event = json!({
        "version": "1.0", "requestContext": {"requestId": "r", "condition": "RetriesExhausted"},
        "requestPayload": body, "responsePayload": {"errorMessage": "out of memory"},
    });
    send(&world, &event).await;
    let run = &world.runs("s").await[0];
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("executor")));
    assert_eq!(run["error"], "RetriesExhausted: out of memory");
}

#[tokio::test]
async fn an_end_reported_between_two_attempts_is_the_end_of_the_run() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    let tracked = json!({"definition": {}, "target": target, "completion": "tracked"});
    world.workflow("t", &tracked).await;
    // The executor has the run, and its answer is lost on the way.
    world.executor.answers(|_| (503, String::new()));
    let more = json!({"workflow_id": "t", "overlap_policy": "skip"});
    world.schedule("s", "0 * * * *", &more).await;
    world.pass(Duration::hours(1)).await;
    assert_eq!(world.runs("s").await[0]["status"], "ENQUEUED");
    let body = world.executor.launches()[0].body.clone();
    send(&world, &status_change(&body, "SUCCEEDED")).await;
    let run = &world.runs("s").await[0];
    assert_eq!((&run["status"], &run["result"]), (&json!("SUCCESS"), &json!({"rows": 3})));
    world.pass(Duration::minutes(5)).await;
    assert_eq!(world.executor.launches().len(), 1, "it is not launched again");
}

#[tokio::test]
async fn a_late_or_foreign_event_changes_nothing() {
    let (world, body) = under_way().await;
    send(&world, &status_change(&body, "FAILED")).await;
    send(&world, &status_change(&body, "SUCCEEDED")).await;
    assert_eq!(world.runs("s").await[0]["status"], "FAILED");
    let event = json!({
        "detail-type": "Belfry Run Status",
        "detail": {"run_id": "nobody@2026-01-01T00:00:00Z", "status": "SUCCESS"},
    });
    send(&world, &event).await;
    send(&world, &status_change(&json!({"metadata": {}}), "SUCCEEDED")).await;
    send(&world, &status_change(&body, "RUNNING")).await;
    assert_eq!(world.next_message_at(), None, "every event was processed");
}
