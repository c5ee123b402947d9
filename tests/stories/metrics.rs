//! The metrics: each moves when it should, by as much as it should.

use aws_sdk_dynamodb::types::AttributeValue;
use belfry_core::run::{Run, Trigger};
use belfry_engine::app::App;
use belfry_engine::cloud::launch_queue::Parcel;
use belfry_engine::metrics::*;
use belfry_engine::settings::Settings;
use belfry_tests::{Executor, Metered, World, metered};
use chrono::Duration;
use futures::future::join_all;
use serde_json::{Value, json};

/// Which story looks at the value of which metrics.
const STORIES: &[(&str, &[Name])] = &[
    (
        "a_fire_is_counted_from_its_tick_to_its_end",
        &[SCHEDULES_DUE, RUNS_EMITTED, EMIT_DRIFT, RUNS_LAUNCHED, LAUNCH_DRIFT, RUNS_SUCCEEDED],
    ),
    ("the_drift_of_every_launch_counts", &[RUNS_LAUNCHED, EMIT_DRIFT, LAUNCH_DRIFT]),
    ("late_and_missed_fires_are_counted", &[RUNS_EMITTED, RUNS_SKIPPED, EMIT_DRIFT, LAUNCH_DRIFT]),
    ("a_fire_that_was_recorded_before_is_resent", &[RUNS_EMITTED, RUNS_RESENT]),
    ("clocks_that_fail_are_counted", &[CLOCKS_FAILED, RUNS_EMITTED]),
    ("a_race_between_two_ticks_has_one_loser", &[RACES_LOST, RUNS_EMITTED, RUNS_LAUNCHED]),
    ("broken_schedules_and_lost_zones_are_counted", &[SCHEDULES_BROKEN, ZONES_LOST, RUNS_EMITTED]),
    ("shares_that_are_handed_over_are_counted", &[SHARES_HANDED_OVER, RUNS_EMITTED]),
    ("what_a_tick_has_no_time_for_is_left", &[DUE_LEFT, RUNS_EMITTED]),
    (
        "what_becomes_of_messages_is_counted",
        &[
            RUNS_SKIPPED_OVERLAP,
            RUNS_CANCELLED,
            RUNS_FAILED_LAUNCH,
            MESSAGES_IGNORED,
            MESSAGES_AGAIN,
            LAUNCHER_FAULTS,
            RUNS_FAILED,
        ],
    ),
    (
        "every_end_of_a_run_is_counted_once",
        &[RUNS_SUCCEEDED, RUNS_FAILED, RUNS_TIMED_OUT, RUNS_FAILED_LAUNCH],
    ),
    (
        "a_lost_run_is_counted_once_and_each_attempt_to_recover_it",
        &[RUNS_LOOKED_AT, RUNS_LOST, RUNS_RECOVERED, RUNS_ABANDONED, RUNS_FAILED, RUNS_SUCCEEDED],
    ),
    ("a_run_that_recovery_saved_counts_as_lost_too", &[RUNS_LOST, RUNS_RECOVERED, RUNS_SUCCEEDED]),
    ("dead_letters_and_poison_are_counted", &[DEAD_LETTERS, POISON_MESSAGES, RECOVERY_FAILED]),
    ("the_self_check_counts_what_it_finds", &[SCHEDULES_CHECKED, UNEXPLAINED, CLOCKS_REPAIRED]),
    ("failures_in_a_row_and_their_alerts", &[SCHEDULES_FAILING, ALERTS_SENT, ALERTS_FAILED]),
];

#[test]
fn every_metric_is_asserted_by_a_story() {
    let source = include_str!("metrics.rs");
    for (story, _) in STORIES {
        assert!(source.contains(&format!("\nasync fn {story}() {{")), "{story} does not exist");
    }
    let asserted = |name: &&Name| STORIES.iter().any(|(_, names)| names.contains(*name));
    let missing: Vec<_> = METRICS.iter().filter(|name| !asserted(name)).collect();
    assert!(missing.is_empty(), "no story looks at {missing:?}");
}

/// A world whose metrics are watched, for a story of the table.
async fn begin(story: &str, settings: &[(&str, &str)]) -> (World, Metered) {
    let (_, names) = STORIES.iter().find(|(name, _)| *name == story).unwrap();
    let metered = Metered::of(story, names);
    let settings: Vec<_> = settings.iter().copied().chain([("DEPLOYMENT", story)]).collect();
    (World::with(&settings).await, metered)
}

