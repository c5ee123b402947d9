//! Time in a simulated life: tokio's paused clock, which jumps when all tasks sleep, read through a
//! machine's clock that may be wrong.

use belfry_time::{Sleep, Time};
use chrono::{DateTime, TimeDelta, Utc};

/// A machine's clock.
#[derive(Clone, Debug)]
pub(super) struct SimTime {
    origin: tokio::time::Instant,
    began_at: DateTime<Utc>,
    skew: TimeDelta,
}

impl SimTime {
    /// A correct clock that starts now.
    pub(super) fn starting(began_at: DateTime<Utc>) -> SimTime {
        SimTime { origin: tokio::time::Instant::now(), began_at, skew: TimeDelta::zero() }
    }

    /// The same time on a machine whose clock is wrong by this much.
    pub(super) fn wrong_by(&self, skew: TimeDelta) -> SimTime {
        SimTime { skew, ..self.clone() }
    }
}

impl Time for SimTime {
    fn now(&self) -> DateTime<Utc> {
        let passed = tokio::time::Instant::now() - self.origin;
        self.began_at + self.skew + TimeDelta::from_std(passed).unwrap_or_default()
    }

    fn sleep_until(&self, until: DateTime<Utc>) -> Sleep<'_> {
        let left = (until - self.now()).to_std().unwrap_or_default();
        Box::pin(tokio::time::sleep(left))
    }
}

/// Sleeps in simulated time.
pub(super) async fn pass(milliseconds: i64) {
    let milliseconds = u64::try_from(milliseconds).unwrap_or(0);
    tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
}
