//! `belfry schedules`, `runs`, `workflows` and `token`, against a running `belfry dev`.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::binary;
use crate::dev::{ALONE, Dev, Folder};

struct Cli<'a> {
    url: &'a str,
    token: String,
}

impl Cli<'_> {
    fn run(&self, words: &[&str]) -> Output {
        self.run_with(words, "")
    }

    fn run_with(&self, words: &[&str], input: &str) -> Output {
        let mut child = Command::new(binary("belfry"))
            .args(words)
            .env("BELFRY_URL", self.url)
            .env("BELFRY_TOKEN", &self.token)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    #[track_caller]
    fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[words, &["--json"]].concat())).unwrap()
    }

    /// The exit code, and the output.
    fn fails(&self, words: &[&str]) -> (i32, String) {
        let output = self.run(words);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

fn token(data: &Path, more: &[&str]) -> String {
    let mut command = Command::new(binary("belfry"));
    let output = command.arg("token").arg("--data").arg(data).args(more).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_made_steered_watched_and_deleted_on_the_command_line() {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("cli");
    let dev = Dev::start(&folder.0, &[]);
    let cli = Cli { url: dev.url.trim_end_matches("/api/v1"), token: token(&folder.0, &[]) };
    let words = ["schedules", "create", "hello", "--workflow", "demo", "--cron", "*/2 * * * * *"];
    let more = ["--tz", "Europe/Zurich", "--payload", r#"{"n": 1}"#, "--tag", "team=data"];
    let made = cli.ok(&[&words[..], &more].concat());
    assert!(made.contains("Every 2 seconds, Europe/Zurich"), "{made}");
    let schedule = cli.json(&["schedules", "get", "hello"]);
    assert_eq!(schedule["payload"], json!({"n": 1}));
    assert_eq!(
        (&schedule["tags"], &schedule["user_id"]),
        (&json!({"team": "data"}), &json!("local"))
    );

    let table = cli.ok(&["schedules", "list", "--status", "active", "--tag", "team:data"]);
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("SCHEDULE") && lines[1].starts_with("hello"), "{table}");
    assert_eq!(lines.len(), 2);
    let none = cli.json(&["schedules", "list", "--status", "paused"]);
    assert_eq!(none, json!({"items": [], "next_cursor": null}));

    let watched = cli.ok(&["runs", "watch", "hello", "--count", "1", "--every-ms", "100"]);
    assert!(watched.contains("SUCCESS"), "{watched}");
    cli.ok(&["schedules", "pause", "hello", "--note", "lunch"]);
    let run = cli.json(&["schedules", "trigger", "hello", "--key", "k", "--payload", "7"]);
    let run = run["run_id"].as_str().unwrap();
    let again = cli.json(&["schedules", "trigger", "hello", "--key", "k", "--payload", "7"]);
    assert_eq!(again["run_id"], run);
    let (code, problem) = cli.fails(&["schedules", "trigger", "hello", "--key", "k"]);
    assert_eq!((code, problem.contains("409")), (1, true), "{problem}");
    assert!(cli.ok(&["runs", "watch", run, "--every-ms", "50"]).contains("SUCCESS"));
    assert_eq!(cli.json(&["runs", "get", run])["trigger"], "manual");
    let listed = cli.json(&["runs", "list", "hello", "--status", "SUCCESS", "--limit", "2"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
    assert!(cli.ok(&["runs", "list", "hello"]).starts_with("RUN"));
    cli.ok(&["schedules", "resume", "hello"]);

    let target = r#"{"kind": "lambda", "function": "f"}"#;
    let published = ["workflows", "publish", "mine", "1", "--target", target, "--tracked"];
    assert_eq!(cli.json(&published)["completion"], "tracked");
    assert_eq!(cli.json(&["workflows", "get", "mine", "1"])["target"]["function"], "f");
    let file = r#"{"workflow_id": "mine", "cron_expr": "0 9 * * *", "name": "a\u001b[31m"}"#;
    let made = cli.run_with(&["schedules", "create", "--file", "-"], file);
    assert!(made.status.success(), "{made:?}");
    assert!(!String::from_utf8(made.stdout).unwrap().contains('\u{1b}'));

    cli.ok(&["schedules", "delete", "hello"]);
    let (code, problem) = cli.fails(&["schedules", "get", "hello"]);
    assert_eq!((code, problem.contains("404")), (1, true), "{problem}");
    let refused = cli.run(&["schedules", "get", "hello", "--json"]);
    let problem: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!((refused.status.code(), &problem["status"]), (Some(1), &json!(404)));

    let words = ["schedules", "create", "--workflow", "demo", "--cron", "61 * * * *"];
    let (code, problem) = cli.fails(&words);
    assert_eq!((code, problem.contains("cron_expr minute: 61")), (1, true), "{problem}");
    assert_eq!(cli.fails(&["schedules", "create", "--workflow", "demo"]).0, 2);
    assert_eq!(cli.fails(&["schedules", "trigger", "x", "--payload", "{"]).0, 2);
    assert_eq!(cli.fails(&["schedules", "fly"]).0, 2);
    let nobody = Cli { url: cli.url, token: String::new() };
    let (code, problem) = nobody.fails(&["schedules", "list"]);
    assert_eq!((code, problem.contains("BELFRY_TOKEN")), (1, true), "{problem}");
    let nowhere = Cli { url: "http://127.0.0.1:9", token: cli.token };
    let (code, problem) = nowhere.fails(&["schedules", "list"]);
    assert_eq!((code, problem.contains("no answer from")), (1, true), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_does_what_its_scopes_and_its_time_allow() {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("token");
    // A key is never made silently: a token of a wrong folder would be refused later.
    let refused = Command::new(binary("belfry")).arg("token").arg("--data").arg(&folder.0).output();
    let refused = refused.unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{said}");
    assert!(said.contains("has no token key") && said.contains("--new-key"), "{said}");
    assert!(!folder.0.exists());
    // Created before the system first starts, and valid in it.
    let early = token(&folder.0, &["--new-key"]);
    let dev = Dev::start(&folder.0, &[]);
    let cli = |token: String| Cli { url: &dev.url, token };
    cli(early).ok(&["schedules", "list"]);
    let reader = cli(token(&folder.0, &["--sub", "eve", "--scope", "schedules:read"]));
    reader.ok(&["schedules", "list"]);
    let words = ["schedules", "create", "--workflow", "demo", "--cron", "0 9 * * *"];
    let (code, problem) = reader.fails(&words);
    assert_eq!((code, problem.contains("schedules:write")), (1, true), "{problem}");
    let writer = "schedules:read schedules:write";
    let eve = cli(token(&folder.0, &["--sub", "eve", "--scope", writer]));
    assert_eq!(eve.json(&words)["user_id"], "eve");
    let admin = cli(token(&folder.0, &[]));
    assert_eq!(admin.json(&["schedules", "list"])["items"], json!([]));
    let all = admin.json(&["schedules", "list", "--user", "*"]);
    assert_eq!(all["items"].as_array().unwrap().len(), 1);
    let over = cli(token(&folder.0, &["--ttl", "0s"]));
    let (code, problem) = over.fails(&["schedules", "list"]);
    assert_eq!((code, problem.contains("expired")), (1, true), "{problem}");
    let other = Folder::new("other");
    assert_eq!(cli(token(&other.0, &["--new-key"])).fails(&["schedules", "list"]).0, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_data_file_is_private_to_its_user() {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("private");
    let check = || {
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder.0), 0o700);
        let files = std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().path());
        let files: Vec<_> = files.collect();
        let open: Vec<_> = files.iter().filter(|path| mode(path) != 0o600).collect();
        assert!(open.is_empty() && files.len() >= 8, "{open:?} of {files:?}");
    };
    let dev = Dev::start(&folder.0, &[]);
    let schedule = json!({"workflow_id": "demo", "cron_expr": "0 9 * * *"});
    dev.ok("PUT", "/schedules/s", &schedule).await;
    check();
    dev.kill();
    // A folder of an earlier version, which left its files open to everybody.
    for file in std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().path()) {
        let mode = if file.extension().is_some_and(|it| it == "pem" || it == "key") {
            0o600
        } else {
            0o644
        };
        std::fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
    }
    std::fs::set_permissions(&folder.0, Permissions::from_mode(0o755)).unwrap();
    let dev = Dev::start(&folder.0, &[]);
    dev.ok("GET", "/schedules/s", &Value::Null).await;
    check();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_edited_explained_and_its_past_run_again() {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("past");
    let dev = Dev::start(&folder.0, &[]);
    let cli = Cli { url: &dev.url, token: dev.token.clone() };
    let words = ["schedules", "create", "s", "--workflow", "demo", "--cron", "0 9 * * *"];
    cli.ok(&[&words[..], &["--tag", "team=data", "--set", "jitter_ms=500"]].concat());

    let edit = ["schedules", "edit", "s", "--cron", "0 8 * * *", "--set", "jitter_ms=null"];
    let diff = cli.ok(&[&edit[..], &["--dry-run"]].concat());
    assert!(diff.contains(r#"cron_expr: "0 9 * * *" -> "0 8 * * *""#), "{diff}");
    assert!(diff.contains("30 runs a month"), "{diff}");
    assert_eq!(cli.json(&["schedules", "get", "s"])["revision"], 1);
    let edited = cli.json(&[&edit[..], &["--revision", "1", "--tz", "Europe/Zurich"]].concat());
    assert_eq!((&edited["cron_expr"], &edited["revision"]), (&json!("0 8 * * *"), &json!(2)));
    assert_eq!(
        (&edited["timezone"], &edited["tags"]["team"]),
        (&json!("Europe/Zurich"), &json!("data"))
    );
    let (code, problem) = cli.fails(&[&edit[..], &["--revision", "1"]].concat());
    assert_eq!((code, problem.contains("412")), (1, true), "{problem}");
    let (code, problem) = cli.fails(&["schedules", "edit", "s"]);
    assert_eq!((code, problem.contains("nothing to change")), (1, true), "{problem}");
    let from_file = cli.run_with(&["schedules", "edit", "s", "--file", "-"], r#"{"name": "N"}"#);
    assert!(from_file.status.success(), "{from_file:?}");

    let until = "2100-01-01T00:00:00Z";
    let paused = cli.json(&["schedules", "pause", "s", "--until", until, "--note", "holidays"]);
    assert_eq!((&paused["status"], &paused["pause_until"]), (&json!("paused"), &json!(until)));
    assert!(cli.ok(&["schedules", "get", "s"]).contains(until));
    let counted = cli.ok(&["schedules", "bulk", "resume", "--tag", "team:data", "--dry-run"]);
    assert_eq!(counted, "1 matched, 1 would be resumed\n");
    let resumed = cli.json(&["schedules", "bulk", "resume", "--tag", "team:data"]);
    let expected = json!({"matched": 1, "changed": 1, "failed": [], "dry_run": false});
    assert_eq!(resumed, expected);
    assert_eq!(
        cli.ok(&["schedules", "bulk", "pause", "--workflow", "demo"]),
        "1 matched, 1 paused\n"
    );
    assert_eq!(cli.fails(&["schedules", "bulk", "pause"]).0, 2);

    let changes = cli.json(&["schedules", "changes", "s"]);
    let verbs: Vec<_> = changes["items"].as_array().unwrap().iter().map(|it| &it["verb"]).collect();
    assert_eq!(verbs, ["paused", "resumed", "paused", "updated", "updated", "created"]);
    let table = cli.ok(&["schedules", "changes", "s"]);
    assert!(table.contains(r#"name: null -> "N""#), "{table}");
    let some = cli.run(&["schedules", "changes", "s", "--limit", "2"]);
    assert!(String::from_utf8(some.stderr).unwrap().contains("stopped after 2"));

    let range = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T23:00:00Z"];
    let backfill = [&["schedules", "backfill", "s"][..], &range].concat();
    let preview = cli.ok(&[&backfill[..], &["--dry-run"]].concat());
    assert!(preview.contains("would launch  2"), "{preview}");
    let begun = cli.json(&[&backfill[..], &["--max-concurrent", "2", "--payload", "[1]"]].concat());
    let id = begun["backfill_id"].as_str().unwrap();
    assert!(cli.ok(&["schedules", "backfills", "s"]).contains(id));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while cli.json(&["schedules", "backfills", "s", id])["state"] != "done" {
        assert!(std::time::Instant::now() < deadline, "the backfill does not end");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    assert!(cli.ok(&["schedules", "backfills", "s", id]).contains("succeeded    2"));
    let over = [&backfill[..], &["--name", "again", "--rerun"]].concat();
    let again = cli.json(&over);
    let again = again["backfill_id"].as_str().unwrap();
    let cancelled = cli.json(&["schedules", "backfills", "s", again, "--cancel"]);
    assert!(["cancelled", "done"].contains(&cancelled["state"].as_str().unwrap()), "{cancelled}");
    assert_eq!(cli.fails(&["schedules", "backfills", "s", "--cancel"]).0, 2);

    let ledger = cli.ok(&[&["schedules", "ledger", "s"][..], &range].concat());
    assert!(ledger.contains("unexplained  0"), "{ledger}");
    assert!(ledger.lines().any(|line| line.starts_with("backfill ")), "{ledger}");
    assert_eq!(cli.json(&["schedules", "ledger", "s"])["unexplained_count"], 0);
    let versions = cli.ok(&["workflows", "list", "demo"]);
    assert!(versions.starts_with("WORKFLOW") && versions.contains("demo"), "{versions}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_an_answer_or_a_log() {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("secrets");
    let log = folder.0.with_extension("log");
    let executor = belfry_tests::Executor::start().await;
    let dev = Dev::start_logging(&folder.0, &log);
    let target = json!({"kind": "http", "url": executor.url});
    let workflow = json!({"target": target, "completion": "tracked"});
    dev.ok("PUT", "/workflows/w/versions/1", &workflow).await;
    let schedule = json!({"workflow_id": "w", "cron_expr": "0 9 * * *"});
    let mut answers = vec![dev.ok("PUT", "/schedules/s", &schedule).await];
    let run = dev.ok("POST", "/schedules/s/trigger", &json!({})).await;
    let run = run["run_id"].as_str().unwrap();
    while executor.launches().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let run_token = executor.launches()[0].headers["belfry-run-token"].to_str().unwrap().to_owned();
    answers.push(dev.ok("PATCH", "/schedules/s", &json!({"name": "another"})).await);
    for path in [
        "/schedules",
        "/schedules/s",
        "/schedules/s/runs",
        "/schedules/s/ledger",
        "/schedules/s/changes",
        "/stats",
        "/workflows/w/versions/1",
        &format!("/runs/{run}"),
    ] {
        answers.push(dev.ok("GET", path, &Value::Null).await);
    }
    let feedback = reqwest::Client::new().post(format!("{}/runs/{run}/feedback", dev.url));
    let feedback = feedback.header("belfry-run-token", &run_token).body(r#"{"status":"SUCCESS"}"#);
    let feedback = feedback.send().await.unwrap();
    assert_eq!(feedback.status(), 200);
    answers.push(serde_json::from_str(&feedback.text().await.unwrap()).unwrap());
    let bearer = dev.token.clone();
    dev.kill();

    let key = |name: &str| std::fs::read_to_string(folder.0.join(name)).unwrap();
    let pem = key("token.pem");
    let secrets = [
        key("signing.key"),
        key("run-token.key"),
        pem.lines().nth(5).unwrap().to_owned(),
        run_token,
        bearer.rsplit('.').next().unwrap().to_owned(),
    ];
    let text = std::fs::read_to_string(&log).unwrap();
    let _ = std::fs::remove_file(&log);
    assert!(text.contains("triggered"), "{text}");
    for secret in &secrets {
        assert!(!text.contains(secret.trim()), "the log contains {secret}");
        for answer in &answers {
            assert!(!answer.to_string().contains(secret.trim()), "{answer} has {secret}");
        }
    }
}

#[test]
fn shells_are_told_what_can_be_typed() {
    for (shell, word) in
        [("bash", "complete -F"), ("zsh", "#compdef belfry"), ("fish", "complete -c belfry")]
    {
        let output = Command::new(binary("belfry")).args(["completions", shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(word), "{shell}: {text}");
        assert!(text.contains("schedules") && text.contains("trigger"), "{shell}");
    }
}
