//! What Belfry relies on SQS for, asked of an endpoint through the real client.
//!
//! The expectations come from the AWS documentation, not from our implementation. So that we do not
//! grade ourselves, the same probes run against any other endpoint:
//!
//! ```text
//! pip install ministack==1.5.33
//! BIND_HOST=127.0.0.1 GATEWAY_PORT=4566 ministack &
//! BELFRY_SQS_ENDPOINT=http://127.0.0.1:4566 cargo test -p belfry-sqs --test conformance
//! ```
//!
//! There, time really passes. A probe that needs a clock it can move is then not asked, and counts
//! as passed; so do those of our own store and protocol.

#![expect(clippy::unwrap_used, reason = "a probe that cannot go on has failed")]

mod bench;
mod durability;
mod moves;
mod protocol;
mod queues;
mod receiving;
mod sending;
mod serving;
mod settling;
