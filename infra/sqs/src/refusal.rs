//! Refusals: errors with Amazon SQS's names and messages.

use std::fmt::Display;

use serde_json::json;

use crate::sqs::Reply;

/// Why a call, or one entry of a batch, was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    kind: Kind,
    message: String,
}

/// The error shapes of the service model, and those common to all AWS services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    BatchEntryIdsNotDistinct,
    BatchRequestTooLong,
    EmptyBatchRequest,
    InternalFailure,
    InvalidAction,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidBatchEntryId,
    InvalidMessageContents,
    InvalidParameterValue,
    MissingParameter,
    QueueDoesNotExist,
    QueueNameExists,
    ReceiptHandleIsInvalid,
    ResourceNotFound,
    Serialization,
    TooManyEntriesInBatchRequest,
    UnsupportedOperation,
}

impl Kind {
    /// The error's shape in the JSON protocol.
    fn shape(self) -> &'static str {
        match self {
            Kind::BatchEntryIdsNotDistinct => "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
            Kind::BatchRequestTooLong => "com.amazonaws.sqs#BatchRequestTooLong",
            Kind::EmptyBatchRequest => "com.amazonaws.sqs#EmptyBatchRequest",
            Kind::InternalFailure => "com.amazon.coral.service#InternalFailure",
            Kind::InvalidAction => "com.amazon.coral.service#UnknownOperationException",
            Kind::InvalidAttributeName => "com.amazonaws.sqs#InvalidAttributeName",
            Kind::InvalidAttributeValue => "com.amazonaws.sqs#InvalidAttributeValue",
            Kind::InvalidBatchEntryId => "com.amazonaws.sqs#InvalidBatchEntryId",
            Kind::InvalidMessageContents => "com.amazonaws.sqs#InvalidMessageContents",
            Kind::InvalidParameterValue => {
                "com.amazon.coral.service#InvalidParameterValueException"
            }
            Kind::MissingParameter => "com.amazon.coral.service#MissingRequiredParameterException",
            Kind::QueueDoesNotExist => "com.amazonaws.sqs#QueueDoesNotExist",
            Kind::QueueNameExists => "com.amazonaws.sqs#QueueNameExists",
            Kind::ReceiptHandleIsInvalid => "com.amazonaws.sqs#ReceiptHandleIsInvalid",
            Kind::ResourceNotFound => "com.amazonaws.sqs#ResourceNotFoundException",
            Kind::Serialization => "com.amazon.coral.service#SerializationException",
            Kind::TooManyEntriesInBatchRequest => "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
            Kind::UnsupportedOperation => "com.amazonaws.sqs#UnsupportedOperation",
        }
    }

    /// The error's code in the older query protocol, sent in a header: the SDK tells errors apart
    /// by it.
    fn code(self) -> &'static str {
        match self {
            Kind::BatchEntryIdsNotDistinct => "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            Kind::BatchRequestTooLong => "AWS.SimpleQueueService.BatchRequestTooLong",
            Kind::EmptyBatchRequest => "AWS.SimpleQueueService.EmptyBatchRequest",
            Kind::InternalFailure => "InternalFailure",
            Kind::InvalidAction => "InvalidAction",
            Kind::InvalidAttributeName => "InvalidAttributeName",
            Kind::InvalidAttributeValue => "InvalidAttributeValue",
            Kind::InvalidBatchEntryId => "AWS.SimpleQueueService.InvalidBatchEntryId",
            Kind::InvalidMessageContents => "InvalidMessageContents",
            Kind::InvalidParameterValue => "InvalidParameterValue",
            Kind::MissingParameter => "MissingParameter",
            Kind::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue",
            Kind::QueueNameExists => "QueueAlreadyExists",
            Kind::ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid",
            Kind::ResourceNotFound => "ResourceNotFoundException",
            Kind::Serialization => "MalformedInput",
            Kind::TooManyEntriesInBatchRequest => {
                "AWS.SimpleQueueService.TooManyEntriesInBatchRequest"
            }
            Kind::UnsupportedOperation => "AWS.SimpleQueueService.UnsupportedOperation",
        }
    }
}

impl Refusal {
    /// A refusal of this kind with this message.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn queue_missing() -> Self {
        Self::new(Kind::QueueDoesNotExist, "The specified queue does not exist.")
    }

    pub(crate) fn parameter_missing(name: &str) -> Self {
        let message = format!("The request must contain the parameter {name}.");
        Self::new(Kind::MissingParameter, message)
    }

    pub(crate) fn parameter_invalid(name: &str, value: &dyn Display, reason: &str) -> Self {
        let message = format!("Value {value} for parameter {name} is invalid. Reason: {reason}");
        Self::new(Kind::InvalidParameterValue, message)
    }

    pub(crate) fn receipt_invalid(handle: &str) -> Self {
        let message =
            format!("The input receipt handle \"{handle}\" is not a valid receipt handle.");
        Self::new(Kind::ReceiptHandleIsInvalid, message)
    }

    /// Whether the endpoint failed rather than the caller: such a failure never belongs to one
    /// entry, so it rolls back the whole call.
    pub(crate) fn is_fault(&self) -> bool {
        self.kind == Kind::InternalFailure
    }

    /// This refusal as a `Failed` entry of a batch.
    pub(crate) fn of_entry(&self, id: &str) -> serde_json::Value {
        json!({
            "Id": id,
            "Code": self.kind.code(),
            "Message": self.message,
            "SenderFault": true,
        })
    }

    /// This refusal as the answer to a whole call.
    pub(crate) fn into_reply(self) -> Reply {
        let (shape, code) = (self.kind.shape(), self.kind.code());
        let (status, whose) = if self.is_fault() { (500, "Receiver") } else { (400, "Sender") };
        let body = json!({ "__type": shape, "message": self.message });
        let mut reply = Reply::json(status, &body);
        reply.headers.push(("x-amzn-query-error", format!("{code};{whose}")));
        reply
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::new(Kind::InternalFailure, format!("queue store: {error}"))
    }
}
