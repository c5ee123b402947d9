//! A soak: the whole system on the embedded services over real sockets, in real time, holds a rate
//! of fires while calls fail, and the checker judges the resulting records.
//!
//! `make soak MINUTES=2 RATE=50`

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use belfry_core::instant::text;
use belfry_engine::app::App;
use belfry_engine::{functions, metrics};
use belfry_local::functions::{Function, Functions};
use belfry_local::mapping::Mapping;
use belfry_local::rules;
use belfry_local::services::{Services, Storage};
use belfry_tests::checker::{
    self, Answer, Call, Change, Definition, History, Kind, Rules, Schedule,
};
use belfry_tests::{Executor, Flaky, Line, embedded, world};
use belfry_time::{SystemTime, Time};
use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

/// How many in a thousand calls of the functions fail.
const FAULTS: u32 = 10;
/// How many in a hundred launches the executor refuses for now.
const REFUSALS: u32 = 1;
/// A fire that starts later than this is late.
const LATE: Duration = Duration::seconds(1);
/// Longer than recovery needs to recover the last loss.
const LONGEST_END: Duration = Duration::minutes(8);

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str, otherwise: i64| {
        let place = arguments.iter().position(|argument| argument == name);
        let given = place.and_then(|place| arguments.get(place + 1)?.parse().ok());
        given.unwrap_or(otherwise)
    };
    soak(number("--minutes", 2), number("--rate", 50)).await
}

async fn soak(minutes: i64, rate: i64) -> ExitCode {
    let time: Arc<dyn Time> = Arc::new(SystemTime);
    let services = Services::start(&Storage::Memory, time.clone(), (0, 0)).await.expect("services");
    let sdk = services.sdk();
    let settings = services.prepare(&sdk, given).await.expect("settings");
    let flaky = Flaky::new(sdk.http_client().expect("a client"), FAULTS);
    let flaky_sdk = sdk.to_builder().http_client(Line(flaky.clone())).build();
    let app = |sdk| {
        let mut app = App::new(sdk, settings.clone(), time.clone());
        app.metrics = metrics::to_nowhere;
        Arc::new(app)
    };
    let (steady, functions) = (app(&sdk), Functions::Here(app(&flaky_sdk)));
    let executor = Executor::start().await;
    let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
    executor.answers(answerer(calls.clone()));
    let target = json!({"kind": "http", "url": executor.url});
    ok(&steady, "PUT", "/workflows/w/versions/1", &json!({"definition": {}, "target": target}))
        .await;

    let end_at = time.now() + Duration::minutes(minutes) + Duration::seconds(5);
    let mut schedules = Vec::new();
    for number in 0..rate {
        let from = time.now();
        let id = format!("soak-{number}");
        let definition = definition(end_at, number);
        let body = json!({
            "workflow_id": "w", "cron_expr": definition.cron_expr, "end_at": text(end_at),
            "overlap_policy": definition.overlap_policy, "payload": {"n": 0},
        });
        ok(&steady, "PUT", &format!("/schedules/{id}"), &body).await;
        let definition = Some(definition);
        let change = Change { from, to: time.now(), acknowledged: true, definition };
        schedules.push(Schedule { id, changes: vec![change], ..Schedule::default() });
    }
    let client = aws_sdk_sqs::Client::new(&sdk);
    let mapping = Mapping::new(client, &settings.launch_queue_url, functions.clone());
    tokio::spawn(mapping.run());
    for (function, rate) in [(Function::Tick, 1), (Function::Recovery, 15)] {
        let rate = Duration::seconds(rate);
        tokio::spawn(rules::run(functions.clone(), function, time.clone(), rate));
    }
    println!("{rate} fires/s for {minutes} minutes in real time, on the embedded services");
    loop {
        time.sleep_until(time.now() + Duration::seconds(15)).await;
        let runs: Vec<_> =
            schedules.iter().flat_map(|s| embedded::runs(&services.database, &s.id)).collect();
        let open = runs.iter().filter(|run| !run.is_over()).count();
        println!("{} fires recorded, {open} open, {} faults", runs.len(), flaky.faults());
        let since = time.now() - end_at;
        if since > LONGEST_END || (since > Duration::seconds(5) && open == 0) {
            break;
        }
    }
    for schedule in &mut schedules {
        schedule.runs = embedded::runs(&services.database, &schedule.id);
        let path = format!("/schedules/{}/ledger", schedule.id);
        schedule.active = embedded::active(&services.database, &schedule.id);
        let ledger = ok(&steady, "GET", &path, &Value::Null).await;
        schedule.unexplained = Schedule::unexplained(&ledger);
        let path = format!("/schedules/{}", schedule.id);
        schedule.stats = Some(ok(&steady, "GET", &path, &Value::Null).await["stats"].clone());
    }
    let mut calls = calls.lock().unwrap().clone();
    for call in calls.iter_mut().filter(|call| flaky.struck(&call.run_id)) {
        if call.answer == Answer::Accepted {
            call.answer = Answer::AcceptedThenTrouble;
        }
    }
    let rules = Rules {
        skew: Duration::zero(),
        grace: settings.horizon.grace,
        lease: settings.launch_lease,
        runtime: settings.recovery.max_runtime,
        calm_at: time.now(),
        until: time.now(),
    };
    let (executions, records, sent_early) = (Vec::new(), Vec::new(), Vec::new());
    let history = History { rules, schedules, calls, executions, records, sent_early };
    report(&history, flaky.faults())
}

