//! The units of the cost model, counted again on the embedded services.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use belfry_core::id::RunId;
use belfry_core::run::{Reason, Run, Trigger};
use belfry_core::schedule::Overlap;
use belfry_core::workflow::Completion;
use belfry_cost::units::{self, Capacity, Fire};
use belfry_engine::app::App;
use belfry_engine::{log, metrics};
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// As long as generated ids are.
const SCHEDULE: &str = "a-schedule-with-a-long-name-as-generated-ones-have";

/// A world with a schedule that fires every ten minutes, after its first two fires.
async fn world_with(overlap: Overlap, completion: Completion, payload_bytes: usize) -> World {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": completion})).await;
    let payload = "x".repeat(payload_bytes.saturating_sub(2));
    let more = json!({
        "workflow_id": "t", "overlap_policy": overlap, "payload": payload,
        "name": "n".repeat(200), "timezone": "America/Argentina/ComodRivadavia",
    });
    world.schedule(SCHEDULE, "0 */10 * * * *", &more).await;
    // The first check of the day belongs to no fire.
    world.recover().await;
    for _ in 0..2 {
        live_a_fire(&world, completion).await;
    }
    world
}

/// Ten minutes with one fire, step by step. Returns what each step consumed.
async fn live_a_fire(world: &World, completion: Completion) -> BTreeMap<&'static str, Step> {
    let mut steps = BTreeMap::new();
    world.pass_without_ticks(Duration::minutes(9)).await;
    world.recover().await;
    world.meter.reset();
    world.tick().await;
    steps.insert("tick", Step::of(world));
    world.pass_without_ticks(Duration::minutes(1)).await;
    steps.insert("launch", Step::of(world));
    if completion == Completion::Tracked {
        let launch = world.executor.launches().pop().unwrap();
        let path = format!("/runs/{}/status", launch.run_id);
        world.ok("POST", &path, &json!({"status": "SUCCESS", "result": {"rows": 10}})).await;
    }
    steps.insert("report", Step::of(world));
    steps
}

#[derive(Debug, Default)]
struct Step {
    units: Capacity,
    requests: BTreeMap<String, usize>,
}

impl Step {
    /// The units counted since the last step.
    fn of(world: &World) -> Step {
        let units = units(world);
        let requests = world.meter.requests();
        world.meter.reset();
        Step { units, requests }
    }
}

fn units(world: &World) -> Capacity {
    Capacity { reads: world.meter.read_units(), writes: world.meter.write_units() }
}

