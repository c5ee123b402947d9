//! Probes of settling: what a receipt handle can do, and until when.

use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, QueueAttributeName,
};
use chrono::TimeDelta;

use crate::bench::{Bench, code, handle};

async fn change(bench: &Bench, queue: &str, handle: &str, seconds: i32) -> Result<(), String> {
    let request = bench.client.change_message_visibility().queue_url(queue);
    let outcome = request.receipt_handle(handle).visibility_timeout(seconds).send().await;
    if outcome.is_ok() { Ok(()) } else { Err(code(outcome)) }
}

async fn delete(bench: &Bench, queue: &str, handle: &str) -> Result<(), String> {
    let request = bench.client.delete_message().queue_url(queue);
    let outcome = request.receipt_handle(handle).send().await;
    if outcome.is_ok() { Ok(()) } else { Err(code(outcome)) }
}

#[tokio::test]
async fn a_deleted_message_is_gone_and_deleting_it_twice_is_no_error() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::VisibilityTimeout, "1")]).await;
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    assert_eq!(delete(&bench, &queue, handle(&message)).await, Ok(()));
    assert_eq!(delete(&bench, &queue, handle(&message)).await, Ok(()));
    bench.pass(TimeDelta::milliseconds(1100)).await;
    assert!(bench.receive(&queue).await.is_empty());
}

#[tokio::test]
async fn changing_the_visibility_extends_it_from_now() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::VisibilityTimeout, "2")]).await;
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    bench.pass(TimeDelta::seconds(1)).await;
    assert_eq!(change(&bench, &queue, handle(&message), 3).await, Ok(()));
    bench.pass(TimeDelta::seconds(2)).await;
    assert!(bench.receive(&queue).await.is_empty());
    bench.pass(TimeDelta::milliseconds(1100)).await;
    assert_eq!(bench.bodies(&queue).await, ["x"]);
}

#[tokio::test]
async fn a_visibility_of_zero_gives_the_message_back() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    assert_eq!(change(&bench, &queue, handle(&message), 0).await, Ok(()));
    assert_eq!(bench.counts(&queue).await, [1, 0, 0]);
    assert_eq!(bench.bodies(&queue).await, ["x"]);
}

#[tokio::test]
async fn garbage_is_no_receipt_handle() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let invalid = Err("ReceiptHandleIsInvalid".to_owned());
    assert_eq!(delete(&bench, &queue, "garbage").await, invalid);
    assert_eq!(change(&bench, &queue, "garbage", 5).await, invalid);
}

#[tokio::test]
async fn a_handle_is_worth_nothing_once_the_message_was_received_again() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::VisibilityTimeout, "1")]).await;
    bench.send(&queue, "x").await;
    let first = bench.receive_one(&queue).await;
    bench.pass(TimeDelta::milliseconds(1100)).await;
    let second = bench.receive_one(&queue).await;
    let invalid = Err("ReceiptHandleIsInvalid".to_owned());
    assert_eq!(change(&bench, &queue, handle(&first), 5).await, invalid);
    assert_eq!(delete(&bench, &queue, handle(&first)).await, invalid);
    assert_eq!(delete(&bench, &queue, handle(&second)).await, Ok(()));
    assert_eq!(bench.counts(&queue).await, [0, 0, 0]);
}

#[tokio::test]
async fn a_message_nobody_else_took_can_still_be_deleted_after_its_time() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::VisibilityTimeout, "1")]).await;
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    bench.pass(TimeDelta::milliseconds(1100)).await;
    assert_eq!(
        change(&bench, &queue, handle(&message), 5).await,
        Err("InvalidParameterValue".to_owned())
    );
    assert_eq!(delete(&bench, &queue, handle(&message)).await, Ok(()));
    assert!(bench.receive(&queue).await.is_empty());
}

#[tokio::test]
async fn a_handle_is_good_in_its_own_queue_only() {
    let bench = Bench::start().await;
    let (queue, other) = (bench.queue(&[]).await, bench.queue(&[]).await);
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    let refused = delete(&bench, &other, handle(&message)).await;
    assert_eq!(refused, Err("ReceiptHandleIsInvalid".to_owned()));
}

#[tokio::test]
async fn nobody_holds_a_message_for_more_than_twelve_hours() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[(QueueAttributeName::VisibilityTimeout, "60")]).await;
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    clock.advance(TimeDelta::seconds(10));
    let too_long = Err("InvalidParameterValue".to_owned());
    assert_eq!(change(&bench, &queue, handle(&message), 43_201).await, too_long);
    assert_eq!(change(&bench, &queue, handle(&message), 43_191).await, too_long);
    assert_eq!(change(&bench, &queue, handle(&message), 43_190).await, Ok(()));
}

#[tokio::test]
async fn a_batch_of_deletions_fails_entry_by_entry() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    let entry = |id: &str, handle: &str| {
        DeleteMessageBatchRequestEntry::builder().id(id).receipt_handle(handle).build().unwrap()
    };
    let request = bench.client.delete_message_batch().queue_url(&queue);
    let request = request.entries(entry("good", handle(&message)));
    let deleted = request.entries(entry("bad", "garbage")).send().await.unwrap();
    assert_eq!(deleted.successful()[0].id(), "good");
    assert_eq!(deleted.failed()[0].id(), "bad");
    assert_eq!(deleted.failed()[0].code(), "ReceiptHandleIsInvalid");
    assert_eq!(bench.counts(&queue).await, [0, 0, 0]);
}

#[tokio::test]
async fn a_batch_of_visibility_changes_fails_entry_by_entry() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "x").await;
    let message = bench.receive_one(&queue).await;
    let entry = |id: &str, handle: &str| {
        let entry = ChangeMessageVisibilityBatchRequestEntry::builder().id(id);
        entry.receipt_handle(handle).visibility_timeout(0).build().unwrap()
    };
    let request = bench.client.change_message_visibility_batch().queue_url(&queue);
    let request = request.entries(entry("good", handle(&message)));
    let changed = request.entries(entry("bad", "garbage")).send().await.unwrap();
    assert_eq!(changed.successful()[0].id(), "good");
    assert_eq!(changed.failed()[0].code(), "ReceiptHandleIsInvalid");
    assert_eq!(bench.counts(&queue).await, [1, 0, 0]);
}
