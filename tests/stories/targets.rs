//! Every kind of target is a real call that carries the idempotency key.

use std::sync::{Arc, Mutex};

use aws_smithy_http_client::Builder;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use belfry_core::units;
use belfry_engine::app::App;
use belfry_engine::metrics;
use chrono::Duration;
use serde_json::{Value, json};

use belfry_tests::World;

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

/// One request to AWS.
#[derive(Clone)]
struct Call {
    target: String,
    path: String,
    body: Value,
}

/// Lambda, Step Functions and EventBridge, as far as a launch goes: there is no embedded one, so
/// this stands where the SDK's requests arrive and answers in AWS's words.
async fn aws(calls: Arc<Mutex<Vec<Call>>>) -> String {
    async fn answer(
        State(calls): State<Arc<Mutex<Vec<Call>>>>,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> (StatusCode, HeaderMap, String) {
        let target = headers.get("x-amz-target").map_or("", |value| value.to_str().unwrap());
        let body: Value = serde_json::from_slice(&body).unwrap();
        let call = Call { target: target.to_owned(), path: uri.path().to_owned(), body };
        let mut out = HeaderMap::new();
        out.insert("x-amzn-requestid", "request-1".parse().unwrap());
        let seen = calls.lock().unwrap().iter().any(|earlier| {
            earlier.target == call.target && earlier.body["name"] == call.body["name"]
        });
        let reply = match call.target.as_str() {
            "AWSStepFunctions.StartExecution" if seen => {
                (400, json!({"__type": "ExecutionAlreadyExists", "message": "exists"}))
            }
            "AWSStepFunctions.StartExecution" if call.body["stateMachineArn"] == "arn:none" => {
                (400, json!({"__type": "StateMachineDoesNotExist", "message": "none"}))
            }
            "AWSStepFunctions.StartExecution" => {
                // It started, and the answer is lost on the way.
                (500, json!({"__type": "InternalServerError"}))
            }
            "AWSEvents.PutEvents" => {
                (200, json!({"FailedEntryCount": 0, "Entries": [{"EventId": "event-1"}]}))
            }
            _ => (202, json!({})),
        };
        calls.lock().unwrap().push(call);
        (StatusCode::from_u16(reply.0).unwrap(), out, reply.1.to_string())
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(calls);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

/// A world whose calls to other services of AWS arrive there.
async fn world_beside(calls: Arc<Mutex<Vec<Call>>>, settings: &[(&str, &str)]) -> World {
    let world = World::with(settings).await;
    let sdk = world.services.sdk().into_builder();
    let sdk = sdk.endpoint_url(aws(calls).await).http_client(Builder::new().build_http()).build();
    let time = Arc::new(world.time.clone());
    let mut app = App::new(&sdk, world.app.settings.clone(), time).unwrap();
    app.store = world.app.store.clone();
    app.queue = world.app.queue.clone();
    app.metrics = metrics::to_nowhere;
    world.replace_app(app)
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
    assert_eq!(states["status"], "SUCCESS", "an execution that exists is this run's");
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
    assert_eq!(of_good as f64, units::EVENTS, "what the cost ledger reckons with");
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
