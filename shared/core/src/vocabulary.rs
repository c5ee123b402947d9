//! The vocabulary: every field, status and reason with what people read for it, so that a console
//! lacks no words for what the API answers.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::ledger::{Fate, Why};
use crate::run;
use crate::schedule;
use crate::schedule::fields::{Absent, Alias, FIELDS, Field, Kind, MAX_SHORT_TEXT, MAX_TAGS};
use crate::schedule::house::House;
use crate::words::{Term, terms};

/// The words of the API with what people read for them.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Vocabulary {
    /// Fields of a schedule.
    pub fields: Vec<FieldWords>,
    /// Values of a schedule's `status`.
    pub schedule_statuses: Vec<Term>,
    /// Values of a run's `status`.
    pub run_statuses: Vec<Term>,
    /// Values of a run's `reason`.
    pub reasons: Vec<Term>,
    /// Keys of a ledger's `by_reason` and `extra`.
    pub ledger_reasons: Vec<Term>,
    /// Values of `why` in a ledger's `unexplained`.
    pub ledger_problems: Vec<Term>,
}

/// A field of a schedule, for programs that draw forms.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FieldWords {
    /// Name in requests and answers.
    pub name: &'static str,
    /// Name for people.
    pub label: &'static str,
    /// Meaning, in a line.
    pub description: &'static str,
    /// What the field holds, such as `whole_number` or `choice`.
    pub kind: &'static str,
    /// Smallest number the field may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<u64>,
    /// Largest number the field may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<u64>,
    /// Longest text the field may hold, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// Longest JSON the field may hold, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
    /// Most elements the field may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<usize>,
    /// Words the field may hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<Term>,
    /// Whether a definition must have the field.
    pub required: bool,
    /// Whether an answer may have `null`.
    pub nullable: bool,
    /// Whether requests cannot set the field.
    pub read_only: bool,
    /// Value of a schedule that does not set the field, in this deployment.
    pub default: Value,
    /// Meaning of that default, where the value says too little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_means: Option<&'static str>,
    /// Setting of the deployment that decides the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<&'static str>,
    /// Other names of the field in requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<AliasWords>,
}

/// Another name of a field.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Alias", deny_unknown_fields)]
pub struct AliasWords {
    /// Name in requests.
    pub name: &'static str,
    /// Whether `true` means `false` under this name.
    pub opposite: bool,
}

/// The vocabulary of a deployment.
pub fn vocabulary(house: &House) -> Vocabulary {
    Vocabulary {
        fields: FIELDS.iter().map(|field| words(field, house)).collect(),
        schedule_statuses: terms::<schedule::Status>(),
        run_statuses: terms::<run::Status>(),
        reasons: terms::<run::Reason>(),
        ledger_reasons: terms::<Fate>(),
        ledger_problems: terms::<Why>(),
    }
}

fn words(field: &Field, house: &House) -> FieldWords {
    let absent = field.absent();
    let alias = |alias: &Alias| AliasWords {
        name: alias.name(),
        opposite: matches!(alias, Alias::Opposite(_)),
    };
    let mut words = FieldWords {
        name: field.name,
        label: field.label,
        description: field.about,
        kind: "",
        minimum: None,
        maximum: None,
        max_length: None,
        max_bytes: None,
        max_items: None,
        choices: Vec::new(),
        required: matches!(absent, Some(Absent::Required)),
        nullable: field.is_nullable(),
        read_only: absent.is_none(),
        default: absent.map_or(Value::Null, |absent| absent.value(house)),
        default_means: match absent {
            Some(Absent::Null(words) | Absent::Resolved(words)) => Some(words),
            _ => None,
        },
        setting: absent.and_then(Absent::setting),
        aliases: field.aliases.iter().map(alias).collect(),
    };
    words.kind = kind(field.kind, &mut words);
    words
}

/// The word for a kind of field; its bounds and choices are noted in `words`.
fn kind(kind: Kind, words: &mut FieldWords) -> &'static str {
    match kind {
        Kind::Cron => "cron",
        Kind::Zone => "time_zone",
        Kind::Workflow => "workflow",
        Kind::Name => "name",
        Kind::Text => "text",
        Kind::Short(max) => {
            words.max_length = Some(max);
            "text"
        }
        Kind::Whole(min, max) => {
            (words.minimum, words.maximum) = (Some(min), Some(max));
            "whole_number"
        }
        Kind::Count => {
            words.minimum = Some(0);
            "whole_number"
        }
        Kind::Flag => "flag",
        Kind::Instant => "instant",
        Kind::Instants(max) => {
            words.max_items = Some(max);
            "instants"
        }
        Kind::Choice(terms) => {
            words.choices = terms();
            "choice"
        }
        Kind::Tags => {
            (words.max_items, words.max_length) = (Some(MAX_TAGS), Some(MAX_SHORT_TEXT));
            "tags"
        }
        Kind::Json(max) => {
            words.max_bytes = Some(max);
            "json"
        }
        Kind::Destination => "destination",
        Kind::RunStatus => {
            words.choices = terms::<run::Status>();
            "choice"
        }
        Kind::RunStatuses => {
            words.choices = terms::<run::Status>();
            "choices"
        }
        Kind::Object(_) => "object",
        Kind::Objects(_) => "objects",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Catchup, Overlap};
    use crate::words::{Words, variants};
    use belfry_cron::{DstFold, DstGap};
    use serde_json::json;

    #[track_caller]
    fn check<T: Words>(first: &str) {
        let terms = terms::<T>();
        assert_eq!((terms.len(), terms[0].word), (variants::<T>().len(), first));
        for (place, term) in terms.iter().enumerate() {
            let is_sentence = term.meaning.ends_with('.') && term.meaning.len() > 10;
            assert!(is_sentence && !term.label.is_empty(), "{term:?}");
            assert!(!terms[..place].iter().any(|other| other.label == term.label), "{term:?}");
        }
    }

    #[test]
    fn every_variant_of_every_enum_has_words_of_its_own() {
        check::<run::Reason>("missed");
        check::<run::Status>("ENQUEUED");
        check::<schedule::Status>("active");
        check::<Overlap>("skip");
        check::<Catchup>("none");
        check::<DstGap>("shift");
        check::<DstFold>("first");
        check::<Fate>("on_time");
        check::<Why>("no_record");
    }

    #[test]
    fn a_field_tells_what_a_form_needs() {
        let house = House { jitter_ms: 250, ..House::default() };
        let fields = serde_json::to_value(vocabulary(&house).fields).unwrap();
        let field = |name: &str| {
            let all = fields.as_array().unwrap();
            all.iter().find(|field| field["name"] == name).unwrap().clone()
        };
        let jitter = field("jitter_ms");
        assert_eq!((&jitter["kind"], &jitter["default"]), (&json!("whole_number"), &json!(250)));
        assert_eq!((&jitter["minimum"], &jitter["maximum"]), (&json!(0), &json!(86_400_000)));
        assert_eq!(jitter["setting"], "DEFAULT_JITTER_MS");
        let paused = field("paused");
        assert_eq!(paused["aliases"], json!([{"name": "enabled", "opposite": true}]));
        assert_eq!(field("max_runtime_s")["setting"], "DEFAULT_MAX_RUNTIME_S");
        assert_eq!(field("pause_after_failures")["default_means"], "never");
        assert_eq!(field("overlap_policy")["choices"][2]["word"], "queue");
        assert_eq!(field("revision")["read_only"], true);
        assert_eq!(field("workflow_id")["required"], true);
    }
}
