//! Probes of moves: dead letters sent back to their source, or to another queue.

use aws_sdk_sqs::types::{ListMessageMoveTasksResultEntry, QueueAttributeName};
use chrono::TimeDelta;

use crate::bench::{Bench, code};

/// A queue, its dead-letter queue, and this many dead letters.
async fn with_dead_letters(bench: &Bench, count: u32) -> (String, String) {
    let (queue, dead) = bench.queue_with_dead_letters(1).await;
    for n in 0..count {
        bench.send(&queue, &n.to_string()).await;
    }
    let mut received = 0;
    while received < count {
        received += u32::try_from(bench.receive(&queue).await.len()).unwrap();
    }
    bench.pass(TimeDelta::milliseconds(1100)).await;
    while bench.counts(&dead).await[0] < count {
        assert!(bench.receive(&queue).await.is_empty());
    }
    (queue, dead)
}

async fn tasks(bench: &Bench, dead: &str) -> Vec<ListMessageMoveTasksResultEntry> {
    let arn = bench.attribute(dead, QueueAttributeName::QueueArn).await;
    let request = bench.client.list_message_move_tasks().source_arn(arn).max_results(10);
    request.send().await.unwrap().results.unwrap_or_default()
}

/// The latest task, once it has ended.
async fn ended_task(bench: &Bench, dead: &str) -> ListMessageMoveTasksResultEntry {
    loop {
        let task = tasks(bench, dead).await.remove(0);
        if task.status() != Some("RUNNING") {
            return task;
        }
        bench.pass(TimeDelta::milliseconds(200)).await;
    }
}

#[tokio::test]
async fn dead_letters_go_back_to_where_they_came_from() {
    let bench = Bench::start().await;
    let (queue, dead) = with_dead_letters(&bench, 12).await;
    let arn = bench.attribute(&dead, QueueAttributeName::QueueArn).await;
    let started = bench.client.start_message_move_task().source_arn(&arn).send().await.unwrap();
    assert!(started.task_handle().is_some());

    let task = ended_task(&bench, &dead).await;
    assert_eq!(task.status(), Some("COMPLETED"));
    assert_eq!(task.approximate_number_of_messages_moved(), 12);
    assert_eq!(task.source_arn(), Some(arn.as_str()));
    assert_eq!(bench.counts(&dead).await, [0, 0, 0]);
    assert_eq!(bench.counts(&queue).await, [12, 0, 0]);
    // Their counts start over: they become dead letters again only after being received again.
    assert!(!bench.receive(&queue).await.is_empty());
}

#[tokio::test]
async fn dead_letters_may_go_elsewhere() {
    let bench = Bench::start().await;
    let (_, dead) = with_dead_letters(&bench, 1).await;
    let elsewhere = bench.queue(&[]).await;
    let arn = bench.attribute(&dead, QueueAttributeName::QueueArn).await;
    let to = bench.attribute(&elsewhere, QueueAttributeName::QueueArn).await;
    let request = bench.client.start_message_move_task().source_arn(&arn);
    request.destination_arn(&to).send().await.unwrap();
    assert_eq!(ended_task(&bench, &dead).await.destination_arn(), Some(to.as_str()));
    assert_eq!(bench.bodies(&elsewhere).await, ["0"]);
}

#[tokio::test]
async fn a_poll_wakes_for_a_message_moved_to_it() {
    let bench = Bench::start().await;
    let (queue, dead) = with_dead_letters(&bench, 1).await;
    let poll = bench.client.receive_message().queue_url(&queue).wait_time_seconds(20).send();
    let poll = tokio::spawn(poll);
    bench.until_polling().await;
    let arn = bench.attribute(&dead, QueueAttributeName::QueueArn).await;
    bench.client.start_message_move_task().source_arn(&arn).send().await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap().messages()[0].body(), Some("0"));
}

#[tokio::test]
async fn a_letter_that_came_from_nowhere_fails_the_move() {
    let bench = Bench::start().await;
    let (_, dead) = bench.queue_with_dead_letters(1).await;
    bench.send(&dead, "direct").await;
    let arn = bench.attribute(&dead, QueueAttributeName::QueueArn).await;
    bench.client.start_message_move_task().source_arn(&arn).send().await.unwrap();
    let task = ended_task(&bench, &dead).await;
    assert_eq!(task.status(), Some("FAILED"));
    assert_eq!(task.failure_reason(), Some("CouldNotDetermineMessageSource"));
    assert_eq!(bench.counts(&dead).await, [1, 0, 0]);
}

#[tokio::test]
async fn only_a_dead_letter_queue_can_be_moved_from() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let arn = bench.attribute(&queue, QueueAttributeName::QueueArn).await;
    let start = |arn: &str| bench.client.start_message_move_task().source_arn(arn).send();
    assert_eq!(code(start(&arn).await), "InvalidParameterValue");
    let error = start(&format!("{arn}-not")).await.unwrap_err().into_service_error();
    assert!(error.is_resource_not_found_exception(), "{error:?}");
}
