//! Schedules declared elsewhere: sets of files, and resources of CloudFormation stacks.

pub mod resource;
pub mod set;
