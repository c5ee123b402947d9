//! Under `queue`, runs go one after another, in order, and none is lost.

use belfry_tests::World;
use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

/// A world whose schedule `report` fires every ten seconds under `queue`, at an executor that
/// reports back.
async fn world(more: &Value) -> World {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let mut policy = json!({"workflow_id": "t", "overlap_policy": "queue"});
    for (field, value) in more.as_object().unwrap() {
        policy[field] = value.clone();
    }
    world.schedule("report", "*/10 * * * * *", &policy).await;
    world
}

/// The executor reports that a run succeeded.
async fn done(world: &World, run_id: &str) {
    world.ok("POST", &format!("/runs/{run_id}/status"), &json!({"status": "SUCCESS"})).await;
}

async fn statuses(world: &World, status: &str) -> usize {
    world.runs("report").await.iter().filter(|run| run["status"] == status).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn fires_during_a_long_run_start_one_after_another_in_order() {
    let world = world(&json!({})).await;
    world.pass(Duration::seconds(510)).await;
    assert_eq!(world.executor.launches().len(), 1);
    assert_eq!(statuses(&world, "QUEUED").await, 50);
    world.ok("PATCH", "/schedules/report", &json!({"end_at": "2026-01-01T00:08:30Z"})).await;
    for place in 0..51 {
        let launched = world.executor.run_ids();
        assert_eq!(launched.len(), place + 1, "never two at once, never none");
        done(&world, &launched[place]).await;
        let ended = world.now();
        world.pass_without_ticks(Duration::seconds(1)).await;
        // A launcher that waits for a later fire may have moved time since.
        if place < 50 {
            let next = &world.runs("report").await[place + 1];
            let began: DateTime<Utc> = next["started_at"].as_str().unwrap().parse().unwrap();
            assert!(began - ended <= Duration::seconds(1), "{next}");
        }
    }
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 51));
    assert_eq!(statuses(&world, "SUCCESS").await, 51);
}

