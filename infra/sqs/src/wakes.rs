//! Wakes: tell a long poll at once that its queue has something to receive.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// One notifier per queue name. By name, not by row: a queue deleted and created again under a
/// waiting poll is still the queue that poll asked for.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    bells: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Wakes {
    /// The notifier of a long poll. Subscribe before looking into the queue, or a message that
    /// arrives in between is missed.
    pub(crate) fn bell(&self, queue: &str) -> Arc<Notify> {
        let mut bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        bells.entry(queue.to_owned()).or_default().clone()
    }

    /// Wakes every poll of the queue. Call it after the commit, so that a woken poll finds the
    /// message.
    pub(crate) fn ring(&self, queue: &str) {
        let bells = self.bells.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bells.get(queue) {
            bell.notify_waiters();
        }
    }
}
