//! The daily self-check: lost fires are detected, and clocks that drifted are corrected.

use aws_sdk_dynamodb::types::AttributeValue;
use belfry_engine::app::App;
use belfry_engine::cloud::store::CheckMark;
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

async fn lose_run(world: &World, schedule: &str, run_at: &str) {
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let table = &world.app.settings.runs_table;
    let delete = client.delete_item().table_name(table);
    delete.key("schedule_id", text(schedule)).key("run_at", text(run_at)).send().await.unwrap();
}

/// Removes attributes from a clock, as the code never does.
async fn spoil_clock(world: &World, schedule: &str, remove: &str) {
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let update = client.update_item().table_name(&world.app.settings.schedules_table);
    let update = update.key("schedule_id", text(schedule)).key("sk", text("clock"));
    update.update_expression(format!("REMOVE {remove}")).send().await.unwrap();
}

#[tokio::test]
async fn a_lost_fire_is_found_the_next_day_and_counted_once() {
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world.schedule(name, "0 */6 * * *", &json!({})).await;
    }
    world.pass(Duration::hours(23)).await;
    lose_run(&world, "b", "2026-01-01T12:00:00Z").await;
    world.recover().await;
    world.pass(Duration::hours(2)).await;
    let report = world.recover().await;
    assert_eq!(
        report["checked"],
        json!({"schedules": 3, "unexplained": 1, "repaired": 0, "failed": 0})
    );
    world.pass(Duration::hours(1)).await;
    let again = world.recover().await;
    assert_eq!(again["checked"]["schedules"], 0, "once a day");
}

#[tokio::test]
async fn a_check_that_is_not_through_at_midnight_continues_and_leaves_no_day_out() {
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world.schedule(name, "0 */6 * * *", &json!({})).await;
    }
    let first = world.now();
    let checked = async || {
        let report = world.recover().await;
        (report["checked"]["schedules"].clone(), report["checked"]["unexplained"].clone())
    };
    // The fires that no tick came to are recorded as missed, until their records are lost.
    world.pass_without_ticks(Duration::hours(25)).await;
    world.tick().await;
    lose_run(&world, "a", "2026-01-01T12:00:00Z").await;
    // The check of the first day came to the first of the three.
    let begun = CheckMark::begin(first - Duration::days(1), first);
    let from = Some(("ann".to_owned(), world.id("a")));
    world.app.store.move_check_mark(&CheckMark { from, ..begun }).await.unwrap();
    assert_eq!(checked().await, (json!(2), json!(0)), "the other two, of the day before it began");
    assert_eq!(checked().await, (json!(3), json!(1)), "the check of the second day");
    assert_eq!(checked().await, (json!(0), json!(0)));
    world.pass_without_ticks(Duration::hours(48)).await;
    world.tick().await;
    lose_run(&world, "b", "2026-01-02T12:00:00Z").await;
    lose_run(&world, "b", "2026-01-03T12:00:00Z").await;
    assert_eq!(checked().await, (json!(3), json!(2)), "two days at once");
}

#[tokio::test]
async fn a_clock_without_a_next_run_gets_one_and_does_not_fire_for_the_past() {
    let world = World::new().await;
    world.schedule("s", "0 * * * *", &json!({})).await;
    world.pass(Duration::minutes(90)).await;
    spoil_clock(&world, "s", "next_run_at, due_shard").await;
    world.pass(Duration::hours(3)).await;
    assert_eq!(world.recover().await["checked"]["repaired"], 1);
    world.pass(Duration::hours(1)).await;
    let runs = world.runs("s").await;
    let at: Vec<_> = runs.iter().map(|run| run["run_at"].as_str().unwrap()).collect();
    assert_eq!(at, ["2026-01-01T01:00:00Z", "2026-01-01T05:00:00Z"]);
    let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!(schedule["status"], "active");
}