/// The difference of two capacities.
fn less(all: Capacity, some: Capacity) -> Capacity {
    all + some * -1.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fire_consumes_what_the_cost_ledger_says() {
    for overlap in [Overlap::Allow, Overlap::Skip, Overlap::Queue] {
        for completion in [Completion::OnLaunch, Completion::Tracked] {
            for payload_bytes in [2, 20 * 1024] {
                let told = Fire::of(overlap, completion, payload_bytes);
                let world = world_with(overlap, completion, payload_bytes).await;
                let shards = f64::from(world.app.settings.due_shards);
                let mut steps = live_a_fire(&world, completion).await;
                world.pass_without_ticks(Duration::minutes(4)).await;
                world.recover().await;
                world.pass_without_ticks(Duration::minutes(1)).await;
                world.meter.reset();
                assert_eq!(world.recover().await["looked_at"], 1);
                steps.insert("recovery", Step::of(&world));

                let case = format!("{overlap:?} {completion:?} {payload_bytes}");
                let tick = less(steps["tick"].units, units::idle_tick(shards));
                assert_eq!(tick, told.tick, "{case}, tick");
                assert_eq!(steps["launch"].units, told.launch, "{case}, launch");
                assert_eq!(steps["report"].units, told.report, "{case}, report");
                let recovery = less(steps["recovery"].units, units::idle_recovery(shards));
                assert_eq!(recovery, told.recovery, "{case}, recovery");
                let sent = steps["tick"].requests["SendMessageBatch"];
                let deleted = steps["launch"].requests["DeleteMessageBatch"];
                // And a receive that delivers it.
                assert_eq!((sent + deleted + 1) as f64, units::MESSAGES, "{case}");
                println!("units of a fire, {case} bytes: {:?}", told.total());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_ticks_and_recoveries_consume_what_the_cost_ledger_says() {
    for shards in [8, 3] {
        let world = World::with(&[("DUE_SHARDS", &shards.to_string())]).await;
        world.recover().await;
        world.time.advance(Duration::minutes(1));
        world.meter.reset();
        world.tick().await;
        let tick = Step::of(&world);
        world.recover().await;
        let recovery = Step::of(&world);
        println!("idle, {shards} shards: tick {tick:?}, recovery {recovery:?}");
        assert_eq!(tick.units, units::idle_tick(f64::from(shards)));
        assert_eq!(recovery.units, units::idle_recovery(f64::from(shards)));
        assert_eq!(recovery.requests["ReceiveMessage"] as f64, units::IDLE_RECOVERY_RECEIVES);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daily_check_consumes_what_the_cost_ledger_says() {
    for (cron, every) in [("0 12 * * *", 720), ("0 * * * *", 60), ("*/15 * * * *", 15)] {
        let world = World::new().await;
        world.schedule(SCHEDULE, cron, &json!({})).await;
        let fires = 1440 / every;
        for _ in 0..fires {
            world.pass_without_ticks(Duration::minutes(every - 1)).await;
            // Each of them sweeps at most two hours.
            for _ in 0..=every / 120 {
                world.recover().await;
            }
            world.tick().await;
            world.pass_without_ticks(Duration::minutes(1)).await;
        }
        let fires = world.runs(SCHEDULE).await.len() as f64;
        // As many older runs as there are on average before they are added to the sums.
        for place in 0..(units::RUNS_ADDED as i64 / 2) {
            let at = world.now() - Duration::days(10) + Duration::minutes(place);
            let id = RunId::scheduled(&world.id(SCHEDULE), at);
            let run = Run::planned(id, Trigger::Schedule(cron.to_owned()), "ann", 1, at, at);
            world.app.store.put_run(&run.skipped(Reason::Overlap, at)).await.unwrap();
        }
        let idle = units::idle_recovery(f64::from(world.app.settings.due_shards));
        world.meter.reset();
        assert_eq!(world.recover().await["checked"]["schedules"], 1);
        // The list of schedules, half a unit for hundreds of them, and a bookmark.
        let shared = Capacity { reads: 0.5, writes: 1.0 };
        let check = less(less(units(&world), idle), shared);
        println!("units of the daily check of a schedule, {fires} fires: {check:?}");
        let told = units::check(fires, 2);
        assert!(check.writes <= told.writes.ceil(), "{check:?} {told:?}");
        // On the days on which the runs are added it is more, on the others less.
        let (low, high) = if check.writes > 0.0 { (0.8, 1.2) } else { (0.6, 1.0) };
        let of_told = check.reads / told.reads;
        assert!(of_told <= high && of_told >= low, "{check:?} {told:?}");
    }
}

/// An item's size in DynamoDB: the bytes of its names and values.
fn size(item: &HashMap<String, AttributeValue>) -> usize {
    item.iter().map(|(name, value)| name.len() + size_of_value(value)).sum()
}

fn size_of_value(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len().div_ceil(2) + 1,
        AttributeValue::L(all) => 3 + all.iter().map(|one| 1 + size_of_value(one)).sum::<usize>(),
        AttributeValue::M(all) => 3 + size(all) + all.len(),
        AttributeValue::Ss(all) => all.iter().map(String::len).sum(),
        _ => 1,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_and_schedules_are_as_large_as_the_cost_ledger_says() {
    let world = world_with(Overlap::Skip, Completion::OnLaunch, 2).await;
    let client = Client::new(&world.services.sdk());
    let mut sizes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let settings = &world.app.settings;
    for table in [&settings.schedules_table, &settings.runs_table] {
        let mut items = client.scan().table_name(table).into_paginator().items().send();
        while let Some(item) = items.next().await {
            let item = item.unwrap();
            if item["schedule_id"].as_s().unwrap() != SCHEDULE {
                continue;
            }
            let (table, index) = match item.contains_key("run_at") {
                true => ("run", "sweep"),
                false => ("schedule", "schedule index"),
            };
            sizes.entry(table).or_default().push(size(&item));
            let keys: &[&[&str]] = match table {
                "run" => &[&["schedule_id", "run_at", "sweep"]],
                _ => &[
                    &["due_shard", "next_run_at", "schedule_id", "sk", "owner"],
                    &["user_id", "schedule_id", "sk"],
                    &["workflow_id", "schedule_id", "sk", "owner", "version"],
                ],
            };
            for keys in keys {
                let mut entry = item.clone();
                entry.retain(|name, _| keys.contains(&name.as_str()));
                // An item without a key attribute of an index is not in the index.
                if entry.len() == keys.len() {
                    sizes.entry(index).or_default().push(size(&entry));
                }
            }
        }
    }
    println!("bytes stored: {sizes:?}");
    let close = |counted: usize, told: f64| {
        assert!(counted as f64 <= told && counted as f64 > 0.85 * told, "{counted} {told}");
    };
    for run in &sizes["run"] {
        close(*run, units::RUN_BYTES);
    }
    for entry in &sizes["sweep"] {
        close(*entry, units::SWEEP_BYTES);
    }
    close(sizes["schedule"].iter().sum(), units::SCHEDULE_BYTES);
    close(sizes["schedule index"].iter().sum(), units::SCHEDULE_INDEX_BYTES);
}

/// Metric lines of the one story that reads them.
static METRICS: Mutex<Vec<Value>> = Mutex::new(Vec::new());

/// Counts the bytes of a log.
#[derive(Clone, Default)]
struct Counter(Arc<Mutex<usize>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0.lock().unwrap() += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// On one thread, so that it counts only its own log lines.
#[tokio::test]
async fn functions_log_and_measure_as_much_as_the_cost_ledger_says() {
    let world = world_with(Overlap::Skip, Completion::OnLaunch, 2).await;
    let shared: Arc<dyn belfry_time::Time> = Arc::new(world.time.clone());
    let mut app = App::new(&world.services.sdk(), world.app.settings.clone(), shared);
    app.metrics = |line| METRICS.lock().unwrap().push(line.clone());
    let world = world.replace_app(app);
    let counter = Counter::default();
    let writer = counter.clone();
    let subscriber = log::to(move || writer.clone(), "info");
    // While there is only one subscriber, tracing asks the current thread for it, and a log line
    // first emitted on another story's thread would be disabled here too.
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let _guard = tracing::subscriber::set_default(subscriber);
    let taken = || {
        let metrics: usize =
            METRICS.lock().unwrap().drain(..).map(|line| line.to_string().len() + 1).sum();
        metrics + std::mem::take(&mut *counter.0.lock().unwrap())
    };
    world.pass_without_ticks(Duration::minutes(7)).await;
    world.recover().await;
    world.pass_without_ticks(Duration::minutes(1)).await;
    taken();
    world.tick().await;
    assert_eq!(world.recover().await["looked_at"], 0);
    let names = |lines: &[Value]| -> BTreeSet<String> {
        let named = |line: &Value| line["_aws"]["CloudWatchMetrics"][0]["Metrics"].clone();
        let metrics = lines.iter().flat_map(|line| named(line).as_array().unwrap().clone());
        metrics.map(|metric| metric["Name"].as_str().unwrap().to_owned()).collect()
    };
    let mut seen = names(&METRICS.lock().unwrap());
    let idle = taken();
    world.pass_without_ticks(Duration::minutes(1)).await;
    world.tick().await;
    world.pass_without_ticks(Duration::minutes(6)).await;
    assert_eq!(world.recover().await["looked_at"], 1);
    seen.extend(names(&METRICS.lock().unwrap()));
    let fire = taken() - idle;
    println!("bytes of log: idle {idle}, a fire {fire}; metrics: {}", seen.len());
    assert_eq!(seen.len() as f64, units::METRICS, "{seen:#?}");
    let told: BTreeSet<_> = metrics::METRICS.iter().map(|name| name.as_str().to_owned()).collect();
    let seldom: Vec<_> = told.difference(&seen).collect();
    // These are reported only when they move, and a metric is billed in the hours it is reported.
    let expected = ["alerts_failed", "alerts_sent", "clocks_repaired", "runs_failed", "runs_lost"];
    assert_eq!(seldom, [&expected[..], &["schedules_failing"]].concat());
    let close = |counted: usize, told: f64| {
        assert!(counted as f64 <= told && counted as f64 > 0.85 * told, "{counted} {told}");
    };
    close(idle, units::IDLE_LOG_BYTES);
    close(fire, units::FIRE_LOG_BYTES);
}
