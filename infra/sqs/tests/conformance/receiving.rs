//! Probes of receiving: when a message is delivered, how often, and with which attributes.

use aws_sdk_sqs::types::{MessageSystemAttributeName, QueueAttributeName};
use belfry_time::Time;
use chrono::TimeDelta;

use crate::bench::{Bench, code, told};

#[tokio::test]
async fn a_queue_drains_to_the_last_message() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    for n in 0..25 {
        bench.send(&queue, &n.to_string()).await;
    }
    let mut seen = Vec::new();
    loop {
        let messages = bench.receive(&queue).await;
        if messages.is_empty() {
            break;
        }
        for message in messages {
            bench.delete(&queue, &message).await;
            seen.push(message.body.unwrap().parse::<u32>().unwrap());
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..25).collect::<Vec<_>>());
    assert_eq!(bench.counts(&queue).await, [0, 0, 0]);
}

#[tokio::test]
async fn messages_come_in_the_order_they_were_sent() {
    let Some((bench, _)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    for body in ["a", "b", "c"] {
        bench.send(&queue, body).await;
    }
    assert_eq!(bench.bodies(&queue).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn counts_tell_visible_in_flight_and_delayed_apart() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    for body in ["a", "b", "c"] {
        bench.send(&queue, body).await;
    }
    bench.send_delayed(&queue, "later", 600).await;
    assert_eq!(bench.counts(&queue).await, [3, 0, 1]);
    let request = bench.client.receive_message().queue_url(&queue);
    request.max_number_of_messages(1).send().await.unwrap();
    assert_eq!(bench.counts(&queue).await, [2, 1, 1]);
}

#[tokio::test]
async fn a_delayed_message_is_receivable_at_its_instant_and_not_before() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    bench.send_delayed(&queue, "late", 900).await;
    clock.advance(TimeDelta::seconds(900) - TimeDelta::milliseconds(1));
    assert!(bench.receive(&queue).await.is_empty());
    clock.advance(TimeDelta::milliseconds(1));
    assert_eq!(bench.bodies(&queue).await, ["late"]);
}

#[tokio::test]
async fn a_delayed_message_is_withheld_for_its_delay() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send_delayed(&queue, "late", 2).await;
    assert!(bench.receive(&queue).await.is_empty());
    bench.pass(TimeDelta::milliseconds(2100)).await;
    assert_eq!(bench.bodies(&queue).await, ["late"]);
}

#[tokio::test]
async fn a_queues_delay_holds_for_messages_that_name_none() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::DelaySeconds, "2")]).await;
    bench.send(&queue, "as the queue says").await;
    bench.send_delayed(&queue, "at once", 0).await;
    assert_eq!(bench.bodies(&queue).await, ["at once"]);
    bench.pass(TimeDelta::milliseconds(2100)).await;
    assert_eq!(bench.bodies(&queue).await, ["as the queue says"]);
}

#[tokio::test]
async fn a_message_not_deleted_in_time_comes_back_and_counts_its_receptions() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::VisibilityTimeout, "1")]).await;
    bench.send(&queue, "again").await;
    let first = bench.receive_one(&queue).await;
    assert_eq!(told(&first, &MessageSystemAttributeName::ApproximateReceiveCount), Some("1"));
    assert!(bench.receive(&queue).await.is_empty());

    bench.pass(TimeDelta::milliseconds(1100)).await;
    let second = bench.receive_one(&queue).await;
    assert_eq!(told(&second, &MessageSystemAttributeName::ApproximateReceiveCount), Some("2"));
    assert_eq!(second.message_id(), first.message_id());
    assert_ne!(second.receipt_handle(), first.receipt_handle());
    let when = MessageSystemAttributeName::ApproximateFirstReceiveTimestamp;
    assert_eq!(told(&second, &when), told(&first, &when));
}

#[tokio::test]
async fn a_receiver_may_choose_its_own_visibility() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "x").await;
    let request = bench.client.receive_message().queue_url(&queue).visibility_timeout(7);
    assert_eq!(request.send().await.unwrap().messages().len(), 1);
    clock.advance(TimeDelta::milliseconds(6_999));
    assert!(bench.receive(&queue).await.is_empty());
    clock.advance(TimeDelta::milliseconds(1));
    assert_eq!(bench.bodies(&queue).await, ["x"]);
}

