//! A change: an entry in the change log of a schedule. It says who did what and when, what the
//! fields were before, and which fires the schedule has from then on.

use belfry_cron::{DstFold, DstGap};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::id::RunId;
use crate::instant::{self, Instant};
use crate::schedule::Timing;
use crate::schedule::definition::{Definition, object};

/// The kind of change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// The schedule was created.
    Created,
    /// The definition changed.
    Updated,
    /// The schedule was paused: its fires do not launch from now on.
    Paused,
    /// The schedule was resumed: its fires launch again.
    Resumed,
    /// The schedule was deleted.
    Deleted,
    /// A caller requested a run. The definition did not change.
    Triggered,
    /// A caller requested a backfill of past fires.
    Backfilled,
    /// The schedule became a member of a declared set.
    Adopted,
    /// The schedule left its declared set.
    Released,
    /// The time zone is no longer in the zone data, so the schedule runs on UTC.
    ZoneLost,
    /// The time zone is in the zone data again.
    ZoneFound,
    /// A kind that this version does not know, written by newer code. It is kept as it is.
    #[serde(untagged)]
    Other(String),
}

impl Verb {
    /// The verb of a change that moves a schedule from paused or active to paused or active: an
    /// update that ends a pause is a resume, and one that begins a pause is a pause.
    pub fn with_pause(self, before: bool, after: bool) -> Verb {
        match (self, before, after) {
            (Verb::Updated, true, false) => Verb::Resumed,
            (Verb::Updated, false, true) => Verb::Paused,
            (verb, _, _) => verb,
        }
    }
}

/// The largest value in bytes that an entry contains. A longer value is replaced by its digest: a
/// payload would make every entry as large as the payload, and secrets in it would stay in the log
/// for ever.
const MAX_VALUE: usize = 1024;

/// An entry of the change log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Who made the change: the id of a user, or `belfry` if the system did.
    pub by: String,
    /// The owner of the schedule. After a deletion, another owner may use the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When the change was made.
    pub at: Instant,
    /// Where the request came from. `None` if Belfry made the change by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The kind of change.
    pub verb: Verb,
    /// The run that the caller requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The revision of the definition after the change.
    pub revision: u64,
    /// The timing after the change, which determines the fires from then on.
    pub timing: Timing,
    /// Whether the schedule is paused after the change.
    pub paused: bool,
    /// The fields of the definition whose values changed.
    #[serde(default, with = "as_text", skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Difference>,
}

/// Where a request came from, as the gateway saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Origin {
    /// IP address of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// User agent that the caller named; not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

/// A field before and after a change. A value longer than 1024 bytes is shown as its size and digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Difference {
    /// Name of the field.
    pub field: String,
    /// Value before the change; `null` if the field was not set.
    pub old: Value,
    /// Value after the change; `null` if the field was cleared.
    pub new: Value,
}

/// One entry of a schedule's change log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Change", deny_unknown_fields)]
pub struct ChangeView {
    /// When the change was made.
    #[serde(with = "crate::instant::observed")]
    #[schemars(with = "Instant")]
    pub at: Instant,
    /// User who made the change.
    pub by: String,
    /// Where the request came from; `null` if the system made the change by itself.
    pub from: Option<Origin>,
    /// What was done: created, updated, paused, resumed, triggered, backfilled, adopted, released,
    /// deleted, zone_lost or zone_found.
    #[schemars(with = "String")]
    pub verb: Verb,
    /// Revision of the definition after the change.
    pub revision: u64,
    /// Whether the schedule is paused after the change.
    pub paused: bool,
    /// Fields of the definition that changed.
    pub changes: Vec<Difference>,
    /// The run that was asked for, if the change is a trigger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Expression after the change; empty if the schedule only follows another one.
    pub cron_expr: String,
    /// Time zone after the change.
    pub timezone: String,
    /// Start of the schedule after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_at: Option<Instant>,
    /// End of the schedule after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_at: Option<Instant>,
    /// What happens to a local time that the clock skips, after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub dst_gap: Option<DstGap>,
    /// What happens to a local time that the clock shows twice, after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub dst_fold: Option<DstFold>,
}

impl Change {
    /// The owner of the schedule. In entries without an owner, the user who made the change was the
    /// owner.
    pub fn owner(&self) -> &str {
        self.owner.as_deref().unwrap_or(&self.by)
    }

    /// The entry as the API shows it.
    pub fn view(&self) -> ChangeView {
        let timing = self.timing.clone();
        ChangeView {
            at: self.at,
            by: self.by.clone(),
            from: self.origin.clone(),
            verb: self.verb.clone(),
            revision: self.revision,
            paused: self.paused,
            changes: self.changes.clone(),
            run_id: self.run_id.clone(),
            cron_expr: timing.cron_expr,
            timezone: timing.timezone,
            start_at: timing.start_at.map(instant::whole_second),
            end_at: timing.end_at.map(instant::whole_second),
            dst_gap: timing.dst_gap,
            dst_fold: timing.dst_fold,
        }
    }
}

