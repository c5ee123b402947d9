//! Lambda, Step Functions, EventBridge and SNS, as far as launches and alerts need them. There is no embedded
//! version of them, so this server receives the SDK's requests and answers in AWS's format.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use belfry_engine::app::App;
use belfry_engine::metrics::{self, Sink};
use serde_json::{Value, json};

use crate::{Line, World};

/// One request to AWS.
#[derive(Clone)]
pub struct Call {
    /// Service and operation, if the request has that header.
    pub target: String,
    /// The path of the request.
    pub path: String,
    /// The body; a form as an object of texts.
    pub body: Value,
}

/// The requests so far.
pub type Calls = Arc<Mutex<Vec<Call>>>;

/// A world whose calls to other AWS services arrive here.
pub async fn world_beside(calls: Calls, settings: &[(&str, &str)]) -> World {
    let url = serve(calls).await;
    restarted(World::with(settings).await, &url, metrics::to_nowhere)
}

/// The same world with functions that have just started: they call AWS at `url`, and their caches
/// are empty.
pub fn restarted(world: World, url: &str, metrics: Sink) -> World {
    let sdk = world.services.sdk().into_builder();
    let sdk = sdk.endpoint_url(url).http_client(Line(world.warden.clone())).build();
    let time = Arc::new(world.time.clone());
    let mut app = App::new(&sdk, world.app.settings.clone(), time);
    app.store = world.app.store.clone();
    app.queue = world.app.queue.clone();
    app.tick_queue = world.app.tick_queue.clone();
    app.metrics = metrics;
    world.replace_app(app)
}

/// Answers at a loopback port.
pub async fn serve(calls: Calls) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(answer).with_state(calls);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    url
}

async fn answer(
    State(calls): State<Calls>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap, String) {
    let target = headers.get("x-amz-target").map_or("", |value| value.to_str().unwrap());
    let body = serde_json::from_slice(&body).unwrap_or_else(|_| form(&body));
    let call = Call { target: target.to_owned(), path: uri.path().to_owned(), body };
    let mut out = HeaderMap::new();
    out.insert("x-amzn-requestid", "request-1".parse().unwrap());
    let seen =
        calls.lock().unwrap().iter().any(|earlier| {
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
            // The execution started, and the answer is lost on the way.
            (500, json!({"__type": "InternalServerError"}))
        }
        "" if call.body["TopicArn"] == "arn:aws:sns:us-east-1:1:none" => {
            let refusal = "<ErrorResponse><Error><Type>Sender</Type><Code>AuthorizationError</Code>\
                           <Message>not allowed</Message></Error></ErrorResponse>";
            calls.lock().unwrap().push(call);
            return (StatusCode::FORBIDDEN, out, refusal.to_owned());
        }
        "AWSEvents.PutEvents" => {
            (200, json!({"FailedEntryCount": 0, "Entries": [{"EventId": "event-1"}]}))
        }
        _ => (202, json!({})),
    };
    calls.lock().unwrap().push(call);
    (StatusCode::from_u16(reply.0).unwrap(), out, reply.1.to_string())
}

/// A form, as the services of the query protocol read it.
pub fn form(body: &[u8]) -> Value {
    let text = std::str::from_utf8(body).unwrap();
    let decoded = |text: &str| {
        let mut parts = text.split('%');
        let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
            bytes.extend(part[2..].bytes());
        }
        String::from_utf8(bytes).unwrap()
    };
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), json!(decoded(value)))).collect()
}
