//! The names of schedules, workflows, triggers and sets, the ids of runs, and the idempotency key
//! of a launch.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::instant::{self, Instant};

/// Long enough for a UUID with a prefix, and short enough to fit in every key together with others.
const MAX_NAME: usize = 64;

/// The rule of every name, as a regular expression.
pub const PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

/// A schedule's name, unique in the deployment. Letters, digits and `. _ -`, so that it stands
/// unescaped in URLs, run ids and execution names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScheduleId(String);

/// The name of a workflow. The rules are those of a schedule's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct WorkflowId(String);

/// The name of a trigger node in a workflow. The rules are those of a schedule's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId(String);

/// The name of a declared set of schedules. The rules are those of a schedule's name. Every owner
/// has their own sets: two owners can use the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SetName(String);

/// The error for a name that breaks the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to {MAX_NAME} letters, digits or . _ - and begin with a letter or digit")]
pub struct BadName;

fn checked(name: String) -> Result<String, BadName> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if starts_well && name.len() <= MAX_NAME && name.chars().all(allowed) {
        Ok(name)
    } else {
        Err(BadName)
    }
}

macro_rules! name {
    ($name:ident) => {
        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(name: String) -> Result<Self, BadName> {
                checked(name).map($name)
            }
        }

        impl FromStr for $name {
            type Err = BadName;
            fn from_str(name: &str) -> Result<Self, BadName> {
                checked(name.to_owned()).map($name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "pattern": PATTERN})
            }
        }
    };
}

name!(ScheduleId);
name!(WorkflowId);
name!(NodeId);
name!(SetName);

impl ScheduleId {
    /// Derives a name for a schedule that was created without one. `unique` is something that
    /// occurs once, such as a request id.
    pub fn derived_from(unique: &str) -> ScheduleId {
        ScheduleId(format!("s-{}", &hex::encode(Sha256::digest(unique))[..20]))
    }

    /// The name of the one schedule that `owner` may have at a trigger of a workflow. All owners
    /// share one namespace. The owner is part of the hash, so that no owner can take the trigger of
    /// another owner or find out whether it exists.
    pub fn of_trigger(owner: &str, workflow: &WorkflowId, node: &NodeId) -> ScheduleId {
        // Names contain no slash, so two different triggers never give the same text.
        let trigger = Sha256::digest(format!("{workflow}/{node}/{owner}"));
        ScheduleId(format!("t-{}", &hex::encode(trigger)[..20]))
    }

    /// Whether the API uses this name for another path below `/schedules`. A schedule with such a
    /// name could not be requested.
    pub fn is_reserved(&self) -> bool {
        ["validate", "bulk"].contains(&self.as_str())
    }

    /// The shard of the due index that contains this schedule. The mapping must not change, because
    /// a change would lose due clocks.
    pub fn shard(&self, shards: u32) -> u32 {
        let digest = Sha256::digest(&self.0);
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % shards.max(1)
    }
}

/// Why a run exists if the schedule's clock did not cause it. The cause is part of the run's
/// identity, so that a manual run never collides with the scheduled fire of the same second.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cause(String);

const AFTER: &str = "after-";
const BACKFILL: &str = "backfill-";

impl Cause {
    /// A person or a program requested the run. `unique` distinguishes two requests in the same
    /// second.
    pub fn manual(unique: &str) -> Cause {
        Cause(format!("manual-{}", &hex::encode(Sha256::digest(unique))[..12]))
    }

    /// A run of another schedule succeeded, and this schedule follows it.
    pub fn after(run: &RunId) -> Cause {
        Cause(format!("{AFTER}{}", &hex::encode(Sha256::digest(run.to_string()))[..12]))
    }

    /// Whether the cause is the success of a run of another schedule.
    pub fn is_after(&self) -> bool {
        self.0.starts_with(AFTER)
    }

    /// The backfill with this id.
    pub fn backfill(id: &str) -> Cause {
        Cause(format!("{BACKFILL}{id}"))
    }

    /// The id of the backfill, if the cause is a backfill.
    pub fn as_backfill(&self) -> Option<&str> {
        self.0.strip_prefix(BACKFILL)
    }

    /// The summary of a long outage: one record that stands for many fires that were not caught up.
    pub fn summary() -> Cause {
        Cause("missed".to_owned())
    }
}

/// The identity of a fire and of its run: the schedule, the planned second, and the cause if the
/// clock did not cause the run. The text form is `<schedule_id>@<run_at>` or
/// `<schedule_id>@<run_at>~<cause>`.
///
/// ```
/// use belfry_core::id::RunId;
/// let id: RunId = "nightly@2026-11-16T02:00:00Z".parse().unwrap();
/// assert_eq!(id.to_string(), "nightly@2026-11-16T02:00:00Z");
/// assert_eq!(id.idempotency_key().len(), 64);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// The schedule that the fire belongs to.
    pub schedule_id: ScheduleId,
    /// The nominal time of the fire, before jitter.
    pub run_at: Instant,
    /// `None` for a fire of the schedule's clock.
    pub cause: Option<Cause>,
}

