//! `belfry plan`, `apply`, `validate`, `export`, `adopt`, `release` and `import`, against a running
//! `belfry dev`.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::binary;
use crate::dev::{ALONE, Dev, Folder};

/// A system and the files of its users.
struct Desk {
    dev: Dev,
    files: PathBuf,
    _data: Folder,
    _files: Folder,
}

impl Desk {
    fn new(name: &str) -> Desk {
        let (data, files) = (Folder::new(name), Folder::new(&format!("{name}-files")));
        std::fs::create_dir_all(&files.0).unwrap();
        let dev = Dev::start(&data.0, &[]);
        Desk { dev, files: files.0.clone(), _data: data, _files: files }
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.files.join(file), text).unwrap();
    }

    /// Exit code, standard output, standard error.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        self.run_with(words, "")
    }

    fn run_with(&self, words: &[&str], input: &str) -> (i32, String, String) {
        let mut command = Command::new(binary("belfry"));
        command.args(words).current_dir(&self.files);
        command.env("BELFRY_URL", &self.dev.url).env("BELFRY_TOKEN", &self.dev.token);
        told(&mut command, input)
    }

    #[track_caller]
    fn check(&self, words: &[&str], code: i32, says: &[&str]) -> String {
        let (found, out, err) = self.run(words);
        assert_eq!(found, code, "{words:?}\n{out}\n{err}");
        let all = format!("{out}{err}");
        for text in says {
            assert!(all.contains(text), "{words:?} does not print {text}:\n{all}");
        }
        out
    }
}

fn told(command: &mut Command, input: &str) -> (i32, String, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses before it reads its input closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

const FILE: &str = "\
set: billing
defaults:
  workflow_id: invoices
  timezone: Europe/Zurich
workflows:
  invoices:
    version: 1
    target: {kind: lambda, function: invoices}
schedules:
  nightly:
    cron_expr: 30 2 * * *
  monthly:
    cron_expr: 0 6 1 * *
    overlap_policy: queue
";

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_planned_applied_drifts_and_is_mended() {
    let _alone = ALONE.lock().await;
    let desk = Desk::new("declared");
    desk.write("billing.yaml", FILE);
    let file = ["-f", "billing.yaml"];
    let with = |words: &[&'static str]| [&words[..1], &file, &words[1..]].concat();
    desk.check(&with(&["plan"]), 2, &["+ nightly  create", "2 to create", "1 to publish"]);
    desk.check(&with(&["apply"]), 1, &["pass --yes to apply without confirmation"]);
    desk.check(&with(&["apply", "--yes"]), 0, &["set billing: 3 done"]);
    desk.check(&with(&["plan"]), 0, &["2 unchanged"]);
    desk.check(&with(&["apply", "--yes"]), 0, &["2 unchanged"]);
    let plan = desk.check(&with(&["plan", "--json"]), 0, &[]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["sets"][0]["counts"]["unchanged"], 2);

    // Changed by hand, as in the console.
    let edit = json!({"cron_expr": "0 2 * * *"});
    desk.dev.ok("PATCH", "/schedules/nightly", &edit).await;
    let drift = [
        "~ nightly  update",
        "cron_expr: \"0 2 * * *\" -> \"30 2 * * *\"",
        "02:30 Europe/Zurich",
        "skips 02:30: it fires at 03:00 instead",
        "1 to update, 1 unchanged",
    ];
    desk.check(&with(&["plan"]), 2, &drift);
    desk.check(&with(&["apply", "-y"]), 0, &["1 done"]);
    desk.check(&with(&["plan"]), 0, &[]);

    // The exported file declares the same set.
    let exported = desk.check(&["export", "--set", "billing"], 0, &["cron_expr", "invoices"]);
    desk.write("exported.yaml", &exported);
    desk.check(&["plan", "-f", "exported.yaml", "--prune"], 0, &["2 unchanged"]);
    desk.check(&["export"], 0, &["billing  2 schedules"]);
    let (code, _, err) = desk.run_with(&["plan", "-f", "-"], &exported);
    assert_eq!(code, 0, "{err}");

    // A schedule outside the set is refused; adopted it is accepted; released it stays.
    desk.dev
        .ok(
            "PUT",
            "/schedules/by-hand",
            &json!({
                "workflow_id": "invoices", "cron_expr": "0 9 * * *",
            }),
        )
        .await;
    let more = "set: billing\nschedules:\n- schedule_id: by-hand\n  workflow_id: invoices\n  \
                cron_expr: 0 9 * * *\n";
    std::fs::create_dir(desk.files.join("all")).unwrap();
    desk.write("all/1.yaml", FILE);
    desk.write("all/2.json", &json!({"set": "billing", "schedules": []}).to_string());
    desk.write("all/3.yml", more);
    let folder = ["plan", "-f", "all", "--prune"];
    desk.check(&folder, 1, &["! by-hand  refused", "adopt it first"]);
    desk.check(&["adopt", "--set", "billing", "by-hand"], 0, &["adopted by-hand"]);
    desk.check(&folder, 0, &["3 unchanged"]);
    desk.check(&with(&["plan"]), 0, &["? by-hand", "--prune deletes it"]);
    desk.check(&["release", "--set", "billing", "by-hand"], 0, &["released by-hand"]);
    desk.check(&["adopt", "--set", "billing", "nobody"], 1, &["404"]);

    // Pruning, and its guard against many deletions.
    desk.write("empty.yaml", "set: billing\nschedules: []\n");
    desk.check(&["plan", "-f", "empty.yaml"], 0, &["2 in the set and not declared"]);
    let guard = ["would delete 2 of 2 schedules"];
    desk.check(&["plan", "-f", "empty.yaml", "--prune"], 2, &guard);
    desk.check(&["apply", "-f", "empty.yaml", "--prune", "-y"], 1, &guard);
    let words = ["apply", "-f", "empty.yaml", "--prune", "-y", "--allow-delete", "2"];
    desk.check(&words, 0, &["- nightly  delete", "will not happen", "2 done"]);
    assert_eq!(desk.dev.ok("GET", "/sets", &Value::Null).await["items"], json!([]));
}

#[test]
fn a_file_is_checked_without_any_system() {
    let folder = Folder::new("validate");
    std::fs::create_dir_all(&folder.0).unwrap();
    let check = |text: &str, more: &[&str]| {
        let file = folder.0.join("f.yaml");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(binary("belfry"));
        told(command.args(["validate", "-f", "f.yaml"]).args(more).current_dir(&folder.0), "")
    };
    let (code, out, _) = check(FILE, &[]);
    assert_eq!(code, 0);
    assert!(out.contains("warning: f.yaml:11:16: on "), "{out}");
    assert!(out.contains("set billing: 2 schedules, valid"), "{out}");
    let bad = FILE.replace("30 2 * * *", "30 25 * * *").replace("queue", "perhaps");
    let (code, _, err) = check(&bad, &[]);
    assert_eq!(code, 1);
    let lines: Vec<_> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert!(lines[0].starts_with("f.yaml:11:19: cron_expr: hour: 25"), "{err}");
    assert!(lines[1].starts_with("f.yaml:14:21: overlap_policy: must be"), "{err}");
    let (code, out, _) = check(&bad, &["--json"]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &told["errors"][1]["line"]), (1, &json!(14)));
    let (code, _, err) = check(&FILE.replace("Europe/Zurich", "Mars/Base"), &[]);
    assert!(code == 1 && err.starts_with("f.yaml:") && err.contains("`Mars/Base`"), "{err}");
    let (code, _, err) = check("set: a\nschedules:\n- cron_expr: * * * * *\n", &[]);
    assert_eq!((code, err.contains("quote a text")), (1, true), "{err}");
}

#[test]
fn the_example_is_valid() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/examples/schedules");
    let mut command = Command::new(binary("belfry"));
    let (code, out, err) = told(command.args(["validate", "-f", examples]), "");
    assert_eq!((code, out.contains("set billing: 3 schedules, valid")), (0, true), "{out}{err}");
}

