//! `belfry dev`: the whole system as one process, killed and restarted.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use belfry_tests::{Executor, Launch};
use chrono::{DateTime, TimeDelta, Timelike, Utc};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::binary;

/// These tests use the real clock, so they run one at a time.
pub(crate) static ALONE: Mutex<()> = Mutex::const_new(());

/// A running `belfry dev`.
pub(crate) struct Dev {
    process: Child,
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) http: Client,
}

impl Dev {
    pub(crate) fn start(data: &Path, more: &[&str]) -> Dev {
        Dev::start_with(data, more, "warn", Stdio::inherit())
    }

    /// A `belfry dev` whose whole output goes to a file.
    pub(crate) fn start_logging(data: &Path, log: &Path) -> Dev {
        Dev::start_with(data, &[], "debug", std::fs::File::create(log).unwrap().into())
    }

    fn start_with(data: &Path, more: &[&str], log: &str, stderr: Stdio) -> Dev {
        let mut command = Command::new(binary("belfry"));
        command.args(["dev", "--port", "0", "--log", log, "--data"]).arg(data).args(more);
        Dev::of(command.stderr(stderr))
    }

    /// Starts a command that becomes `belfry dev`, and waits until it is ready.
    pub(crate) fn of(command: &mut Command) -> Dev {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines =
            BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut told = |what: &str| {
            let told =
                lines.find_map(|line| Some(line.trim().strip_prefix(what)?.trim().to_owned()));
            told.unwrap_or_else(|| panic!("the output does not name {what}"))
        };
        let (url, token) = (told("API"), told("token"));
        Dev { process, url, token, http: Client::new() }
    }