#[tokio::test]
async fn the_instants_told_are_those_of_the_clock() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "x").await;
    clock.advance(TimeDelta::milliseconds(1_234));
    let message = bench.receive_one(&queue).await;
    let at = |name| told(&message, &name).unwrap().parse::<i64>().unwrap();
    let noon = 1_767_268_800_000;
    assert_eq!(at(MessageSystemAttributeName::SentTimestamp), noon);
    assert_eq!(at(MessageSystemAttributeName::ApproximateFirstReceiveTimestamp), noon + 1_234);
    assert!(told(&message, &MessageSystemAttributeName::SenderId).is_some());
}

#[tokio::test]
async fn a_message_received_too_often_goes_to_the_dead_letters_as_it_is() {
    let bench = Bench::start().await;
    let (queue, dead) = bench.queue_with_dead_letters(2).await;
    bench.send(&queue, "poison").await;
    let sent = bench.receive_one(&queue).await;
    bench.pass(TimeDelta::milliseconds(1100)).await;
    bench.receive_one(&queue).await;
    bench.pass(TimeDelta::milliseconds(1100)).await;
    assert!(bench.receive(&queue).await.is_empty());
    assert_eq!(bench.counts(&queue).await, [0, 0, 0]);

    let buried = bench.receive_one(&dead).await;
    assert_eq!(buried.body(), Some("poison"));
    assert_eq!(buried.message_id(), sent.message_id());
    let when = MessageSystemAttributeName::SentTimestamp;
    assert_eq!(told(&buried, &when), told(&sent, &when));
    let source = bench.attribute(&queue, QueueAttributeName::QueueArn).await;
    assert_eq!(
        told(&buried, &MessageSystemAttributeName::DeadLetterQueueSourceArn),
        Some(source.as_str())
    );
}

#[tokio::test]
async fn a_long_poll_wakes_at_once_for_a_message_sent() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let poll = bench.client.receive_message().queue_url(&queue).wait_time_seconds(20).send();
    let poll = tokio::spawn(poll);
    bench.until_polling().await;
    // The clock stands still, so any answer came at once.
    bench.send(&queue, "here").await;
    let received = poll.await.unwrap().unwrap();
    assert_eq!(received.messages()[0].body(), Some("here"));
}

#[tokio::test]
async fn a_long_poll_returns_empty_when_its_time_is_up() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let poll = bench.client.receive_message().queue_url(&queue).wait_time_seconds(1).send();
    let poll = tokio::spawn(poll);
    bench.until_polling().await;
    bench.pass(TimeDelta::seconds(1)).await;
    assert!(poll.await.unwrap().unwrap().messages().is_empty());
}

#[tokio::test]
async fn a_long_poll_wakes_the_instant_a_delay_ends() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    bench.send_delayed(&queue, "soon", 5).await;
    let due_at = clock.now() + TimeDelta::seconds(5);
    let poll = bench.client.receive_message().queue_url(&queue).wait_time_seconds(20).send();
    let poll = tokio::spawn(poll);
    clock.until_sleeping(1).await;
    // The poll sleeps until the message's instant: neither through its whole wait time nor at
    // intervals.
    assert_eq!(clock.next_wake(), Some(due_at));
    clock.set(due_at);
    let received = poll.await.unwrap().unwrap();
    assert_eq!(received.messages()[0].body(), Some("soon"));
}

#[tokio::test]
async fn a_long_poll_wakes_when_another_receiver_gives_its_message_back() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "returned").await;
    let held = bench.receive_one(&queue).await;
    let poll = bench.client.receive_message().queue_url(&queue).wait_time_seconds(20).send();
    let poll = tokio::spawn(poll);
    bench.until_polling().await;
    let request = bench.client.change_message_visibility().queue_url(&queue);
    let request = request.receipt_handle(held.receipt_handle().unwrap());
    request.visibility_timeout(0).send().await.unwrap();
    assert_eq!(poll.await.unwrap().unwrap().messages()[0].body(), Some("returned"));
}

#[tokio::test]
async fn a_poll_of_the_dead_letters_wakes_when_a_message_is_given_up() {
    let bench = Bench::start().await;
    let (queue, dead) = bench.queue_with_dead_letters(1).await;
    bench.send(&queue, "poison").await;
    bench.receive_one(&queue).await;
    let poll = bench.client.receive_message().queue_url(&dead).wait_time_seconds(20).send();
    let poll = tokio::spawn(poll);
    bench.until_polling().await;
    bench.pass(TimeDelta::milliseconds(1100)).await;
    assert!(bench.receive(&queue).await.is_empty());
    assert_eq!(poll.await.unwrap().unwrap().messages()[0].body(), Some("poison"));
}

#[tokio::test]
async fn a_queues_own_wait_holds_for_polls_that_name_none() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::ReceiveMessageWaitTimeSeconds, "20")]).await;
    let poll = tokio::spawn(bench.client.receive_message().queue_url(&queue).send());
    bench.until_polling().await;
    bench.send(&queue, "here").await;
    assert_eq!(poll.await.unwrap().unwrap().messages().len(), 1);
}

