//! A message arrives up to a second early: the launcher reads its schedule meanwhile, and obeys
//! every change made until the claim.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Delivers the fires of some schedules to the launcher half a second early. It has read their
/// schedules ahead, and waits.
async fn early(names: &[&str], more: &Value) -> (World, JoinHandle<()>) {
    let world = World::new().await;
    world.time.advance(Duration::milliseconds(500));
    for name in names {
        world.schedule(name, "0 1 0 * * *", more).await;
    }
    world.time.set(world.next_message_at().unwrap());
    world.meter.reset();
    let messages = world.mapping.receive(0).await;
    assert_eq!(messages.len(), names.len());
    let mapping = world.mapping.clone();
    let delivery = tokio::spawn(async move { mapping.deliver(messages).await });
    world.time.until_sleeping(names.len()).await;
    (world, delivery)
}

/// Moves to the second of the fires.
async fn on_time(world: &World, delivery: JoinHandle<()>) {
    world.time.set(world.fire("any", "00:01:00").run_at);
    delivery.await.unwrap();
}

fn reads(world: &World) -> usize {
    world.meter.requests().get("BatchGetItem").copied().unwrap_or(0)
}

/// A single launch is claimed by another call than the launches of a batch.
const CROWDS: [&[&str]; 2] = [&["report"], &["report", "another", "third"]];

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_ahead_is_only_claimed_when_its_time_has_come() {
    for names in CROWDS {
        for policy in ["allow", "skip"] {
            let (world, delivery) = early(names, &json!({"overlap_policy": policy})).await;
            assert_eq!((reads(&world), world.executor.launches().len()), (1, 0));
            on_time(&world, delivery).await;
            assert_eq!((reads(&world), world.executor.launches().len()), (1, names.len()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_read_ahead_where_the_moment_decides() {
    let (world, delivery) = early(&["report"], &json!({"overlap_policy": "queue"})).await;
    assert_eq!(reads(&world), 0);
    on_time(&world, delivery).await;
    assert_eq!((reads(&world), world.executor.launches().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_between_the_reading_and_the_second_is_obeyed() {
    for names in CROWDS {
        let (world, delivery) = early(names, &json!({})).await;
        world.ok("POST", "/schedules/report/pause", &Value::Null).await;
        on_time(&world, delivery).await;
        assert_eq!(world.executor.launches().len(), names.len() - 1);
        assert_eq!(world.story("report").await[0].2, "paused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_between_the_reading_and_the_second_is_obeyed() {
    for names in CROWDS {
        let (world, delivery) = early(names, &json!({"payload": "old"})).await;
        world.ok("PATCH", "/schedules/report", &json!({"payload": "new"})).await;
        on_time(&world, delivery).await;
        let launches = world.executor.launches();
        assert_eq!(launches.len(), names.len());
        for launch in launches {
            let run_id = launch.body["metadata"]["run_id"].as_str().unwrap();
            let payload = if run_id.starts_with("report@") { "new" } else { "old" };
            assert_eq!(launch.body["payload"], payload, "{run_id}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_between_the_reading_and_the_second_is_obeyed() {
    for names in CROWDS {
        let (world, delivery) = early(names, &json!({})).await;
        world.ok("DELETE", "/schedules/report", &Value::Null).await;
        on_time(&world, delivery).await;
        assert_eq!(world.executor.launches().len(), names.len() - 1);
        let run = world.ok("GET", "/runs/report@2026-01-01T00:01:00Z", &Value::Null).await;
        assert_eq!(run["reason"], "deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_follows_before_the_second_follows_this_fire() {
    for names in CROWDS {
        let (world, delivery) = early(names, &json!({})).await;
        let follower = json!({"workflow_id": "w", "after_schedule_id": "report"});
        world.ok("PUT", "/schedules/follower", &follower).await;
        on_time(&world, delivery).await;
        world.pass(Duration::seconds(10)).await;
        assert_eq!(world.executor.launches().len(), names.len() + 1);
        let runs = world.runs("follower").await;
        assert_eq!(runs[0]["trigger"], "after:report@2026-01-01T00:01:00Z");
        assert_eq!(world.runs("report").await[0]["attempt"], 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_whose_pause_ends_before_the_second_launches() {
    let (world, delivery) = early(&["report"], &json!({})).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    world.ok("POST", "/schedules/report/resume", &Value::Null).await;
    on_time(&world, delivery).await;
    world.pass(Duration::seconds(10)).await;
    assert_eq!(world.executor.run_ids(), ["report@2026-01-01T00:01:00Z"]);
}
