//! Probes of queues: create, find, describe, change, purge and delete.

use aws_sdk_sqs::types::QueueAttributeName;
use chrono::TimeDelta;

use crate::bench::{Bench, code, fresh_name, redrive_policy};

#[tokio::test]
async fn a_redrive_policy_may_count_in_numbers_or_in_text() {
    let bench = Bench::start().await;
    let dead = bench.queue(&[]).await;
    let arn = bench.attribute(&dead, QueueAttributeName::QueueArn).await;
    for count in ["5", "\"5\""] {
        let policy = redrive_policy(&arn, count);
        let queue = bench.queue(&[(QueueAttributeName::RedrivePolicy, &policy)]).await;
        let kept = bench.attribute(&queue, QueueAttributeName::RedrivePolicy).await;
        let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
        assert_eq!(kept["deadLetterTargetArn"], arn);
        assert_eq!(kept["maxReceiveCount"].to_string().trim_matches('"'), "5");
    }
}

#[tokio::test]
async fn a_dead_letter_queue_knows_whose_it_is() {
    let bench = Bench::start().await;
    let (queue, dead) = bench.queue_with_dead_letters(5).await;
    let request = bench.client.list_dead_letter_source_queues().queue_url(&dead);
    assert_eq!(request.send().await.unwrap().queue_urls(), [queue]);
}

#[tokio::test]
async fn a_redrive_policy_to_nowhere_is_refused() {
    let bench = Bench::start().await;
    let policy = redrive_policy("arn:aws:sqs:us-east-1:000000000000:nowhere", "5");
    let request = bench.client.create_queue().queue_name(fresh_name());
    let outcome = request.attributes(QueueAttributeName::RedrivePolicy, policy).send().await;
    assert_eq!(code(outcome), "InvalidParameterValue");
}

#[tokio::test]
async fn a_queue_made_twice_with_the_same_attributes_is_one_queue() {
    let bench = Bench::start().await;
    let name = fresh_name();
    let visibility = QueueAttributeName::VisibilityTimeout;
    let make = |seconds: &str| {
        let request = bench.client.create_queue().queue_name(&name);
        request.attributes(visibility.clone(), seconds).send()
    };
    let first = make("60").await.unwrap();
    assert_eq!(make("60").await.unwrap().queue_url(), first.queue_url());
    let plain = bench.client.create_queue().queue_name(&name).send().await.unwrap();
    assert_eq!(plain.queue_url(), first.queue_url());

    let error = make("61").await.unwrap_err().into_service_error();
    assert!(error.is_queue_name_exists(), "{error:?}");
}

#[tokio::test]
async fn a_missing_queue_is_typed_as_such_by_every_call() {
    let bench = Bench::start().await;
    let client = &bench.client;
    let there = bench.queue(&[]).await;
    let missing = format!("{there}-not");

    let error = client.send_message().queue_url(&missing).message_body("x").send().await;
    assert!(error.unwrap_err().into_service_error().is_queue_does_not_exist());
    let error = client.receive_message().queue_url(&missing).send().await;
    assert!(error.unwrap_err().into_service_error().is_queue_does_not_exist());
    let error = client.get_queue_attributes().queue_url(&missing).send().await;
    assert!(error.unwrap_err().into_service_error().is_queue_does_not_exist());
    let error = client.get_queue_url().queue_name("not-there").send().await;
    assert!(error.unwrap_err().into_service_error().is_queue_does_not_exist());
    let error = client.purge_queue().queue_url(&missing).send().await;
    assert!(error.unwrap_err().into_service_error().is_queue_does_not_exist());
}

#[tokio::test]
async fn a_deleted_queue_is_missing_and_takes_its_messages_along() {
    let bench = Bench::start().await;
    let name = fresh_name();
    let make = || bench.client.create_queue().queue_name(&name).send();
    let queue = make().await.unwrap().queue_url.unwrap();
    bench.send(&queue, "x").await;
    bench.client.delete_queue().queue_url(&queue).send().await.unwrap();
    let error = bench.client.receive_message().queue_url(&queue).send().await;
    assert!(error.unwrap_err().into_service_error().is_queue_does_not_exist());
    // Amazon requires a minute in between; ours does not.
    if bench.clock.is_some() {
        make().await.unwrap();
        assert_eq!(bench.counts(&queue).await, [0, 0, 0]);
    }
}

#[tokio::test]
async fn a_poll_ends_when_its_queue_is_deleted() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    let poll = bench.client.receive_message().queue_url(&queue).wait_time_seconds(20).send();
    let poll = tokio::spawn(poll);
    clock.until_sleeping(1).await;
    bench.client.delete_queue().queue_url(&queue).send().await.unwrap();
    let error = poll.await.unwrap().unwrap_err().into_service_error();
    assert!(error.is_queue_does_not_exist(), "{error:?}");
}

