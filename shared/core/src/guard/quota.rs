//! Quotas: how many schedules an owner may create, and how fast.
//!
//! The rate limit is a token bucket. It holds the tokens of one minute and refills evenly. The only
//! stored number is the time at which the bucket would be full again. Taking a token adds the time
//! that one token takes to refill. So a conditional update can take a token without reading the
//! record first.

use chrono::Duration;

use crate::instant::Instant;

/// The number of schedules that an owner may create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Schedules that an owner may create in a minute. After a minute without any, an owner may
    /// create as many at once.
    pub per_minute: u32,
    /// Schedules that an owner may have at the same time.
    pub schedules: u32,
}

/// The numbers that decide whether a token can be taken now, in microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The current time.
    pub now: i64,
    /// The time in which one token refills.
    pub step: i64,
    /// The bucket has a token if it would be full again at this time or earlier.
    pub latest: i64,
}

const MINUTE: i64 = 60_000_000;

impl Quota {
    /// The bucket of this quota at `now`.
    pub fn bucket(&self, now: Instant) -> Bucket {
        let (now, step) = (now.timestamp_micros(), MINUTE / i64::from(self.per_minute.max(1)));
        Bucket { now, step, latest: now + MINUTE - step }
    }
}

impl Bucket {
    /// The time until the bucket has a token, if it would be full again at `full_at`. `None` if it
    /// has a token now.
    pub fn wait(&self, full_at: i64) -> Option<Duration> {
        (full_at > self.latest).then(|| Duration::microseconds(full_at - self.latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes all tokens that the bucket has at `now`. Returns their number, and the time at which
    /// the bucket is full again.
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
            // A step is rounded down to microseconds, which may allow one token more.
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
