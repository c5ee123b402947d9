//! Probes of sending: what is accepted, what is refused, and with which code.

use aws_sdk_sqs::error::SdkError;
use aws_sdk_sqs::operation::send_message::SendMessageError;
use aws_sdk_sqs::operation::send_message_batch::{SendMessageBatchError, SendMessageBatchOutput};
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    MessageAttributeValue, MessageSystemAttributeName, QueueAttributeName,
    SendMessageBatchRequestEntry,
};

use crate::bench::{Bench, code, told};

const MEBIBYTE: usize = 1 << 20;

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    SendMessageBatchRequestEntry::builder().id(id).message_body(body).build().unwrap()
}

async fn send_batch(
    bench: &Bench,
    queue: &str,
    entries: Vec<SendMessageBatchRequestEntry>,
) -> Result<SendMessageBatchOutput, SdkError<SendMessageBatchError>> {
    bench.client.send_message_batch().queue_url(queue).set_entries(Some(entries)).send().await
}

fn entries(count: usize) -> Vec<SendMessageBatchRequestEntry> {
    (0..count).map(|n| entry(&format!("e{n}"), &format!("body {n}"))).collect()
}

#[tokio::test]
async fn a_batch_of_ten_is_taken_with_the_digest_of_each_body() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let sent = send_batch(&bench, &queue, entries(10)).await.unwrap();
    assert!(sent.failed().is_empty());
    assert_eq!(sent.successful().len(), 10);
    for (n, result) in sent.successful().iter().enumerate() {
        assert_eq!(result.id(), format!("e{n}"));
        assert_eq!(
            result.md5_of_message_body(),
            format!("{:x}", md5::compute(format!("body {n}")))
        );
    }
}

#[tokio::test]
async fn a_batch_keeps_to_ten_entries_with_ids_that_differ() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let refused = async |entries| send_batch(&bench, &queue, entries).await.unwrap_err();

    let error = refused(entries(11)).await.into_service_error();
    assert!(error.is_too_many_entries_in_batch_request(), "{error:?}");

    let error = refused(vec![entry("a", "x"), entry("a", "y")]).await.into_service_error();
    assert!(error.is_batch_entry_ids_not_distinct(), "{error:?}");

    let error = refused(vec![entry("a b", "x")]).await.into_service_error();
    assert!(error.is_invalid_batch_entry_id(), "{error:?}");

    let error = refused(Vec::new()).await.into_service_error();
    assert!(error.is_empty_batch_request(), "{error:?}");

    assert_eq!(bench.counts(&queue).await, [0, 0, 0]);
}

#[tokio::test]
async fn a_batch_has_one_mebibyte_together() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let half = "x".repeat(MEBIBYTE / 2);
    let fits = vec![entry("a", &half), entry("b", &half)];
    assert_eq!(send_batch(&bench, &queue, fits).await.unwrap().successful().len(), 2);

    let over = vec![entry("a", &half), entry("b", &half), entry("c", "x")];
    let error = send_batch(&bench, &queue, over).await.unwrap_err().into_service_error();
    assert!(error.is_batch_request_too_long(), "{error:?}");

    // A request several times too long is still answered, not dropped.
    let full = "x".repeat(MEBIBYTE);
    let over = (0..4).map(|n| entry(&format!("e{n}"), &full)).collect();
    let error = send_batch(&bench, &queue, over).await.unwrap_err().into_service_error();
    assert!(error.is_batch_request_too_long(), "{error:?}");
}

#[tokio::test]
async fn one_bad_entry_fails_alone() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let batch = vec![entry("good", "x"), entry("bad", "\u{1}"), entry("fine", "y")];
    let sent = send_batch(&bench, &queue, batch).await.unwrap();
    let ids: Vec<&str> = sent.successful().iter().map(|result| result.id()).collect();
    assert_eq!(ids, ["good", "fine"]);
    let [failed] = sent.failed() else { panic!("one failure expected: {:?}", sent.failed()) };
    assert_eq!((failed.id(), failed.code()), ("bad", "InvalidMessageContents"));
    assert!(failed.sender_fault());
}

#[tokio::test]
async fn one_entry_of_a_batch_with_an_impossible_delay_fails_alone() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let late = SendMessageBatchRequestEntry::builder().id("late").message_body("x");
    let batch = vec![entry("good", "x"), late.delay_seconds(901).build().unwrap()];
    let sent = send_batch(&bench, &queue, batch).await.unwrap();
    assert_eq!(sent.successful().len(), 1);
    assert_eq!(sent.failed()[0].code(), "InvalidParameterValue");
}

