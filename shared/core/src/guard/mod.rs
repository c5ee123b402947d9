//! Guards: what a caller may do, how many schedules an owner may create, how fast Belfry calls a
//! service, and which addresses a target may have and which parts of Belfry it must not be.

pub mod access;
pub mod network;
pub mod own;
pub mod pace;
pub mod quota;