#[tokio::test]
async fn a_message_past_its_retention_is_dropped() {
    let Some((bench, clock)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[(QueueAttributeName::MessageRetentionPeriod, "60")]).await;
    for n in 0..15 {
        bench.send(&queue, &format!("old {n}")).await;
    }
    clock.advance(TimeDelta::seconds(30));
    bench.send(&queue, "young").await;
    clock.advance(TimeDelta::seconds(30));
    // Behind more expired messages than a single look reads.
    assert_eq!(bench.bodies(&queue).await, ["young"]);
    assert_eq!(bench.counts(&queue).await, [0, 1, 0]);
}

#[tokio::test]
async fn only_what_is_asked_for_is_told() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send(&queue, "x").await;
    let request = bench.client.receive_message().queue_url(&queue).visibility_timeout(0);
    let plain = request.send().await.unwrap();
    assert!(plain.messages()[0].attributes().is_none_or(|all| all.is_empty()));

    let request = bench.client.receive_message().queue_url(&queue);
    let request =
        request.message_system_attribute_names(MessageSystemAttributeName::ApproximateReceiveCount);
    let counted = request.send().await.unwrap();
    let attributes = counted.messages()[0].attributes().unwrap();
    assert_eq!(attributes.len(), 1);
    assert_eq!(attributes[&MessageSystemAttributeName::ApproximateReceiveCount], "2");
}

#[tokio::test]
async fn a_receive_keeps_to_the_limits_of_aws() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let request = || bench.client.receive_message().queue_url(&queue);
    for outcome in [
        request().max_number_of_messages(0).send().await,
        request().max_number_of_messages(11).send().await,
        request().wait_time_seconds(21).send().await,
        request().visibility_timeout(43_201).send().await,
    ] {
        assert_eq!(code(outcome), "InvalidParameterValue");
    }
}

#[tokio::test]
async fn a_group_with_a_crowd_does_not_keep_the_others_waiting() {
    let Some((bench, _)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    let send = |group: Option<&'static str>, body: String| {
        let request = bench.client.send_message().queue_url(&queue).message_body(body);
        request.set_message_group_id(group.map(str::to_owned)).send()
    };
    for n in 0..200 {
        send(Some("crowd"), format!("crowd {n}")).await.unwrap();
    }
    for body in ["quiet 0", "quiet 1"] {
        send(Some("quiet"), body.to_owned()).await.unwrap();
    }
    send(None, "nobody's".to_owned()).await.unwrap();
    let first = bench.bodies(&queue).await;
    assert!(first.contains(&"quiet 0".to_owned()), "{first:?}");
    assert!(first.contains(&"nobody's".to_owned()), "{first:?}");
    assert!(first.contains(&"crowd 0".to_owned()), "{first:?}");
    assert_eq!(first.len(), 10, "the rest of a call goes to the crowded group");
    assert!(bench.bodies(&queue).await.contains(&"quiet 1".to_owned()));
    let mut seen = 20;
    while seen < 203 {
        let some = bench.bodies(&queue).await.len();
        assert!(some > 0, "{seen}");
        seen += some;
    }
    assert!(bench.bodies(&queue).await.is_empty());
}

#[tokio::test]
async fn many_groups_with_a_crowd_each_are_all_served() {
    let Some((bench, _)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    for n in 0..300 {
        let group = format!("g{}", n % 100);
        let request = bench.client.send_message().queue_url(&queue).message_body(&group);
        request.message_group_id(&group).send().await.unwrap();
    }
    let mut first = std::collections::BTreeSet::new();
    for _ in 0..10 {
        first.extend(bench.bodies(&queue).await);
    }
    assert_eq!(first.len(), 100, "every group's first message comes before any group's second");
}

#[tokio::test]
async fn a_receiver_of_single_messages_is_fair_too() {
    let Some((bench, _)) = Bench::start_with_clock().await else { return };
    let queue = bench.queue(&[]).await;
    for (group, body) in [("a", "a0"), ("a", "a1"), ("a", "a2"), ("b", "b0")] {
        let request = bench.client.send_message().queue_url(&queue).message_body(body);
        request.message_group_id(group).send().await.unwrap();
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        let request = bench.client.receive_message().queue_url(&queue);
        let answer = request.max_number_of_messages(1).send().await.unwrap();
        order.push(answer.messages()[0].body().unwrap().to_owned());
    }
    assert_eq!(order, ["a0", "b0", "a1", "a2"]);
}