#[tokio::test]
async fn characters_outside_the_allowed_set_are_refused() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    for body in ["\u{0}", "bell \u{7}", "\u{FFFF}"] {
        let request = bench.client.send_message().queue_url(&queue).message_body(body);
        let error = request.send().await.unwrap_err().into_service_error();
        assert!(matches!(error, SendMessageError::InvalidMessageContents(_)), "{error:?}");
    }
    bench.send(&queue, "tab\tnewline\nétoile ☃ 𝄞").await;
    assert_eq!(bench.bodies(&queue).await, ["tab\tnewline\nétoile ☃ 𝄞"]);
}

#[tokio::test]
async fn a_message_may_have_600_kilobytes() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let body = "x".repeat(600 * 1024);
    bench.send(&queue, &body).await;
    assert_eq!(bench.bodies(&queue).await, [body]);
}

#[tokio::test]
async fn a_message_of_more_than_a_mebibyte_is_refused() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    bench.send(&queue, &"x".repeat(MEBIBYTE)).await;
    for length in [MEBIBYTE + 1, 3 * MEBIBYTE] {
        let request = bench.client.send_message().queue_url(&queue);
        let outcome = request.message_body("x".repeat(length)).send().await;
        assert_eq!(code(outcome), "InvalidParameterValue");
    }
}

#[tokio::test]
async fn a_queue_may_allow_less_than_aws_does() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[(QueueAttributeName::MaximumMessageSize, "1024")]).await;
    bench.send(&queue, &"x".repeat(1024)).await;
    let request = bench.client.send_message().queue_url(&queue);
    let outcome = request.message_body("x".repeat(1025)).send().await;
    assert_eq!(code(outcome), "InvalidParameterValue");
}

#[tokio::test]
async fn attributes_travel_with_the_message_and_are_digested() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let text = MessageAttributeValue::builder().data_type("String").string_value("hi");
    let binary =
        MessageAttributeValue::builder().data_type("Binary").binary_value(Blob::new([255]));
    let request = bench.client.send_message().queue_url(&queue).message_body("x");
    let request = request.message_attributes("b", binary.build().unwrap());
    let sent = request.message_attributes("a", text.build().unwrap()).send().await.unwrap();

    // Length, name, length, type, kind of value, length, value; in the order of names.
    let spelled =
        b"\0\0\0\x01a\0\0\0\x06String\x01\0\0\0\x02hi\0\0\0\x01b\0\0\0\x06Binary\x02\0\0\0\x01\xff";
    let digest = format!("{:x}", md5::compute(spelled));
    assert_eq!(sent.md5_of_message_attributes(), Some(digest.as_str()));

    let message = bench.receive_one(&queue).await;
    assert_eq!(message.md5_of_message_attributes(), Some(digest.as_str()));
    let attributes = message.message_attributes().unwrap();
    assert_eq!(attributes["a"].string_value(), Some("hi"));
    assert_eq!(attributes["b"].binary_value(), Some(&Blob::new([255])));
}

#[tokio::test]
async fn a_standard_queue_takes_message_group_ids() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let request = bench.client.send_message().queue_url(&queue).message_body("x");
    request.message_group_id("tenant-7").send().await.unwrap();
    let message = bench.receive_one(&queue).await;
    assert_eq!(told(&message, &MessageSystemAttributeName::MessageGroupId), Some("tenant-7"));
}

#[tokio::test]
async fn a_standard_queue_refuses_deduplication_ids() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let request = bench.client.send_message().queue_url(&queue).message_body("x");
    let outcome = request.message_deduplication_id("once").send().await;
    assert_eq!(code(outcome), "InvalidParameterValue");
}

#[tokio::test]
async fn every_message_has_an_id_of_its_own() {
    let bench = Bench::start().await;
    let queue = bench.queue(&[]).await;
    let sent = send_batch(&bench, &queue, entries(10)).await.unwrap();
    let mut sent: Vec<&str> = sent.successful().iter().map(|result| result.message_id()).collect();
    sent.sort_unstable();
    let distinct = sent.windows(2).all(|pair| pair[0] != pair[1]);
    assert!(distinct, "{sent:?}");
}
