//! Settling: a receiver deletes messages it has processed, or changes how long it holds the others.

use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::batch::{self, Batch, Outcomes};
use crate::messages::{self, Holding};
use crate::queues::{self, Queue};
use crate::receipt::Receipt;
use crate::refusal::Refusal;
use crate::settings::MAX_VISIBILITY_SECONDS;
use crate::sqs::{Call, name_in_url};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Settle {
    queue_url: Option<String>,
    #[serde(flatten)]
    entry: Entry,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(default)]
    id: String,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

/// What a receiver does with a received message.
#[derive(Clone, Copy)]
enum Settling {
    Delete,
    Change,
}

/// `DeleteMessage`.
pub(crate) fn delete(call: &Call<'_>) -> Result<Value, Refusal> {
    settle_one(call, Settling::Delete)
}

/// `DeleteMessageBatch`.
pub(crate) fn delete_batch(call: &Call<'_>) -> Result<Value, Refusal> {
    settle_batch(call, "DeleteMessageBatchRequestEntry", Settling::Delete)
}

/// `ChangeMessageVisibility`.
pub(crate) fn change_visibility(call: &Call<'_>) -> Result<Value, Refusal> {
    settle_one(call, Settling::Change)
}

/// `ChangeMessageVisibilityBatch`.
pub(crate) fn change_visibility_batch(call: &Call<'_>) -> Result<Value, Refusal> {
    settle_batch(call, "ChangeMessageVisibilityBatchRequestEntry", Settling::Change)
}

fn settle_one(call: &Call<'_>, settling: Settling) -> Result<Value, Refusal> {
    let request: Settle = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let now = call.now_ms();
    call.shared().store.write(|store| {
        let queue = queues::find(store, name)?;
        settling.settle(store, &queue, &request.entry, now)
    })?;
    settling.announce(call, name);
    Ok(json!({}))
}

fn settle_batch(call: &Call<'_>, of: &str, settling: Settling) -> Result<Value, Refusal> {
    let request: Batch<Entry> = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let entries = request.entries.unwrap_or_default();
    let now = call.now_ms();
    let outcomes = call.shared().store.write(|store| {
        let queue = queues::find(store, name)?;
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        batch::check_ids(&ids, of)?;
        let mut outcomes = Outcomes::default();
        for entry in &entries {
            let outcome = settling.settle(store, &queue, entry, now);
            outcomes.note(&entry.id, outcome.map(|()| json!({})))?;
        }
        Ok(outcomes)
    })?;
    settling.announce(call, name);
    Ok(outcomes.answer())
}

impl Settling {
    fn settle(
        self,
        store: &Connection,
        queue: &Queue,
        entry: &Entry,
        now: i64,
    ) -> Result<(), Refusal> {
        let (handle, receipt) = entry.receipt(queue)?;
        let standing = standing(receipt, messages::holding(store, receipt.seq)?, now);
        match (self, standing) {
            // No other receiver has taken an expired one since, so this handle is still the latest.
            (Settling::Delete, Standing::Held { .. } | Standing::Lapsed) => {
                messages::delete(store, receipt.seq)
            }
            // Deleting a deleted message succeeds.
            (Settling::Delete, Standing::Gone) => Ok(()),
            (Settling::Change, Standing::Held { since }) => {
                let visible_at = entry.visible_at(since, now)?;
                messages::set_visible_at(store, receipt.seq, visible_at)
            }
            (Settling::Change, Standing::Lapsed | Standing::Gone) => {
                let reason =
                    "Message does not exist or is not available for visibility timeout change.";
                Err(Refusal::parameter_invalid("ReceiptHandle", &handle, reason))
            }
            (_, Standing::Superseded) => Err(Refusal::receipt_invalid(handle)),
        }
    }

    /// Wakes polls that sleep until the old instant: the message is visible earlier now.
    fn announce(self, call: &Call<'_>, queue: &str) {
        if let Settling::Change = self {
            call.shared().wakes.ring(queue);
        }
    }
}

impl Entry {
    fn receipt(&self, queue: &Queue) -> Result<(&str, Receipt), Refusal> {
        let handle = self.receipt_handle.as_deref();
        let handle = handle.ok_or_else(|| Refusal::parameter_missing("ReceiptHandle"))?;
        Receipt::from_handle(handle)
            .filter(|receipt| receipt.queue == queue.id)
            .map(|receipt| (handle, receipt))
            .ok_or_else(|| Refusal::receipt_invalid(handle))
    }

    /// When a message received at that instant becomes visible.
    fn visible_at(&self, since: i64, now: i64) -> Result<i64, Refusal> {
        let seconds = self.visibility_timeout;
        let seconds = seconds.ok_or_else(|| Refusal::parameter_missing("VisibilityTimeout"))?;
        let invalid = |reason: &str| {
            let reason = reason.replace("{limit}", &MAX_VISIBILITY_SECONDS.to_string());
            Err(Refusal::parameter_invalid("VisibilityTimeout", &seconds, &reason))
        };
        if !(0..=MAX_VISIBILITY_SECONDS).contains(&seconds) {
            return invalid("Must be between 0 and {limit}, if provided.");
        }
        let visible_at = now + seconds * 1000;
        if visible_at - since > MAX_VISIBILITY_SECONDS * 1000 {
            return invalid(
                "Total VisibilityTimeout for the message is beyond the limit [{limit} seconds]",
            );
        }
        Ok(visible_at)
    }
}

/// What a receipt is still good for.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// In flight with this receiver, since that instant.
    Held { since: i64 },
    /// Visible again, but not received by another receiver.
    Lapsed,
    /// Received again: the receipt is superseded.
    Superseded,
    /// Deleted, or moved to another queue.
    Gone,
}

fn standing(receipt: Receipt, holding: Option<Holding>, now: i64) -> Standing {
    match holding {
        Some(it) if it.queue != receipt.queue => Standing::Gone,
        Some(it) if it.receives != receipt.receives => Standing::Superseded,
        Some(it) if it.visible_at <= now => Standing::Lapsed,
        Some(it) => Standing::Held { since: it.received_at },
        None => Standing::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_worth_what_happened_to_its_message_since() {
        let receipt = Receipt { queue: 1, seq: 7, receives: 2 };
        let held = Holding { queue: 1, receives: 2, received_at: 5, visible_at: 100 };
        let now = 99;
        let check = |holding, expected| assert_eq!(standing(receipt, holding, now), expected);
        check(Some(held), Standing::Held { since: 5 });
        check(Some(Holding { visible_at: now, ..held }), Standing::Lapsed);
        check(Some(Holding { receives: 3, ..held }), Standing::Superseded);
        check(Some(Holding { queue: 2, ..held }), Standing::Gone);
        check(None, Standing::Gone);
    }
}
