//! An embedded SQS for one machine: standard queues, durable in SQLite, on a clock you can move.
//!
//! It speaks AWS JSON 1.0, so the real `aws-sdk-sqs` client is its only intended caller; production
//! is Amazon SQS. What it keeps more strictly than Amazon does: a delayed message is receivable at
//! exactly its instant and not before, a message is delivered twice only when its visibility ran out,
//! and message groups take turns whenever there is a backlog (a fair queue).
//!
//! What it leaves out: FIFO queues, permissions and encryption (their attributes are kept without
//! effect), the limit of 120,000 messages in flight, and the minute Amazon asks for between two
//! purges, or before a deleted queue's name is used again. Its file is for one process at a time.
//!
//! [`Sqs::handle`] answers one call and knows no transport; [`serve`] puts it behind HTTP.
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
