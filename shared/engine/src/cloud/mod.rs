//! The cloud: the calls of AWS and of targets. This room calls and decides nothing.

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
