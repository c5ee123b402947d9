//! A simulated day on which every function does everything it can do; records the calls it made and
//! the metrics it counted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::types::AttributeValue;
use belfry_tests::aws::{restarted, serve};
use belfry_tests::policy::Demand;
use belfry_tests::{Stack, World};
use chrono::Duration;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// What was observed of the functions.
pub(crate) struct Seen {
    /// The calls to services, by function.
    pub(crate) used: BTreeSet<(&'static str, Demand)>,
    /// The metrics that were counted.
    pub(crate) metrics: BTreeSet<String>,
}

/// The observations of that day, which is simulated once.
pub(crate) async fn seen() -> &'static Seen {
    static SEEN: OnceCell<Seen> = OnceCell::const_new();
    SEEN.get_or_init(live).await
}

static COUNTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn note(line: &Value) {
    let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
    let names = metrics.iter().map(|metric| metric["Name"].as_str().unwrap().to_owned());
    COUNTED.lock().unwrap().extend(names);
}

async fn live() -> Seen {
    let aws = serve(Arc::new(Mutex::new(Vec::new()))).await;
    // A share of two: writes go in small batches, and ticks hand over everything else that is due.
    let settings = [("EVENT_BUS", "ours"), ("DUE_SHARDS", "1"), ("TICK_SHARE", "2")];
    let world = World::with(&settings).await;
    // A warm function uses its caches, a cold one reads: each part starts with cold functions.
    let cold = |world| restarted(world, &aws, note);
    let world = cold(world);
    world.executor.answers(|launch| match launch.run_id.split('@').next() {
        Some("bad") => (404, String::new()),
        Some("busy") => (503, String::new()),
        _ => (200, String::new()),
    });
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    every_target(&world).await;
    fires_that_meet(&world).await;
    let world = cold(world);
    recovery_ends_what_took_too_long(&world).await;
    let until = pauses(&world).await;
    let world = cold(world);
    world.pass(until).await;
    backfills(&world).await;
    outages(&world).await;
    everything_users_ask(&world).await;
    let world = cold(world);
    stacks(&world).await;
    the_next_day(&world).await;
    Seen { used: world.warden.used(), metrics: COUNTED.lock().unwrap().clone() }
}

async fn every_target(world: &World) {
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    let queue = client.create_queue().queue_name("jobs").send().await.unwrap();
    let machine = "arn:aws:states:us-east-1:1:stateMachine:m";
    for (id, target) in [
        ("queue", json!({"kind": "sqs", "queue_url": queue.queue_url().unwrap()})),
        ("lambda", json!({"kind": "lambda", "function": "worker"})),
        ("states", json!({"kind": "step_functions", "state_machine_arn": machine})),
        ("events", json!({"kind": "eventbridge", "bus": "b", "source": "s", "detail_type": "d"})),
    ] {
        world.workflow(id, &json!({"target": target})).await;
        world.schedule(id, "0 1 0 * * *", &json!({"workflow_id": id})).await;
    }
    world.pass(Duration::minutes(3)).await;
}

