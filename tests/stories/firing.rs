//! A schedule fires on its second, once, whatever happens to the tick.

use belfry_core::instant::{Instant, text};
use belfry_core::run::Run;
use belfry_core::run::Trigger;
use belfry_engine::app::App;
use belfry_engine::cloud::launch_queue::Parcel;
use belfry_engine::settings::Settings;
use chrono::Duration;
use futures::future::join_all;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use belfry_tests::World;
use belfry_tests::world::SIGNING_KEY;

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_fires_on_its_seconds_and_tells_its_target_all_about_it() {
    let world = World::new().await;
    world.schedule("report", "*/20 * * * * *", &json!({"payload": {"month": 1}})).await;
    world.pass(Duration::minutes(5)).await;

    let expected = world.every("report", "00:00:20", 20, 15);
    assert_eq!(world.executor.run_ids(), expected);

    let launch = &world.executor.launches()[3];
    let id = world.fire("report", "00:01:20");
    assert_eq!(launch.key, id.idempotency_key());
    assert_eq!(launch.body["dag"], json!({"steps": 3}));
    assert_eq!(launch.body["payload"], json!({"month": 1}));
    assert_eq!(
        launch.body["metadata"],
        json!({
            "triggered_by": "schedule:*/20 * * * * *",
            "schedule_id": "report",
            "run_id": "report@2026-01-01T00:01:20Z",
            "scheduled_time": "2026-01-01T00:01:20Z",
            "source": "schedule",
            "scheduled_for": "2026-01-01T00:01:20Z",
            "next_execution_time": "2026-01-01T00:01:40Z",
            "idempotency_key": launch.key,
            "user_id": "ann",
            "workflow_id": "w",
            "version": 1,
            "attempt": 1,
            "fence": 1,
            "upcoming": [
                "2026-01-01T00:01:40Z", "2026-01-01T00:02:00Z", "2026-01-01T00:02:20Z",
                "2026-01-01T00:02:40Z", "2026-01-01T00:03:00Z",
            ],
        })
    );
    let timestamp = launch.headers["belfry-timestamp"].to_str().unwrap();
    assert_eq!(timestamp, id.run_at.timestamp().to_string());
    let mut mac = Hmac::<Sha256>::new_from_slice(SIGNING_KEY.as_bytes()).unwrap();
    mac.update(format!("{timestamp}.{}", launch.text).as_bytes());
    let signature = hex::encode(mac.finalize().into_bytes());
    assert_eq!(launch.headers["belfry-signature"], format!("v1={signature}"));

    let runs = world.runs("report").await;
    let launched: Vec<_> = runs.iter().filter(|run| run["status"] == "SUCCESS").collect();
    assert_eq!(launched.len(), 15);
    assert!(launched.iter().all(|run| run["drift_ms"] == 0), "{launched:#?}");
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(schedule["status"], "active");
    assert_eq!(schedule["next_run_at"], "2026-01-01T00:05:20Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_may_be_spared_the_metadata() {
    let world = World::new().await;
    world.schedule("quiet", "* * * * *", &json!({"inject_metadata": false})).await;
    world.pass(Duration::minutes(1)).await;
    assert_eq!(world.executor.launches()[0].body, json!({"dag": {"steps": 3}, "payload": {}}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_made_between_two_ticks_does_not_wait_for_the_next() {
    let world = World::new().await;
    world.pass(Duration::seconds(20)).await;
    world.schedule("soon", "40 * * * * *", &json!({})).await;
    world.pass_without_ticks(Duration::seconds(20)).await;
    assert_eq!(world.executor.run_ids(), ["soon@2026-01-01T00:00:40Z"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn jitter_moves_the_start_to_both_sides_and_not_the_name() {
    let world = World::new().await;
    world.schedule("loose", "* * * * *", &json!({"jitter_ms": 20_000})).await;
    world.pass(Duration::minutes(60) + Duration::seconds(25)).await;
    assert_eq!(world.executor.run_ids(), world.every("loose", "00:01:00", 60, 60), "in order");

    let time = |run: &Value, name: &str| -> chrono::DateTime<chrono::Utc> {
        run[name].as_str().unwrap().parse().unwrap()
    };
    let runs = world.runs("loose").await;
    let started: Vec<_> = runs.iter().filter(|run| run["status"] == "SUCCESS").collect();
    assert_eq!(started.len(), 60);
    // When they really started, not when they were meant to.
    let off = |run: &&Value| (time(run, "started_at") - time(run, "run_at")).num_milliseconds();
    let offsets: Vec<i64> = started.iter().map(off).collect();
    assert!(offsets.iter().all(|ms| (-20_000..=20_000).contains(ms)), "{offsets:?}");
    for (side, early) in [("earlier", true), ("later", false)] {
        let on_side: Vec<_> = offsets.iter().filter(|ms| (**ms < 0) == early).collect();
        // Half of them, give or take; and some of them by most of what is allowed.
        assert!((15..=45).contains(&on_side.len()), "{side}: {offsets:?}");
        assert!(on_side.iter().any(|ms| ms.abs() > 15_000), "{side}: {offsets:?}");
    }
    assert!(started.iter().all(|run| run["drift_ms"] == 0), "late by the moved time: {started:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_concurrent_ticks_launch_a_thousand_fires_once_each() {
    let world = World::new().await;
    // Beyond the look-ahead, so that only the ticks emit them.
    let make = |n: i64| {
        let world = &world;
        async move { world.schedule(&format!("s{n}"), "0 30 0 * * *", &json!({})).await }
    };
    for chunk in (0..1000).collect::<Vec<_>>().chunks(50) {
        join_all(chunk.iter().map(|n| make(*n))).await;
    }
    world.pass_without_ticks(Duration::minutes(29)).await;
    let (one, two) = tokio::join!(world.tick(), world.tick());
    let count = |report: &Value, what: &str| report[what].as_u64().unwrap();
    assert_eq!(count(&one, "emitted") + count(&two, "emitted"), 1000, "{one} {two}");
    world.pass(Duration::minutes(5)).await;

    let mut launched = world.executor.run_ids();
    launched.sort();
    let mut expected: Vec<_> = (0..1000).map(|n| format!("s{n}@2026-01-01T00:30:00Z")).collect();
    expected.sort();
    assert_eq!(launched, expected);
    for n in [0, 1, 500, 999] {
        let story = world.story(&format!("s{n}")).await;
        assert_eq!(story, [("00:30:00".to_owned(), "SUCCESS".to_owned(), String::new())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_and_the_next_run_of_a_clock_move_together() {
    let world = World::new().await;
    world.schedule("report", "0 */10 * * * *", &json!({})).await;
    let clock = || async {
        let clock = world.app.store.clocks(&[world.id("report")]).await.unwrap().remove(0).unwrap();
        let time = |at: Option<Instant>| at.map(|at| text(at)[11..16].to_owned());
        let run = clock.last_run_id.map(|run| run.to_string());
        (time(clock.last_run_at), run, time(clock.next_run_at))
    };
    let at = |time: &str| Some(time.to_owned());
    let fire = |time: &str| Some(format!("report@2026-01-01T{time}:00Z"));
    assert_eq!(clock().await, (None, None, at("00:10")));
    for (last, next) in [("00:10", "00:20"), ("00:20", "00:30"), ("00:30", "00:40")] {
        world.pass(Duration::minutes(10)).await;
        assert_eq!(clock().await, (at(last), fire(last), at(next)));
        let run = world.ok("GET", &format!("/runs/{}", fire(last).unwrap()), &Value::Null).await;
        assert_eq!(
            (&run["trigger"], &run["status"]),
            (&json!("schedule:0 */10 * * * *"), &json!("SUCCESS"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_died_after_any_step_is_finished_by_the_next() {
    let world = World::new().await;
    world.schedule("report", "0 10 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    let id = world.fire("report", "00:10:00");
    let trigger = Trigger::Schedule("0 10 0 * * *".to_owned());
    let run = Run::planned(id.clone(), trigger, "ann", 1, id.run_at, world.now());

    // It died after the put: recorded, not sent, the clock not advanced.
    world.app.store.put_run(&run).await.unwrap();
    let report = world.tick().await;
    assert_eq!((&report["emitted"], &report["resent"]), (&json!(0), &json!(1)));

    // Another died after the send: a second message for the same run.
    let sent = world.app.queue.send(&[Parcel::of(&run)], world.now()).await;
    assert!(sent.iter().all(Result::is_ok));
    world.pass(Duration::minutes(3)).await;
    assert_eq!(world.executor.run_ids(), ["report@2026-01-01T00:10:00Z"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_handed_over_before_it_is_recorded() {
    let world = World::new().await;
    for id in ["one", "two"] {
        world.schedule(id, "0 10 0 * * *", &json!({})).await;
    }
    world.pass_without_ticks(Duration::minutes(9)).await;
    let sound = world.app.settings.clone();
    // No run can be recorded: neither by a statement nor by a single call.
    let broken = Settings { runs_table: "nowhere".to_owned(), ..sound.clone() };
    let world = with_settings(world, broken);
    assert_eq!(world.tick().await["failed"], 2);
    assert_eq!(world.next_message_at(), None, "no message without a record");
    let world = with_settings(world, sound);
    world.pass(Duration::minutes(3)).await;
    let mut launched = world.executor.run_ids();
    launched.sort();
    assert_eq!(launched, ["one@2026-01-01T00:10:00Z", "two@2026-01-01T00:10:00Z"]);
}

/// The same world with functions that have other settings.
fn with_settings(world: World, settings: Settings) -> World {
    let time = std::sync::Arc::new(world.time.clone());
    let mut app = App::new(&world.services.sdk(), settings, time);
    app.metrics = belfry_engine::metrics::to_nowhere;
    world.replace_app(app)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_broken_schedule_never_stops_the_others() {
    let world = World::new().await;
    for id in ["bad-cron", "bad-item", "good", "old-zone"] {
        let zone = if id == "old-zone" { "Asia/Tokyo" } else { "UTC" };
        world.schedule(id, "0 10 0 * * *", &json!({"timezone": zone})).await;
    }
    spoil(&world, "bad-cron", "cron_expr", json!({"S": "when the owl cries"})).await;
    spoil(&world, "bad-item", "policies", json!({"S": "x"})).await;
    spoil(&world, "bad-item", "max_concurrent", json!({"S": "many"})).await;
    spoil(&world, "old-zone", "timezone", json!({"S": "Mars/Base"})).await;
    spoil(&world, "old-zone", "next_run_at", json!({"S": "2026-01-01T00:10:00Z"})).await;
    world.pass(Duration::minutes(12)).await;
    let mut launched = world.executor.run_ids();
    launched.sort();
    assert_eq!(launched, ["good@2026-01-01T00:10:00Z", "old-zone@2026-01-01T00:10:00Z"]);

    let broken = world.ok("GET", "/schedules/bad-cron", &Value::Null).await;
    assert_eq!(broken["status"], "invalid");
    assert_eq!(broken["warnings"][0]["code"], "unreadable_cron");
    let lost = world.ok("GET", "/schedules/old-zone", &Value::Null).await;
    assert_eq!(lost["warnings"][0]["code"], "unknown_zone");
    let log = world.ok("GET", "/schedules/old-zone/changes", &Value::Null).await;
    let verbs: Vec<_> = log["items"].as_array().unwrap().iter().map(|c| &c["verb"]).collect();
    assert_eq!(verbs, ["zone_lost", "created"], "reported once, however often the tick runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_explained_run_by_run_and_the_schedule_goes_on() {
    let world = World::new().await;
    world.schedule("hourly", "0 * * * *", &json!({})).await;
    world.schedule("keen", "0 * * * *", &json!({"catchup_policy": "fire_immediately"})).await;
    world.schedule("calm", "0 * * * *", &json!({"catchup_policy": "once"})).await;
    world.pass_without_ticks(Duration::minutes(3 * 60 + 30)).await;
    world.pass(Duration::minutes(60)).await;
    let rows = |statuses: [(&str, &str); 4]| {
        let at = ["01:00:00", "02:00:00", "03:00:00", "04:00:00"];
        at.into_iter()
            .zip(statuses)
            .map(|(at, (status, why))| (at.to_owned(), status.to_owned(), why.to_owned()))
            .collect::<Vec<_>>()
    };
    let (skipped, done) = (("SKIPPED", "missed"), ("SUCCESS", ""));
    assert_eq!(world.story("hourly").await, rows([skipped, skipped, skipped, done]));
    assert_eq!(world.story("calm").await, rows([skipped, skipped, done, done]));
    assert_eq!(world.story("keen").await, rows([done, done, done, done]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_ends_with_its_window() {
    let world = World::new().await;
    let window = json!({"start_at": "2026-01-01T00:03:00Z", "end_at": "2026-01-01T00:05:00Z"});
    let made = world.schedule("short", "* * * * *", &window).await;
    assert_eq!(made["status"], "pending");
    world.pass(Duration::minutes(10)).await;
    assert_eq!(world.executor.run_ids(), world.every("short", "00:03:00", 60, 3));
    let schedule = world.ok("GET", "/schedules/short", &Value::Null).await;
    assert_eq!(schedule["status"], "expired");
    assert_eq!(schedule["next_runs"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_died_after_a_summary_loses_none_of_the_fires_behind_it() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(1)).await;
    world.pass_without_ticks(Duration::minutes(200)).await;
    // It planned, put the summary, and died.
    let belfry_engine::cloud::store::Stored::Schedule(schedule) =
        world.app.store.schedule(&world.id("report")).await.unwrap()
    else {
        panic!()
    };
    let timetable = schedule.clock.read().unwrap().timetable;
    let horizon = &world.app.settings.horizon;
    let plan = belfry_core::fire::plan::plan(&schedule.clock, &timetable, world.now(), horizon);
    assert!(plan.fires[0].missed.is_some());
    world.app.store.put_run(&plan.fires[0]).await.unwrap();
    world.pass_without_ticks(Duration::minutes(200)).await;
    world.pass(Duration::minutes(3)).await;
    let ledger = "/schedules/report/ledger?from=2026-01-01T00:00:00Z&to=2026-01-01T06:40:00Z";
    let ledger = world.ok("GET", ledger, &Value::Null).await;
    assert_eq!(ledger["unexplained"], json!([]));
    assert_eq!(ledger["expected"], 400);
}

/// Writes an attribute of a stored clock, as the code never does.
async fn spoil(world: &World, id: &str, attribute: &str, value: Value) {
    let request = json!({
        "TableName": "belfry-schedules",
        "Key": {"schedule_id": {"S": id}, "sk": {"S": "clock"}},
        "UpdateExpression": "SET #a = :v",
        "ExpressionAttributeNames": {"#a": attribute},
        "ExpressionAttributeValues": {":v": value},
    });
    world.services.database.update_item(serde_json::from_value(request).unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn jitter_neither_reorders_fires_nor_makes_a_schedule_skip_its_own() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    // Far more jitter than there is room. Each run takes 6 of the 10 seconds between two fires.
    let more = json!({"workflow_id": "t", "jitter_ms": 60_000, "overlap_policy": "skip"});
    let ids = ["s", "a", "b"];
    for id in ids {
        world.schedule(id, "*/10 * * * * *", &more).await;
    }
    let mut begun: Vec<(String, i64)> = Vec::new();
    for second in 0..240 {
        world.pass(Duration::seconds(1)).await;
        let known = begun.len();
        begun.extend(world.executor.run_ids().drain(known..).map(|id| (id, second)));
        for (id, _) in begun.iter().filter(|(_, since)| second - since == 6) {
            world.ok("POST", &format!("/runs/{id}/status"), &json!({"status": "SUCCESS"})).await;
        }
    }
    let time = |run: &Value, name: &str| -> chrono::DateTime<chrono::Utc> {
        run[name].as_str().unwrap().parse().unwrap()
    };
    for id in ids {
        let runs = world.runs(id).await;
        let begun: Vec<_> = runs.iter().filter(|run| run["status"] != "ENQUEUED").collect();
        assert!(begun.len() >= 22, "{}", begun.len());
        assert!(begun.iter().all(|run| run["status"] != "SKIPPED"), "{begun:#?}");
        assert!(
            begun.is_sorted_by(|one, next| { time(one, "started_at") < time(next, "started_at") })
        );
        assert!(begun.iter().any(|run| time(run, "launch_at") < time(run, "run_at")));
        assert!(begun.iter().any(|run| time(run, "launch_at") > time(run, "run_at")));
    }
}
