//! The whole of Belfry on one machine.
//!
//! Embedded DynamoDB and SQS stand behind the same SDK clients as in production, and the same
//! handlers are fed with the same events: the minute rule's, the queue's, the gateway's. What
//! differs from AWS is who calls them.

pub mod data;
pub mod dev;
pub mod functions;
pub mod gateway;
pub mod mapping;
pub mod processes;
pub mod rules;
pub mod services;
pub mod tokens;
