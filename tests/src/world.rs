//! A world: the whole system on embedded services, with a clock that moves only when the test moves
//! it.

use std::sync::Arc;

use aws_sdk_sqs::types::Message;
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{Instant, text};
use belfry_engine::app::App;
use belfry_engine::cloud::store::Claimant;
use belfry_engine::functions;
use belfry_local::functions::{AT_WORK, Function, Functions};
use belfry_local::mapping::{self, Mapping};
use belfry_local::rules;
use belfry_local::services::{LAUNCH_QUEUE, Services, Storage, TICK_QUEUE};
use belfry_time::{ManualTime, Time};
use chrono::{Duration, DurationRound};
use serde_json::{Value, json};

use crate::{Executor, Line, Meter, Warden, metered};

/// Signs the requests to executors.
pub const SIGNING_KEY: &str = "a key for the stories";

/// Derives the tokens executors report with.
pub const RUN_TOKEN_KEY: &str = "another key for the stories";
/// The scopes of callers if a story does not name others.
pub const SCOPES: &str = "schedules:read schedules:write runs:write";

/// The system and what is around it.
pub struct World {
    /// Its clock.
    pub time: ManualTime,
    /// Its app.
    pub app: Arc<App>,
    /// The target of workflow `w`.
    pub executor: Executor,
    /// Counts the app's requests to the services.
    pub meter: Meter,
    /// Limits every function to what its role allows.
    pub warden: Warden,
    /// The embedded services.
    pub services: Services,
    /// The event source mapping from the launch queue to the launcher.
    pub mapping: Mapping,
    /// The event source mapping from the tick queue to the tick.
    pub ticks: Mapping,
    functions: Functions,
    requests: std::sync::atomic::AtomicU64,
}

impl World {
    /// A world that begins on Thursday, 1 January 2026, with a workflow `w` that its own executor
    /// runs.
    pub async fn new() -> World {
        World::with(&[]).await
    }

