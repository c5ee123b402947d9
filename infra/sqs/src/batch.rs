//! Batches: the rules for every batch, and how single entries fail.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::refusal::{Kind, Refusal};

/// A request with several entries.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Batch<E> {
    pub(crate) queue_url: Option<String>,
    pub(crate) entries: Option<Vec<E>>,
}

const MAX_ENTRIES: usize = 10;
const MAX_ID: usize = 80;

/// Refuses a batch that is empty, too large, or has invalid or repeated ids. `entry` is the
/// entries' name in the service model.
pub(crate) fn check_ids(ids: &[&str], entry: &str) -> Result<(), Refusal> {
    if ids.is_empty() {
        let message = format!("There should be at least one {entry} in the request.");
        return Err(Refusal::new(Kind::EmptyBatchRequest, message));
    }
    if ids.len() > MAX_ENTRIES {
        let message = format!(
            "Maximum number of entries per request are {MAX_ENTRIES}. You have sent {}.",
            ids.len()
        );
        return Err(Refusal::new(Kind::TooManyEntriesInBatchRequest, message));
    }
    if !ids.iter().all(|id| is_id(id)) {
        let message = "A batch entry id can only contain alphanumeric characters, hyphens and \
                       underscores. It can be at most 80 letters long.";
        return Err(Refusal::new(Kind::InvalidBatchEntryId, message));
    }
    let mut seen = HashSet::new();
    if let Some(id) = ids.iter().find(|id| !seen.insert(**id)) {
        let message = format!("Id {id} repeated.");
        return Err(Refusal::new(Kind::BatchEntryIdsNotDistinct, message));
    }
    Ok(())
}

fn is_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

/// The result of a batch, entry by entry.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    successful: Vec<Value>,
    failed: Vec<Value>,
}

impl Outcomes {
    /// Records the result of an entry. A refusal belongs to the entry; a fault of the endpoint is
    /// returned, to end the batch.
    pub(crate) fn note(
        &mut self,
        id: &str,
        outcome: Result<Value, Refusal>,
    ) -> Result<(), Refusal> {
        match outcome {
            Ok(mut result) => {
                result["Id"] = json!(id);
                self.successful.push(result);
            }
            Err(fault) if fault.is_fault() => return Err(fault),
            Err(refusal) => self.failed.push(refusal.of_entry(id)),
        }
        Ok(())
    }

    /// The batch's answer. `Failed` is present only if an entry failed, because callers test its
    /// presence.
    pub(crate) fn answer(self) -> Value {
        let mut answer = json!({ "Successful": self.successful });
        if !self.failed.is_empty() {
            answer["Failed"] = json!(self.failed);
        }
        answer
    }
}