#[tokio::test]
async fn a_queue_is_found_by_its_name() {
    let bench = Bench::start().await;
    let name = fresh_name();
    let made = bench.client.create_queue().queue_name(&name).send().await.unwrap();
    let found = bench.client.get_queue_url().queue_name(&name).send().await.unwrap();
    assert_eq!(found.queue_url(), made.queue_url());
}

#[tokio::test]
async fn a_queue_url_is_good_through_any_host() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let path = queue.split("//").nth(1).and_then(|rest| rest.split_once('/')).unwrap().1;
    bench.send(&format!("https://sqs.us-east-1.amazonaws.com/{path}"), "x").await;
    assert_eq!(bench.bodies(&queue).await, ["x"]);
}

#[tokio::test]
async fn queues_are_listed_by_prefix_and_page_by_page() {
    let bench = Bench::start().await;
    let prefix = fresh_name();
    for name in ["a", "b", "c"] {
        let name = format!("{prefix}-{name}");
        bench.client.create_queue().queue_name(name).send().await.unwrap();
    }
    let list = || bench.client.list_queues().queue_name_prefix(&prefix);
    assert_eq!(list().send().await.unwrap().queue_urls().len(), 3);
    let first = list().max_results(2).send().await.unwrap();
    assert_eq!(first.queue_urls().len(), 2);
    let token = first.next_token().unwrap();
    let rest = list().max_results(2).next_token(token).send().await.unwrap();
    assert_eq!(rest.queue_urls().len(), 1);
    assert_eq!(rest.next_token(), None);
}

#[tokio::test]
async fn attributes_set_are_attributes_read() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let visibility = QueueAttributeName::VisibilityTimeout;
    assert_eq!(bench.attribute(&queue, visibility.clone()).await, "30");
    assert_eq!(bench.attribute(&queue, QueueAttributeName::MaximumMessageSize).await, "1048576");
    assert_eq!(bench.attribute(&queue, QueueAttributeName::MessageRetentionPeriod).await, "345600");
    let set = |value: &str| {
        let request = bench.client.set_queue_attributes().queue_url(&queue);
        request.attributes(visibility.clone(), value).send()
    };
    set("120").await.unwrap();
    assert_eq!(bench.attribute(&queue, visibility.clone()).await, "120");
    assert_eq!(code(set("43201").await), "InvalidAttributeValue");
    assert_eq!(bench.attribute(&queue, visibility.clone()).await, "120");
}

#[tokio::test]
async fn a_change_of_attributes_is_dated() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    clock.advance(TimeDelta::seconds(60));
    let request = bench.client.set_queue_attributes().queue_url(&queue);
    request.attributes(QueueAttributeName::DelaySeconds, "1").send().await.unwrap();
    let noon = 1_767_268_800;
    let at = |name| bench.attribute(&queue, name);
    assert_eq!(at(QueueAttributeName::CreatedTimestamp).await, noon.to_string());
    assert_eq!(at(QueueAttributeName::LastModifiedTimestamp).await, (noon + 60).to_string());
}

#[tokio::test]
async fn an_unknown_attribute_is_refused() {
    let bench = Bench::start().await;
    let request = bench.client.create_queue().queue_name(fresh_name());
    let outcome = request.attributes(QueueAttributeName::from("Colour"), "blue").send().await;
    assert_eq!(code(outcome), "InvalidAttributeName");
}

#[tokio::test]
async fn a_purge_empties_the_queue() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "seen").await;
    bench.receive_one(&queue).await;
    bench.send(&queue, "unseen").await;
    bench.send_delayed(&queue, "later", 600).await;
    bench.client.purge_queue().queue_url(&queue).send().await.unwrap();
    assert_eq!(bench.counts(&queue).await, [0, 0, 0]);
}

#[tokio::test]
async fn tags_set_are_tags_read() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let client = &bench.client;
    let request = client.tag_queue().queue_url(&queue).tags("owner", "belfry");
    request.tags("colour", "blue").send().await.unwrap();
    client.untag_queue().queue_url(&queue).tag_keys("colour").send().await.unwrap();
    let tags = client.list_queue_tags().queue_url(&queue).send().await.unwrap().tags.unwrap();
    assert_eq!(tags.into_iter().collect::<Vec<_>>(), [("owner".into(), "belfry".into())]);
}

#[tokio::test]
async fn a_fifo_queue_is_refused_in_clear_words() {
    let Some((bench, _)) = Bench::start_with_clock().await else { return };
    let request = bench.client.create_queue().queue_name("order.fifo");
    let error = request.send().await.unwrap_err().into_service_error();
    assert!(error.is_unsupported_operation(), "{error:?}");
    assert!(error.meta().message().is_some_and(|words| words.contains("standard queues only")));
}

#[tokio::test]
async fn a_name_aws_would_not_take_is_refused() {
    let bench = Bench::start().await;
    for name in ["with space", "dotted.name", &"x".repeat(81)] {
        let outcome = bench.client.create_queue().queue_name(name).send().await;
        assert_eq!(code(outcome), "InvalidParameterValue", "{name}");
    }
}
