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
