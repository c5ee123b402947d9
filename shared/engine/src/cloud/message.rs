//! The message that brings fires to the launcher: one fire, or a list of several.

use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A message names the run; the launcher reads everything else from the tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The run.
    pub run_id: RunId,
    /// The revision of the definition under which the run was planned.
    pub revision: u64,
    /// When the run is to be launched.
    pub launch_at: Instant,
    /// Whether the launcher may read the schedule before the launch time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ahead: bool,
    /// Whether the message does not launch the run, but ends it if its executor takes too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit: bool,
}

/// A run that a dead letter names. Recovery reads nothing else, so other fields may be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Named {
    /// The run.
    pub run_id: RunId,
}

/// Writes the body of a message that carries these fires.
pub fn write(fires: &[&Message]) -> String {
    let written = match fires {
        [only] => serde_json::to_string(only),
        several => serde_json::to_string(several),
    };
    written.unwrap_or_default()
}

/// Reads the body of a message, as [`Message`]s or as [`Named`]: at least one.
pub fn read<M: DeserializeOwned>(body: &str) -> Result<Vec<M>, serde_json::Error> {
    if !body.trim_start().starts_with('[') {
        return Ok(vec![serde_json::from_str(body)?]);
    }
    let several: Vec<M> = serde_json::from_str(body)?;
    if several.is_empty() { Err(Error::custom("the message names no run")) } else { Ok(several) }
}

/// The message group of an owner. SQS restricts the alphabet and length of groups, so an owner that
/// does not fit is hashed.
pub(crate) fn group(owner: &str) -> String {
    let fits =
        !owner.is_empty() && owner.len() <= 128 && owner.chars().all(|c| c.is_ascii_graphic());
    if fits { owner.to_owned() } else { hex::encode(Sha256::digest(owner)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fire(at: &str) -> Message {
        let run_id = format!("report@{at}").parse().unwrap();
        Message { run_id, revision: 3, launch_at: at.parse().unwrap(), ahead: true, limit: false }
    }

    #[test]
    fn one_fire_is_written_as_it_is_and_several_as_a_list() {
        let (one, other) = (fire("2026-01-01T00:00:00Z"), fire("2026-01-01T00:00:01Z"));
        assert!(write(&[&one]).starts_with('{'));
        assert_eq!(read::<Message>(&write(&[&one])).unwrap(), std::slice::from_ref(&one));
        let both = write(&[&one, &other]);
        assert_eq!(read::<Message>(&both).unwrap(), [one, other]);
        assert_eq!(read::<Named>(&both).unwrap().len(), 2);
    }

    #[test]
    fn a_message_names_a_run() {
        for body in ["", "[]", "{}", "[1]", "null"] {
            assert!(read::<Message>(body).is_err(), "{body}");
        }
    }

    #[test]
    fn every_owner_has_a_group() {
        assert_eq!(group("auth0|ann"), "auth0|ann");
        assert_eq!(group("ann müller").len(), 64);
        assert_eq!(group(&"x".repeat(200)).len(), 64);
    }
}
