//! Ninety days without a tick, for a schedule that fires every minute, under each catch-up policy.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// Ninety days of minutes, less the two that were sent ahead when the schedule was created, and the
/// two that are late by less than the grace.
const MISSED: u64 = 90 * 24 * 60 - 4;
/// The two late ones, and the two the first tick sends ahead.
const LATE_AND_AHEAD: u64 = 4;
/// Missed fires that one tick handles.
const PER_TICK: u64 = 100;

/// What the ticks after the outage did, until there was nothing left to do.
#[derive(Debug, Default)]
struct Worked {
    ticks: u64,
    launched: u64,
}

async fn outage(policy: &Value) -> (World, Worked) {
    let world = World::new().await;
    world.schedule("s", "30 * * * * *", policy).await;
    world.lose_messages().await;
    world.time.set(world.now() + Duration::days(90));
    let mut worked = Worked::default();
    loop {
        world.meter.reset();
        let report = world.tick().await;
        if report["due"] == 0 {
            return (world, worked);
        }
        worked.ticks += 1;
        let emitted = report["emitted"].as_u64().unwrap();
        worked.launched += emitted;
        let recorded = emitted + report["skipped"].as_u64().unwrap();
        assert!(recorded <= PER_TICK + LATE_AND_AHEAD + 1, "bounded work: {report}");
        let requests: usize = world.meter.requests().values().sum();
        assert!(requests <= 150, "{requests} requests in one tick");
        assert!(worked.ticks < 100, "it comes to an end");
        world.lose_messages().await;
    }
}