fn tracked(more: &Value) -> Value {
    let mut body = json!({"workflow_id": "t"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// Fires that are blocked by others, follow others, fail, and are reported.
async fn fires_that_meet(world: &World) {
    let at = "0 */10 * * * *";
    let topic =
        |name: &str| json!({"kind": "sns", "topic_arn": format!("arn:aws:sns:us-east-1:1:{name}")});
    let once =
        json!({"pause_after_failures": 1, "alert_after_failures": 1, "alert_to": topic("a")});
    let unheard =
        json!({"pause_after_failures": 1, "alert_after_failures": 1, "alert_to": topic("none")});
    world.schedule("skips", at, &tracked(&json!({"overlap_policy": "skip"}))).await;
    world.schedule("waits", at, &tracked(&json!({"overlap_policy": "queue"}))).await;
    world.schedule("tells", at, &tracked(&once)).await;
    world.schedule("heard", at, &tracked(&once)).await;
    let slow = json!({
        "max_runtime_s": 1200, "pause_after_failures": 1, "alert_after_failures": 1,
        "alert_to": topic("a"),
    });
    world.schedule("slow", at, &tracked(&slow)).await;
    world.schedule("bad", at, &unheard).await;
    world.schedule("busy", at, &json!({})).await;
    world.schedule("load", at, &json!({})).await;
    let after = json!({"workflow_id": "w", "after_schedule_id": "load"});
    world.ok("PUT", "/schedules/after", &after).await;
    world.pass(Duration::minutes(18)).await;
    let first = |schedule: &str| format!("{schedule}@2026-01-01T00:10:00Z");
    let ended = |status: &str| json!({"status": status, "error": "no"});
    world.ok("POST", &format!("/runs/{}/status", first("waits")), &ended("SUCCESS")).await;
    world.ok("POST", &format!("/runs/{}/status", first("tells")), &ended("FAILED")).await;
    let detail = json!({"run_id": first("heard"), "status": "FAILED"});
    let event = json!({"detail-type": "Belfry Run Status", "detail": detail});
    send(world, &world.app.settings.launch_queue_url, &event.to_string()).await;
    world.deliver().await;
    for schedule in ["skips", "waits", "busy", "load", "after"] {
        world.ok("DELETE", &format!("/schedules/{schedule}"), &Value::Null).await;
    }
}

/// The failures also pause the schedule, which became due meanwhile because the tick did not run.
async fn recovery_ends_what_took_too_long(world: &World) {
    // With them the message that ends the run of `slow` at its limit.
    world.lose_messages().await;
    world.pass_without_ticks(Duration::minutes(12)).await;
    world.recover().await;
    world.deliver().await;
}

/// Returns the time until the pause is over.
async fn pauses(world: &World) -> Duration {
    world.schedule("s", "*/10 * * * *", &json!({"overlap_policy": "skip"})).await;
    world.schedule("long", "*/10 * * * *", &tracked(&json!({"catchup_policy": "once"}))).await;
    world.pass(Duration::minutes(11)).await;
    let until = world.now() + Duration::minutes(5);
    for schedule in ["s", "long"] {
        let pause = json!({"until": belfry_core::instant::text(until)});
        world.ok("POST", &format!("/schedules/{schedule}/pause"), &pause).await;
    }
    Duration::minutes(7)
}

async fn backfills(world: &World) {
    let range = json!({"from": "2026-01-01T00:10:00Z", "to": "2026-01-01T00:30:00Z"});
    world.ok("POST", "/schedules/s/backfill", &range).await;
    world.pass(Duration::minutes(5)).await;
    // The message is lost: the tick and recovery take care of the fire.
    let before = json!({"from": "2025-12-31T23:10:00Z", "to": "2025-12-31T23:30:00Z"});
    let begun = world.ok("POST", "/schedules/s/backfill", &before).await;
    world.lose_messages().await;
    world.pass(Duration::minutes(3)).await;
    let path = format!("/schedules/s/backfills/{}", begun["backfill_id"].as_str().unwrap());
    world.ok("GET", &path, &Value::Null).await;
    world.ok("GET", "/schedules/s/backfills", &Value::Null).await;
    world.ok("DELETE", &path, &Value::Null).await;
    for _ in 0..8 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    // The schedule is deleted behind the API, and its backfill remains.
    world.ok("POST", "/schedules/long/backfill", &range).await;
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    for part in ["clock", "spec"] {
        let delete = client.delete_item().table_name(&world.app.settings.schedules_table);
        let delete = delete.key("schedule_id", text("long")).key("sk", text(part));
        delete.send().await.unwrap();
    }
    world.lose_messages().await;
    world.pass(Duration::minutes(3)).await;
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

async fn outages(world: &World) {
    world.schedule("strange", "*/10 * * * *", &json!({})).await;
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let update = client.update_item().table_name(&world.app.settings.schedules_table);
    let update = update.key("schedule_id", text("strange")).key("sk", text("clock"));
    let update = update.update_expression("SET #zone = :zone");
    let update = update.expression_attribute_names("#zone", "timezone");
    update.expression_attribute_values(":zone", text("Atlantis/Center")).send().await.unwrap();
    world.pass_without_ticks(Duration::minutes(30)).await;
    world.pass(Duration::minutes(2)).await;
    let dead = &world.app.settings.dead_letter_queue_url;
    send(world, dead, "not a message of ours").await;
    let run = json!({"run_id": "s@2026-01-01T00:40:00Z", "launch_at": "2026-01-01T00:40:00Z"});
    send(world, dead, &run.to_string()).await;
    world.recover().await;
    // Lost until all attempts are used up.
    world.schedule("lost", "*/10 * * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    world.tick().await;
    for _ in 0..30 {
        world.lose_messages().await;
        world.pass_without_ticks(Duration::minutes(1)).await;
        world.recover().await;
    }
}

async fn everything_users_ask(world: &World) {
    for path in [
        "/schedules?recent=3",
        "/schedules/s",
        "/schedules/s/runs",
        "/schedules/s/ledger",
        "/schedules/s/changes",
        "/stats",
        "/overview",
        "/workflows",
        "/workflows/w/versions",
        "/workflows/w/versions/1",
        "/runs/s@2026-01-01T00:40:00Z",
    ] {
        world.ok("GET", path, &Value::Null).await;
    }
    let admin = Some("root admin");
    let (status, _) = world.call_as(admin, "GET", "/schedules?user_id=*", &Value::Null, &[]).await;
    assert_eq!(status, 200);
    let key = [("idempotency-key", "once")];
    for _ in 0..2 {
        let (status, _) =
            world.call_as(Some("ann"), "POST", "/schedules/s/trigger", &Value::Null, &key).await;
        assert_eq!(status, 202);
    }
    world.ok("PATCH", "/schedules/s", &json!({"name": "another"})).await;
    world.ok("POST", "/schedules/s/pause", &Value::Null).await;
    world.ok("POST", "/schedules/s/resume", &Value::Null).await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("unused", &json!({"target": target})).await;
    world.ok("DELETE", "/workflows/unused/versions/1", &Value::Null).await;
    let node = "/workflows/w/triggers/start/schedule";
    world.ok("PUT", node, &json!({"cron_expr": "@daily"})).await;
    world.ok("DELETE", node, &Value::Null).await;
    let member = json!({"schedule_id": "declared", "workflow_id": "w", "cron_expr": "@daily"});
    world.ok("PUT", "/sets/billing", &json!({"schedules": [member]})).await;
    world.ok("GET", "/sets/billing", &Value::Null).await;
    world.ok("GET", "/sets", &Value::Null).await;
    world.ok("DELETE", "/sets/billing/members/declared", &Value::Null).await;
    world.deliver().await;
}

async fn stacks(world: &World) {
    let stack = Stack::start("billing").await;
    let flow = |steps: &str| {
        let target = json!({"Kind": "http", "Url": world.executor.url});
        json!({"WorkflowId": "flow", "Owner": "ann", "DefinitionJson": steps, "Target": target})
    };
    let kind = json!({"ResourceType": "Custom::BelfryWorkflow"});
    for steps in ["[1]", "[2]"] {
        stack.ask(world, &stack.request("Create", "Flow", &flow(steps), &kind)).await;
    }
    let declared = |id: &str, workflow: &str, cron_expr: &str, paused: bool| {
        json!({"ScheduleId": id, "Owner": "ann", "WorkflowId": workflow, "Version": "1",
            "CronExpr": cron_expr, "Paused": paused})
    };
    // Its fires are sent when it is created, settled when it changes, and reported when it is
    // paused.
    let often = declared("often", "flow", "*/20 * * * * *", false);
    let seldom = declared("often", "flow", "*/40 * * * * *", false);
    let never = declared("often", "flow", "*/40 * * * * *", true);
    stack.create(world, "Often", &often).await;
    stack.update(world, ("Often", "often"), &often, &seldom).await;
    stack.update(world, ("Often", "often"), &seldom, &never).await;
    stack.delete(world, ("Often", "often"), &never).await;
    // Deleted in the middle of a backfill.
    let long = declared("filled", "t", "*/10 * * * *", false);
    stack.create(world, "Filled", &long).await;
    let range = json!({"from": "2026-01-01T00:10:00Z", "to": "2026-01-01T00:30:00Z"});
    world.ok("POST", "/schedules/filled/backfill", &range).await;
    let deleted = stack.delete(world, ("Filled", "filled"), &long).await;
    assert_eq!(deleted["Status"], "SUCCESS", "{deleted}");
}

async fn the_next_day(world: &World) {
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let update = client.update_item().table_name(&world.app.settings.schedules_table);
    let update = update.key("schedule_id", text("lost")).key("sk", text("clock"));
    update.update_expression("REMOVE next_run_at, due_shard").send().await.unwrap();
    world.pass_without_ticks(Duration::hours(24)).await;
    world.tick().await;
    for _ in 0..20 {
        world.recover().await;
        world.deliver().await;
    }
}

async fn send(world: &World, queue: &str, body: &str) {
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    client.send_message().queue_url(queue).message_body(body).send().await.unwrap();
}
