//! The house: what a deployment decides where the user is silent, and what it does not allow.

use belfry_cron::Zone;

use crate::schedule::{Catchup, Overlap};

/// What a deployment decides for its schedules.
#[derive(Clone, Debug)]
pub struct House {
    /// Overlap policy of a schedule that names none.
    pub overlap_policy: Overlap,
    /// Catch-up policy of a schedule that names none.
    pub catchup_policy: Catchup,
    /// Jitter of a schedule that names none.
    pub jitter_ms: u32,
    /// How often a launch is tried before its run has failed.
    pub launch_attempts: u32,
    /// Seconds a tracked run may take if its schedule does not say.
    pub max_runtime_s: u32,
    /// The zones schedules may use; empty allows all.
    pub allowed_zones: Vec<String>,
}

impl Default for House {
    fn default() -> House {
        House {
            overlap_policy: Overlap::Skip,
            catchup_policy: Catchup::None,
            jitter_ms: 0,
            launch_attempts: 5,
            max_runtime_s: 86_400,
            allowed_zones: Vec::new(),
        }
    }
}

impl House {
    /// Whether schedules may use this zone.
    pub fn allows(&self, zone: &Zone) -> bool {
        let allowed = &self.allowed_zones;
        allowed.is_empty() || allowed.iter().any(|name| name == zone.name())
    }
}
