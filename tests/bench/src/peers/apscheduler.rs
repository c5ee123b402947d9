//! APScheduler on PostgreSQL, whose commits do not wait for the disk, like those of all peers here.

use std::path::{Path, PathBuf};
use std::process::{Command as Sync, Stdio};
use std::time::Duration;

use tokio::process::Command;

use super::{Measured, due, free_port, watch};
use crate::child::Child;
use crate::executor::Executor;

const PYTHON: &str = ".tools/peers/python/bin/python";

/// Schedules it creates per second, a cautious estimate.
const RATE: usize = 200;

/// Runs it, if PostgreSQL and APScheduler are installed.
pub async fn measure(count: usize, target: &Executor) -> Measured {
    if !Path::new(PYTHON).is_file() {
        return Err("APScheduler is not installed".to_owned());
    }
    let binaries = binaries().ok_or("APScheduler: PostgreSQL is not installed")?;
    let data = std::env::temp_dir().join(format!("belfry-bench-postgres-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&data);
    std::fs::create_dir_all(&data).map_err(|e| e.to_string())?;
    // PostgreSQL refuses to run as root.
    let is_root = Sync::new("id").arg("-u").output().is_ok_and(|said| said.stdout == b"0\n");
    if is_root {
        let given = Sync::new("chown").arg("postgres").arg(&data).status();
        given.map_err(|e| e.to_string())?;
    }
    let program = |name: &str| match is_root {
        false => Command::new(binaries.join(name)),
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            command.arg(binaries.join(name));
            command
        }
    };
    let made = program("initdb")
        .args(["--auth=trust", "--username=bench", "-D"])
        .arg(&data)
        .current_dir("/tmp")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .await;
    if !made.is_ok_and(|status| status.success()) {
        return Err("APScheduler: initdb failed".to_owned());
    }
    let port = free_port().to_string();
    let server = program("postgres")
        .arg("-D")
        .arg(&data)
        .args(["-p", &port, "-c", "listen_addresses=127.0.0.1", "-c", "synchronous_commit=off"])
        .args(["-c", "unix_socket_directories="])
        .current_dir("/tmp")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| format!("APScheduler: {e}"))?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let mut python = Command::new(PYTHON);
    python.arg("tests/bench/peers/apscheduler_bench.py").arg(count.to_string());
    python.arg(due(count, RATE).timestamp_millis().to_string()).arg(&port).arg(&target.url);
    let child = Child::start(python).await;
    let result = watch(child, ("APScheduler", ""), server.id(), count, Some(target)).await;
    drop(server);
    let _ = std::fs::remove_dir_all(&data);
    result
}

fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<_> = versions.flatten().map(|entry| entry.path().join("bin")).collect();
    folders.sort();
    folders.into_iter().rfind(|folder| folder.join("initdb").is_file())
}