fn report(history: &History, faults: u64) -> ExitCode {
    let violations = checker::judge(history);
    for violation in violations.iter().take(20) {
        println!("{violation}");
    }
    let count = |kind: Kind| violations.iter().filter(|v| v.kind == kind).count();
    let mut drifts: Vec<_> = history.calls.iter().map(drift).collect();
    drifts.sort_unstable();
    let rank = |percent: usize| {
        let place = (drifts.len() * percent).div_ceil(100).saturating_sub(1);
        drifts.get(place).map_or(0, Duration::num_milliseconds)
    };
    println!(
        "fires {}, faults {faults}, lost {}, duplicate {}, unexplained {}, violations {}",
        checker::fires(history),
        count(Kind::Lost),
        count(Kind::Duplicate),
        count(Kind::Unexplained),
        violations.len()
    );
    println!(
        "late by more than {} s: {} of {} launches; drift p50 {} ms, p99 {} ms, most {} ms",
        LATE.num_seconds(),
        drifts.iter().filter(|drift| **drift > LATE).count(),
        drifts.len(),
        rank(50),
        rank(99),
        rank(100)
    );
    if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How long after its time a launch arrived.
fn drift(call: &Call) -> Duration {
    let run_at = call.run_id.split('@').nth(1).and_then(|at| at.parse::<DateTime<Utc>>().ok());
    run_at.map_or(Duration::zero(), |run_at| call.at - run_at)
}

fn given(name: &str) -> Option<String> {
    match name {
        "SIGNING_KEY" => Some("a key for the soak".to_owned()),
        // Short, so that losses are recovered during the soak.
        "LOST_AFTER_S" => Some("60".to_owned()),
        _ => None,
    }
}

fn definition(end_at: DateTime<Utc>, number: i64) -> Definition {
    Definition {
        cron_expr: "* * * * * *".to_owned(),
        timezone: "UTC".to_owned(),
        end_at,
        paused: false,
        overlap_policy: if number % 4 == 0 { "skip" } else { "allow" }.to_owned(),
        max_concurrent: 1,
        catchup_policy: "none".to_owned(),
        jitter_ms: 0,
        payload: 0,
    }
}

/// Accepts most launches, and records all.
fn answerer(
    calls: Arc<Mutex<Vec<Call>>>,
) -> impl Fn(&belfry_tests::Launch) -> (u16, String) + Send + Sync {
    move |launch| {
        let refused = fastrand::u32(0..100) < REFUSALS;
        calls.lock().unwrap().push(Call {
            at: launch.at,
            until: launch.at,
            run_id: launch.run_id.clone(),
            key: launch.key.clone(),
            fence: launch.body["metadata"]["fence"].as_u64().unwrap_or(0),
            payload: launch.body["payload"]["n"].as_i64().unwrap_or(-1),
            effective: !refused,
            answer: if refused { Answer::Refused } else { Answer::Accepted },
            tracked: false,
        });
        if refused { (503, "refused for now".to_owned()) } else { (200, "{}".to_owned()) }
    }
}

async fn ok(app: &App, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let event = world::request(Some("ann"), method, path, &body, &[], 0);
    let answer = functions::api(app, event).await.expect("an answer");
    let status = answer["statusCode"].as_u64().unwrap_or(0);
    assert!((200..300).contains(&status), "{method} {path}: {answer}");
    serde_json::from_str(answer["body"].as_str().unwrap_or("null")).unwrap_or_default()
}