#[tokio::test(flavor = "multi_thread")]
async fn order_survives_messages_that_come_twice_and_the_wrong_way_round() {
    let world = world(&json!({"catchup_policy": "fire_immediately"})).await;
    world.ok("PATCH", "/schedules/report", &json!({"end_at": "2026-01-01T00:08:30Z"})).await;
    // All of them at once: the tick runs, messages are held back.
    for _ in 0..9 {
        world.tick().await;
        world.time.advance(Duration::minutes(1));
    }
    let mut done_so_far = 0;
    while done_so_far < 51 {
        let mut messages = Vec::new();
        loop {
            let some = world.mapping.receive(0).await;
            if some.is_empty() {
                break;
            }
            messages.extend(some);
        }
        messages.reverse();
        for message in messages {
            world.mapping.deliver(vec![message.clone()]).await;
            world.mapping.deliver(vec![message]).await;
        }
        let launched = world.executor.run_ids();
        assert!(launched.len() <= done_so_far + 1, "two at once: {launched:?}");
        if launched.len() > done_so_far {
            done(&world, &launched[done_so_far]).await;
            done_so_far += 1;
        }
        world.time.advance(Duration::seconds(1));
        assert!(world.now() < world.fire("report", "00:30:00").run_at, "stuck at {done_so_far}");
    }
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 51));
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_as_allowed_go_at_once() {
    let world = world(&json!({"max_concurrent": 3})).await;
    world.pass(Duration::seconds(60)).await;
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 3));
    done(&world, &world.executor.run_ids()[1]).await;
    world.deliver().await;
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_skips_and_says_so() {
    let world = world(&json!({})).await;
    world.pass(Duration::seconds(10 * 105)).await;
    assert_eq!(statuses(&world, "QUEUED").await, 100);
    let runs = world.runs("report").await;
    let full: Vec<_> = runs.iter().filter(|run| run["reason"] == "queue_full").collect();
    assert_eq!(full.len(), 4);
    assert!(full.iter().all(|run| run["status"] == "SKIPPED"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_or_times_out_passes_its_turn_on() {
    let world = world(&json!({"max_runtime_s": 600})).await;
    world.executor.answers(|launch| match launch.run_id.ends_with("00:00:20Z") {
        true => (404, "gone".to_owned()),
        false => (200, "{}".to_owned()),
    });
    world.ok("PATCH", "/schedules/report", &json!({"end_at": "2026-01-01T00:00:30Z"})).await;
    world.pass(Duration::minutes(1)).await;
    assert_eq!(world.executor.launches().len(), 1);
    for _ in 0..12 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
        world.deliver().await;
    }
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_nobody_passed_on_is_found_by_recovery() {
    let world = world(&json!({})).await;
    world.ok("PATCH", "/schedules/report", &json!({"end_at": "2026-01-01T00:00:20Z"})).await;
    world.pass(Duration::seconds(30)).await;
    done(&world, &world.executor.run_ids()[0]).await;
    world.lose_messages().await;
    world.pass(Duration::minutes(2)).await;
    assert_eq!(world.executor.launches().len(), 1);
    for _ in 0..6 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
        world.deliver().await;
    }
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_empties_the_queue() {
    let world = world(&json!({})).await;
    world.pass(Duration::seconds(60)).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    done(&world, &world.executor.run_ids()[0]).await;
    world.pass(Duration::minutes(3)).await;
    assert_eq!(world.executor.launches().len(), 1);
    assert_eq!(statuses(&world, "QUEUED").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_by_hand_in_a_pause_keeps_the_order_of_the_catch_up() {
    let end_at = "2026-01-01T00:00:50Z";
    let world = world(&json!({"catchup_policy": "fire_immediately", "end_at": end_at})).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    world.pass(Duration::seconds(35)).await;
    world.ok("POST", "/schedules/report/trigger", &Value::Null).await;
    world.deliver().await;
    done(&world, &world.executor.run_ids()[0]).await;
    world.pass(Duration::seconds(20)).await;
    world.ok("POST", "/schedules/report/resume", &Value::Null).await;
    // The newest first, so that the order of delivery is not the order of their turns.
    let mut messages = Vec::new();
    loop {
        match world.mapping.receive(0).await {
            some if some.is_empty() => break,
            some => messages.extend(some),
        }
    }
    messages.reverse();
    for message in messages {
        world.mapping.deliver(vec![message]).await;
    }
    for place in 1..=5 {
        let launched = world.executor.run_ids();
        assert_eq!(launched.len(), place + 1);
        done(&world, &launched[place]).await;
        world.pass_without_ticks(Duration::seconds(1)).await;
    }
    assert_eq!(world.executor.run_ids()[1..], world.every("report", "00:00:10", 10, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_that_died_at_any_step_starts_no_run_out_of_order() {
    let mut died = 0;
    for requests in 1..=20 {
        // Two that are not caught up are summarised.
        let world = World::with(&[("MAX_CATCHUP_PER_TICK", "1")]).await;
        let policies = json!({"overlap_policy": "queue", "catchup_policy": "once"});
        world.schedule("report", "*/10 * * * * *", &policies).await;
        world.pass(Duration::minutes(1)).await;
        world.ok("POST", "/schedules/report/pause", &Value::Null).await;
        world.pass(Duration::seconds(40)).await;
        world.meter.cut_after(requests);
        let resume = world.call("POST", "/schedules/report/resume", &Value::Null);
        died += usize::from(world.meter.until_cut(resume).await.is_none());
        world.meter.reset();
        // What it sent is launched before the next tick.
        world.pass_without_ticks(Duration::seconds(15)).await;
        world.pass(Duration::minutes(3)).await;
        let launched = world.executor.run_ids();
        assert!(launched.is_sorted(), "after {requests} requests: {launched:?}");
        let path = "/schedules/report/ledger?from=2026-01-01T00:00:00Z&to=2026-01-01T00:04:30Z";
        let ledger = world.ok("GET", path, &Value::Null).await;
        assert_eq!(ledger["unexplained"], json!([]), "after {requests} requests");
    }
    assert!((8..20).contains(&died), "at every step, and then not at all: {died}");
}
