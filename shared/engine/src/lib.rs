//! What Belfry does: the tick, the launcher and the API, on DynamoDB, SQS and the targets.
//!
//! The core decides, the engine acts. Time comes in through `belfry_time::Time`, settings through
//! [`settings::Settings`], and every AWS client from one `SdkConfig`, so that tests speak the same
//! protocols to embedded services.

pub mod api;
pub mod app;
pub mod cloud;
mod ending;
pub mod fault;
pub mod fires;
pub mod functions;
mod launcher;
pub mod log;
pub mod metrics;
mod recovery;
mod resource;
pub mod schedules;
pub mod settings;
pub mod tick;

/// For every program of Belfry's: the SDKs allocate a lot, a fifth of a launch went by in libc's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
