//! The cloud: calls AWS and decides nothing.

pub mod bus;
pub(crate) mod gather;
pub mod launch_queue;
pub mod message;
pub(crate) mod run_token;
pub(crate) mod signed;
pub mod store;
pub mod targets;
pub mod throttle;
pub mod tick_queue;
