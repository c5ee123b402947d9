//! Targets in AWS: SQS, Lambda, Step Functions and EventBridge.

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use futures::FutureExt;
use serde_json::json;

use super::{Accepted, Refused, with_causes};
use crate::cloud::signed::{Call, Client, segment};

/// What no retry makes better: the target does not exist, or is not ours to call.
const FINAL: [&str; 19] = [
    "AWS.SimpleQueueService.NonExistentQueue",
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "InvalidAddress",
    "InvalidArn",
    "InvalidExecutionInput",
    "InvalidMessageContents",
    "InvalidName",
    "InvalidParameter",
    "InvalidParameterValueException",
    "InvalidRequestContentException",
    "NotFound",
    "QueueDoesNotExist",
    "RequestTooLargeException",
    "ResourceNotFoundException",
    "StateMachineDoesNotExist",
    "StateMachineTypeNotSupported",
    "ValidationException",
];

fn refused<E>(error: &SdkError<E>) -> Refused
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code);
    let text = match code {
        Some(code) => {
            let message = error.as_service_error().and_then(ProvideErrorMetadata::message);
            format!("{code}: {}", message.unwrap_or_default())
        }
        None => with_causes(error),
    };
    let is_final = code.is_some_and(|code| FINAL.contains(&code))
        || matches!(error, SdkError::ConstructionFailure(_));
    match error {
        _ if is_final => Refused::for_good(text),
        SdkError::ServiceError(_) => Refused::for_now(text),
        _ => Refused::unheard(text),
    }
}

fn named(id: Option<&str>) -> Accepted {
    Accepted { external_run_id: id.map(str::to_owned), ..Accepted::default() }
}

/// A FIFO queue deduplicates by the key; a standard queue carries it as an attribute.
pub(super) async fn send_message(
    client: &aws_sdk_sqs::Client,
    queue_url: &str,
    group: &str,
    key: &str,
    headers: &[(&'static str, String)],
    body: String,
) -> Result<Accepted, Refused> {
    let mut request = client.send_message().queue_url(queue_url).message_body(body);
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in headers.chain([("Idempotency-Key", key)]) {
        let attribute = aws_sdk_sqs::types::MessageAttributeValue::builder()
            .data_type("String")
            .string_value(value)
            .build()
            .map_err(|error| Refused::for_good(error.to_string()))?;
        request = request.message_attributes(name, attribute);
    }
    if queue_url.ends_with(".fifo") {
        request = request.message_deduplication_id(key).message_group_id(group);
    }
    let answer = request.send().boxed().await.map_err(|error| refused(&error))?;
    Ok(named(answer.message_id()))
}

/// Asynchronous: Lambda keeps the event and retries the function by itself.
pub(super) async fn invoke(
    client: &Client,
    function: &str,
    body: String,
) -> Result<Accepted, Refused> {
    let path = format!("/2015-03-31/functions/{}/invocations", segment(function));
    let call = Call::at(path, body).header("x-amz-invocation-type", "Event");
    let answer = client.call(call).await.map_err(|error| refused(&error))?;
    Ok(named(answer.request_id.as_deref()))
}

/// The execution is named by the key: one that exists already is this very run's.
pub(super) async fn start_execution(
    client: &Client,
    state_machine_arn: &str,
    key: &str,
    body: String,
) -> Result<Accepted, Refused> {
    let call = json!({"stateMachineArn": state_machine_arn, "name": key, "input": body});
    match client.call(Call::json(&call)).await {
        Ok(answer) => Ok(named(Some(answer.body["executionArn"].as_str().unwrap_or_default()))),
        Err(SdkError::ServiceError(error))
            if error.err().code() == Some("ExecutionAlreadyExists") =>
        {
            Ok(named(Some(&execution_arn(state_machine_arn, key))))
        }
        Err(error) => Err(refused(&error)),
    }
}

fn execution_arn(state_machine_arn: &str, name: &str) -> String {
    format!("{}:{name}", state_machine_arn.replacen(":stateMachine:", ":execution:", 1))
}

pub(super) async fn put_event(
    client: &Client,
    bus: &str,
    source: &str,
    detail_type: &str,
    body: String,
) -> Result<Accepted, Refused> {
    let entry = json!({
        "EventBusName": bus, "Source": source, "DetailType": detail_type, "Detail": body,
    });
    let call = Call::json(&json!({"Entries": [entry]}));
    let answer = client.call(call).await.map_err(|error| refused(&error))?;
    let entry = &answer.body["Entries"][0];
    match entry["ErrorCode"].as_str() {
        Some(code) => {
            let message = entry["ErrorMessage"].as_str().unwrap_or_default();
            Err(Refused::for_now(format!("{code}: {message}")))
        }
        None => Ok(named(entry["EventId"].as_str())),
    }
}

/// A FIFO topic deduplicates by the key; a standard topic carries it as an attribute.
pub(super) async fn publish(
    client: &Client,
    topic_arn: &str,
    group: &str,
    key: &str,
    subject: &str,
    body: &str,
) -> Result<Accepted, Refused> {
    let mut form = vec![
        ("Action", "Publish"),
        ("Version", "2010-03-31"),
        ("TopicArn", topic_arn),
        ("Subject", subject),
        ("Message", body),
        ("MessageAttributes.entry.1.Name", "Idempotency-Key"),
        ("MessageAttributes.entry.1.Value.DataType", "String"),
        ("MessageAttributes.entry.1.Value.StringValue", key),
    ];
    if topic_arn.ends_with(".fifo") {
        form.extend([("MessageDeduplicationId", key), ("MessageGroupId", group)]);
    }
    let answer = client.call(Call::form(&form)).await.map_err(|error| refused(&error))?;
    Ok(named(answer.request_id.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execution_that_exists_has_a_known_name() {
        assert_eq!(
            execution_arn("arn:aws:states:eu-west-1:1:stateMachine:report", "k"),
            "arn:aws:states:eu-west-1:1:execution:report:k"
        );
    }
}
