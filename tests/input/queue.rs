//! Bodies of the launch queue: one that cannot be parsed harms no other, becomes a dead letter, and
//! the run it names is not lost.

use aws_sdk_sqs::types::QueueAttributeName;
use belfry_core::run::{Run, Trigger};
use belfry_engine::cloud::message::Message;
use belfry_engine::functions;
use belfry_tests::World;
use chrono::Duration;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{check, odd, runtime};

/// A valid message.
fn valid() -> Value {
    json!({"run_id": "report@2026-01-01T00:01:00Z", "revision": 1, "launch_at": "2026-01-01T00:01:00Z"})
}

fn is_readable(body: &str) -> bool {
    serde_json::from_str::<Message>(body).is_ok()
}

async fn world() -> World {
    let world = World::new().await;
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.pass(Duration::minutes(5)).await;
    world
}

#[test]
fn a_batch_is_answered_message_by_message() {
    let runtime = runtime();
    let world = runtime.block_on(world());
    check(500, &vec(odd::change(), 1..4), |changes| {
        let bodies: Vec<_> = changes.iter().map(|change| change.of(&valid())).collect();
        let mut records: Vec<_> = bodies.iter().enumerate().map(record).collect();
        records.push(record((99, &valid().to_string())));
        let call = functions::launcher(&world.app, json!({"Records": records}));
        let answer = runtime.block_on(call).unwrap();
        let failed: Vec<_> = answer["batchItemFailures"].as_array().unwrap().iter().collect();
        let has_failed = |name: &str| failed.iter().any(|f| f["itemIdentifier"] == name);
        for (place, body) in bodies.iter().enumerate() {
            if !is_readable(body) {
                prop_assert!(
                    has_failed(&format!("m{place}")),
                    "a poison message was deleted: {body}"
                );
            }
        }
        prop_assert!(!has_failed("m99"), "a good message was not deleted beside a poison one");
        Ok(())
    });
}

fn record((place, body): (usize, &String)) -> Value {
    json!({
        "messageId": format!("m{place}"), "receiptHandle": "r", "body": body, "attributes": {},
        "messageAttributes": {}, "eventSource": "aws:sqs", "awsRegion": "us-east-1",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:belfry-launch",
    })
}

#[test]
fn poison_ends_among_the_dead_letters_and_good_messages_do_not() {
    let runtime = runtime();
    let world = runtime.block_on(world());
    check(1, &vec(odd::change(), 60), |changes| {
        let bodies = changes.iter().map(|change| change.of(&valid()));
        let (sent, poison) = runtime.block_on(send_all(&world, bodies));
        prop_assert!(poison > 10 && sent > poison, "{sent} sent, {poison} poison");
        runtime.block_on(world.pass_without_ticks(Duration::minutes(20)));
        let dead = runtime.block_on(dead_letters(&world));
        prop_assert_eq!(dead, poison);
        Ok(())
    });
}

/// Sends the bodies that SQS accepts. Returns how many those were, and how many of them cannot be
/// parsed.
async fn send_all(world: &World, bodies: impl Iterator<Item = String>) -> (usize, usize) {
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    let url = &world.app.settings.launch_queue_url;
    let (mut sent, mut poison) = (0, 0);
    for body in bodies {
        if client.send_message().queue_url(url).message_body(&body).send().await.is_ok() {
            sent += 1;
            poison += usize::from(!is_readable(&body));
        }
    }
    (sent, poison)
}

async fn dead_letters(world: &World) -> usize {
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    let answer = client
        .get_queue_attributes()
        .queue_url(&world.app.settings.dead_letter_queue_url)
        .attribute_names(QueueAttributeName::ApproximateNumberOfMessages)
        .attribute_names(QueueAttributeName::ApproximateNumberOfMessagesNotVisible)
        .send()
        .await
        .unwrap();
    let counts = answer.attributes().unwrap().values();
    counts.map(|count| count.parse::<usize>().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_a_poison_message_names_is_launched_all_the_same() {
    let world = World::new().await;
    world.schedule("report", "0 0 12 * * *", &json!({})).await;
    let id = world.fire("report", "00:01:00");
    let trigger = Trigger::Schedule("0 0 12 * * *".to_owned());
    let run = Run::planned(id.clone(), trigger, "ann", 1, id.run_at, world.now());
    world.app.store.put_run(&run).await.unwrap();
    let named = json!({"run_id": id, "revision": "one", "launch_at": null}).to_string();
    assert!(!is_readable(&named));
    send_all(&world, [named].into_iter()).await;
    world.pass_without_ticks(Duration::minutes(15)).await;
    assert_eq!(dead_letters(&world).await, 1);
    assert!(world.executor.launches().is_empty());
    let report = world.recover().await;
    assert_eq!((&report["dead_letters"], &report["poison"]), (&json!(1), &json!(0)), "{report}");
    world.deliver().await;
    assert_eq!(world.executor.run_ids(), [id.to_string()]);
    assert_eq!(dead_letters(&world).await, 0);
}
