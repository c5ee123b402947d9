//! Many fires at once: what is written together is written in few calls, and costs what it would
//! cost alone.

use chrono::Duration;
use serde_json::json;

use belfry_tests::World;

/// More than one batch of statements, less than two.
const DUE: usize = 30;

async fn world() -> World {
    let world = World::new().await;
    for n in 0..DUE {
        let policy = json!({"overlap_policy": "allow"});
        world.schedule(&format!("report-{n}"), "0 30 0 * * *", &policy).await;
    }
    world.pass_without_ticks(Duration::minutes(29)).await;
    world.meter.reset();
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_records_and_advances_twenty_five_fires_in_two_calls() {
    let world = world().await;
    assert_eq!(world.tick().await["emitted"], DUE);
    let requests = world.meter.requests();
    assert_eq!(requests.get("BatchExecuteStatement"), Some(&4), "{requests:?}");
    assert_eq!(requests.get("PutItem"), None, "{requests:?}");
    assert_eq!(requests.get("UpdateItem"), None, "{requests:?}");
    // A run and its index entry, a clock and its move in the index.
    assert_eq!(world.meter.write_units(), (DUE * 5) as f64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_claims_and_records_the_runs_of_a_batch_together() {
    let world = world().await;
    world.tick().await;
    world.meter.reset();
    world.pass_without_ticks(Duration::minutes(2)).await;
    assert_eq!(world.executor.launches().len(), DUE);
    let requests = world.meter.requests();
    let count = |name: &str| requests.get(name).copied().unwrap_or(0);
    // Ten messages to a batch: they are read at once, claimed at once, and those that end at once are
    // recorded at once.
    assert_eq!(count("BatchGetItem"), DUE / 10, "{requests:?}");
    assert!(count("BatchExecuteStatement") >= 2 * DUE / 10, "{requests:?}");
    assert!(count("UpdateItem") < DUE, "{requests:?}");
    assert_eq!(world.meter.write_units(), (DUE * 2) as f64);
    for n in 0..DUE {
        let runs = world.story(&format!("report-{n}")).await;
        assert_eq!(runs.len(), 1, "{runs:?}");
        assert_eq!(runs[0].1, "SUCCESS", "{runs:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_finds_its_fires_recorded_sends_them_again_one_by_one() {
    let world = world().await;
    assert_eq!(world.tick().await["emitted"], DUE);
    world.lose_messages().await;
    // As if the tick had died before it advanced.
    for n in 0..DUE {
        let key = json!({"schedule_id": {"S": format!("report-{n}")}, "sk": {"S": "clock"}});
        let back = json!({
            "TableName": belfry_tests::embedded::SCHEDULES, "Key": key,
            "UpdateExpression": "SET next_run_at = :then",
            "ExpressionAttributeValues": {":then": {"S": "2026-01-01T00:30:00Z"}},
        });
        let database = &world.services.database;
        belfry_tests::embedded::dynamodb(database, "UpdateItem", &back).unwrap();
    }
    let tick = world.tick().await;
    assert_eq!((&tick["emitted"], &tick["resent"]), (&json!(0), &json!(DUE)));
    world.pass_without_ticks(Duration::minutes(2)).await;
    assert_eq!(world.executor.launches().len(), DUE);
}
