//! Ids that are used again: by the same owner, and by another one after the schedule was deleted.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// Deletes ann's schedule `s`. Bob makes one of the same id, which fires every minute.
async fn bob_takes_over(world: &World, more: &Value) {
    world.ok("DELETE", "/schedules/s", &Value::Null).await;
    let version = json!({"target": {"kind": "http", "url": world.executor.url}});
    bob(world, "PUT", "/workflows/bobs/versions/1", &version).await;
    let mut body = json!({"workflow_id": "bobs", "cron_expr": "* * * * *"});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    bob(world, "PUT", "/schedules/s", &body).await;
}

async fn bob(world: &World, method: &str, path: &str, body: &Value) -> Value {
    let (status, answer) = world.call_as(Some("bob"), method, path, body, &[]).await;
    assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sums_of_a_new_owner_replace_those_of_the_former_one() {
    let world = World::new().await;
    world.pass_without_ticks(Duration::hours(22)).await;
    world.schedule("s", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(115)).await;
    world.recover().await;
    let anns = world.app.store.sums(&world.id("s")).await.unwrap().unwrap();
    assert_eq!((anns.owner.as_str(), anns.counts.succeeded), ("ann", 104));
    bob_takes_over(&world, &json!({})).await;
    world.pass(Duration::minutes(115)).await;
    world.recover().await;
    let bobs = world.app.store.sums(&world.id("s")).await.unwrap().unwrap();
    assert_eq!((bobs.owner.as_str(), bobs.counts.succeeded), ("bob", 104));
    let shown = bob(&world, "GET", "/schedules/s", &Value::Null).await;
    assert_eq!(shown["stats"]["total"], 115, "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_owner_under_the_same_id_goes_on_counting() {
    let world = World::new().await;
    world.schedule("s", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(120)).await;
    world.recover().await;
    world.ok("DELETE", "/schedules/s", &Value::Null).await;
    world.schedule("s", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(10)).await;
    let shown = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!(shown["stats"]["total"], 130);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_of_a_former_owner_do_not_pause_the_schedule_of_the_new_one() {
    let world = World::new().await;
    world.executor.answers(|_| (404, String::new()));
    world.schedule("s", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(5)).await;
    bob_takes_over(&world, &json!({"pause_after_failures": 3})).await;
    world.pass(Duration::minutes(2)).await;
    let shown = bob(&world, "GET", "/schedules/s", &Value::Null).await;
    assert_eq!(shown["status"], "active", "two of bob's runs failed");
    world.pass(Duration::minutes(1)).await;
    let shown = bob(&world, "GET", "/schedules/s", &Value::Null).await;
    assert_eq!(shown["status"], "paused");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_is_created_again_has_backfills_of_its_own() {
    let world = World::new().await;
    world.pass_without_ticks(Duration::hours(12)).await;
    let minutes = json!({"from": "2026-01-01T03:00:00Z", "to": "2026-01-01T03:01:00Z"});
    let path = "/schedules/s/backfill";
    world.schedule("s", "* * * * *", &json!({})).await;
    let first = world.ok("POST", path, &minutes).await;
    world.ok("DELETE", "/schedules/s", &Value::Null).await;
    world.time.advance(Duration::seconds(1));
    world.schedule("s", "* * * * *", &json!({})).await;
    let (status, second) = world.call("POST", path, &minutes).await;
    assert_eq!((status, &second["state"]), (202, &json!("running")), "the first was cancelled");
    assert_ne!(first["backfill_id"], second["backfill_id"]);
    world.deliver().await;
    assert_eq!(world.executor.launches().len(), 2);
    bob_takes_over(&world, &json!({})).await;
    let (status, third) = world.call_as(Some("bob"), "POST", path, &minutes, &[]).await;
    assert_eq!((status, &third["already_ran"]), (202, &json!(0)), "ann ran them, bob did not");
    world.deliver().await;
    assert_eq!(world.executor.launches().len(), 4);
}
