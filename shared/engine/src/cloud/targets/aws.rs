//! Targets in AWS: SQS, Lambda, Step Functions and EventBridge.

use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::InvocationType;
use aws_sdk_sfn::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use futures::FutureExt;

use super::{Accepted, Refused};

/// What no retry makes better: the target does not exist, or is not ours to call.
const FINAL: [&str; 16] = [
    "AWS.SimpleQueueService.NonExistentQueue",
    "AccessDenied",
    "AccessDeniedException",
    "InvalidAddress",
    "InvalidArn",
    "InvalidExecutionInput",
    "InvalidMessageContents",
    "InvalidName",
    "InvalidParameterValueException",
    "InvalidRequestContentException",
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
        None => DisplayErrorContext(error).to_string(),
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
    body: String,
) -> Result<Accepted, Refused> {
    let attribute = aws_sdk_sqs::types::MessageAttributeValue::builder()
        .data_type("String")
        .string_value(key)
        .build()
        .map_err(|error| Refused::for_good(error.to_string()))?;
    let mut request = client
        .send_message()
        .queue_url(queue_url)
        .message_attributes("Idempotency-Key", attribute)
        .message_body(body);
    if queue_url.ends_with(".fifo") {
        request = request.message_deduplication_id(key).message_group_id(group);
    }
    let answer = request.send().boxed().await.map_err(|error| refused(&error))?;
    Ok(named(answer.message_id()))
}

/// Asynchronous: Lambda keeps the event and retries the function by itself.
pub(super) async fn invoke(
    client: &aws_sdk_lambda::Client,
    function: &str,
    body: String,
) -> Result<Accepted, Refused> {
    use aws_sdk_lambda::operation::RequestId;
    let answer = client
        .invoke()
        .function_name(function)
        .invocation_type(InvocationType::Event)
        .payload(Blob::new(body))
        .send()
        .boxed()
        .await
        .map_err(|error| refused(&error))?;
    Ok(named(answer.request_id()))
}

/// The execution is named by the key: one that exists already is this very run's.
pub(super) async fn start_execution(
    client: &aws_sdk_sfn::Client,
    state_machine_arn: &str,
    key: &str,
    body: String,
) -> Result<Accepted, Refused> {
    let started =
        client.start_execution().state_machine_arn(state_machine_arn).name(key).input(body);
    match started.send().boxed().await {
        Ok(answer) => Ok(named(Some(answer.execution_arn()))),
        Err(error) if error.as_service_error().is_some_and(|e| e.is_execution_already_exists()) => {
            Ok(named(Some(&execution_arn(state_machine_arn, key))))
        }
        Err(error) => Err(refused(&error)),
    }
}

fn execution_arn(state_machine_arn: &str, name: &str) -> String {
    format!("{}:{name}", state_machine_arn.replacen(":stateMachine:", ":execution:", 1))
}

pub(super) async fn put_event(
    client: &aws_sdk_eventbridge::Client,
    bus: &str,
    source: &str,
    detail_type: &str,
    body: String,
) -> Result<Accepted, Refused> {
    let entry = PutEventsRequestEntry::builder()
        .event_bus_name(bus)
        .source(source)
        .detail_type(detail_type)
        .detail(body)
        .build();
    let answer =
        client.put_events().entries(entry).send().boxed().await.map_err(|error| refused(&error))?;
    match answer.entries().first() {
        Some(entry) if entry.error_code().is_some() => Err(Refused::for_now(format!(
            "{}: {}",
            entry.error_code().unwrap_or_default(),
            entry.error_message().unwrap_or_default()
        ))),
        entry => Ok(named(entry.and_then(|entry| entry.event_id()))),
    }
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
