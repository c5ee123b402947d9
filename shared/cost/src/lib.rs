//! What a deployment costs and how many fires it can handle, computed from measured units,
//! published prices and the limits of AWS.

pub mod capacity;
pub mod cost;
pub mod prices;
pub mod units;
