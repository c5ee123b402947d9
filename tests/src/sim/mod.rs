//! The simulator: hours of the whole system's life in a moment, determined by one seed.
//!
//! The handlers and the SDK clients are the real ones. Below them is a wire to the embedded
//! services in the same thread, on tokio's paused clock: when all tasks sleep, time jumps. Nothing
//! else decides what happens next, so a seed that failed fails again.

mod client;
mod clock;
mod executor;
mod faults;
mod index;
mod invocation;
mod life;
mod mutation;
mod queue;
mod trace;
mod wire;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use belfry_core::instant::Instant;
use belfry_engine::app::App;
use belfry_engine::cloud::message::{self, Named};
use belfry_engine::cloud::store::tables;
use belfry_engine::metrics;
use belfry_engine::settings::Settings;
use belfry_sqs::Sqs;
use belfry_time::Time;
use chrono::{Duration, TimeDelta};
use dynoxide::Database;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::checker::{self, History, Record, Rules, Violation};
use crate::dice::Dice;
use crate::embedded::{self, RUNS, SCHEDULES};
use clock::SimTime;
use executor::Executor;
use faults::Faults;
use index::Lag;
use life::Apps;
pub use mutation::Mutation;
use wire::Wire;

const WORKFLOWS: &str = "belfry-workflows";
const LAUNCH_QUEUE: &str = "belfry-launch";
const DEAD_LETTERS: &str = "belfry-dead-letters";
const TICK_QUEUE: &str = "belfry-ticks";
/// The queue for messages that are lost.
const NOWHERE: &str = "nowhere";

/// The longest lag of an index.
const LONGEST_LAG: Duration = Duration::minutes(1);

/// The result of a seed.
pub struct Outcome {
    /// The violations.
    pub violations: Vec<Violation>,
    /// Fires that had to happen.
    pub fires: usize,
    /// Faults that happened.
    pub faults: u64,
    /// The trace, if it was requested.
    pub trace: Vec<String>,
}

/// Everything the actors of a life share.
struct Sim {
    time: SimTime,
    dice: Mutex<Dice>,
    faults: Mutex<Faults>,
    database: Database,
    queues: Sqs,
    lag: Mutex<Lag>,
    records: Mutex<Vec<Record>>,
    executor: Mutex<Executor>,
    begun: mpsc::UnboundedSender<String>,
    mutation: Option<Mutation>,
    known: Mutex<BTreeMap<String, (Instant, Value)>>,
    sent_early: Mutex<Vec<String>>,
    numbers: AtomicU64,
    trace: Option<Mutex<Vec<String>>>,
}

/// Runs the life of a seed and judges it.
pub fn run(seed: u64, mutation: Option<Mutation>, traced: bool) -> Outcome {
    // The SDK's retry jitter comes from this generator.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(live(seed, mutation, traced))
}

