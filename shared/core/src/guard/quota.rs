//! Limits: how many schedules an owner may make, and how fast.
//!
//! The rate is a bucket of as many tokens as a minute has, refilled evenly. What is stored is one
//! number, the time at which the bucket would be full again: taking a token moves it by the time a
//! token takes to grow, so that no reader has to compute what it takes.

use chrono::Duration;

use crate::instant::Instant;

/// How much an owner may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Schedules made in a minute, and at once after a minute of none.
    pub per_minute: u32,
    /// Schedules at the same time.
    pub schedules: u32,
}

/// What taking a token at some moment depends on, in microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The moment.
    pub now: i64,
    /// A token grows in so long.
    pub step: i64,
    /// There is a token while the bucket would be full again no later than this.
    pub latest: i64,
}

const MINUTE: i64 = 60_000_000;

impl Quota {
    /// The bucket of this rate at `now`.
    pub fn bucket(&self, now: Instant) -> Bucket {
        let (now, step) = (now.timestamp_micros(), MINUTE / i64::from(self.per_minute.max(1)));
        Bucket { now, step, latest: now + MINUTE - step }
    }
}

impl Bucket {
    /// How long until there is a token, for a bucket that would be full again at `full_at`.
    pub fn wait(&self, full_at: i64) -> Option<Duration> {
        (full_at > self.latest).then(|| Duration::microseconds(full_at - self.latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens that can be taken at `now`, and when the bucket is full again afterwards.
    fn take_all(quota: Quota, mut full_at: i64, now: Instant) -> (u32, i64) {
        let bucket = quota.bucket(now);
        let mut taken = 0;
        while bucket.wait(full_at).is_none() {
            full_at = full_at.max(bucket.now) + bucket.step;
            taken += 1;
        }
        (taken, full_at)
    }

    #[test]
    fn a_bucket_holds_a_minutes_worth_and_refills_evenly() {
        let start: Instant = "2026-01-01T00:00:00Z".parse().unwrap();
        for per_minute in [1, 7, 10, 60, 999, 1_000_000] {
            let quota = Quota { per_minute, schedules: 1 };
            let (taken, full_at) = take_all(quota, 0, start);
            // A step is cut to microseconds, which may let one more in.
            assert!((per_minute..=per_minute + per_minute / 1000 + 1).contains(&taken), "{taken}");
            assert_eq!(take_all(quota, full_at, start).0, 0);
            let minute = start + Duration::minutes(1);
            assert!(take_all(quota, full_at, minute).0 >= per_minute);
        }
        let quota = Quota { per_minute: 10, schedules: 1 };
        let (taken, full_at) = take_all(quota, 0, start);
        assert_eq!(taken, 10);
        assert_eq!(quota.bucket(start).wait(full_at), Some(Duration::seconds(6)));
        assert_eq!(take_all(quota, full_at, start + Duration::seconds(6)).0, 1);
        assert_eq!(take_all(quota, full_at, start + Duration::seconds(13)).0, 2);
    }
}
