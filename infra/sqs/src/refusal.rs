//! Refusals: the answers that are not a result, with the names and words Amazon SQS uses.

use std::fmt::Display;

use serde_json::json;

use crate::sqs::Reply;

/// Why a call, or one entry of a batch, was not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    kind: Kind,
    message: String,
}

/// The error shapes of the service model, and the common ones of every AWS service.
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
    /// The JSON protocol's shape, and the older query protocol's code. The SDK tells errors apart
    /// by the second, which travels in a header.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Kind::BatchEntryIdsNotDistinct => (
                "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
                "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
            ),
            Kind::BatchRequestTooLong => (
                "com.amazonaws.sqs#BatchRequestTooLong",
                "AWS.SimpleQueueService.BatchRequestTooLong",
            ),
            Kind::EmptyBatchRequest => {
                ("com.amazonaws.sqs#EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest")
            }
            Kind::InternalFailure => {
                ("com.amazon.coral.service#InternalFailure", "InternalFailure")
            }
            Kind::InvalidAction => {
                ("com.amazon.coral.service#UnknownOperationException", "InvalidAction")
            }
            Kind::InvalidAttributeName => {
                ("com.amazonaws.sqs#InvalidAttributeName", "InvalidAttributeName")
            }
            Kind::InvalidAttributeValue => {
                ("com.amazonaws.sqs#InvalidAttributeValue", "InvalidAttributeValue")
            }
            Kind::InvalidBatchEntryId => (
                "com.amazonaws.sqs#InvalidBatchEntryId",
                "AWS.SimpleQueueService.InvalidBatchEntryId",
            ),
            Kind::InvalidMessageContents => {
                ("com.amazonaws.sqs#InvalidMessageContents", "InvalidMessageContents")
            }
            Kind::InvalidParameterValue => {
                ("com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue")
            }
            Kind::MissingParameter => {
                ("com.amazon.coral.service#MissingRequiredParameterException", "MissingParameter")
            }
            Kind::QueueDoesNotExist => {
                ("com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue")
            }
            Kind::QueueNameExists => ("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists"),
            Kind::ReceiptHandleIsInvalid => {
                ("com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid")
            }
            Kind::ResourceNotFound => {
                ("com.amazonaws.sqs#ResourceNotFoundException", "ResourceNotFoundException")
            }
            Kind::Serialization => {
                ("com.amazon.coral.service#SerializationException", "MalformedInput")
            }
            Kind::TooManyEntriesInBatchRequest => (
                "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
                "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            ),
            Kind::UnsupportedOperation => (
                "com.amazonaws.sqs#UnsupportedOperation",
                "AWS.SimpleQueueService.UnsupportedOperation",
            ),
        }
    }
}

impl Refusal {
    /// A refusal of this kind, in these words.
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

    /// Whether the endpoint failed rather than the caller: such a failure is never one entry's own,
    /// so it undoes the whole call.
    pub(crate) fn is_fault(&self) -> bool {
        self.kind == Kind::InternalFailure
    }

    /// This refusal as the `Failed` entry of a batch.
    pub(crate) fn of_entry(&self, id: &str) -> serde_json::Value {
        json!({
            "Id": id,
            "Code": self.kind.names().1,
            "Message": self.message,
            "SenderFault": true,
        })
    }

    /// This refusal as the answer to a whole call.
    pub(crate) fn into_reply(self) -> Reply {
        let (shape, code) = self.kind.names();
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
