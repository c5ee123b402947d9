//! The API: creates many schedules over HTTP, and reads beside a million runs.

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use reqwest::Client;
use serde_json::{Value, json};

use crate::executor::rank;
use crate::machine::now;
use crate::report::Report;
use crate::system::{System, text};

/// Concurrent requests.
const TOGETHER: usize = 16;
/// Requests of each kind.
const ASKED: usize = 200;
/// Runs of each schedule.
const RUNS: usize = 1000;

struct Door {
    client: Client,
    url: String,
    token: String,
}

/// Measures creations and reads.
pub async fn measure(report: &mut Report, is_quick: bool) {
    create(report, if is_quick { 500 } else { 10_000 }).await;
    read(report, if is_quick { 20 } else { 1000 }).await;
}

async fn create(report: &mut Report, count: usize) {
    let mut system = System::start(&[], &[]).await;
    let door = &Door::of(&mut system).await;
    let begin = Instant::now();
    let creations: Vec<_> = (0..count).map(|number| create_one(door, number)).collect();
    let made: Vec<()> = stream::iter(creations).buffer_unordered(TOGETHER).collect().await;
    let rate = made.len() as f64 / begin.elapsed().as_secs_f64();
    report.add(&format!("API, create {count} over HTTP"), "schedules", rate, "/s");
}

async fn create_one(door: &Door, number: usize) {
    let body = json!({
        "workflow_id": "w", "cron_expr": "0 9 * * *", "timezone": "Europe/Berlin",
        "name": format!("report {number}"), "payload": {"report": number},
    });
    let request = door.client.post(format!("{}/api/v1/schedules", door.url));
    let answer = request.bearer_auth(&door.token).body(body.to_string()).send().await;
    let status = answer.expect("an answer").status();
    assert_eq!(status, 201, "schedule {number}");
}

async fn read(report: &mut Report, schedules: usize) {
    let mut system = System::start(&[], &[]).await;
    let from = history(&mut system, schedules).await;
    let door = Door::of(&mut system).await;
    let to = from + chrono::Duration::minutes(RUNS as i64 - 1);
    let window = format!("from={}&to={}", text(from), text(to));
    // Beside a thousand runs first, as the reference for the reads beside a million.
    let kinds = [
        ("list of 50", "/schedules?limit=50".to_owned()),
        ("history of 50", "/schedules/past-ID/runs?limit=50".to_owned()),
        ("ledger of 1,000 fires", format!("/schedules/past-ID/ledger?{window}")),
    ];
    load(&mut system, from, 1).await;
    let mut few = Vec::new();
    for (_, path) in &kinds {
        few.push(latency(&door, path, 1, ASKED).await);
    }
    load(&mut system, from, schedules).await;
    let ledger = door.get(&kinds[2].1.replace("ID", "0")).await;
    assert_eq!(ledger["expected"], RUNS, "{ledger}");
    assert_eq!(ledger["unexplained"], json!([]), "{ledger}");
    let group = format!("API beside {} runs", schedules * RUNS);
    for ((name, path), few) in kinds.iter().zip(few) {
        let many = latency(&door, path, schedules, ASKED).await;
        report.add(&group, &format!("{name}, p50"), many.0, "ms");
        report.add(&group, &format!("{name}, p99"), many.1, "ms");
        report.add(&group, &format!("{name}, p50 of that beside 1,000 runs"), many.0 / few.0, "x");
    }
}

/// Creates a schedule in the past and lets its first fire run. Returns that fire's time.
async fn history(system: &mut System, schedules: usize) -> chrono::DateTime<chrono::Utc> {
    let minute = (now().timestamp() / 60 - 2 * 24 * 60) * 60;
    let first = chrono::DateTime::from_timestamp(minute, 0).expect("a time");
    let made = first - chrono::Duration::seconds(1);
    let body = json!({
        "workflow_id": "w", "version": 1, "cron_expr": "* * * * *", "overlap_policy": "allow",
    });
    let order = json!({
        "do": "api", "method": "PUT", "path": "/schedules/past", "body": body, "now": made.to_rfc3339(),
    });
    system.functions.ask(order).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let delivered = system.functions.ask(json!({"do": "deliver"})).await;
    assert!(delivered["messages"].as_u64() > Some(0), "{delivered}");
    let order = json!({"do": "schedules", "from": "past", "count": schedules});
    system.services.ask(order).await;
    first
}

async fn load(system: &mut System, from: chrono::DateTime<chrono::Utc>, schedules: usize) {
    let order = json!({
        "do": "runs", "from": "past", "schedules": schedules, "count": RUNS, "at": text(from),
    });
    system.services.ask(order).await;
}

/// The latency of single answers in milliseconds: median and 99th percentile.
async fn latency(door: &Door, path: &str, schedules: usize, count: usize) -> (f64, f64) {
    let mut took = Vec::new();
    for number in 0..count {
        let path = path.replace("ID", &(number * 7 % schedules).to_string());
        let begin = Instant::now();
        door.get(&path).await;
        took.push(begin.elapsed().as_secs_f64() * 1000.0);
    }
    took.sort_by(f64::total_cmp);
    (rank(&took, 50), rank(&took, 99))
}

impl Door {
    async fn of(system: &mut System) -> Door {
        let door = system.functions.ask(json!({"do": "gateway"})).await;
        let field = |name: &str| door[name].as_str().unwrap_or_default().to_owned();
        Door { client: Client::new(), url: field("url"), token: field("token") }
    }

    async fn get(&self, path: &str) -> Value {
        let request = self.client.get(format!("{}/api/v1{path}", self.url));
        let answer = request.bearer_auth(&self.token).send().await.expect("an answer");
        let status = answer.status();
        let text = answer.text().await.expect("a body");
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }
}