/// How many fires the summaries cover, and the catch-ups, oldest first.
async fn summed_up(world: &World) -> (u64, Vec<String>) {
    let runs = world.runs("s").await;
    let sum = runs.iter().filter_map(|run| run["missed"]["count"].as_u64()).sum();
    let caught = runs.iter().filter(|run| run["trigger"] == "catchup");
    (sum, caught.map(|run| run["run_at"].as_str().unwrap().to_owned()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn none_sums_ninety_days_up() {
    let (world, worked) = outage(&json!({"catchup_policy": "none"})).await;
    assert_eq!(summed_up(&world).await, (MISSED, Vec::new()));
    assert_eq!((worked.ticks, worked.launched), (2, LATE_AND_AHEAD));
}

#[tokio::test(flavor = "multi_thread")]
async fn once_launches_the_newest_of_ninety_days() {
    let (world, worked) = outage(&json!({"catchup_policy": "once"})).await;
    assert_eq!(summed_up(&world).await, (MISSED - 1, vec!["2026-03-31T23:57:30Z".to_owned()]));
    assert_eq!((worked.ticks, worked.launched), (2, LATE_AND_AHEAD + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_window_of_a_ninety_day_outage_is_caught_up_in_bounded_ticks() {
    for policy in ["fire_immediately", "spread"] {
        let day = json!({"catchup_policy": policy, "catchup_window_s": 86400});
        let (world, worked) = outage(&day).await;
        let (sum, caught) = summed_up(&world).await;
        // Of the newest day, the two that are late by less than the grace are not caught up.
        assert_eq!((sum, caught.len()), (MISSED - 1438, 1438), "{policy}");
        assert_eq!(caught.first().unwrap(), "2026-03-31T00:00:30Z");
        assert_eq!(caught.last().unwrap(), "2026-03-31T23:57:30Z");
        assert!(caught.is_sorted(), "{policy}");
        assert_eq!(worked.launched, 1438 + LATE_AND_AHEAD, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_window_every_tick_goes_on_where_the_last_one_ended() {
    let world = World::new().await;
    world.schedule("s", "30 * * * * *", &json!({"catchup_policy": "fire_immediately"})).await;
    world.lose_messages().await;
    world.time.set(world.now() + Duration::days(90));
    for tick in 1..=5 {
        assert_eq!(world.tick().await["emitted"], PER_TICK);
        let runs = world.runs("s").await;
        assert_eq!(runs.len() as u64, 2 + tick * PER_TICK, "two were sent ahead of the outage");
        let newest = world.fire("s", "00:00:30").run_at + Duration::minutes(runs.len() as i64 - 1);
        assert_eq!(runs.last().unwrap()["run_at"], belfry_core::instant::text(newest));
    }
}

/// Fires at 00:01:00, :20, :40 and so on are sent ahead. Then everything is off for three hours:
/// neither ticks nor launchers nor recovery, while the queue keeps the messages.
async fn three_hours_off(policy: &Value, recovery_comes_first: bool) -> World {
    let world = World::new().await;
    world.schedule("s", "*/20 * * * * *", policy).await;
    world.recover().await;
    world.pass(Duration::seconds(55)).await;
    world.time.set(world.now() + Duration::hours(3));
    if recovery_comes_first {
        world.recover().await;
        world.recover().await;
    }
    world.pass_without_ticks(Duration::seconds(100)).await;
    world
}

/// The runs that were sent ahead of the outage and not launched before it: status, reason, trigger.
async fn sent_ahead(world: &World) -> Vec<String> {
    let runs = world.runs("s").await;
    let before = "2026-01-01T02:00:00Z";
    let row = |run: &Value| {
        let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
        let trigger = text("trigger").split(':').next().unwrap().to_owned();
        let time = text("run_at")[11..19].to_owned();
        format!("{time} {} {} {trigger}", text("status"), text("reason"))
    };
    let wanted = |run: &&Value| {
        let run_at = run["run_at"].as_str().unwrap();
        ("2026-01-01T00:01:00Z"..before).contains(&run_at) && run["missed"].is_null()
    };
    runs.iter().filter(wanted).map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fire_sent_ahead_of_an_outage_is_missed_as_any_other() {
    for recovery_comes_first in [false, true] {
        let world = three_hours_off(&json!({}), recovery_comes_first).await;
        let before = world.executor.launches().len();
        assert_eq!(before, 2, "only those of 00:00:20 and 00:00:40 have launched");
        let expected: Vec<_> =
            ["00:01:00", "00:01:20"].map(|at| format!("{at} SKIPPED missed schedule")).into();
        assert_eq!(sent_ahead(&world).await[..2], expected, "{recovery_comes_first}");
        world.pass(Duration::minutes(2)).await;
        let ledger = world.ok("GET", "/schedules/s/ledger", &Value::Null).await;
        assert_eq!(ledger["unexplained"], json!([]));
        // One every 20 seconds, from 00:01:00 to two minutes before the first tick at 03:02:35.
        assert_eq!(ledger["by_reason"]["missed"], 540, "{ledger}");
        let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
        assert_eq!(schedule["stats"]["missed"], 540, "the statistics agree: {schedule}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fire_sent_ahead_of_an_outage_is_caught_up_by_its_policy() {
    let policy = |name: &str| json!({"catchup_policy": name, "overlap_policy": "allow"});
    for recovery_comes_first in [false, true] {
        let order = format!("recovery comes first: {recovery_comes_first}");
        let world = three_hours_off(&policy("fire_immediately"), recovery_comes_first).await;
        let all = sent_ahead(&world).await;
        assert!(all.iter().all(|run| run.ends_with("SUCCESS  catchup")), "{order}: {all:#?}");
        assert!(all.len() >= 2, "{all:#?}");

        let world = three_hours_off(&policy("spread"), recovery_comes_first).await;
        let runs = world.runs("s").await;
        let caught = runs.iter().filter(|run| run["trigger"] == "catchup");
        let starts: Vec<_> =
            caught.map(|run| run["started_at"].as_str().unwrap()[11..16].to_owned()).collect();
        assert!(starts.iter().any(|start| *start != starts[0]), "{order}: {starts:?}");

        let world = three_hours_off(&policy("once"), recovery_comes_first).await;
        let all = sent_ahead(&world).await;
        assert!(
            all.iter().all(|run| run.contains("SKIPPED missed")),
            "newer ones were missed; {order}: {all:#?}"
        );

        let old = json!({"catchup_policy": "fire_immediately", "catchup_window_s": 3600});
        let world = three_hours_off(&old, recovery_comes_first).await;
        let all = sent_ahead(&world).await;
        assert!(
            all.iter().all(|run| run.contains("SKIPPED missed")),
            "beyond the window; {order}: {all:#?}"
        );
    }
}