async fn live(seed: u64, mutation: Option<Mutation>, traced: bool) -> Outcome {
    let mut dice = Dice::new(seed);
    let began_at: Instant = "2026-01-01T00:00:00Z".parse().expect("a time");
    let began_at = began_at + Duration::milliseconds(dice.between(0, 86_400_000));
    let time = SimTime::starting(began_at);
    let faults = Faults::draw(&mut dice, began_at, began_at + Duration::minutes(25));
    let skew_ms = dice.pick(&[0, 300, 3_000]);
    let settings = draw_settings(&mut dice, seed, mutation);
    let max_receives = dice.pick(&[4, 20]);
    let (begun, work) = mpsc::unbounded_channel();
    let sim = Arc::new(Sim {
        queues: Sqs::memory(time.clone()).expect("queues in memory"),
        time,
        dice: Mutex::new(dice),
        faults: Mutex::new(faults),
        database: Database::memory().expect("a database in memory"),
        lag: Mutex::default(),
        records: Mutex::default(),
        executor: Mutex::default(),
        begun,
        mutation,
        known: Mutex::default(),
        sent_early: Mutex::default(),
        numbers: AtomicU64::new(0),
        trace: traced.then(Mutex::default),
    });
    let sdk = sdk(&sim);
    prepare(&sim, &sdk, &settings, max_receives).await;
    let apps = apps(&sim, &sdk, &settings, skew_ms);
    for (id, target, completion) in [
        ("fn-launch", json!({"kind": "lambda", "function": "run"}), "on_launch"),
        ("fn-tracked", json!({"kind": "lambda", "function": "run"}), "tracked"),
        ("sfn-launch", machine(), "on_launch"),
        ("sfn-tracked", machine(), "tracked"),
    ] {
        let body = json!({"definition": {}, "target": target, "completion": completion});
        sim.faults().on = false;
        let path = format!("/workflows/{id}/versions/1");
        let made = sim.api(&apps.apis[0], "PUT", &path, &body, &[]).await;
        assert!(matches!(made, Some((201, _))), "{made:?}");
    }
    sim.faults().on = true;
    let rules = Rules {
        skew: Duration::milliseconds(skew_ms),
        grace: settings.horizon.grace,
        lease: settings.launch_lease,
        runtime: settings.recovery.max_runtime,
        calm_at: began_at,
        until: began_at,
    };
    let history = life::live(&sim, &apps, work, rules).await;
    outcome(&sim, &history)
}

fn outcome(sim: &Sim, history: &History) -> Outcome {
    let trace = sim.trace.as_ref().map(|trace| trace.lock().unwrap().clone());
    Outcome {
        violations: checker::judge(history),
        fires: checker::fires(history),
        faults: sim.faults().count,
        trace: trace.unwrap_or_default(),
    }
}

fn machine() -> Value {
    json!({"kind": "step_functions", "state_machine_arn": "arn:aws:states:us-east-1:1:stateMachine:run"})
}

fn draw_settings(dice: &mut Dice, seed: u64, mutation: Option<Mutation>) -> Settings {
    // In every other life the share is so small that ticks hand over almost everything.
    let (tick_queue_url, tick_share) = match seed % 2 {
        0 => (queue::queue_url(TICK_QUEUE), "1"),
        _ => (String::new(), "10000"),
    };
    let max_runtime_s = match mutation {
        Some(Mutation::NoDefaultRuntime) => "31536000",
        _ => "300",
    };
    let given = [
        ("TICK_QUEUE_URL", tick_queue_url),
        ("TICK_SHARE", tick_share.to_owned()),
        ("SCHEDULES_TABLE", SCHEDULES.to_owned()),
        ("RUNS_TABLE", RUNS.to_owned()),
        ("WORKFLOWS_TABLE", WORKFLOWS.to_owned()),
        ("LAUNCH_QUEUE_URL", queue::queue_url(LAUNCH_QUEUE)),
        ("DEAD_LETTER_QUEUE_URL", queue::queue_url(DEAD_LETTERS)),
        ("SIGNING_KEY", "a key for simulated lives".to_owned()),
        ("DUE_SHARDS", "2".to_owned()),
        ("RECOVERY_MAX_AGE_S", "2700".to_owned()),
        ("DEFAULT_MAX_RUNTIME_S", max_runtime_s.to_owned()),
        ("LOST_AFTER_S", dice.pick(&["60", "300"]).to_owned()),
        ("MAX_CATCHUP_PER_TICK", dice.pick(&["2", "100"]).to_owned()),
    ];
    let lookup =
        |name: &str| given.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
    Settings::read(lookup).expect("settings")
}

