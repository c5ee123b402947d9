//! Many fires at once: they are written in few calls, and each costs the same as alone.

use belfry_engine::cloud::message::{self, Message};
use belfry_engine::cloud::store::Claim;
use chrono::Duration;
use serde_json::json;

use belfry_tests::World;
use belfry_tests::world::claimant;

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
    // Two messages, of 25 and of 5 fires, come in one batch: they are read together, claimed
    // together, and those that end at launch are recorded together.
    assert_eq!(count("DeleteMessageBatch"), 1, "{requests:?}");
    assert_eq!(count("BatchGetItem"), 2, "{requests:?}");
    assert!((4..8).contains(&count("BatchExecuteStatement")), "{requests:?}");
    assert!(count("UpdateItem") < DUE / 2, "{requests:?}");
    // Their workflow, once for all of them.
    assert_eq!(count("GetItem"), 1, "{requests:?}");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_fire_returns_without_the_others_of_its_message() {
    let world = world().await;
    world.executor.answers(|launch| match launch.body["metadata"]["attempt"].as_u64() {
        Some(1 | 2) if launch.run_id.starts_with("report-7@") => (503, String::new()),
        _ => (200, String::new()),
    });
    world.tick().await;
    world.meter.reset();
    world.pass_without_ticks(Duration::minutes(2)).await;
    assert_eq!(world.executor.launches().len(), DUE + 2);
    for n in 0..DUE {
        let run = &world.runs(&format!("report-{n}")).await[0];
        let attempts = if n == 7 { 3 } else { 1 };
        assert_eq!((&run["status"], &run["attempt"]), (&json!("SUCCESS"), &json!(attempts)));
    }
    let requests = world.meter.requests();
    let count = |name: &str| requests.get(name).copied().unwrap_or(0);
    // Its first failure separates it: then it has a message of its own, which is invisible for a
    // while.
    assert_eq!(count("SendMessageBatch"), 1, "{requests:?}");
    assert_eq!(count("ChangeMessageVisibility"), 1, "{requests:?}");
    assert_eq!(world.next_message_at(), None, "no message is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_that_died_with_many_fires_is_replaced_and_none_runs_twice() {
    let world = world().await;
    world.tick().await;
    world.pass_without_ticks(Duration::seconds(50)).await;
    world.time.advance(Duration::seconds(10));
    // The launcher claimed some of them, launched none and died.
    let messages = world.mapping.receive(0).await;
    assert_eq!(messages.len(), 2);
    let holder = messages[0].message_id().unwrap();
    let fires: Vec<Message> = message::read(messages[0].body().unwrap()).unwrap();
    for fire in fires.iter().take(5) {
        let lease = Duration::seconds(60);
        let claimant = claimant(&fire.run_id, holder);
        let claim = world.app.store.claim_run(&claimant, lease, world.now()).await;
        assert!(matches!(claim.unwrap(), Claim::Won(_)));
    }
    world.pass_without_ticks(Duration::minutes(10)).await;
    let mut launched = world.executor.run_ids();
    launched.sort();
    launched.dedup();
    assert_eq!((launched.len(), world.executor.launches().len()), (DUE, DUE));
    assert_eq!(world.next_message_at(), None, "no message is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_of_many_fires_has_each_of_them_launched() {
    let world = world().await;
    world.tick().await;
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    world.time.advance(Duration::minutes(1));
    let dead = &world.app.settings.dead_letter_queue_url;
    for message in world.mapping.receive(0).await {
        let body = message.body().unwrap();
        client.send_message().queue_url(dead).message_body(body).send().await.unwrap();
    }
    world.lose_messages().await;
    let report = world.recover().await;
    assert_eq!((&report["resent"], &report["dead_letters"]), (&json!(DUE), &json!(2)), "{report}");
    world.deliver().await;
    assert_eq!(world.executor.launches().len(), DUE);
}