/// The fields that differ between two definitions. `old` is `None` for a new schedule.
pub fn differences(old: Option<&Definition>, new: &Definition) -> Vec<Difference> {
    let old = old.map(|old| object(&old.document())).unwrap_or_default();
    let difference = |(field, new): (String, Value)| {
        let old = old.get(&field).cloned().unwrap_or_default();
        (old != new).then(|| Difference { field, old: short(old), new: short(new) })
    };
    object(&new.document()).into_iter().filter_map(difference).collect()
}

fn short(value: Value) -> Value {
    let text = value.to_string();
    match text.len() {
        0..=MAX_VALUE => value,
        _ => digest(&text),
    }
}

fn digest(text: &str) -> Value {
    json!({"sha256": hex::encode(Sha256::digest(text)), "bytes": text.len()})
}

/// Serde for the differences as one text in the stored entry. DynamoDB's own maps lose number
/// formats and refuse deep nesting.
mod as_text {
    use super::{Difference, Value, digest};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(all: &[Difference], out: S) -> Result<S::Ok, S::Error> {
        serde_json::to_string(all).map_err(serde::ser::Error::custom)?.serialize(out)
    }

    pub(super) fn deserialize<'de, D>(from: D) -> Result<Vec<Difference>, D::Error>
    where
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        // An older release took values that are nested too deep to be read. The rest of the entry,
        // which a ledger needs, is sound.
        let unread = |_| {
            vec![Difference { field: "changes".to_owned(), old: Value::Null, new: digest(&text) }]
        };
        Ok(serde_json::from_str(&text).unwrap_or_else(unread))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::house::House;

    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    fn definition(more: Value) -> Definition {
        let mut body = json!({"cron_expr": "0 9 * * *", "workflow_id": "w"});
        body.as_object_mut().unwrap().extend(object(&more));
        Definition::parse(&body, &"nightly".parse().unwrap(), &House::default()).unwrap()
    }

    #[track_caller]
    fn check(old: Option<Value>, new: Value, expected: &[(&str, Value, Value)]) {
        let old = old.map(definition);
        let found = differences(old.as_ref(), &definition(new));
        let found: Vec<_> = found.into_iter().map(|d| (d.field, d.old, d.new)).collect::<Vec<_>>();
        let expected: Vec<_> =
            expected.iter().map(|(f, o, n)| ((*f).to_owned(), o.clone(), n.clone())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_changed_is_told_with_its_old_and_new_value() {
        check(Some(json!({"name": "a"})), json!({"name": "a"}), &[]);
        check(
            Some(json!({"name": "a", "end_at": "2027-01-01T00:00:00Z"})),
            json!({"name": "b", "payload": {"n": 1.50}}),
            &[
                ("end_at", json!("2027-01-01T00:00:00Z"), Value::Null),
                ("name", json!("a"), json!("b")),
                ("payload", json!({}), json!({"n": 1.5})),
            ],
        );
    }

    #[test]
    fn a_new_schedule_tells_what_it_has_and_not_what_it_lacks() {
        let fields: Vec<_> =
            differences(None, &definition(json!({}))).into_iter().map(|d| d.field).collect();
        assert!(fields.contains(&"cron_expr".to_owned()), "{fields:?}");
        assert!(!fields.contains(&"end_at".to_owned()), "{fields:?}");
    }

    #[test]
    fn a_long_value_is_told_by_its_digest() {
        let long = "x".repeat(MAX_VALUE);
        let digest = hex::encode(Sha256::digest(format!("\"{long}\"")));
        check(
            Some(json!({"payload": long})),
            json!({"payload": 1}),
            &[("payload", json!({"sha256": digest, "bytes": MAX_VALUE + 2}), json!(1))],
        );
    }

    #[test]
    fn an_entry_with_values_that_are_too_deep_is_still_read() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let entry = json!({
            "by": "ann", "at": "2026-01-01T00:00:00.500Z", "verb": "updated", "revision": 2,
            "timing": {"cron_expr": "0 9 * * *", "timezone": "UTC"}, "paused": false,
            "changes": format!(r#"[{{"field": "payload", "old": null, "new": {deep}}}]"#),
        });
        let change: Change = serde_json::from_value(entry).unwrap();
        assert_eq!((change.revision, change.changes[0].field.as_str()), (2, "changes"));
    }

    #[test]
    fn an_entry_without_owner_or_differences_is_still_read() {
        let old = json!({
            "by": "ann", "at": "2026-01-01T00:00:00.500Z", "verb": "paused", "revision": 2,
            "timing": {"cron_expr": "0 9 * * *", "timezone": "UTC"}, "paused": true,
        });
        let change: Change = serde_json::from_value(old).unwrap();
        assert_eq!((change.owner(), change.changes.len()), ("ann", 0));
        assert_eq!(
            serde_json::to_value(change.view()).unwrap(),
            json!({
                "at": "2026-01-01T00:00:00.500Z", "by": "ann", "from": null, "verb": "paused",
                "revision": 2, "paused": true, "changes": [], "cron_expr": "0 9 * * *",
                "timezone": "UTC",
            })
        );
    }
}
