//! Logs: a decision about a run is there with its reason, and no payload is, whatever goes wrong and at
//! every level.

use std::io;
use std::sync::{Arc, Mutex};

use belfry_engine::log;
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

const SECRET: &str = "the-content-of-a-payload";

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// On one thread, so that it sees the log lines of everything it does.
#[tokio::test]
async fn no_payload_is_in_a_log_line() {
    let lines = Lines::default();
    let writer = lines.clone();
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let _guard = tracing::subscriber::set_default(log::to(move || writer.clone(), "trace"));
    let world = World::new().await;
    world.executor.answers(|launch| match launch.run_id.starts_with("bad") {
        // A target may answer with what it was given.
        true => (500, format!("cannot handle {SECRET}")),
        false => (200, json!({"status": "SUCCESS", "result": SECRET}).to_string()),
    });
    let definition = json!({
        "definition": {"text": SECRET}, "target": {"kind": "http", "url": world.executor.url},
    });
    world.workflow("secretive", &definition).await;
    let more = json!({"payload": {"text": SECRET}, "workflow_id": "secretive"});
    for id in ["good", "bad"] {
        world.schedule(id, "0 9 * * *", &more).await;
        world.ok("POST", &format!("/schedules/{id}/trigger"), &json!({"payload": SECRET})).await;
    }
    // Refused requests, and messages that cannot be read.
    let broken = json!({"payload": {"text": SECRET}, "workflow_id": "w", "cron_expr": "x"});
    world.call("PUT", "/schedules/broken", &broken).await;
    world.call("POST", "/schedules/good/trigger", &json!({"payload": SECRET, "x": 1})).await;
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    for queue in [&world.app.settings.launch_queue_url, &world.app.settings.tick_queue_url] {
        for body in [json!(SECRET).to_string(), format!("[\"{SECRET}\"]"), SECRET.to_owned()] {
            client.send_message().queue_url(queue).message_body(body).send().await.unwrap();
        }
    }
    world.deliver_ticks().await;
    world.pass(Duration::hours(10)).await;
    world.recover().await;
    assert_eq!(world.runs("good").await.last().unwrap()["result"], SECRET);
    let error = world.runs("bad").await[0]["error"].clone();
    assert!(error.as_str().unwrap().contains(SECRET), "{error}");
    let lines = String::from_utf8(std::mem::take(&mut *lines.0.lock().unwrap())).unwrap();
    let about = |text: &str| lines.lines().filter(|line| line.contains(text)).count();
    assert!(about("run launched") > 0 && about("poison message") > 0, "{lines}");
    assert!(about("hand-over dropped") >= 3, "{lines}");
    let told: Vec<_> = lines.lines().filter(|line| line.contains(SECRET)).collect();
    assert_eq!(told, Vec::<&str>::new());
}

/// On one thread, as above.
#[tokio::test]
async fn a_decision_about_a_run_is_logged_with_the_run_and_the_reason() {
    let lines = Lines::default();
    let writer = lines.clone();
    let _second = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default());
    let _guard = tracing::subscriber::set_default(log::to(move || writer.clone(), "info"));
    let world = World::new().await;
    world.executor.answers(|launch| match launch.run_id.starts_with("gone") {
        true => (404, String::new()),
        false => (200, String::new()),
    });
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let tracked = json!({"workflow_id": "t", "overlap_policy": "skip"});
    world.schedule("busy", "0 */10 * * * *", &tracked).await;
    world.schedule("gone", "0 10 0 * * *", &json!({})).await;
    world.pass(Duration::minutes(21)).await;
    world.schedule("late", "0 22 0 * * *", &json!({})).await;
    world.tick().await;
    world.time.set(world.now() + Duration::hours(3));
    world.deliver().await;
    let lines = String::from_utf8(std::mem::take(&mut *lines.0.lock().unwrap())).unwrap();
    for (run, texts) in [
        ("busy@2026-01-01T00:10:00Z", ["run launched", "drift_ms"]),
        ("busy@2026-01-01T00:20:00Z", ["run not launched", "Overlap"]),
        ("gone@2026-01-01T00:10:00Z", ["run not launched", "LaunchFailed"]),
        ("late@2026-01-01T00:22:00Z", ["run not launched", "Missed"]),
    ] {
        let tells =
            |line: &&str| line.contains(run) && texts.iter().all(|text| line.contains(text));
        assert_eq!(lines.lines().filter(tells).count(), 1, "{run}: {lines}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_the_deployment_is_no_target() {
    let world = World::with(&[("EVENT_BUS", "ours"), ("DEPLOYMENT", "belfry-eu")]).await;
    let settings = &world.app.settings;
    let queue = |url: &str| json!({"kind": "sqs", "queue_url": url});
    let function = |name: &str| json!({"kind": "lambda", "function": name});
    let bus =
        |bus: &str| json!({"kind": "eventbridge", "bus": bus, "source": "s", "detail_type": "d"});
    for (target, field) in [
        (queue(&settings.launch_queue_url), "target.queue_url"),
        (queue(&settings.tick_queue_url), "target.queue_url"),
        (queue(&settings.dead_letter_queue_url), "target.queue_url"),
        (function("belfry-eu-launcher"), "target.function"),
        (function("arn:aws:lambda:eu-west-1:1:function:belfry-eu-api:live"), "target.function"),
        (bus("ours"), "target.bus"),
        (bus("arn:aws:events:eu-west-1:1:event-bus/ours"), "target.bus"),
    ] {
        let body = json!({"target": target});
        let (status, answer) = world.call("PUT", "/workflows/loop/versions/1", &body).await;
        assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!(field)), "{target}");
        // A set says so in its plan.
        let declared = json!({"workflow_id": "loop", "version": 1, "target": target});
        let set = json!({"workflows": [declared]});
        let plan = world.ok("POST", "/sets/s/plan", &set).await;
        assert!(plan["workflows"][0].to_string().contains("a part of Belfry"), "{plan}");
    }
    assert_eq!(world.call("GET", "/workflows/loop/versions", &Value::Null).await.0, 404);
    for target in [function("belfry-eu-report"), bus("default")] {
        let path = format!("/workflows/{}/versions/1", target["kind"].as_str().unwrap());
        world.ok("PUT", &path, &json!({"target": target})).await;
    }
}
