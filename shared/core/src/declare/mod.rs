//! Schedules that are declared as code: in sets, which come from files, and as resources of
//! CloudFormation stacks.

pub mod resource;
pub mod set;
