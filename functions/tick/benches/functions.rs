//! The functions as Lambda meets them: how large their binaries are, and how long each takes from
//! the start of its process to its first poll of the Runtime API.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on has failed")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FUNCTIONS: [&str; 5] = ["tick", "launcher", "recovery", "api", "resource"];
const STARTS: usize = 21;
const MIB: f64 = 1024.0 * 1024.0;
/// What a function may weigh, in MiB: its binary, and its compressed package.
const LIMITS: (f64, f64) = (15.0, 6.0);

fn main() {
    let binaries = binaries();
    let bare = median(|| start_bare(Path::new("/bin/true")));
    println!(
        "{:<10} {:>10} {:>12} {:>14} {:>12}",
        "function", "binary", "compressed", "cold start", "x /bin/true"
    );
    for function in FUNCTIONS {
        let binary = binaries.join(function);
        let size = std::fs::metadata(&binary).unwrap().len() as f64 / MIB;
        let packed = compressed(&binary) / MIB;
        let start = median(|| cold_start(&binary));
        println!(
            "{function:<10} {size:>6.1} MiB {packed:>8.1} MiB {:>11.1} ms {:>12.1}",
            start.as_secs_f64() * 1000.0,
            start.as_secs_f64() / bare.as_secs_f64(),
        );
        assert!(size < LIMITS.0, "{function} is larger than {} MiB", LIMITS.0);
        assert!(packed < LIMITS.1, "{function} packs to more than {} MiB", LIMITS.1);
    }
}

/// The release binaries, beside this one's folder.
fn binaries() -> PathBuf {
    let bench = std::env::current_exe().unwrap();
    let folder = bench.parent().unwrap().parent().unwrap().to_owned();
    for function in FUNCTIONS {
        assert!(folder.join(function).is_file(), "{function} is not built: run `make bench`");
    }
    folder
}

/// Deflated, as a Lambda package is.
fn compressed(binary: &Path) -> f64 {
    let output = Command::new("gzip").arg("-9c").arg(binary).output().unwrap();
    output.stdout.len() as f64
}

fn median(measure: impl Fn() -> Duration) -> Duration {
    let mut times: Vec<_> = (0..STARTS).map(|_| measure()).collect();
    times.sort();
    times[STARTS / 2]
}

fn start_bare(program: &Path) -> Duration {
    let begin = Instant::now();
    assert!(Command::new(program).status().unwrap().success());
    begin.elapsed()
}

/// From the start of the process to its first request for work.
fn cold_start(binary: &Path) -> Duration {
    let runtime = TcpListener::bind("127.0.0.1:0").unwrap();
    let begin = Instant::now();
    let mut function = Command::new(binary)
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", runtime.local_addr().unwrap().to_string())
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
        .unwrap();
    let (mut poll, _) = runtime.accept().unwrap();
    let mut request = [0; 512];
    let read = poll.read(&mut request).unwrap();
    let took = begin.elapsed();
    let request = String::from_utf8_lossy(&request[..read]).into_owned();
    assert!(request.contains("/runtime/invocation/next"), "{request}");
    let _ = poll.write_all(b"HTTP/1.1 500 bye\r\ncontent-length: 0\r\n\r\n");
    function.kill().unwrap();
    function.wait().unwrap();
    took
}
