//! The crash loop: `belfry dev` under load, killed at random moments and restarted on the same
//! data, many times. Afterwards every fire is accounted for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belfry_tests::Executor;
use belfry_tests::dice::Dice;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::binary;
use crate::dev::{ALONE, Dev, Folder, now};

const SEED: u64 = 4;
const KILLS: usize = 32;
const SCHEDULES: usize = 200;
/// How often a schedule fires, each at a second of its own: twenty fires a second in total.
const PERIOD_S: usize = 10;
/// Longer than any lease, and than the retries after it.
const PATIENCE: Duration = Duration::from_secs(90);

/// What the executor saw: for each key, the lives of the process in which it was called.
type Calls = Arc<Mutex<HashMap<String, Vec<usize>>>>;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_launched_twice_across_many_kills() {
    let _alone = ALONE.lock().await;
    let (folder, executor) = (Folder::new("crash"), Executor::start().await);
    let (calls, life) = (Calls::default(), Arc::new(AtomicUsize::new(0)));
    remember(&executor, &calls, &life);
    let mut dice = Dice::new(SEED);

    let mut dev = Dev::start(&folder.0, &[]);
    make_schedules(&dev, &executor).await;
    for kill in 0..KILLS {
        tokio::time::sleep(Duration::from_millis(dice.between(100, 2499) as u64)).await;
        dev.kill();
        life.fetch_add(1, Ordering::SeqCst);
        if kill % 4 == 0 {
            kill_while_it_starts(&folder.0, dice.between(0, 249) as u64).await;
            life.fetch_add(1, Ordering::SeqCst);
        }
        dev = Dev::start(&folder.0, &[]);
    }
    let last = now();
    let runs = wait_for_the_end(&dev, last).await;
    let repeated = check_calls(&runs, &calls.lock().unwrap());
    let fires = check_ledgers(&dev, last).await;
    dev.kill();
    check_integrity(&folder.0);
    let kills = life.load(Ordering::SeqCst);
    println!(
        "seed {SEED}, kills {kills}, schedules {SCHEDULES}, fires {fires}, runs {}, lost 0, \
         duplicate effective 0, called again with the same key after a kill {repeated}, \
         unexplained 0, databases intact",
        runs.len()
    );
    assert!(kills >= 30 && fires > 500, "{kills} kills, {fires} fires");
}

fn remember(executor: &Executor, calls: &Calls, life: &Arc<AtomicUsize>) {
    let (calls, life) = (calls.clone(), life.clone());
    executor.answers(move |launch| {
        let life = life.load(Ordering::SeqCst);
        calls.lock().unwrap().entry(launch.key.clone()).or_default().push(life);
        (200, "{}".to_owned())
    });
}

async fn make_schedules(dev: &Dev, executor: &Executor) {
    let target = json!({"kind": "http", "url": executor.url});
    dev.ok("PUT", "/workflows/w/versions/1", &json!({"definition": 1, "target": target})).await;
    for number in 0..SCHEDULES {
        // Every third schedule uses slots, which a killed process must not keep.
        let overlap = if number % 3 == 0 { "queue" } else { "allow" };
        let schedule = json!({
            "workflow_id": "w", "cron_expr": format!("{}/{PERIOD_S} * * * * *", number % PERIOD_S),
            "overlap_policy": overlap,
        });
        dev.ok("PUT", &format!("/schedules/s{number}"), &schedule).await;
    }
}

/// Kills a process that may not be ready yet.
async fn kill_while_it_starts(data: &Path, after_ms: u64) {
    let mut process = Command::new(binary("belfry"))
        .args(["dev", "--port", "0", "--log", "error", "--data"])
        .arg(data)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    tokio::time::sleep(Duration::from_millis(after_ms)).await;
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Every run up to `last`, once all of them have ended.
async fn wait_for_the_end(dev: &Dev, last: DateTime<Utc>) -> Vec<Value> {
    let deadline = now() + TimeDelta::from_std(PATIENCE).unwrap();
    loop {
        let runs = all_runs(dev, last).await;
        let is_over = |run: &Value| {
            !matches!(run["status"].as_str().unwrap(), "ENQUEUED" | "QUEUED" | "STARTED")
        };
        let open: Vec<_> = runs.iter().filter(|run| !is_over(run)).collect();
        if open.is_empty() {
            return runs;
        }
        assert!(now() < deadline, "{} runs have not ended: {:#?}", open.len(), open[0]);
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

async fn all_runs(dev: &Dev, last: DateTime<Utc>) -> Vec<Value> {
    let mut runs = Vec::new();
    let to = last.format("%Y-%m-%dT%H:%M:%SZ");
    for number in 0..SCHEDULES {
        let path = format!("/schedules/s{number}/runs?to={to}&limit=200");
        let page = dev.ok("GET", &path, &Value::Null).await;
        assert!(page["next_cursor"].is_null(), "one page holds all");
        runs.extend(page["items"].as_array().unwrap().clone());
    }
    runs
}

/// Every run succeeded and its target was called. A key was called again only in another life of
/// the process, because the process was killed between the call and its record. Returns how often
/// that happened.
fn check_calls(runs: &[Value], calls: &HashMap<String, Vec<usize>>) -> usize {
    let mut keys = BTreeSet::new();
    let mut statuses: BTreeMap<&str, usize> = BTreeMap::new();
    let mut repeated = 0;
    for run in runs {
        let key = run["idempotency_key"].as_str().unwrap();
        assert!(keys.insert(key), "two runs with one key: {run:#?}");
        *statuses.entry(run["status"].as_str().unwrap()).or_default() += 1;
        assert_eq!(run["status"], "SUCCESS", "{run:#?}");
        let lives = calls.get(key).unwrap_or_else(|| panic!("never called: {run:#?}"));
        let distinct: BTreeSet<_> = lives.iter().collect();
        assert_eq!(distinct.len(), lives.len(), "called twice in one life: {lives:?} {run:#?}");
        repeated += lives.len() - 1;
    }
    repeated
}

/// Every fire of every schedule is explained. Returns how many there were.
async fn check_ledgers(dev: &Dev, last: DateTime<Utc>) -> u64 {
    let to = last.format("%Y-%m-%dT%H:%M:%SZ");
    let mut fires = 0;
    for number in 0..SCHEDULES {
        let path = format!("/schedules/s{number}/ledger?to={to}");
        let ledger = dev.ok("GET", &path, &Value::Null).await;
        assert_eq!(ledger["unexplained"], json!([]), "s{number}: {ledger:#}");
        fires += ledger["expected"].as_u64().unwrap();
    }
    fires
}

/// Both databases are intact according to SQLite's own check.
pub(crate) fn check_integrity(folder: &Path) {
    for file in ["dynamodb.sqlite", "sqs.sqlite"] {
        let database = rusqlite::Connection::open(folder.join(file)).unwrap();
        let answer: String =
            database.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
        assert_eq!(answer, "ok", "{file}");
    }
}