    pub(crate) async fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let method = method.parse().unwrap();
        let request = self.http.request(method, format!("{}{path}", self.url));
        let request = request.bearer_auth(&self.token).body(body.to_string());
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Creates a schedule that fires every two seconds at `executor`.
    async fn every_two_seconds(&self, executor: &Executor) {
        let target = json!({"kind": "http", "url": executor.url});
        self.ok("PUT", "/workflows/w/versions/1", &json!({"definition": 1, "target": target}))
            .await;
        let schedule = json!({
            "workflow_id": "w", "cron_expr": "*/2 * * * * *", "payload": {"hello": "world"},
            // Fires that were due while the system was down arrive together.
            "overlap_policy": "allow",
        });
        self.ok("PUT", "/schedules/beat", &schedule).await;
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A data folder that is removed with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("belfry-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[expect(clippy::disallowed_methods, reason = "the command under test runs in real time")]
pub(crate) fn now() -> DateTime<Utc> {
    std::time::SystemTime::now().into()
}

pub(crate) async fn sleep_until(at: DateTime<Utc>) {
    tokio::time::sleep((at - now()).to_std().unwrap_or_default()).await;
}

/// The next even second, at which the schedule fires.
fn next_beat(after: DateTime<Utc>) -> DateTime<Utc> {
    let second = after.with_nanosecond(0).unwrap() + TimeDelta::seconds(1);
    second + TimeDelta::seconds(second.timestamp() % 2)
}

/// Checks that every beat from `first` to `last` arrived once, and within a second unless it was
/// due while the system was down.
fn check(
    launches: &[Launch],
    first: DateTime<Utc>,
    last: DateTime<Utc>,
    down: Option<(DateTime<Utc>, DateTime<Utc>)>,
) {
    let mut arrived: BTreeMap<DateTime<Utc>, Vec<&Launch>> = BTreeMap::new();
    for launch in launches {
        let run_at = launch.run_id.strip_prefix("beat@").unwrap().parse().unwrap();
        arrived.entry(run_at).or_default().push(launch);
    }
    let mut beat = first;
    while beat <= last {
        let launches = arrived.remove(&beat).unwrap_or_default();
        let [launch] = launches.as_slice() else { panic!("{beat}: {} launches", launches.len()) };
        assert_eq!(launch.body["payload"], json!({"hello": "world"}));
        assert_eq!(launch.body["metadata"]["schedule_id"], "beat");
        assert_eq!(launch.body["metadata"]["idempotency_key"], launch.key);
        assert!(launch.headers.contains_key("belfry-signature"));
        let drift = launch.at - beat;
        assert!(drift >= TimeDelta::milliseconds(-20), "{beat}: early by {drift}");
        if down.is_none_or(|(from, to)| beat < from || beat > to) {
            assert!(drift < TimeDelta::seconds(1), "{beat}: late by {drift}");
        }
        beat += TimeDelta::seconds(2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fire_arrives_once_and_on_time_across_a_kill() {
    let _alone = ALONE.lock().await;
    let (folder, executor) = (Folder::new("kill"), Executor::start().await);
    let dev = Dev::start(&folder.0, &[]);
    dev.every_two_seconds(&executor).await;
    let first = next_beat(now());

    // Half a second after a beat, when nothing is being launched.
    sleep_until(first + TimeDelta::milliseconds(6500)).await;
    dev.kill();
    let down_from = now();
    sleep_until(first + TimeDelta::milliseconds(11_500)).await;
    let dev = Dev::start(&folder.0, &[]);
    let down_to = now();
    let last = first + TimeDelta::seconds(20);
    sleep_until(last + TimeDelta::milliseconds(1500)).await;

    check(&executor.launches(), first, last, Some((down_from, down_to)));
    let query = format!("/schedules/beat/runs?to={}&limit=200", last.format("%Y-%m-%dT%H:%M:%SZ"));
    let runs = dev.ok("GET", &query, &Value::Null).await;
    let runs = runs["items"].as_array().unwrap();
    assert!(runs.iter().all(|run| run["status"] == "SUCCESS"), "{runs:#?}");
    assert!(runs.iter().all(|run| run["attempt"] == 1), "{runs:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_function_binaries_do_the_same_and_a_killed_one_is_replaced() {
    let _alone = ALONE.lock().await;
    let (folder, executor) = (Folder::new("processes"), Executor::start().await);
    let dev = Dev::start(&folder.0, &["--processes"]);
    dev.every_two_seconds(&executor).await;
    let first = next_beat(now());
    sleep_until(first + TimeDelta::milliseconds(4500)).await;
    for function in ["tick", "launcher", "api"] {
        kill_children(dev.process.id(), function);
    }
    let down = (now(), now() + TimeDelta::seconds(2));
    let last = first + TimeDelta::seconds(12);
    sleep_until(last + TimeDelta::milliseconds(1500)).await;
    check(&executor.launches(), first, last, Some(down));
    let health = dev.ok("GET", "/health", &Value::Null).await;
    assert_eq!(health["status"], "ok");
}

/// Kills the children of `parent` that run `name`.
fn kill_children(parent: u32, name: &str) {
    let mut pids: Vec<u32> = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{parent}/task")).unwrap().flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        pids.extend(children.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
    }
    let mut killed = 0;
    for pid in pids {
        let command = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if command.trim() == name {
            let status = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
            assert!(status.success());
            killed += 1;
        }
    }
    assert!(killed > 0, "no {name} is running");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_folder_has_one_user_and_a_bad_one_is_named() {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("lock");
    let _dev = Dev::start(&folder.0, &[]);
    let refused = |data: &Path| {
        let output = Command::new(binary("belfry"))
            .args(["dev", "--port", "0", "--data"])
            .arg(data)
            .output();
        let output = output.unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&folder.0).contains("another belfry dev is using it"));
    let problem = refused(Path::new("/proc/nowhere"));
    assert!(problem.contains("/proc/nowhere"), "{problem}");
}

#[test]
fn the_local_tick_has_its_default_and_its_bounds() {
    let run = |words: &[&str]| {
        Command::new(binary("belfry")).arg("dev").args(words).env_remove("TICK_MS").output()
    };
    let help = run(&["--help"]).unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let line = help.lines().find(|line| line.contains("--tick-ms <MS>")).unwrap();
    assert!(
        line.ends_with("Milliseconds between two ticks [env: TICK_MS=] [default: 1000]"),
        "{line}"
    );
    let page = include_str!("../../docs/settings.md");
    assert!(page.contains("| `TICK_MS` | `1000` | milliseconds between two ticks of `belfry dev`"));
    for bad in ["9", "3600001", "x"] {
        let refused = run(&["--tick-ms", bad]).unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{bad}: {said}");
        assert!(said.contains("--tick-ms"), "{bad}: {said}");
    }
}