#[test]
fn what_is_imported_is_a_file_that_is_valid() {
    let folder = Folder::new("import");
    std::fs::create_dir_all(&folder.0).unwrap();
    let run = |words: &[&str], input: &str| {
        let mut command = Command::new(binary("belfry"));
        told(command.args(words).current_dir(&folder.0), input)
    };
    let crontab = "MAILTO=ops\n# nightly\n0 2 * * * /opt/backup.sh\n@reboot /opt/up\n";
    let (code, out, err) = run(&["import", "crontab", "-", "--tz", "Europe/Zurich"], crontab);
    // One line names no time, so that it was left out.
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("line 1: MAILTO") && err.contains("line 4: @reboot"), "{err}");
    let (code, _, err) = run(&["validate", "-f", "-"], &out);
    assert_eq!(code, 0, "{out}{err}");
    let arn = "arn:aws:lambda:eu-west-1:123456789012:function:report";
    let schedule = json!({
        "Name": "nightly", "ScheduleExpression": "cron(0 2 * * ? *)", "State": "ENABLED",
        "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": {"Arn": arn, "RoleArn": "r"},
    });
    let words = ["import", "eventbridge", "-", "--set", "moved"];
    let (code, out, err) = run(&words, &schedule.to_string());
    assert_eq!((code, out.contains("set: moved")), (0, true), "{out}{err}");
    let (code, _, err) = run(&["validate", "-f", "-"], &out);
    assert_eq!(code, 0, "{out}{err}");
    let template = "Resources:\n  Report: {Type: AWS::Lambda::Function, Properties: {FunctionName: r}}\n  \
        Nightly:\n    Type: AWS::Scheduler::Schedule\n    Properties:\n      \
        ScheduleExpression: cron(0 2 * * ? *)\n      Target: {Arn: !GetAtt Report.Arn}\n";
    let (code, _, err) = run(&words, template);
    assert_eq!(
        (code, err.contains("Nightly: its target depends on the region")),
        (2, true),
        "{err}"
    );
    let place = ["--region", "eu-west-1", "--account", "123456789012"];
    let (code, out, err) = run(&[&words[..], &place].concat(), template);
    assert_eq!((code, out.contains("schedule_id: moved-Nightly")), (0, true), "{out}{err}");
    let (code, _, err) = run(&["validate", "-f", "-"], &out);
    assert_eq!(code, 0, "{out}{err}");
    let (code, out, _) = run(&["schema"], "");
    let schema: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, schema["required"] == json!(["set"])), (0, true));
}
