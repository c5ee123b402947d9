//! An embedded SQS for one machine: standard queues, durable in SQLite, on a clock that tests can
//! move.
//!
//! It speaks AWS JSON 1.0, so the real `aws-sdk-sqs` client is its only intended caller; production
//! uses Amazon SQS. It is stricter than Amazon in three ways: a delayed message is receivable at
//! exactly its instant and not before, a message is delivered twice only after its visibility
//! timeout ended, and message groups take turns whenever there is a backlog (a fair queue).
//!
//! Not implemented: FIFO queues, permissions and encryption (their attributes are stored without
//! effect), the limit of 120,000 messages in flight, and the minute Amazon requires between two
//! purges or before a deleted queue's name is used again. Only one process at a time may use the
//! file.
//!
//! [`Sqs::handle`] answers one call and is independent of the transport; [`serve`] serves it over
//! HTTP.
//!
//! ```
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! use belfry_sqs::Sqs;
//! use belfry_time::ManualTime;
//!
//! let sqs = Sqs::memory(ManualTime::at("2026-01-01T00:00:00Z".parse().unwrap())).unwrap();
//! let reply = sqs.handle("CreateQueue", br#"{"QueueName":"runs"}"#, "http://127.0.0.1:9324").await;
//! assert_eq!(reply.body, br#"{"QueueUrl":"http://127.0.0.1:9324/000000000000/runs"}"#);
//! # });
//! ```

mod batch;
mod content;
mod fair;
mod messages;
mod moves;
mod queues;
mod receipt;
mod receive;
mod refusal;
mod send;
mod serve;
mod settings;
mod settle;
mod sqs;
mod store;
mod wakes;

pub use serve::serve;
pub use sqs::{Reply, Sqs};
pub use store::OpenError;
