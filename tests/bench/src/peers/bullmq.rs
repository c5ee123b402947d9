//! BullMQ on Redis with its append-only file, synced every second, which is its default.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::{Measured, due, free_port, watch};
use crate::child::Child;
use crate::executor::Executor;

const FOLDER: &str = ".tools/peers";

/// Schedules it creates per second, a cautious estimate.
const RATE: usize = 500;

/// Runs it, if Redis and BullMQ are installed.
pub async fn measure(count: usize, target: Option<&Executor>) -> Measured {
    if !Path::new(FOLDER).join("node_modules/bullmq").is_dir() {
        return Err("BullMQ is not installed".to_owned());
    }
    let port = free_port().to_string();
    let data = std::env::current_dir().unwrap_or_default().join("target/bench/redis");
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).map_err(|e| e.to_string())?;
    let redis = Command::new("redis-server")
        .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"])
        .args(["--appendfsync", "everysec", "--maxmemory-policy", "noeviction", "--dir"])
        .arg(&data)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| "BullMQ: redis-server is not installed".to_owned())?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut node = Command::new("node");
    node.current_dir(FOLDER).arg("bullmq.mjs").arg(count.to_string());
    node.arg(due(count, RATE).timestamp_millis().to_string()).arg(&port);
    node.args(target.map(|target| &target.url));
    watch(Child::start(node).await, ("BullMQ", ""), redis.id(), count, target).await
}
