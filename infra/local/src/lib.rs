//! The whole of Belfry on one machine.
//!
//! Embedded DynamoDB and SQS answer the same SDK clients as in production, and the same handlers
//! receive the same events: the minute rule's, the queue's, the gateway's. Only the callers of the
//! handlers differ from AWS.

pub mod data;
pub mod dev;
pub mod functions;
pub mod gateway;
pub mod mapping;
pub mod processes;
pub mod rules;
pub mod services;
pub mod tokens;
pub mod yaml;
