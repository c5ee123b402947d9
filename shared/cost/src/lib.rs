//! What a deployment costs and what it can carry, reckoned from counted units and published prices.

pub mod capacity;
pub mod cost;
pub mod prices;
pub mod units;
