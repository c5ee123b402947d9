//! The protocol itself, without a client in between: any input gets an answer.

use belfry_sqs::{Reply, Sqs};
use belfry_time::ManualTime;
use serde_json::{Value, json};

const ACTIONS: [&str; 20] = [
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
    "CreateQueue",
    "DeleteMessage",
    "DeleteMessageBatch",
    "DeleteQueue",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "ListMessageMoveTasks",
    "ListQueueTags",
    "ListQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
    "SendMessageBatch",
    "SetQueueAttributes",
    "StartMessageMoveTask",
    "TagQueue",
    "UntagQueue",
];

const ENDPOINT: &str = "http://localhost:1";

fn sqs() -> Sqs {
    Sqs::memory(ManualTime::at("2026-01-01T12:00:00Z".parse().unwrap())).unwrap()
}

async fn ask(sqs: &Sqs, action: &str, request: &Value) -> Reply {
    sqs.handle(action, request.to_string().as_bytes(), ENDPOINT).await
}

fn shape(reply: &Reply) -> String {
    let body: Value = serde_json::from_slice(&reply.body).unwrap();
    body["__type"].as_str().unwrap_or_default().rsplit('#').next().unwrap().to_owned()
}

fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    reply.headers.iter().find(|(of, _)| *of == name).map(|(_, value)| value.as_str())
}

#[tokio::test]
async fn a_refusal_has_a_shape_a_code_and_a_status() {
    let reply = ask(&sqs(), "GetQueueUrl", &json!({ "QueueName": "none" })).await;
    assert_eq!(reply.status, 400);
    assert_eq!(header(&reply, "content-type"), Some("application/x-amz-json-1.0"));
    assert_eq!(
        header(&reply, "x-amzn-query-error"),
        Some("AWS.SimpleQueueService.NonExistentQueue;Sender")
    );
    assert!(header(&reply, "x-amzn-requestid").is_some());
    let body: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(
        body,
        json!({
            "__type": "com.amazonaws.sqs#QueueDoesNotExist",
            "message": "The specified queue does not exist.",
        })
    );
}

#[tokio::test]
async fn what_is_no_json_of_the_right_shape_is_refused() {
    let sqs = sqs();
    let garbage: [&[u8]; 7] = [b"{", b"[]", b"7", b"\xff\xfe", b"null", b"\"x\"", b"{}{}"];
    for action in ACTIONS {
        for body in garbage {
            let reply = sqs.handle(action, body, ENDPOINT).await;
            assert_eq!((reply.status, shape(&reply).as_str()), (400, "SerializationException"));
        }
    }
}

#[tokio::test]
async fn an_unknown_action_is_refused() {
    for action in ["", "Frobnicate", "sendmessage"] {
        let reply = ask(&sqs(), action, &json!({})).await;
        assert_eq!((reply.status, shape(&reply).as_str()), (400, "UnknownOperationException"));
    }
}

#[tokio::test]
async fn every_action_answers_extreme_values() {
    let sqs = sqs();
    ask(&sqs, "CreateQueue", &json!({ "QueueName": "q" })).await;
    let numbers = [json!(i64::MIN), json!(-1), json!(i64::MAX), json!(u64::MAX), json!(1.5)];
    for action in ACTIONS.into_iter().filter(|action| *action != "DeleteQueue") {
        for number in &numbers {
            let request = json!({
                "QueueUrl": "q",
                "QueueName": "",
                "MessageBody": "x",
                "DelaySeconds": number,
                "MaxNumberOfMessages": number,
                "VisibilityTimeout": number,
                "WaitTimeSeconds": number,
                "MaxResults": number,
                "MaxNumberOfMessagesPerSecond": number,
                "ReceiptHandle": "é",
                "SourceArn": "arn:aws:sqs:::",
                "NextToken": "é",
            });
            let reply = ask(&sqs, action, &request).await;
            assert!([200, 400].contains(&reply.status), "{action}: {reply:?}");
        }
    }
}

#[tokio::test]
async fn arns_are_of_the_region_that_was_chosen() {
    let sqs = sqs().in_region("eu-central-1");
    ask(&sqs, "CreateQueue", &json!({ "QueueName": "q" })).await;
    let request = json!({ "QueueUrl": "q", "AttributeNames": ["QueueArn"] });
    let reply = ask(&sqs, "GetQueueAttributes", &request).await;
    let body: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(body["Attributes"]["QueueArn"], "arn:aws:sqs:eu-central-1:000000000000:q");
}
