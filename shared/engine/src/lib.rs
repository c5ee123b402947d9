//! What Belfry does: the tick, the launcher and the API, on DynamoDB, SQS and the targets.
//!
//! The core decides, the engine acts. Time comes in through `belfry_time::Time`, settings through
//! [`settings::Settings`], and every AWS client from one `SdkConfig`, so that tests speak the same
//! protocols to embedded services.

pub mod app;
mod backfill;
mod chain;
mod check;
pub mod deliver;
mod duties;
pub mod emit;
pub mod events;
mod failures;
pub mod fault;
mod feedback;
pub mod handlers;
pub mod handover;
pub mod http;
mod known;
mod launch;
pub mod log;
pub mod manage;
pub mod message;
pub mod metrics;
pub mod pace;
pub mod queue;
pub mod recover;
mod resource;
mod run_token;
pub mod settings;
pub mod store;
pub mod tables;
pub mod targets;
pub mod tick;
mod together;
mod turns;

/// For every program of Belfry's: the SDKs allocate a lot, a fifth of a launch went by in libc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
