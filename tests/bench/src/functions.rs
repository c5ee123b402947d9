//! The functions in a process of their own: their handlers, as the real binaries call them, with
//! clients configured by the environment.

use std::sync::Arc;
use std::time::Instant;

use aws_config::retry::RetryConfig;
use belfry_engine::app::App;
use belfry_engine::settings::Settings;
use belfry_engine::{functions, log, metrics};
use belfry_local::functions::{Function, Functions};
use belfry_local::mapping::{self, Mapping};
use belfry_local::services::local_default;
use belfry_local::tokens::{Issuer, TTL, all_scopes};
use belfry_local::{gateway, rules};
use belfry_tests::{Line, Meter, world};
use belfry_time::{ManualTime, SystemTime, Time};
use chrono::Duration;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::child;

/// The name of the thread that plays Lambda's poller.
pub const MAPPING: &str = "mapping";
/// A deadline that no tick of a bench reaches.
const PATIENCE: Duration = Duration::minutes(15);

/// Executes commands until standard input closes. `--meter` counts requests, which takes time.
pub async fn serve(arguments: &[String]) {
    log::start_from_environment();
    let meter = arguments.iter().any(|argument| argument == "--meter").then(Meter::new);
    let mut sdk = aws_config::from_env().retry_config(RetryConfig::standard());
    if let Some(meter) = &meter {
        sdk = sdk.http_client(Line(meter.clone()));
    }
    let sdk = sdk.load().await;
    #[expect(
        clippy::disallowed_methods,
        reason = "a process reads its environment here and nowhere else"
    )]
    let given = |name: &str| std::env::var(name).ok();
    let local = |name: &str| local_default(name).map(str::to_owned);
    let settings = Settings::read(|name| given(name).or_else(|| local(name))).expect("settings");
    let app = |time: Arc<dyn Time>| {
        let mut app = App::new(&sdk, settings.clone(), time);
        app.metrics = metrics::to_nowhere;
        Arc::new(app)
    };
    let now = app(Arc::new(SystemTime));
    let functions = Functions::Here(now.clone());
    let mapping = || {
        let client = aws_sdk_sqs::Client::new(&sdk);
        Mapping::new(client, &settings.launch_queue_url, functions.clone())
    };
    child::answer(&json!({"ready": true}));
    child::orders(async |order: Value| {
        let text = |name: &str| order[name].as_str().unwrap_or_default();
        match text("do") {
            "tick" => {
                meter.iter().for_each(Meter::reset);
                let begin = Instant::now();
                let mut answer = functions::tick(&now, json!({}), SystemTime.now() + PATIENCE)
                    .await
                    .expect("a tick");
                answer["ms"] = json!(begin.elapsed().as_secs_f64() * 1000.0);
                if let Some(meter) = &meter {
                    answer["requests"] = json!(meter.requests().values().sum::<usize>());
                    answer["write_units"] = json!(meter.write_units());
                }
                answer
            }
            // Launches one batch after another, as a single launcher does, until the queue is
            // empty.
            "deliver" => {
                meter.iter().for_each(Meter::reset);
                let mapping = mapping();
                let mut count = 0;
                loop {
                    let messages = mapping.receive(0).await;
                    if messages.is_empty() {
                        let units = meter.as_ref().map(Meter::write_units);
                        return json!({"messages": count, "write_units": units});
                    }
                    count += messages.len();
                    mapping.deliver(messages).await;
                }
            }
            "drain" => {
                map(now.clone());
                json!({})
            }
            "run" => {
                map(now.clone());
                let rate = Duration::milliseconds(order["tick_ms"].as_i64().unwrap_or(1000));
                let time: Arc<dyn Time> = Arc::new(SystemTime);
                tokio::spawn(rules::run(functions.clone(), Function::Tick, time, rate));
                json!({})
            }
            "gateway" => {
                let key = Issuer::new_key().expect("a key");
                let issuer = || Issuer::of_key(&key).expect("an issuer");
                let token = issuer().issue("ann", &all_scopes(), TTL, SystemTime.now());
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
                let url = format!("http://{}", listener.local_addr().expect("its address"));
                let time: Arc<dyn Time> = Arc::new(SystemTime);
                tokio::spawn(gateway::serve(listener, functions.clone(), time, issuer()));
                json!({"url": url, "token": token.expect("a token")})
            }
            "api" => {
                let body =
                    if order["body"].is_null() { String::new() } else { order["body"].to_string() };
                let event =
                    world::request(Some("ann"), text("method"), text("path"), &body, &[], 0);
                let then = text("now").parse().ok().map(|at| app(Arc::new(ManualTime::at(at))));
                let app = then.as_ref().unwrap_or(&now);
                let answer = functions::api(app, event).await.expect("an answer");
                let status = answer["statusCode"].as_u64().unwrap_or(0);
                assert!((200..300).contains(&status), "{order}: {answer}");
                serde_json::from_str(answer["body"].as_str().unwrap_or("null")).unwrap_or_default()
            }
            other => panic!("unknown command {other}"),
        }
    })
    .await;
}

/// The event source mapping of the launch queue, which belongs to Lambda and not to a function: in
/// a thread of its own, so that its CPU time is counted separately.
fn map(app: Arc<App>) {
    let functions = Handle::current();
    let serve = async move {
        let sdk = aws_config::from_env().load().await;
        let client = aws_sdk_sqs::Client::new(&sdk);
        let queue_url = app.settings.launch_queue_url.clone();
        let mapping = Mapping::new(client, &queue_url, Functions::Here(app.clone()));
        let room = mapping.room();
        loop {
            let Some((messages, permit)) = mapping.receive_into(&room).await else { continue };
            let (app, mapping) = (app.clone(), mapping.clone());
            let event = mapping::event(&queue_url, &messages);
            let launch = functions.spawn(async move { functions::launcher(&app, event).await });
            tokio::spawn(async move {
                if let Ok(Ok(answer)) = launch.await {
                    mapping.delete(&messages, &answer).await;
                }
                drop(permit);
            });
        }
    };
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(serve);
    };
    std::thread::Builder::new().name(MAPPING.to_owned()).spawn(run).expect("a thread");
}
