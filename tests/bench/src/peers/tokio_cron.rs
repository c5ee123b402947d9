//! `tokio-cron-scheduler` with its jobs in memory. Each fire writes a row to an SQLite file, which
//! is our addition: the crate records nothing.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_cron_scheduler::{Job, JobScheduler};

use super::{Measured, due, watch};
use crate::child::{self, Child};
use crate::executor::{Executor, rank};
use crate::machine::now;
use crate::system::{only, text};

const FILE: &str = "target/bench/tokio-cron.sqlite";

const NAME: &str = "tokio-cron-scheduler";
/// The default capacity of its channels. What exceeds it is lost.
const ROOM: usize = 200;
/// Concurrent requests, as many as ours makes before one waits for a connection.
const REQUESTS: usize = 128;
/// The time after which a missing fire counts as lost.
const PATIENCE: chrono::Duration = chrono::Duration::seconds(60);

/// Schedules it creates per second, a cautious estimate.
const RATE: usize = 1000;

/// Runs it with its defaults.
pub async fn as_it_comes(count: usize, target: &Executor) -> Measured {
    measure(count, ROOM, "", Some(target)).await
}

/// Runs it with channels that have room for all of its jobs.
pub async fn with_larger_channels(count: usize, target: Option<&Executor>) -> Measured {
    measure(count, ROOM.max(2 * count), ", large", target).await
}

async fn measure(count: usize, room: usize, how: &str, target: Option<&Executor>) -> Measured {
    let at = due(count, RATE).timestamp_millis().to_string();
    let url = target.map_or("", |target| &target.url);
    let arguments = ["tokio-cron", &count.to_string(), &at, &room.to_string(), url];
    watch(Child::of_ours(&arguments, &[]).await, (NAME, how), None, count, target).await
}

/// The child process: creates the schedules, and answers when all have fired.
pub async fn serve(arguments: &[String]) {
    let number = |place: usize| arguments[place].parse::<i64>().expect("a number");
    let (count, at) = (number(0) as usize, number(1));
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{FILE}{end}"));
    }
    let records = Connection::open(FILE).expect("a file");
    records.pragma_update(None, "journal_mode", "WAL").expect("a log");
    records.pragma_update(None, "synchronous", "NORMAL").expect("a pace");
    records.execute("CREATE TABLE fires (schedule INTEGER, run_at INTEGER)", []).expect("a table");
    let records = Arc::new(Mutex::new(records));
    let late: Arc<Mutex<Vec<f64>>> = Arc::default();
    let room = number(2) as usize;
    let url = Some(arguments[3].clone()).filter(|url| !url.is_empty());
    let target = url.map(|url| (reqwest::Client::new(), url, Arc::new(Semaphore::new(REQUESTS))));
    let scheduler = JobScheduler::new_with_channel_size(room).await.expect("a scheduler");
    let due = chrono::DateTime::from_timestamp_millis(at).expect("a time");
    for schedule in 0..count {
        let (records, late, target) = (records.clone(), late.clone(), target.clone());
        let job = Job::new_async(only(due), move |_, _| {
            let begin = (now() - due).num_microseconds().unwrap_or(0) as f64 / 1000.0;
            let (records, late, target) = (records.clone(), late.clone(), target.clone());
            Box::pin(async move {
                if let Some((client, url, requests)) = target {
                    let _permit = requests.acquire().await.expect("an open channel");
                    let run_id = format!("schedule-{schedule}@{}", text(due));
                    let payload = json!({"report": "daily", "region": "eu"});
                    let body = json!({"payload": payload, "metadata": {"run_id": run_id}});
                    let request = client.post(url).header("content-type", "application/json");
                    let answer = request.body(body.to_string()).send().await.expect("an answer");
                    answer.bytes().await.expect("all of it");
                }
                let records = records.lock().expect("a lock that no panic poisoned");
                let insert = "INSERT INTO fires VALUES (?1, ?2)";
                records.execute(insert, [schedule as i64, at]).expect("a row");
                late.lock().expect("a lock that no panic poisoned").push(begin);
            })
        });
        scheduler.add(job.expect("a job")).await.expect("a job");
    }
    scheduler.start().await.expect("a start");
    let version = crate::report::version(NAME);
    child::answer(&json!({"version": version, "spare_ms": at - now().timestamp_millis()}));
    let end = due + PATIENCE;
    while late.lock().expect("a lock that no panic poisoned").len() < count && now() < end {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let seconds = (now() - due).num_milliseconds() as f64 / 1000.0;
    let mut late = late.lock().expect("a lock that no panic poisoned").clone();
    late.sort_by(f64::total_cmp);
    child::answer(&json!({
        "fires": late.len(), "seconds": seconds, "p50": rank(&late, 50), "p99": rank(&late, 99), "max": rank(&late, 100),
    }));
    child::orders(async |_| json!({})).await;
}