    /// A world with some settings changed.
    pub async fn with(settings: &[(&str, &str)]) -> World {
        let time = ManualTime::at("2026-01-01T00:00:00Z".parse().unwrap());
        let shared: Arc<dyn Time> = Arc::new(time.clone());
        let services = Services::start(&Storage::Memory, shared.clone(), (0, 0)).await.unwrap();
        let meter = Meter::new();
        let bus = settings.iter().find(|(name, _)| *name == "EVENT_BUS").map_or("", |(_, bus)| bus);
        let warden = Warden::new(meter.clone(), bus);
        let sdk = services.sdk().into_builder().http_client(Line(warden.clone())).build();
        let given = |name: &str| match name {
            "SIGNING_KEY" => Some(SIGNING_KEY.to_owned()),
            "RUN_TOKEN_KEY" => Some(RUN_TOKEN_KEY.to_owned()),
            _ => settings.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned()),
        };
        let settings = services.prepare(&sdk, given).await.unwrap();
        let queues = (settings.launch_queue_url.clone(), settings.tick_queue_url.clone());
        let mut app = App::new(&sdk, settings, shared);
        app.metrics = metered::collect;
        let app = Arc::new(app);
        let functions = Functions::Here(app.clone());
        let client = aws_sdk_sqs::Client::new(&sdk);
        let mapping = Mapping::new(client.clone(), &queues.0, functions.clone());
        let ticks = Mapping::of_ticks(client, &queues.1, functions.clone());
        let world = World {
            time,
            app,
            executor: Executor::start().await,
            meter,
            warden,
            services,
            mapping,
            ticks,
            functions,
            requests: Default::default(),
        };
        let target = json!({"kind": "http", "url": world.executor.url});
        world.workflow("w", &json!({"definition": {"steps": 3}, "target": target})).await;
        world
    }

    /// The same world with another app.
    pub fn replace_app(self, app: App) -> World {
        let app = Arc::new(app);
        let functions = Functions::Here(app.clone());
        let client = aws_sdk_sqs::Client::new(&self.services.sdk());
        let (launches, ticks) = (&app.settings.launch_queue_url, &app.settings.tick_queue_url);
        let mapping = Mapping::new(client.clone(), launches, functions.clone());
        let ticks = Mapping::of_ticks(client, ticks, functions.clone());
        World { app, functions, mapping, ticks, ..self }
    }

    /// The functions that its gateway and its rule call.
    pub fn functions(&self) -> Functions {
        self.functions.clone()
    }

    /// The current time.
    pub fn now(&self) -> Instant {
        self.time.now()
    }

    /// Publishes version 1 of a workflow.
    pub async fn workflow(&self, id: &str, body: &Value) {
        self.ok("PUT", &format!("/workflows/{id}/versions/1"), body).await;
    }

    /// Creates or replaces a schedule of workflow `w`; `more` adds fields or replaces some.
    pub async fn schedule(&self, id: &str, cron_expr: &str, more: &Value) -> Value {
        let mut body = json!({
            "workflow_id": "w", "cron_expr": cron_expr, "overlap_policy": "allow",
        });
        for (field, value) in more.as_object().unwrap() {
            body[field] = value.clone();
        }
        self.ok("PUT", &format!("/schedules/{id}"), &body).await
    }

    /// Calls the API as ann and expects a success.
    #[track_caller]
    pub fn ok<'a>(
        &'a self,
        method: &'a str,
        path: &'a str,
        body: &'a Value,
    ) -> impl Future<Output = Value> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let (status, answer) = self.call(method, path, body).await;
            assert!((200..300).contains(&status), "{caller}: {method} {path}: {status} {answer}");
            answer
        }
    }

    /// Calls the API as ann.
    pub async fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.call_as(Some("ann"), method, path, body, &[]).await
    }

    /// Calls the API as any user, with headers. Scopes may follow the name, such as `bob admin`.
    pub async fn call_as(
        &self,
        sub: Option<&str>,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.call_raw(sub, method, path, &body, headers).await
    }

    /// Calls the API with arbitrary bytes as the body.
    pub async fn call_raw(
        &self,
        sub: Option<&str>,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        let number = self.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let event = request(sub, method, path, body, headers, number);
        let answer =
            AT_WORK.scope(Function::Api.name(), functions::api(&self.app, event)).await.unwrap();
        let text = answer["body"].as_str().unwrap_or("null");
        (answer["statusCode"].as_u64().unwrap() as u16, serde_json::from_str(text).unwrap())
    }

    /// Calls the tick now.
    pub async fn tick(&self) -> Value {
        self.functions.invoke(Function::Tick, rules::event(self.now())).await.unwrap()
    }

    /// Calls the tick now, with this much time.
    pub async fn tick_within(&self, time: Duration) -> Value {
        let event = rules::event(self.now());
        let work = functions::tick(&self.app, event, self.now() + time);
        AT_WORK.scope(Function::Tick.name(), work).await.unwrap()
    }

    /// The hand-overs that no tick has received yet; they are not put back.
    pub async fn handed_over(&self) -> Vec<Message> {
        let mut all = Vec::new();
        loop {
            match self.ticks.receive(0).await {
                some if some.is_empty() => return all,
                some => all.extend(some),
            }
        }
    }

    /// Calls the tick with a hand-over.
    pub async fn take_over(&self, message: &Message) -> Value {
        let event =
            mapping::event(&self.app.settings.tick_queue_url, std::slice::from_ref(message));
        self.functions.invoke(Function::Tick, event).await.unwrap()
    }

    /// Delivers hand-overs to other ticks until no tick hands over any more.
    pub async fn deliver_ticks(&self) {
        let is_there = || {
            let next = self.services.queues.next_visible_at(TICK_QUEUE).unwrap();
            next.is_some_and(|at| at <= self.now())
        };
        while is_there() {
            let messages = self.ticks.receive(0).await;
            self.ticks.deliver(messages).await;
        }
    }

    /// Calls recovery now.
    pub async fn recover(&self) -> Value {
        self.functions.invoke(Function::Recovery, rules::event(self.now())).await.unwrap()
    }

    /// Loses every message of the launch queue.
    pub async fn lose_messages(&self) {
        let client = aws_sdk_sqs::Client::new(&self.services.sdk());
        let queue = &self.app.settings.launch_queue_url;
        client.purge_queue().queue_url(queue).send().await.unwrap();
    }

    /// Lets time pass: the tick runs every minute, and messages are delivered when they are due.
    pub async fn pass(&self, duration: Duration) {
        self.pass_with(duration, true).await;
    }

    /// Lets time pass without a tick, as in an outage of the rule.
    pub async fn pass_without_ticks(&self, duration: Duration) {
        self.pass_with(duration, false).await;
    }

    async fn pass_with(&self, duration: Duration, ticks: bool) {
        let end = self.now() + duration;
        loop {
            // A launcher that waits for a second moves time there, possibly to the next tick.
            let after = self.now() + Duration::milliseconds(1);
            let next_tick = after.duration_round_up(Duration::minutes(1)).unwrap();
            self.deliver().await;
            let next_message = self.next_message_at();
            let next_tick = ticks.then_some(next_tick);
            let next = [next_tick, next_message].into_iter().flatten().min();
            let next = next.filter(|next| *next <= end).unwrap_or(end);
            self.time.set(next.max(self.now()));
            if Some(next) == next_tick {
                self.tick().await;
                self.deliver_ticks().await;
            }
            if self.now() >= end {
                self.deliver().await;
                return;
            }
        }
    }

    /// When the next message of the launch queue is due.
    pub fn next_message_at(&self) -> Option<Instant> {
        self.services.queues.next_visible_at(LAUNCH_QUEUE).unwrap()
    }

    /// Delivers every due message to the launcher. A launcher that waits for the rest of a second
    /// moves time there.
    pub async fn deliver(&self) {
        loop {
            let messages = self.mapping.receive(0).await;
            if messages.is_empty() {
                return;
            }
            let mapping = self.mapping.clone();
            let mut delivery = tokio::spawn(async move { mapping.deliver(messages).await });
            loop {
                tokio::select! {
                    done = &mut delivery => { done.unwrap(); break }
                    () = self.time.until_sleeping(1) => {
                        if let Some(wake) = self.time.next_wake() {
                            self.time.set(wake);
                        }
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }

    /// The runs of a schedule, oldest first.
    pub async fn runs(&self, schedule: &str) -> Vec<Value> {
        let mut runs = self.pages(&format!("/schedules/{schedule}/runs"), 200).await;
        runs.reverse();
        runs
    }

    /// The items of a list over all its pages, which have `limit` items each.
    pub async fn pages(&self, path: &str, limit: usize) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("{path}?limit={limit}{cursor}");
            let page = self.ok("GET", &path, &Value::Null).await;
            items.extend(page["items"].as_array().unwrap().clone());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return items,
            }
        }
    }

    /// The runs of a schedule as (time, status, reason), oldest first.
    pub async fn story(&self, schedule: &str) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let row = |run: &Value| {
            let at = text(&run["run_at"]);
            (at[11..19].to_owned(), text(&run["status"]), text(&run["reason"]))
        };
        self.runs(schedule).await.iter().map(row).collect()
    }

    /// The id of a schedule's fire at a time on 1 January 2026.
    pub fn fire(&self, schedule: &str, time: &str) -> RunId {
        format!("{schedule}@2026-01-01T{time}Z").parse().unwrap()
    }

    /// A schedule's id.
    pub fn id(&self, schedule: &str) -> ScheduleId {
        schedule.parse().unwrap()
    }

    /// The fires a schedule is expected to have, one every `step` from `from`.
    pub fn every(&self, schedule: &str, from: &str, step: i64, count: i64) -> Vec<String> {
        let first = self.fire(schedule, from).run_at;
        let at = |place| text(first + Duration::seconds(step * place));
        (0..count).map(|place| format!("{schedule}@{}", at(place))).collect()
    }
}

/// The event that the gateway makes of a request.
pub fn request(
    sub: Option<&str>,
    method: &str,
    path: &str,
    body: &str,
    headers: &[(&str, &str)],
    number: u64,
) -> Value {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let headers: serde_json::Map<_, _> =
        headers.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    let authorizer = sub.map(|sub| {
        let (sub, scope) = sub.split_once(' ').unwrap_or((sub, SCOPES));
        json!({"jwt": {"claims": {"sub": sub, "scope": scope}, "scopes": null}})
    });
    json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": format!("/api/v1{path}"),
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "accountId": "1", "apiId": "a", "stage": "$default", "routeKey": "$default",
            "requestId": format!("request-{number}"), "timeEpoch": 0,
            "authorizer": authorizer,
            "http": {
                "method": method, "path": path, "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1", "userAgent": "story",
            },
        },
        "body": body,
        "isBase64Encoded": false,
    })
}

/// A launcher that received `run` with this message and judged it by the first definition.
pub fn claimant<'a>(run: &'a RunId, message: &'a str) -> Claimant<'a> {
    Claimant { run, revision: 1, message, call: "a call by the story", ahead: false }
}