/// The same world with functions that have other settings.
fn with_settings(world: World, settings: Settings) -> World {
    let time = std::sync::Arc::new(world.time.clone());
    let mut app = App::new(&world.services.sdk(), settings, time);
    app.metrics = metered::collect;
    world.replace_app(app)
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// Changes a clock behind the system's back.
async fn spoil(world: &World, schedule: &str, attribute: &str, value: &str) {
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let update = client.update_item().table_name(&world.app.settings.schedules_table);
    let update = update.key("schedule_id", text(schedule)).key("sk", text("clock"));
    let update = update.update_expression("SET #name = :value");
    let update = update.expression_attribute_names("#name", attribute);
    update.expression_attribute_values(":value", text(value)).send().await.unwrap();
}

async fn send(world: &World, queue: &str, body: &str) {
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    client.send_message().queue_url(queue).message_body(body).send().await.unwrap();
}

async fn tracked(world: &World) {
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
}

async fn report(world: &World, run: &str, status: &str) {
    world.ok("POST", &format!("/runs/{run}/status"), &json!({"status": status})).await;
}

#[tokio::test]
async fn a_fire_is_counted_from_its_tick_to_its_end() {
    let (world, seen) = begin("a_fire_is_counted_from_its_tick_to_its_end", &[]).await;
    for id in ["a", "b", "c"] {
        world.schedule(id, "0 5 0 * * *", &json!({})).await;
    }
    world.pass(Duration::minutes(3)).await;
    seen.expect(&[(SCHEDULES_DUE, 0.0), (RUNS_EMITTED, 0.0), (RUNS_LAUNCHED, 0.0)]);
    world.pass(Duration::minutes(1)).await;
    seen.expect(&[(SCHEDULES_DUE, 3.0), (RUNS_EMITTED, 3.0), (RUNS_LAUNCHED, 0.0)]);
    assert_eq!(seen.values(EMIT_DRIFT), [0.0; 3], "sent ahead");
    world.pass(Duration::minutes(2)).await;
    seen.expect(&[(RUNS_EMITTED, 3.0), (RUNS_LAUNCHED, 3.0), (RUNS_SUCCEEDED, 3.0)]);
    assert_eq!(seen.values(LAUNCH_DRIFT), [0.0; 3], "to the millisecond");
}

#[tokio::test]
async fn the_drift_of_every_launch_counts() {
    let (world, seen) = begin("the_drift_of_every_launch_counts", &[]).await;
    join_all((0..130).map(|n| {
        let world = &world;
        async move { world.schedule(&format!("s{n}"), "0 5 0 * * *", &json!({})).await }
    }))
    .await;
    world.pass(Duration::minutes(6)).await;
    seen.expect(&[(RUNS_LAUNCHED, 130.0)]);
    assert_eq!(seen.values(EMIT_DRIFT).len(), 130);
    assert_eq!(seen.values(LAUNCH_DRIFT).len(), 130);
}

#[tokio::test]
async fn late_and_missed_fires_are_counted() {
    let (world, seen) = begin("late_and_missed_fires_are_counted", &[]).await;
    world.schedule("s", "0 * * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(181)).await;
    world.tick().await;
    seen.expect(&[(RUNS_SKIPPED, 2.0), (RUNS_EMITTED, 1.0)]);
    assert_eq!(seen.values(EMIT_DRIFT), [60_000.0], "03:00 is sent at 03:01");
    world.deliver().await;
    assert_eq!(seen.values(LAUNCH_DRIFT), [60_000.0]);
}

#[tokio::test]
async fn a_fire_that_was_recorded_before_is_resent() {
    let (world, seen) = begin("a_fire_that_was_recorded_before_is_resent", &[]).await;
    world.schedule("s", "0 10 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    // A tick died after it had recorded the fire.
    let id = world.fire("s", "00:10:00");
    let trigger = Trigger::Schedule("0 10 0 * * *".to_owned());
    let run = Run::planned(id.clone(), trigger, "ann", 1, id.run_at, world.now());
    world.app.store.put_run(&run).await.unwrap();
    world.tick().await;
    seen.expect(&[(RUNS_RESENT, 1.0), (RUNS_EMITTED, 0.0)]);
}

#[tokio::test]
async fn clocks_that_fail_are_counted() {
    let (world, seen) = begin("clocks_that_fail_are_counted", &[]).await;
    for id in ["a", "b"] {
        world.schedule(id, "0 10 0 * * *", &json!({})).await;
    }
    world.pass_without_ticks(Duration::minutes(9)).await;
    let sound = world.app.settings.clone();
    let broken = Settings { runs_table: "nowhere".to_owned(), ..sound.clone() };
    let world = with_settings(world, broken);
    world.tick().await;
    seen.expect(&[(CLOCKS_FAILED, 2.0), (RUNS_EMITTED, 0.0)]);
    let world = with_settings(world, sound);
    world.tick().await;
    seen.expect(&[(CLOCKS_FAILED, 2.0), (RUNS_EMITTED, 2.0)]);
}

#[tokio::test]
async fn a_race_between_two_ticks_has_one_loser() {
    let (world, seen) = begin("a_race_between_two_ticks_has_one_loser", &[]).await;
    world.schedule("s", "0 10 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    // On one thread both ticks read the clock before either moves it.
    tokio::join!(world.tick(), world.tick());
    seen.expect(&[(RACES_LOST, 1.0), (RUNS_EMITTED, 1.0)]);
    world.pass(Duration::minutes(2)).await;
    seen.expect(&[(RACES_LOST, 1.0), (RUNS_LAUNCHED, 1.0)]);
}

#[tokio::test]
async fn broken_schedules_and_lost_zones_are_counted() {
    let (world, seen) = begin("broken_schedules_and_lost_zones_are_counted", &[]).await;
    for id in ["bad", "good", "old"] {
        world.schedule(id, "0 10 0 * * *", &json!({})).await;
    }
    spoil(&world, "bad", "cron_expr", "when the owl cries").await;
    spoil(&world, "old", "timezone", "Mars/Base").await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    world.tick().await;
    seen.expect(&[(SCHEDULES_BROKEN, 1.0), (ZONES_LOST, 1.0), (RUNS_EMITTED, 2.0)]);
    world.tick().await;
    seen.expect(&[(SCHEDULES_BROKEN, 2.0), (ZONES_LOST, 1.0)]);
}

#[tokio::test]
async fn shares_that_are_handed_over_are_counted() {
    let settings = [("TICK_SHARE", "2"), ("DUE_SHARDS", "1")];
    let (world, seen) = begin("shares_that_are_handed_over_are_counted", &settings).await;
    for id in ["a", "b", "c", "d", "e"] {
        world.schedule(id, "0 10 0 * * *", &json!({})).await;
    }
    world.pass_without_ticks(Duration::minutes(9)).await;
    world.tick().await;
    seen.expect(&[(SHARES_HANDED_OVER, 1.0), (RUNS_EMITTED, 2.0)]);
    world.deliver_ticks().await;
    seen.expect(&[(RUNS_EMITTED, 5.0)]);
}

#[tokio::test]
async fn what_a_tick_has_no_time_for_is_left() {
    let (world, seen) = begin("what_a_tick_has_no_time_for_is_left", &[]).await;
    for id in ["a", "b", "c"] {
        world.schedule(id, "0 10 0 * * *", &json!({})).await;
    }
    world.pass_without_ticks(Duration::minutes(9)).await;
    // Without a tick queue, what is left waits for the next tick.
    let alone = Settings { tick_queue_url: String::new(), ..world.app.settings.clone() };
    let world = with_settings(world, alone);
    let report = world.tick_within(Duration::milliseconds(-1)).await;
    let left = report["left"].as_f64().unwrap();
    assert!(left > 0.0, "{report}");
    seen.expect(&[(DUE_LEFT, left), (RUNS_EMITTED, 0.0)]);
    world.tick().await;
    seen.expect(&[(DUE_LEFT, left), (RUNS_EMITTED, 3.0)]);
}

#[tokio::test]
async fn what_becomes_of_messages_is_counted() {
    let (world, seen) = begin("what_becomes_of_messages_is_counted", &[]).await;
    world.executor.answers(|launch| match launch.run_id.split('@').next() {
        Some("bad") => (404, String::new()),
        Some("busy") if launch.body["metadata"]["attempt"] == 1 => (503, String::new()),
        _ => (200, String::new()),
    });
    tracked(&world).await;
    let skips = json!({"workflow_id": "t", "overlap_policy": "skip"});
    world.schedule("skips", "0 4,5 0 * * *", &skips).await;
    for id in ["bad", "busy", "gone", "good"] {
        world.schedule(id, "0 5 0 * * *", &json!({})).await;
    }
    world.pass(Duration::seconds(270)).await;
    seen.expect(&[(RUNS_SKIPPED_OVERLAP, 0.0), (MESSAGES_AGAIN, 0.0), (MESSAGES_IGNORED, 0.0)]);
    // A pause behind the API's back: the launcher finds out.
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let pause = client.update_item().table_name(&world.app.settings.schedules_table);
    let pause = pause.key("schedule_id", text("gone")).key("sk", text("clock"));
    let pause = pause.update_expression("SET paused = :yes");
    let pause = pause.expression_attribute_values(":yes", AttributeValue::Bool(true));
    pause.send().await.unwrap();
    world.pass(Duration::minutes(2)).await;
    seen.expect(&[
        (RUNS_SKIPPED_OVERLAP, 1.0),
        (RUNS_CANCELLED, 1.0),
        (RUNS_FAILED_LAUNCH, 1.0),
        (RUNS_FAILED, 1.0),
        (MESSAGES_AGAIN, 1.0),
        (MESSAGES_IGNORED, 0.0),
        (LAUNCHER_FAULTS, 0.0),
    ]);
    // Delivered twice, and not a message of ours.
    let run = world.app.store.run(&world.fire("good", "00:05:00")).await.unwrap().unwrap();
    for sent in world.app.queue.send(&[Parcel::of(&run)], world.now()).await {
        sent.unwrap();
    }
    world.deliver().await;
    seen.expect(&[(MESSAGES_IGNORED, 1.0), (LAUNCHER_FAULTS, 0.0)]);
    send(&world, &world.app.settings.launch_queue_url, "not a message of ours").await;
    world.deliver().await;
    seen.expect(&[(MESSAGES_IGNORED, 1.0), (LAUNCHER_FAULTS, 1.0)]);
}

#[tokio::test]
async fn every_end_of_a_run_is_counted_once() {
    let (world, seen) = begin("every_end_of_a_run_is_counted_once", &[]).await;
    world.executor.answers(|launch| match launch.run_id.split('@').next() {
        Some("refused") => (404, String::new()),
        Some("answers") => (200, json!({"status": "FAILED"}).to_string()),
        _ => (200, String::new()),
    });
    tracked(&world).await;
    let on = |more: Value| {
        let mut body = json!({"workflow_id": "t"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    world.schedule("accepted", "0 5 0 * * *", &json!({})).await;
    world.schedule("refused", "0 5 0 * * *", &json!({})).await;
    world.schedule("answers", "0 5 0 * * *", &on(json!({}))).await;
    for id in ["done", "broken", "heard"] {
        world.schedule(id, "0 5 0 * * *", &on(json!({}))).await;
    }
    for (id, cron) in [("limited", "0 5 0 * * *"), ("swept", "0 20 0 * * *")] {
        world.schedule(id, cron, &on(json!({"max_runtime_s": 600}))).await;
    }
    world.pass(Duration::minutes(6)).await;
    seen.expect(&[(RUNS_SUCCEEDED, 1.0), (RUNS_FAILED, 2.0), (RUNS_FAILED_LAUNCH, 1.0)]);
    // The executor reports, twice; by the API and by an event.
    for _ in 0..2 {
        report(&world, "done@2026-01-01T00:05:00Z", "SUCCESS").await;
        report(&world, "broken@2026-01-01T00:05:00Z", "FAILED").await;
        let detail = json!({"run_id": "heard@2026-01-01T00:05:00Z", "status": "FAILED"});
        let event = json!({"detail-type": "Belfry Run Status", "detail": detail});
        send(&world, &world.app.settings.launch_queue_url, &event.to_string()).await;
        world.deliver().await;
    }
    seen.expect(&[(RUNS_SUCCEEDED, 2.0), (RUNS_FAILED, 4.0), (RUNS_TIMED_OUT, 0.0)]);
    // The message of the limit ends one run. That of the other is lost, and recovery ends it.
    world.pass(Duration::seconds(541)).await;
    seen.expect(&[(RUNS_FAILED, 5.0), (RUNS_TIMED_OUT, 1.0)]);
    world.pass(Duration::seconds(360)).await;
    world.lose_messages().await;
    for _ in 0..12 {
        world.pass_without_ticks(Duration::minutes(1)).await;
        world.recover().await;
    }
    seen.expect(&[(RUNS_SUCCEEDED, 2.0), (RUNS_FAILED, 6.0), (RUNS_TIMED_OUT, 2.0)]);
}

#[tokio::test]
async fn a_lost_run_is_counted_once_and_each_attempt_to_recover_it() {
    let story = "a_lost_run_is_counted_once_and_each_attempt_to_recover_it";
    let (world, seen) = begin(story, &[]).await;
    world.schedule("s", "0 10 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    world.tick().await;
    let mut looked_at = 0.0;
    for _ in 0..40 {
        world.lose_messages().await;
        world.pass_without_ticks(Duration::minutes(1)).await;
        looked_at += world.recover().await["looked_at"].as_f64().unwrap();
    }
    assert!(looked_at >= 4.0, "{looked_at}");
    seen.expect(&[
        (RUNS_LOOKED_AT, looked_at),
        (RUNS_LOST, 1.0),
        (RUNS_RECOVERED, 3.0),
        (RUNS_ABANDONED, 1.0),
        (RUNS_FAILED, 0.0),
        (RUNS_SUCCEEDED, 0.0),
    ]);
}

#[tokio::test]
async fn a_run_that_recovery_saved_counts_as_lost_too() {
    let (world, seen) = begin("a_run_that_recovery_saved_counts_as_lost_too", &[]).await;
    world.schedule("s", "0 10 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    world.tick().await;
    world.lose_messages().await;
    world.pass_without_ticks(Duration::minutes(7)).await;
    seen.expect(&[(RUNS_LOST, 0.0), (RUNS_SUCCEEDED, 0.0)]);
    world.recover().await;
    world.deliver().await;
    seen.expect(&[(RUNS_LOST, 1.0), (RUNS_RECOVERED, 1.0), (RUNS_SUCCEEDED, 1.0)]);
}

#[tokio::test]
async fn dead_letters_and_poison_are_counted() {
    let (world, seen) = begin("dead_letters_and_poison_are_counted", &[]).await;
    let dead = world.app.settings.dead_letter_queue_url.clone();
    send(&world, &dead, "not a message of ours").await;
    let run = json!({"run_id": "s@2026-01-01T00:40:00Z", "launch_at": "2026-01-01T00:40:00Z"});
    send(&world, &dead, &run.to_string()).await;
    world.recover().await;
    seen.expect(&[(DEAD_LETTERS, 2.0), (POISON_MESSAGES, 1.0), (RECOVERY_FAILED, 0.0)]);
    let nowhere = Settings { runs_table: "nowhere".to_owned(), ..world.app.settings.clone() };
    let world = with_settings(world, nowhere);
    world.pass_without_ticks(Duration::minutes(1)).await;
    let failed = world.recover().await["failed"].as_f64().unwrap();
    assert!(failed > 0.0);
    seen.expect(&[(RECOVERY_FAILED, failed)]);
}

#[tokio::test]
async fn the_self_check_counts_what_it_finds() {
    let (world, seen) = begin("the_self_check_counts_what_it_finds", &[]).await;
    for id in ["a", "b"] {
        world.schedule(id, "0 */6 * * *", &json!({})).await;
    }
    world.recover().await;
    seen.expect(&[(SCHEDULES_CHECKED, 2.0), (UNEXPLAINED, 0.0), (CLOCKS_REPAIRED, 0.0)]);
    world.pass(Duration::hours(23)).await;
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let lose = client.delete_item().table_name(&world.app.settings.runs_table);
    let lose = lose.key("schedule_id", text("a")).key("run_at", text("2026-01-01T12:00:00Z"));
    lose.send().await.unwrap();
    let spoil = client.update_item().table_name(&world.app.settings.schedules_table);
    let spoil = spoil.key("schedule_id", text("b")).key("sk", text("clock"));
    spoil.update_expression("REMOVE next_run_at, due_shard").send().await.unwrap();
    world.pass(Duration::hours(2)).await;
    world.recover().await;
    seen.expect(&[(SCHEDULES_CHECKED, 4.0), (CLOCKS_REPAIRED, 1.0)]);
    let unexplained = seen.values(UNEXPLAINED).iter().sum::<f64>();
    assert_eq!(unexplained, 1.0, "12:00 of a");
}

#[tokio::test]
async fn failures_in_a_row_and_their_alerts() {
    let (world, seen) = begin("failures_in_a_row_and_their_alerts", &[]).await;
    world.executor.answers(|_| (404, String::new()));
    let (good, bad) = (Executor::start().await, Executor::start().await);
    bad.answers(|_| (500, String::new()));
    for (id, to, pause) in [("told", &good, Some(3)), ("untold", &bad, None)] {
        let more = json!({
            "alert_after_failures": 2, "pause_after_failures": pause,
            "alert_to": {"kind": "http", "url": to.url},
        });
        world.schedule(id, "0 */5 * * * *", &more).await;
    }
    world.pass(Duration::minutes(6)).await;
    seen.expect(&[(SCHEDULES_FAILING, 0.0), (ALERTS_SENT, 0.0), (ALERTS_FAILED, 0.0)]);
    world.pass(Duration::minutes(5)).await;
    seen.expect(&[(SCHEDULES_FAILING, 0.0), (ALERTS_SENT, 1.0), (ALERTS_FAILED, 1.0)]);
    world.pass(Duration::minutes(5)).await;
    seen.expect(&[(SCHEDULES_FAILING, 1.0), (ALERTS_SENT, 1.0), (ALERTS_FAILED, 2.0)]);
}
