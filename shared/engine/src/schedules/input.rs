//! Reading a request's body: the size of its payload, and the definition it holds.

use belfry_core::id::ScheduleId;
use belfry_core::invalid::Invalid;
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::fields::{MAX_PAYLOAD, given};
use serde_json::Value;

use super::refusal::Refusal;
use crate::app::App;

pub(crate) fn payload(body: &Value) -> Option<&Value> {
    given(body, "payload")
}

/// Refuses a payload that does not fit into the messages and items that carry it.
pub(crate) fn check_size(payload: Option<&Value>) -> Result<(), Refusal> {
    match payload {
        Some(payload) if payload.to_string().len() > MAX_PAYLOAD => {
            let message = format!("must be at most {MAX_PAYLOAD} bytes");
            Err(Refusal::TooLarge(Invalid::new("payload", message)))
        }
        _ => Ok(()),
    }
}

pub(crate) fn read(app: &App, body: &Value, id: &ScheduleId) -> Result<Definition, Refusal> {
    check_size(payload(body))?;
    Definition::parse(body, id, &app.settings.house).map_err(Refusal::Invalid)
}
