//! The clock of the local system. All code reads the time and waits through one trait, so that a
//! test can move the time.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::watch;

/// A wait for an instant; see [`Time::sleep_until`].
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A clock: it returns the current time, and waits for a time.
pub trait Time: Send + Sync {
    /// The current time.
    fn now(&self) -> DateTime<Utc>;

    /// Resolves when the clock has reached `until`. The system clock sleeps, and a manual clock
    /// waits until a test moves it. An instant in the past resolves at once.
    fn sleep_until(&self, until: DateTime<Utc>) -> Sleep<'_>;
}

impl<C: Time + ?Sized> Time for Arc<C> {
    fn now(&self) -> DateTime<Utc> {
        (**self).now()
    }

    fn sleep_until(&self, until: DateTime<Utc>) -> Sleep<'_> {
        (**self).sleep_until(until)
    }
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTime;

/// How often a long sleep reads the wall clock again. A timer does not notice when the wall clock
/// is set or when a laptop sleeps.
const LONGEST_NAP: Duration = Duration::from_secs(1);

impl Time for SystemTime {
    #[expect(clippy::disallowed_methods, reason = "this is the edge at which time is read")]
    fn now(&self) -> DateTime<Utc> {
        std::time::SystemTime::now().into()
    }

    fn sleep_until(&self, until: DateTime<Utc>) -> Sleep<'_> {
        Box::pin(async move {
            while let Ok(left) = (until - self.now()).to_std() {
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LONGEST_NAP)).await;
            }
        })
    }
}

/// A clock that stands still until a test moves it. Clones share the same time.
///
/// ```
/// use belfry_time::{ManualTime, Time};
/// use chrono::TimeDelta;
///
/// let clock = ManualTime::at("2026-03-29T00:59:59Z".parse().unwrap());
/// clock.advance(TimeDelta::seconds(1));
/// assert_eq!(clock.now().to_rfc3339(), "2026-03-29T01:00:00+00:00");
/// ```
#[derive(Debug, Clone)]
pub struct ManualTime {
    dial: Arc<Dial>,
}

#[derive(Debug)]
struct Dial {
    now: watch::Sender<DateTime<Utc>>,
    sleepers: watch::Sender<BTreeSet<Sleeper>>,
    next_sleeper: AtomicU64,
}

/// A waiting call: the instant that it waits for, and a number that distinguishes it from others
/// with the same instant.
type Sleeper = (DateTime<Utc>, u64);

impl ManualTime {
    /// Creates a clock that shows `now`.
    pub fn at(now: DateTime<Utc>) -> Self {
        let dial = Dial {
            now: watch::Sender::new(now),
            sleepers: watch::Sender::new(BTreeSet::new()),
            next_sleeper: AtomicU64::new(0),
        };
        Self { dial: Arc::new(dial) }
    }

    /// Moves the clock to `now` and wakes every call that waits for that instant or an earlier one.
    pub fn set(&self, now: DateTime<Utc>) {
        self.dial.now.send_replace(now);
    }

    /// Moves the clock forward by `step`.
    pub fn advance(&self, step: TimeDelta) {
        self.dial.now.send_modify(|now| *now += step);
    }

    /// The earliest instant that a call waits for. A simulation may jump to it.
    pub fn next_wake(&self) -> Option<DateTime<Utc>> {
        self.dial.sleepers.borrow().first().map(|(until, _)| *until)
    }

    /// Resolves when at least `count` calls wait for this clock. A test that moves the time during
    /// a wait must know that the call is already waiting.
    pub async fn until_sleeping(&self, count: usize) {
        // `self` owns the sender, so the channel cannot close during this wait.
        let _ = self.dial.sleepers.subscribe().wait_for(|all| all.len() >= count).await;
    }
}

impl Time for ManualTime {
    fn now(&self) -> DateTime<Utc> {
        *self.dial.now.borrow()
    }

    fn sleep_until(&self, until: DateTime<Utc>) -> Sleep<'_> {
        Box::pin(async move {
            let mut moves = self.dial.now.subscribe();
            let _bed = Bed::take(&self.dial, until);
            let _ = moves.wait_for(|now| *now >= until).await;
        })
    }
}

/// The entry of a waiting call. It is removed when the wait ends or the call is dropped.
struct Bed<'a> {
    dial: &'a Dial,
    sleeper: Sleeper,
}

impl<'a> Bed<'a> {
    fn take(dial: &'a Dial, until: DateTime<Utc>) -> Self {
        let sleeper = (until, dial.next_sleeper.fetch_add(1, Ordering::Relaxed));
        dial.sleepers.send_modify(|all| {
            all.insert(sleeper);
        });
        Self { dial, sleeper }
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        self.dial.sleepers.send_modify(|all| {
            all.remove(&self.sleeper);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noon() -> DateTime<Utc> {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    #[tokio::test]
    async fn a_sleeper_wakes_at_its_instant_and_not_before() {
        let clock = ManualTime::at(noon());
        let until = noon() + TimeDelta::seconds(10);
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move {
                clock.sleep_until(until).await;
                clock.now()
            }
        });
        clock.until_sleeping(1).await;
        assert_eq!(clock.next_wake(), Some(until));

        clock.set(until - TimeDelta::milliseconds(1));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());

        clock.advance(TimeDelta::milliseconds(1));
        assert_eq!(sleeper.await.unwrap(), until);
        assert_eq!(clock.next_wake(), None);
    }

    #[tokio::test]
    async fn an_instant_already_past_does_not_sleep() {
        ManualTime::at(noon()).sleep_until(noon()).await;
        SystemTime.sleep_until(noon()).await;
    }

    #[tokio::test]
    async fn the_machines_clock_never_wakes_early() {
        let until = SystemTime.now() + TimeDelta::milliseconds(3);
        SystemTime.sleep_until(until).await;
        assert!(SystemTime.now() >= until);
    }
}