#[tokio::test]
async fn a_clock_out_of_the_index_is_put_back_and_its_fires_are_explained() {
    let world = World::new().await;
    world.schedule("s", "0 * * * *", &json!({})).await;
    world.pass(Duration::minutes(90)).await;
    spoil_clock(&world, "s", "due_shard").await;
    world.pass(Duration::hours(3)).await;
    assert_eq!(world.recover().await["checked"]["repaired"], 1);
    world.pass(Duration::hours(1)).await;
    let ledger = world.ok("GET", "/schedules/s/ledger", &Value::Null).await;
    assert_eq!(ledger["by_reason"], json!({"on_time": 2, "missed": 3}));
    assert_eq!(ledger["unexplained"], json!([]));
}

/// The times of a schedule's runs on 1 January 2026.
async fn fired(world: &World, schedule: &str) -> Vec<String> {
    let runs = world.runs(schedule).await;
    runs.iter().map(|run| run["run_at"].as_str().unwrap()[11..16].to_owned()).collect()
}

#[tokio::test]
async fn a_clock_that_was_spoiled_at_a_fire_is_repaired_within_minutes() {
    for lost in ["next_run_at, due_shard", "due_shard"] {
        let world = World::new().await;
        world.schedule("s", "0 * * * *", &json!({})).await;
        // The check of the day is done before the clock is spoiled.
        assert_eq!(world.recover().await["checked"]["schedules"], 1);
        world.pass(Duration::minutes(62)).await;
        spoil_clock(&world, "s", lost).await;
        world.pass(Duration::minutes(4)).await;
        world.recover().await;
        world.pass(Duration::hours(1)).await;
        assert_eq!(fired(&world, "s").await, ["01:00", "02:00"], "{lost}");
    }
}

#[tokio::test]
async fn a_clock_repaired_within_minutes_does_not_fire_for_the_past() {
    let world = World::new().await;
    world.schedule("s", "*/2 * * * *", &json!({"catchup_policy": "fire_immediately"})).await;
    world.recover().await;
    world.pass(Duration::seconds(610)).await;
    spoil_clock(&world, "s", "next_run_at, due_shard").await;
    world.pass(Duration::minutes(5)).await;
    world.recover().await;
    world.pass(Duration::minutes(4)).await;
    let expected = ["00:02", "00:04", "00:06", "00:08", "00:10", "00:16", "00:18"];
    assert_eq!(fired(&world, "s").await[..7], expected);
}

#[tokio::test]
async fn a_reader_of_a_schedule_without_a_next_run_repairs_it() {
    let world = World::new().await;
    world.schedule("s", "0 * * * *", &json!({})).await;
    world.pass(Duration::minutes(90)).await;
    spoil_clock(&world, "s", "next_run_at, due_shard").await;
    world.pass(Duration::minutes(40)).await;
    let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!(schedule["next_run_at"], "2026-01-01T03:00:00Z");
    world.pass(Duration::hours(1)).await;
    let runs = world.runs("s").await;
    let at: Vec<_> = runs.iter().map(|run| run["run_at"].as_str().unwrap()).collect();
    assert_eq!(at, ["2026-01-01T01:00:00Z", "2026-01-01T03:00:00Z"]);
    // A pause and the last fire leave no next run, and that is as it should be.
    world.ok("POST", "/schedules/s/pause", &Value::Null).await;
    world.ok("GET", "/schedules/s", &Value::Null).await;
    world.pass(Duration::hours(2)).await;
    assert_eq!(world.runs("s").await.len(), 2);
}

#[tokio::test]
async fn a_workflow_that_is_gone_is_a_warning_and_a_failed_run() {
    let world = World::new().await;
    world.schedule("s", "0 * * * *", &json!({})).await;
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let delete = client.delete_item().table_name(&world.app.settings.workflows_table);
    let version = AttributeValue::N("1".to_owned());
    delete.key("workflow_id", text("w")).key("version", version).send().await.unwrap();
    let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!(schedule["warnings"][0]["code"], "missing_workflow");
    // A warm launcher still has the version cached; a new one does not.
    let sdk = world.services.sdk();
    let time = std::sync::Arc::new(world.time.clone());
    let mut app = App::new(&sdk, world.app.settings.clone(), time);
    app.metrics = belfry_engine::metrics::to_nowhere;
    let world = world.replace_app(app);
    world.pass(Duration::hours(1)).await;
    let run = &world.runs("s").await[0];
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("workflow_missing")));
}
