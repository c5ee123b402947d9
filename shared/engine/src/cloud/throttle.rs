//! Throttling: a gate limits the concurrent calls of a service, and the answers of the service
//! decide the limit.
//!
//! The SDK retries a throttled call by itself, so the caller never sees the throttle. The gate is
//! an interceptor of the SDK client and sees every attempt.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::config::interceptors::FinalizerInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use belfry_core::guard::pace::Pace;
use tokio::sync::Notify;

/// Limits the concurrent calls of a service to what it can take. Clones share one gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    free: Notify,
}

#[derive(Debug)]
struct State {
    pace: Pace,
    under_way: usize,
    throttled: u64,
}

/// The permission for one call; dropping it lets the next call in.
pub struct Turn<'a>(&'a Gate);

impl Gate {
    /// A gate that admits up to `most` concurrent calls.
    pub fn new(most: usize) -> Gate {
        let state = State { pace: Pace::new(most), under_way: 0, throttled: 0 };
        Gate(Arc::new(Inner { state: Mutex::new(state), free: Notify::new() }))
    }

    /// Waits until one more call may be made.
    pub async fn turn(&self) -> Turn<'_> {
        loop {
            let mut free = pin!(self.0.free.notified());
            // A call that ends from here on wakes this task, even if it ends before the task waits.
            free.as_mut().enable();
            {
                let mut state = self.state();
                if state.under_way < state.pace.width() {
                    state.under_way += 1;
                    return Turn(self);
                }
            }
            free.await;
        }
    }

    /// The number of concurrent calls that are admitted now.
    pub fn width(&self) -> usize {
        self.state().pace.width()
    }

    /// The number of attempts that were throttled so far.
    pub fn throttled(&self) -> u64 {
        self.state().throttled
    }

    fn hear(&self, is_throttled: bool) {
        let mut state = self.state();
        if is_throttled {
            state.throttled += 1;
            state.pace.throttled();
            return;
        }
        let before = state.pace.width();
        state.pace.served();
        let has_grown = state.pace.width() > before;
        drop(state);
        if has_grown {
            self.0.free.notify_one();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state().under_way -= 1;
        self.0.0.free.notify_one();
    }
}

/// The error codes by which services say that a call was throttled.
const THROTTLES: [&str; 6] = [
    "ProvisionedThroughputExceeded",
    "ThrottlingException",
    "ThrottlingError",
    "RequestLimitExceeded",
    "RequestThrottled",
    "TooManyRequests",
];

impl Intercept for Gate {
    fn name(&self) -> &'static str {
        "Gate"
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // Without an answer nothing is known about the service. A batch of statements has the
        // status 200 even if some of its statements were throttled.
        let Some(answer) = context.response() else { return Ok(()) };
        let target = context.request().and_then(|asked| asked.headers().get("x-amz-target"));
        let is_batch = target.is_some_and(|target| target.contains("BatchExecute"));
        let is_throttled = (is_batch || !answer.status().is_success()) && {
            let kind = answer.headers().get("x-amzn-errortype").unwrap_or_default();
            let body = String::from_utf8_lossy(answer.body().bytes().unwrap_or_default());
            THROTTLES.iter().any(|name| kind.contains(name) || body.contains(name))
        };
        self.hear(is_throttled);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn a_call_waits_while_the_gate_is_full() {
        let gate = Gate::new(2);
        let (one, _two) = (gate.turn().await, gate.turn().await);
        assert!(gate.turn().now_or_never().is_none());
        drop(one);
        assert!(gate.turn().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_throttled_gate_admits_fewer_and_opens_again() {
        let gate = Gate::new(2);
        let first = gate.turn().await;
        gate.hear(true);
        assert_eq!((gate.width(), gate.throttled()), (1, 1));
        assert!(gate.turn().now_or_never().is_none());
        (0..4).for_each(|_| gate.hear(false));
        assert_eq!(gate.width(), 2);
        assert!(gate.turn().now_or_never().is_some());
        drop(first);
    }

    #[tokio::test]
    async fn whoever_waits_is_let_in_when_the_gate_widens() {
        let gate = Gate::new(2);
        let _first = gate.turn().await;
        gate.hear(true);
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { drop(gate.turn().await) }
        });
        tokio::task::yield_now().await;
        (0..4).for_each(|_| gate.hear(false));
        waiting.await.unwrap();
    }
}
