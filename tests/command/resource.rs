//! The resource function as CloudFormation calls it: the real binary, fed over the Lambda Runtime
//! API.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use belfry_local::services::{REGION, local_default};
use belfry_tests::stack::SIGNATURE;
use belfry_tests::{Stack, World};
use belfry_time::{SystemTime, Time};
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use crate::binary;

/// A running function: events go in, its answers come out.
struct Function {
    process: Child,
    events: mpsc::Sender<Value>,
    said: mpsc::Receiver<(String, String)>,
    path: PathBuf,
}

type Runtime = Arc<(Mutex<mpsc::Receiver<Value>>, mpsc::Sender<(String, String)>)>;

impl Function {
    async fn start(world: &World, without: &str) -> Function {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (events, queue) = mpsc::channel(1);
        let (told, said) = mpsc::channel(1);
        let runtime: Runtime = Arc::new((Mutex::new(queue), told));
        let base = "/2018-06-01/runtime/invocation";
        let router = Router::new()
            .route(&format!("{base}/next"), get(next))
            .route(&format!("{base}/{{id}}/{{outcome}}"), post(take))
            .with_state(runtime);
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let settings = &world.app.settings;
        let given = [
            ("SCHEDULES_TABLE", settings.schedules_table.as_str()),
            ("RUNS_TABLE", &settings.runs_table),
            ("WORKFLOWS_TABLE", &settings.workflows_table),
            ("LAUNCH_QUEUE_URL", &settings.launch_queue_url),
            ("DEAD_LETTER_QUEUE_URL", &settings.dead_letter_queue_url),
            ("SIGNING_KEY", "a key for the command"),
            ("ALLOWED_TARGET_NETWORKS", local_default("ALLOWED_TARGET_NETWORKS").unwrap()),
            ("AWS_ENDPOINT_URL_DYNAMODB", &world.services.endpoints.dynamodb),
            ("AWS_ENDPOINT_URL_SQS", &world.services.endpoints.sqs),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
            ("AWS_LAMBDA_RUNTIME_API", &address),
            ("AWS_LAMBDA_FUNCTION_NAME", "resource"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
            ("AWS_LAMBDA_LOG_GROUP_NAME", "local"),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "local"),
            ("RUST_LOG", "debug"),
        ];
        // A file, not a pipe: a full pipe without a reader would block the writer.
        let path =
            std::env::temp_dir().join(format!("belfry-resource-{}.log", address.replace(':', "-")));
        let log = std::fs::File::create(&path).unwrap();
        let process = Command::new(binary("resource"))
            .env_clear()
            .envs(given.into_iter().filter(|(name, _)| *name != without))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log.try_clone().unwrap())
            .spawn()
            .unwrap();
        Function { process, events, said, path }
    }

    /// The answer to an event: `response` or `error`, and the body.
    async fn invoke(&mut self, event: Value) -> (String, String) {
        self.events.send(event).await.unwrap();
        self.said.recv().await.unwrap()
    }

    /// Stops it; returns its whole log.
    fn log(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let log = std::fs::read_to_string(&self.path).unwrap();
        let _ = std::fs::remove_file(&self.path);
        log
    }
}

async fn next(State(runtime): State<Runtime>) -> (StatusCode, HeaderMap, String) {
    let Some(event) = runtime.0.lock().await.recv().await else {
        return (StatusCode::GONE, HeaderMap::new(), String::new());
    };
    let deadline = SystemTime.now().timestamp_millis() + 60_000;
    let mut headers = HeaderMap::new();
    headers.insert("Lambda-Runtime-Aws-Request-Id", "invocation".parse().unwrap());
    headers.insert("Lambda-Runtime-Deadline-Ms", deadline.into());
    headers.insert(
        "Lambda-Runtime-Invoked-Function-Arn",
        "arn:aws:lambda:x:1:function:f".parse().unwrap(),
    );
    (StatusCode::OK, headers, event.to_string())
}

async fn take(
    State(runtime): State<Runtime>,
    Path((_, outcome)): Path<(String, String)>,
    body: String,
) -> StatusCode {
    runtime.1.send((outcome, body)).await.unwrap();
    StatusCode::ACCEPTED
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resource_binary_manages_a_schedule_and_logs_no_secrets() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let mut function = Function::start(&world, "").await;
    let properties = json!({
        "ScheduleId": "n", "Owner": "ann", "WorkflowId": "w", "CronExpr": "0 9 * * *",
        "Payload": {"password": "correct horse battery staple"},
    });
    let create = stack.request("Create", "Nightly", &properties, &json!({}));
    assert_eq!(
        function.invoke(create).await,
        ("response".into(), r#"{"Status":"SUCCESS"}"#.into())
    );
    assert_eq!(stack.answer()["Data"]["ScheduleId"], "n");
    world.ok("GET", "/schedules/n", &Value::Null).await;
    let more = json!({"PhysicalResourceId": "n"});
    let delete = stack.request("Delete", "Nightly", &properties, &more);
    assert_eq!(function.invoke(delete).await.0, "response");
    assert_eq!(world.call("GET", "/schedules/n", &Value::Null).await.0, 404);
    let elsewhere = json!({"ResponseURL": format!("https://example.com/?sig={SIGNATURE}")});
    let forged = stack.request("Create", "Nightly", &properties, &elsewhere);
    let (outcome, problem) = function.invoke(forged).await;
    assert_eq!(
        (outcome.as_str(), problem.contains("not one of AWS")),
        ("error", true),
        "{problem}"
    );
    let log = function.log();
    assert!(log.contains("answered"), "{log}");
    for secret in [SIGNATURE, "correct horse"] {
        assert!(!log.contains(secret) && !problem.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_cannot_start_says_so_to_the_stack() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let mut function = Function::start(&world, "RUNS_TABLE").await;
    let create = stack.request("Create", "Nightly", &json!({}), &json!({}));
    assert_eq!(function.invoke(create).await.0, "response");
    let reason = "Belfry's function cannot start: settings: RUNS_TABLE: is required";
    assert_eq!(stack.answer()["Reason"], reason);
    function.log();
}
