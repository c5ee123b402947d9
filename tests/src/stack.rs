//! A stack: sends CloudFormation's requests to the custom resource, and receives the answers at a
//! signed URL.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode};
use belfry_engine::app::App;
use belfry_engine::functions;
use belfry_local::functions::AT_WORK;
use chrono::Duration;
use serde_json::{Value, json};

use crate::World;

/// One answer it received.
#[derive(Clone, Debug)]
pub struct Told {
    /// The method, headers and size of the request.
    pub method: Method,
    /// Its headers.
    pub headers: HeaderMap,
    /// The body as received.
    pub text: String,
}

/// A stack of CloudFormation.
#[derive(Clone)]
pub struct Stack {
    /// Its ARN.
    pub id: String,
    /// Its server for answers.
    pub url: String,
    told: Arc<Mutex<Vec<Told>>>,
    statuses: Arc<Mutex<VecDeque<u16>>>,
    requests: Arc<Mutex<u64>>,
}

/// The part of a signed URL that must stay secret.
pub const SIGNATURE: &str = "c2lnbmF0dXJlLW9mLWEtc3Rvcnk";

impl Stack {
    /// Starts a stack of this name that listens for answers.
    pub async fn start(name: &str) -> Stack {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stack = Stack {
            id: format!("arn:aws:cloudformation:us-east-1:1:stack/{name}/0000-{}", address.port()),
            url: format!("http://{address}/answers?X-Amz-Signature={SIGNATURE}"),
            told: Arc::default(),
            statuses: Arc::default(),
            requests: Arc::default(),
        };
        let router = Router::new().fallback(take).with_state(stack.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        stack
    }

    /// Answers the next deliveries with these statuses, and accepts all later ones.
    pub fn refuses(&self, statuses: &[u16]) {
        self.statuses.lock().unwrap().extend(statuses);
    }

    /// A request of this stack for a schedule, such as `("Create", "Nightly")`; `more` adds fields
    /// or replaces some.
    pub fn request(
        &self,
        action: &str,
        logical_id: &str,
        properties: &Value,
        more: &Value,
    ) -> Value {
        let mut requests = self.requests.lock().unwrap();
        *requests += 1;
        let mut properties = properties.clone();
        properties["ServiceToken"] = json!("arn:aws:lambda:us-east-1:1:function:resource");
        let mut event = json!({
            "RequestType": action,
            "RequestId": format!("request-{requests}"),
            "ResponseURL": self.url,
            "ResourceType": "Custom::BelfrySchedule",
            "LogicalResourceId": logical_id,
            "StackId": self.id,
            "ResourceProperties": properties,
        });
        for (field, value) in more.as_object().unwrap() {
            event[field] = value.clone();
        }
        event
    }

    /// Sends a request to the real handler, and returns its single answer.
    pub async fn ask(&self, world: &World, event: &Value) -> Value {
        self.ask_app(world, &world.app, event).await
    }

    /// Sends a request to the real handler of another app in this world.
    pub async fn ask_app(&self, world: &World, app: &App, event: &Value) -> Value {
        let before = self.told().len();
        let deadline = world.now() + Duration::seconds(60);
        let handled = functions::resource(Ok::<_, &String>(app), event.clone(), deadline);
        AT_WORK.scope("resource", handled).await.unwrap();
        assert_eq!(self.told().len(), before + 1, "one request, one answer");
        self.answer()
    }

    /// Creates a schedule.
    pub async fn create(&self, world: &World, logical_id: &str, properties: &Value) -> Value {
        self.ask(world, &self.request("Create", logical_id, properties, &json!({}))).await
    }

    /// Changes the schedule `physical_id` from some properties to others.
    pub async fn update(
        &self,
        world: &World,
        (logical_id, physical_id): (&str, &str),
        old: &Value,
        new: &Value,
    ) -> Value {
        let more = json!({"PhysicalResourceId": physical_id, "OldResourceProperties": old});
        self.ask(world, &self.request("Update", logical_id, new, &more)).await
    }

    /// Deletes the schedule `physical_id`.
    pub async fn delete(
        &self,
        world: &World,
        (logical_id, physical_id): (&str, &str),
        properties: &Value,
    ) -> Value {
        let more = json!({"PhysicalResourceId": physical_id});
        self.ask(world, &self.request("Delete", logical_id, properties, &more)).await
    }

    /// Every delivery it received, in order.
    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    /// The newest answer.
    #[track_caller]
    pub fn answer(&self) -> Value {
        let told = self.told();
        serde_json::from_str(&told.last().expect("an answer").text).unwrap()
    }
}

async fn take(
    State(stack): State<Stack>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    if let Some(status) = stack.statuses.lock().unwrap().pop_front() {
        return StatusCode::from_u16(status).unwrap();
    }
    let text = String::from_utf8(body.to_vec()).unwrap();
    stack.told.lock().unwrap().push(Told { method, headers, text });
    StatusCode::OK
}