/// Creates the tables and queues.
async fn prepare(sim: &Sim, sdk: &SdkConfig, settings: &Settings, max_receives: u32) {
    let client = aws_sdk_dynamodb::Client::new(sdk);
    tables::create(&client, settings).await.expect("tables");
    for queue in [DEAD_LETTERS, NOWHERE, TICK_QUEUE] {
        sim.sqs("CreateQueue", &json!({"QueueName": queue})).await;
    }
    let arn = format!("arn:aws:sqs:us-east-1:000000000000:{DEAD_LETTERS}");
    let redrive = json!({"deadLetterTargetArn": arn, "maxReceiveCount": max_receives});
    let launch = json!({
        "QueueName": LAUNCH_QUEUE, "Attributes": {"RedrivePolicy": redrive.to_string()},
    });
    let made = sim.sqs("CreateQueue", &launch).await;
    assert_eq!(made.status, 200, "{}", made.body);
}

/// The SDK's clients of one region share a retry budget, so each life has a region of its own.
static LIVES: AtomicU64 = AtomicU64::new(0);

fn sdk(sim: &Arc<Sim>) -> SdkConfig {
    let region = format!("sim-{}", LIVES.fetch_add(1, Ordering::Relaxed));
    let credentials = Credentials::new("sim", "sim", None, None, "sim");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(region))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url("http://sim")
        .retry_config(RetryConfig::standard().with_max_attempts(3))
        .http_client(Wire(sim.clone()))
        .build()
}

fn apps(sim: &Arc<Sim>, sdk: &SdkConfig, settings: &Settings, skew_ms: i64) -> Apps {
    let mut number = 0;
    let mut some = |count: usize| -> Vec<Arc<App>> {
        (0..count)
            .map(|_| {
                // No two machines' clocks agree to the microsecond.
                number += 1;
                let wrong_by = TimeDelta::milliseconds(sim.dice().between(-skew_ms, skew_ms))
                    + TimeDelta::microseconds(number);
                let time = Arc::new(sim.time.wrong_by(wrong_by));
                let mut app = App::new(sdk, settings.clone(), time);
                app.metrics = metrics::to_nowhere;
                Arc::new(app)
            })
            .collect()
    };
    Apps { ticks: some(2), launchers: some(3), recoveries: some(1), apis: some(2) }
}

impl Sim {
    fn now(&self) -> Instant {
        self.time.now()
    }

    fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap()
    }

    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap()
    }

    fn lag(&self) -> MutexGuard<'_, Lag> {
        self.lag.lock().unwrap()
    }

    fn records(&self) -> MutexGuard<'_, Vec<Record>> {
        self.records.lock().unwrap()
    }

    fn executor(&self) -> MutexGuard<'_, Executor> {
        self.executor.lock().unwrap()
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, (Instant, Value)>> {
        self.known.lock().unwrap()
    }

    fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes the runs of a message that have no record when it is sent.
    fn note_sent(&self, entry: &Value) {
        let body = entry["MessageBody"].as_str().unwrap_or_default();
        let Ok(named) = message::read::<Named>(body) else { return };
        for Named { run_id } in named {
            let key = json!({
                "schedule_id": {"S": run_id.schedule_id.as_str()},
                "run_at": {"S": run_id.sort_key()},
            });
            if embedded::item(&self.database, RUNS, &key).is_null() {
                self.sent_early.lock().unwrap().push(run_id.to_string());
            }
        }
    }

    fn note_record(&self, item: &Value, now: Instant) {
        let text = |name: &str| item[name]["S"].as_str().unwrap_or_default();
        self.records().push(Record {
            at: now,
            run_id: format!("{}@{}", text("schedule_id"), text("run_at")),
            status: text("status").to_owned(),
            attempt: item["attempt"]["N"].as_str().and_then(|n| n.parse().ok()).unwrap_or(0),
            claimed_at: text("started_at").parse().ok(),
            cancelled: item.get("cancelled_by").is_some_and(|by| !by.is_null()),
        });
        self.lag().forget(now, LONGEST_LAG);
    }

    fn trace(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            let line = format!("{} {}", self.now().format("%H:%M:%S%.3f"), line());
            trace.lock().unwrap().push(line);
        }
    }
}
