//! Jitter: moves a fire away from its nominal time, by the same offset on every retry.

use chrono::Duration;
use sha2::{Digest, Sha256};

use crate::id::RunId;
use crate::instant::Instant;

/// The instant at which a fire starts: at most `jitter_ms` before or after its nominal time. A fire
/// that is not late yet never starts before `now`. A fire always starts before `next`, so that
/// fires keep their order. The offset depends only on the fire, so a repeated plan gives the same
/// instant.
pub fn launch_at(id: &RunId, jitter_ms: u32, next: Option<Instant>, now: Instant) -> Instant {
    if jitter_ms == 0 {
        return id.run_at;
    }
    let digest = Sha256::digest(id.to_string());
    let dice = u64::from_be_bytes([
        digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
    ]);
    let jitter_ms = i64::from(jitter_ms);
    let offset = (dice % (2 * jitter_ms as u64 + 1)) as i64 - jitter_ms;
    let wanted = id.run_at + Duration::milliseconds(offset);
    let latest = next.map_or(wanted, |next| next - Duration::milliseconds(1));
    wanted.min(latest).max(now.min(id.run_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn jitter_stays_in_its_bounds(second in 0i64..100_000, jitter in 1u32..600_000, gap in 1i64..4000, early in 0i64..700) {
            let run_at = chrono::DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap();
            let id = RunId::scheduled(&"nightly".parse().unwrap(), run_at);
            let next = run_at + Duration::seconds(gap);
            let now = run_at - Duration::seconds(early);
            let at = launch_at(&id, jitter, Some(next), now);
            prop_assert!(at >= now);
            prop_assert!(at < next);
            prop_assert!((at - run_at).num_milliseconds().abs() <= i64::from(jitter));
            prop_assert_eq!(at, launch_at(&id, jitter, Some(next), now));
        }
    }
}