impl RunId {
    /// The fire of a schedule at `run_at`.
    pub fn scheduled(schedule_id: &ScheduleId, run_at: Instant) -> RunId {
        RunId {
            schedule_id: schedule_id.clone(),
            run_at: instant::whole_second(run_at),
            cause: None,
        }
    }

    /// A run that the schedule's clock did not cause.
    pub fn caused(schedule_id: &ScheduleId, run_at: Instant, cause: Cause) -> RunId {
        RunId { cause: Some(cause), ..RunId::scheduled(schedule_id, run_at) }
    }

    /// Whether a caller requested this run explicitly, manually or by a backfill. Such a run
    /// launches even if its schedule is paused.
    pub fn is_asked_for(&self) -> bool {
        self.cause.as_ref().is_some_and(|cause| !cause.is_after())
    }

    /// The sort key of the run record.
    pub fn sort_key(&self) -> String {
        let run_at = instant::text(self.run_at);
        match &self.cause {
            None => run_at,
            Some(Cause(cause)) => format!("{run_at}~{cause}"),
        }
    }

    /// Reads back what [`RunId::sort_key`] wrote.
    pub fn from_keys(schedule_id: ScheduleId, sort_key: &str) -> Result<RunId, BadRunId> {
        let (run_at, cause) = match sort_key.split_once('~') {
            None => (sort_key, None),
            Some((run_at, cause)) => (run_at, Some(cause)),
        };
        let run_at = instant::parse(run_at).filter(|at| instant::text(*at) == run_at);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let cause = match cause {
            None => None,
            Some(c) if !c.is_empty() && c.len() <= MAX_NAME && c.chars().all(plain) => {
                Some(Cause(c.to_owned()))
            }
            Some(_) => return Err(BadRunId),
        };
        Ok(RunId { schedule_id, run_at: run_at.ok_or(BadRunId)?, cause })
    }

    /// `sha256(schedule_id:epoch_seconds)` in hex, or `sha256(schedule_id:epoch_seconds:cause)` if
    /// there is a cause. A fire has the same key on every retry.
    pub fn idempotency_key(&self) -> String {
        let mut text = format!("{}:{}", self.schedule_id, self.run_at.timestamp());
        if let Some(Cause(cause)) = &self.cause {
            text.push(':');
            text.push_str(cause);
        }
        hex::encode(Sha256::digest(text))
    }
}

/// The error for a text that is not a run id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a run id: expected <schedule_id>@<run_at>")]
pub struct BadRunId;

impl FromStr for RunId {
    type Err = BadRunId;
    fn from_str(text: &str) -> Result<RunId, BadRunId> {
        let (schedule_id, sort_key) = text.split_once('@').ok_or(BadRunId)?;
        RunId::from_keys(schedule_id.parse().map_err(|_| BadRunId)?, sort_key)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.schedule_id, self.sort_key())
    }
}

impl Serialize for RunId {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl JsonSchema for RunId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RunId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<RunId, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Serde for a run id as the two keys of its record: `schedule_id` and the sort key `run_at`.
pub mod keys {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{RunId, ScheduleId};

    #[derive(Serialize, Deserialize)]
    struct Keys {
        schedule_id: ScheduleId,
        run_at: String,
    }

    /// Writes the run id as two fields.
    pub fn serialize<S: Serializer>(id: &RunId, out: S) -> Result<S::Ok, S::Error> {
        Keys { schedule_id: id.schedule_id.clone(), run_at: id.sort_key() }.serialize(out)
    }

    /// Reads the run id from the two fields.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RunId, D::Error> {
        let Keys { schedule_id, run_at } = Keys::deserialize(from)?;
        RunId::from_keys(schedule_id, &run_at).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn run_id(text: &str) -> RunId {
        text.parse().unwrap()
    }

    #[test]
    fn the_idempotency_key_is_the_hash_of_schedule_and_epoch() {
        let key = run_id("nightly@1970-01-01T00:01:40Z").idempotency_key();
        assert_eq!(key, hex::encode(Sha256::digest("nightly:100")));
    }

    #[test]
    fn a_manual_run_has_a_key_of_its_own() {
        let fire = run_id("nightly@2026-11-16T02:00:00Z");
        let manual = RunId::caused(&fire.schedule_id, fire.run_at, Cause::manual("request-1"));
        assert_ne!(fire.idempotency_key(), manual.idempotency_key());
        assert_eq!(run_id(&manual.to_string()), manual);
    }

    #[test]
    fn ids_that_name_no_record_are_refused() {
        for text in [
            "",
            "@",
            "nightly",
            "nightly@",
            "nightly@2026-11-16",
            "nightly@2026-11-16T02:00:00+01:00",
            "nightly@2026-11-16T02:00:00Z~",
            "nightly@2026-11-16T02:00:00Z~a/b",
            "ni ght@2026-11-16T02:00:00Z",
        ] {
            assert_eq!(text.parse::<RunId>(), Err(BadRunId), "{text}");
        }
    }

    #[test]
    fn names_are_short_and_plain() {
        assert!("a.b_c-9".parse::<ScheduleId>().is_ok());
        for name in ["", "-a", "a b", "a@b", "ä", &"x".repeat(65)] {
            assert_eq!(name.parse::<ScheduleId>(), Err(BadName), "{name}");
        }
    }
}
