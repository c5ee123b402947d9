//! The functions as Lambda runs them: the size of their binaries, the time from the start of a
//! process to its first poll of the Runtime API, and the peak memory of each under a load.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use belfry_local::dev::{self, Options};
use belfry_local::services::Storage;
use belfry_time::SystemTime;
use serde_json::{Value, json};

use crate::child::{self, Child};
use crate::executor::Executor;
use crate::machine;
use crate::report::{Goal, Report};

const FUNCTIONS: [&str; 5] = ["tick", "launcher", "recovery", "api", "resource"];
const STARTS: usize = 21;
const MIB: f64 = 1024.0 * 1024.0;
/// The size limits of a function in MiB: its binary, and its compressed package.
const LIMITS: (f64, f64) = (15.0, 6.0);
/// The folder in which `make build` leaves the release binaries.
const BINARIES: &str = "target/release";
/// Schedules that fire every second, and for how many seconds.
const LOAD: (usize, usize) = (200, 10);

/// Measures the release binaries.
pub async fn measure(report: &mut Report) {
    let binaries = PathBuf::from(BINARIES);
    if let Some(missing) = FUNCTIONS.iter().find(|name| !binaries.join(name).is_file()) {
        report.note(&format!("packages not measured: {BINARIES}/{missing} is not built"));
        return;
    }
    let bare = median(|| start_bare(Path::new("/bin/true")));
    for function in FUNCTIONS {
        let binary = binaries.join(function);
        let size = std::fs::metadata(&binary).expect("a binary").len() as f64 / MIB;
        let start = median(|| cold_start(&binary));
        report.goal(function, "binary", size, "MiB", Goal::AtMost(LIMITS.0));
        report.goal(
            function,
            "compressed",
            compressed(&binary) / MIB,
            "MiB",
            Goal::AtMost(LIMITS.1),
        );
        report.add(function, "cold start to the first poll", start.as_secs_f64() * 1000.0, "ms");
        report.add(
            function,
            "cold start, of /bin/true's",
            start.as_secs_f64() / bare.as_secs_f64(),
            "x",
        );
    }
    let peaks = memory().await;
    for function in FUNCTIONS {
        let peak = peaks.iter().filter(|(name, _)| name == function).map(|(_, peak)| *peak);
        // Only CloudFormation calls the resource function, so it is not measured here.
        let Some(peak) = peak.reduce(f64::max) else { continue };
        report.add(function, &format!("peak memory at {} fires/s", LOAD.0), peak, "MiB");
    }
}

/// The whole system with the functions as processes, until standard input closes.
pub async fn serve() {
    let options = Options {
        port: 0,
        storage: Storage::Memory,
        tick: chrono::Duration::seconds(1),
        processes: Some(PathBuf::from(BINARIES)),
        metrics: false,
    };
    let dev = dev::start(&options, Arc::new(SystemTime), |_| None).await.expect("a system");
    child::answer(&json!({"url": dev.url, "token": dev.token}));
    child::orders(async |_: Value| json!(machine::children(std::process::id()))).await;
}

async fn memory() -> Vec<(String, f64)> {
    let mut system = Child::of_ours(&["processes"], &[]).await;
    let text = |name: &str| system.hello[name].as_str().unwrap_or_default().to_owned();
    let (url, token) = (text("url"), text("token"));
    let executor = Executor::start().await;
    let client = reqwest::Client::new();
    let ask = async |method: &str, path: &str, body: Value| {
        let request =
            client.request(method.parse().expect("a method"), format!("{url}/api/v1{path}"));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = request.bearer_auth(&token).body(body).send().await;
        let status = answer.expect("an answer").status();
        assert!(status.is_success(), "{method} {path}: {status}");
    };
    let target = json!({"kind": "http", "url": executor.url});
    let workflow = json!({"definition": {"steps": []}, "target": target});
    ask("PUT", "/workflows/w/versions/1", workflow).await;
    for number in 0..LOAD.0 {
        let schedule = json!({
            "workflow_id": "w", "cron_expr": "* * * * * *", "overlap_policy": "allow",
            "payload": {"text": "x".repeat(1000)},
        });
        ask("PUT", &format!("/schedules/s{number}"), schedule).await;
    }
    executor.arrivals(LOAD.0 * LOAD.1, Duration::from_secs(60)).await;
    ask("GET", "/schedules?limit=100", Value::Null).await;
    ask("GET", "/schedules/s1/ledger", Value::Null).await;
    let processes = system.ask(json!({})).await;
    let mut peaks = Vec::new();
    for process in processes.as_array().into_iter().flatten() {
        let pid = process[0].as_u64().unwrap_or(0) as u32;
        let name = process[1].as_str().unwrap_or_default().to_owned();
        peaks.push((name, machine::peak_memory(pid)));
    }
    system.end().await;
    peaks
}

/// Compressed with deflate, as a Lambda package is.
fn compressed(binary: &Path) -> f64 {
    let output = Command::new("gzip").arg("-9c").arg(binary).output().expect("gzip");
    output.stdout.len() as f64
}

fn median(measure: impl Fn() -> Duration) -> Duration {
    let mut times: Vec<_> = (0..STARTS).map(|_| measure()).collect();
    times.sort();
    times[STARTS / 2]
}

fn start_bare(program: &Path) -> Duration {
    let begin = Instant::now();
    assert!(Command::new(program).status().expect("a program").success());
    begin.elapsed()
}

/// From the start of the process to its first request for work.
fn cold_start(binary: &Path) -> Duration {
    let runtime = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = runtime.local_addr().expect("its address").to_string();
    let begin = Instant::now();
    let mut function = Command::new(binary)
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", address)
        .env("AWS_LAMBDA_FUNCTION_NAME", "bench")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "bench")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "bench")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "bench")
        .env("AWS_SECRET_ACCESS_KEY", "bench")
        .env("SCHEDULES_TABLE", "schedules")
        .env("RUNS_TABLE", "runs")
        .env("WORKFLOWS_TABLE", "workflows")
        .env("LAUNCH_QUEUE_URL", "http://127.0.0.1:1/0/launch")
        .env("DEAD_LETTER_QUEUE_URL", "http://127.0.0.1:1/0/dead")
        .env("SIGNING_KEY", "a key for the bench")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a process");
    let (mut poll, _) = runtime.accept().expect("a poll");
    let mut request = [0; 512];
    let read = poll.read(&mut request).expect("a request");
    let took = begin.elapsed();
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    assert!(request.contains("/runtime/invocation/next"), "{request}");
    let _ = poll.write_all(b"HTTP/1.1 500 bye\r\ncontent-length: 0\r\n\r\n");
    function.kill().expect("a process");
    function.wait().expect("a process");
    took
}
