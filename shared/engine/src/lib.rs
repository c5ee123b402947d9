//! The engine does what Belfry does: the tick, the launcher, recovery and the API, on DynamoDB, SQS
//! and the targets.
//!
//! The core decides, and the engine acts. The time comes from `belfry_time::Time`, the settings
//! from [`settings::Settings`], and every AWS client from one `SdkConfig`, so that tests speak the
//! same protocols to embedded services.

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

/// Every program of Belfry uses this allocator: the SDKs allocate so often that libc's allocator
/// took a fifth of the time of a launch.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
