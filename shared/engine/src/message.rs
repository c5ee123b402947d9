//! The message that brings a fire to the launcher.

use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use serde::{Deserialize, Serialize};

/// It names the run; everything else is read by who brings it to its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Which run.
    pub run_id: RunId,
    /// The definition it was planned under.
    pub revision: u64,
    /// When it is meant to start.
    pub launch_at: Instant,
    /// Whether its schedule may be read before that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ahead: bool,
}

/// What recovery wants of a message that failed: the run it names, whatever else is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Named {
    /// Which run.
    pub run_id: RunId,
}
