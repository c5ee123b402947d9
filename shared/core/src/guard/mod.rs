//! Guards: what a caller may do, how many schedules an owner may create, how fast Belfry calls a
//! service, and which addresses a target may have.

pub mod access;
pub mod network;
pub mod pace;
pub mod quota;
