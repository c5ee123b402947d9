//! What Belfry relies on SQS for, tested against an endpoint through the real client.
//!
//! The expectations come from the AWS documentation, not from our implementation. The same probes
//! can run against any other endpoint, so that we do not only grade ourselves:
//!
//! ```text
//! pip install ministack==1.5.33
//! BIND_HOST=127.0.0.1 GATEWAY_PORT=4566 ministack &
//! BELFRY_SQS_ENDPOINT=http://127.0.0.1:4566 cargo test -p belfry-sqs --test conformance
//! ```
//!
//! Time really passes there. A probe that needs a movable clock is then skipped and counts as
//! passed; so do the probes of our own store and protocol.

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
