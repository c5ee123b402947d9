//! What Belfry decides, without touching anything.
//!
//! Nothing here knows AWS, reads a clock, an environment or a random number: every function takes
//! what it needs and answers with data. The engine acts on those answers.

pub mod access;
pub mod backfill;
pub mod capacity;
pub mod catchup;
pub mod change;
pub mod check;
pub mod cost;
pub mod definition;
pub mod diff;
pub mod expected;
pub mod fair;
pub mod feedback;
pub mod form;
pub mod handover;
pub mod id;
pub mod instant;
pub mod invalid;
pub mod jitter;
pub mod json_text;
pub mod launch;
pub mod ledger;
pub mod limits;
pub mod network;
pub mod overlap;
pub mod overview;
pub mod pace;
pub mod plan;
pub mod prices;
pub mod recovery;
pub mod resource;
pub mod run;
pub mod schedule;
pub mod set;
pub mod stats;
pub mod trace;
pub mod units;
pub mod view;
pub mod workflow;

pub use belfry_cron as cron;
