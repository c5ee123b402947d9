//! A full disk and a read-only folder: reported clearly, nothing is damaged, and the system works
//! again when there is space.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::binary;
use crate::crash::check_integrity;
use crate::dev::{ALONE, Dev, Folder, now};

/// A user id that owns no file of this test.
const NOBODY: u32 = 65_534;

/// `belfry dev` whose files may not grow beyond `kib`: every write beyond that fails, as on a full
/// disk. A limit of the process needs neither a mount nor root.
fn start_on_full_disk(data: &Path, kib: u64, log: &Path) -> Dev {
    // Ignoring the signal turns it into a failed write.
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$@\"");
    let log = fs::File::create(log).unwrap();
    Dev::of(
        Command::new("bash")
            .args(["-c", &script, "bash"])
            .arg(binary("belfry"))
            .args(["dev", "--port", "0", "--log", "warn", "--data"])
            .arg(data)
            .stderr(Stdio::from(log)),
    )
}

async fn put(dev: &Dev, id: &str) -> (u16, String) {
    let schedule = json!({
        "workflow_id": "demo", "cron_expr": "0 0 1 1 *", "payload": "x".repeat(100_000),
    });
    let request = dev.http.put(format!("{}/schedules/{id}", dev.url));
    let answer = request.bearer_auth(&dev.token).body(schedule.to_string()).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_breaks_nothing_and_passes() {
    let _alone = ALONE.lock().await;
    let (folder, log) = (Folder::new("full"), Folder::new("full-log"));
    let dev = Dev::start(&folder.0, &[]);
    assert_eq!(put(&dev, "before").await.0, 201);
    dev.kill();
    let size = |file: &str| fs::metadata(folder.0.join(file)).map_or(0, |file| file.len());
    let largest = size("dynamodb.sqlite").max(size("dynamodb.sqlite-wal"));

    let dev = start_on_full_disk(&folder.0, largest / 1024 + 512, &log.0);
    let mut stored = vec!["before".to_owned()];
    let refusal = loop {
        let id = format!("more-{}", stored.len());
        match put(&dev, &id).await {
            (201, _) => stored.push(id),
            refusal => break refusal,
        }
        assert!(stored.len() < 100, "the disk never became full");
    };
    assert_eq!(refusal.0, 503, "{refusal:?}");
    assert!(refusal.1.contains("\"title\":\"Unavailable\""), "{refusal:?}");
    let health = dev.ok("GET", "/health", &Value::Null).await;
    assert_eq!(health["status"], "ok", "the API still answers");
    let said = fs::read_to_string(&log.0).unwrap();
    assert!(said.contains("disk"), "the log names the cause: {said}");
    dev.kill();
    fs::remove_file(&log.0).unwrap();

    check_integrity(&folder.0);
    let dev = Dev::start(&folder.0, &[]);
    for id in &stored {
        dev.ok("GET", &format!("/schedules/{id}"), &Value::Null).await;
    }
    assert_eq!(put(&dev, "after").await.0, 201);
    let beat = json!({"workflow_id": "demo", "cron_expr": "* * * * * *"});
    dev.ok("PUT", "/schedules/beat", &beat).await;
    wait_for_a_success(&dev).await;
}

async fn wait_for_a_success(dev: &Dev) {
    let deadline = now() + TimeDelta::seconds(30);
    loop {
        let runs = dev.ok("GET", "/schedules/beat/runs?status=SUCCESS", &Value::Null).await;
        if !runs["items"].as_array().unwrap().is_empty() {
            return;
        }
        assert!(now() < deadline, "nothing fires any more");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_nobody_may_write_to_is_named_and_left_as_it_is() {
    let _alone = ALONE.lock().await;
    let folder = Folder::new("read-only");
    let dev = Dev::start(&folder.0, &[]);
    assert_eq!(put(&dev, "before").await.0, 201);
    dev.kill();
    let allow = |mode: u32| {
        for file in fs::read_dir(&folder.0).unwrap().flatten() {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode & 0o666)).unwrap();
        }
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(0o555);
    let mut belfry = Command::new(binary("belfry"));
    belfry.args(["dev", "--port", "0", "--data"]).arg(&folder.0);
    // Permissions do not bind root, so the command runs as another user.
    if fs::File::create(folder.0.join("probe")).is_ok() {
        fs::remove_file(folder.0.join("probe")).unwrap();
        belfry.uid(NOBODY).gid(NOBODY);
    }
    let output = belfry.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(folder.0.to_str().unwrap()), "{said}");
    assert!(said.contains("Permission denied"), "{said}");

    allow(0o755);
    check_integrity(&folder.0);
    let dev = Dev::start(&folder.0, &[]);
    dev.ok("GET", "/schedules/before", &Value::Null).await;
    assert_eq!(put(&dev, "after").await.0, 201);
}
