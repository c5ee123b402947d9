//! Backfills: the fires of a past time range, run now.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// A schedule created at noon that fires at every full hour.
async fn at_noon(more: &Value) -> World {
    let world = World::new().await;
    world.pass_without_ticks(Duration::hours(12)).await;
    world.schedule("s", "0 * * * *", more).await;
    world
}

fn range(from: &str, to: &str) -> Value {
    json!({"from": format!("2026-01-01T{from}:00Z"), "to": format!("2026-01-01T{to}:00Z")})
}

fn with(mut body: Value, more: &Value) -> Value {
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

async fn backfill(world: &World, body: &Value) -> Value {
    world.ok("POST", "/schedules/s/backfill", body).await
}

async fn state(world: &World, backfill: &Value) -> Value {
    let path = format!("/schedules/s/backfills/{}", backfill["backfill_id"].as_str().unwrap());
    world.ok("GET", &path, &Value::Null).await
}

fn hours(world: &World) -> Vec<String> {
    let launches = world.executor.run_ids();
    launches.iter().map(|id| id[13..15].to_owned()).collect()
}

#[tokio::test]
async fn a_backfill_runs_every_fire_once_in_order_beside_the_clock() {
    let world = at_noon(&json!({})).await;
    let before = world.ok("GET", "/schedules/s", &Value::Null).await;
    let begun = backfill(&world, &range("03:00", "08:30")).await;
    assert_eq!((&begun["fires"], &begun["state"]), (&json!(6), &json!("running")));
    world.deliver().await;
    assert_eq!(hours(&world), ["03", "04", "05", "06", "07", "08"]);
    let runs = world.runs("s").await;
    assert!(runs.iter().all(|run| run["trigger"] == "backfill" && run["status"] == "SUCCESS"));
    let done = state(&world, &begun).await;
    assert_eq!((&done["state"], &done["succeeded"]), (&json!("done"), &json!(6)));
    let after = world.ok("GET", "/schedules/s", &Value::Null).await;
    for field in ["next_run_at", "last_run_at", "revision", "status"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let ledger = world.ok("GET", "/schedules/s/ledger", &Value::Null).await;
    assert_eq!((&ledger["extra"], &ledger["unexplained"]), (&json!({"backfill": 6}), &json!([])));
}

#[tokio::test]
async fn the_same_again_is_the_same_backfill_and_another_name_another() {
    let world = at_noon(&json!({})).await;
    let body = range("03:00", "05:00");
    let first = backfill(&world, &body).await;
    world.deliver().await;
    assert_eq!(backfill(&world, &body).await["backfill_id"], first["backfill_id"]);
    world.deliver().await;
    assert_eq!(hours(&world).len(), 3);
    let body = with(body, &json!({"name": "again", "order": "newest_first"}));
    assert_ne!(backfill(&world, &body).await["backfill_id"], first["backfill_id"]);
    world.deliver().await;
    assert_eq!(hours(&world)[3..], ["05", "04", "03"]);
    let all = world.ok("GET", "/schedules/s/backfills", &Value::Null).await;
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn its_own_bound_holds_under_any_overlap_policy_and_ends_make_room() {
    let world = at_noon(&json!({"overlap_policy": "skip"})).await;
    let target = json!({"kind": "http", "url": world.executor.url});
    let tracked = json!({"definition": {}, "target": target, "completion": "tracked"});
    world.workflow("t", &tracked).await;
    world.ok("PATCH", "/schedules/s", &json!({"workflow_id": "t", "version": null})).await;
    backfill(&world, &with(range("03:00", "08:00"), &json!({"max_concurrent": 2}))).await;
    for ended in 0..6 {
        world.pass(Duration::minutes(2)).await;
        let launched = world.executor.run_ids();
        assert_eq!(launched.len(), 6.min(ended + 2), "two at once");
        let path = format!("/runs/{}/status", launched[ended].replace('~', "%7E"));
        world.ok("POST", &path, &json!({"status": "SUCCESS"})).await;
    }
    let all = world.ok("GET", "/schedules/s/backfills", &Value::Null).await;
    assert_eq!(all["items"][0]["state"], "done");
}

#[tokio::test]
async fn what_ran_by_itself_is_not_run_again_unless_asked() {
    let world = World::new().await;
    world.schedule("s", "0 * * * *", &json!({})).await;
    world.pass(Duration::hours(2)).await;
    world.pass_without_ticks(Duration::hours(3)).await;
    world.pass(Duration::minutes(30)).await;
    let body = range("01:00", "05:00");
    let dry = backfill(&world, &with(body.clone(), &json!({"dry_run": true}))).await;
    assert_eq!(
        (&dry["fires"], &dry["already_ran"], &dry["launches"], &dry["first"], &dry["last"]),
        (
            &json!(5),
            &json!(3),
            &json!(2),
            &json!("2026-01-01T01:00:00Z"),
            &json!("2026-01-01T05:00:00Z")
        )
    );
    let launched = hours(&world);
    assert_eq!(launched, ["01", "02", "05"], "a dry run starts nothing");
    backfill(&world, &body).await;
    world.deliver().await;
    assert_eq!(hours(&world)[3..], ["03", "04"], "only what was missed");
    backfill(&world, &with(body, &json!({"rerun": true, "name": "all"}))).await;
    world.deliver().await;
    assert_eq!(hours(&world)[5..], ["01", "02", "03", "04", "05"]);
}

#[tokio::test]
async fn a_backfill_whose_message_was_lost_goes_on() {
    let world = at_noon(&json!({})).await;
    backfill(&world, &range("03:00", "06:00")).await;
    world.lose_messages().await;
    for _ in 0..8 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    world.pass(Duration::minutes(2)).await;
    assert_eq!(hours(&world), ["03", "04", "05", "06"]);
}

#[tokio::test]
async fn a_cancelled_backfill_launches_nothing_more() {
    let world = at_noon(&json!({})).await;
    let begun = backfill(&world, &range("03:00", "06:00")).await;
    let path = format!("/schedules/s/backfills/{}", begun["backfill_id"].as_str().unwrap());
    let cancelled = world.ok("DELETE", &path, &Value::Null).await;
    assert_eq!(cancelled["state"], "cancelled");
    world.pass(Duration::minutes(30)).await;
    assert_eq!(hours(&world), Vec::<String>::new());
    let run = &world.runs("s").await[0];
    assert_eq!((&run["status"], &run["reason"]), (&json!("SKIPPED"), &json!("cancelled")));
}

#[tokio::test]
async fn a_deleted_schedule_takes_its_backfills_with_it() {
    let world = at_noon(&json!({})).await;
    backfill(&world, &range("03:00", "06:00")).await;
    world.ok("DELETE", "/schedules/s", &Value::Null).await;
    world.pass(Duration::minutes(30)).await;
    assert_eq!(hours(&world), Vec::<String>::new());
}

#[tokio::test]
async fn a_paused_schedule_can_be_backfilled() {
    let world = at_noon(&json!({"paused": true})).await;
    backfill(&world, &range("03:00", "04:00")).await;
    world.deliver().await;
    assert_eq!(hours(&world), ["03", "04"]);
}

#[tokio::test]
async fn bad_ranges_are_refused_by_the_field() {
    let world = at_noon(&json!({})).await;
    for (body, field) in [
        (json!({"to": "2026-01-01T03:00:00Z"}), "from"),
        (range("05:00", "03:00"), "from"),
        (range("03:10", "03:50"), "from"),
        (range("03:00", "13:00"), "to"),
        (with(range("03:00", "04:00"), &json!({"max_concurrent": 0})), "max_concurrent"),
        (with(range("03:00", "04:00"), &json!({"order": "random"})), "order"),
        (with(range("03:00", "04:00"), &json!({"colour": 1})), "colour"),
        (json!({"from": "1990-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}), "to"),
    ] {
        let (status, answer) = world.call("POST", "/schedules/s/backfill", &body).await;
        assert_eq!(
            (status, &answer["errors"][0]["field"]),
            (422, &json!(field)),
            "{body}: {answer}"
        );
    }
}
