//! Guards: who may do what, how much of it, and where a target may lead.

pub mod access;
pub mod network;
pub mod pace;
pub mod quota;
