//! The fields of a schedule: one table of what each is called, may hold and means.
//!
//! Requests are checked by it, and OpenAPI, the properties of CloudFormation, the JSON Schema of set
//! files, the page of the API and the vocabulary of the console are made from it. A new field is an
//! entry here, a field of the same name in [`Options`](super::Options), [`Policies`](super::Policies)
//! or [`Timing`](super::Timing), and its use.

use belfry_cron::{DstFold, DstGap, Zone};
use serde_json::{Value, json};

use crate::encoding::{MAX_DEPTH, is_shallow, too_deep};
use crate::form::whole_number;
use crate::id::ScheduleId;
use crate::instant;
use crate::invalid::Code;
use crate::schedule::house::House;
use crate::schedule::{Catchup, Overlap, Status, alert};
use crate::words::{Term, listed, terms};

/// A payload above this does not fit SQS and the target's limits with the rest of the message.
pub const MAX_PAYLOAD: usize = 256 * 1024;
/// A spec with the largest payload and this many of the longest tags still fits a DynamoDB item.
pub const MAX_TAGS: usize = 50;
/// Names, and tags and their values, in characters.
pub const MAX_SHORT_TEXT: usize = 256;
/// Descriptions, in characters.
const MAX_LONG_TEXT: usize = 4096;
/// Beyond a day, jitter is another schedule.
const DAY_MS: u64 = 86_400_000;
/// Limits beyond a year are a mistake in the unit.
const YEAR_S: u64 = 31_536_000;
/// Coming fires in an answer.
pub const MAX_NEXT_RUNS: usize = 5;

/// A field of a schedule.
pub struct Field {
    /// In requests and answers.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Who writes it.
    pub role: Role,
    /// What it means, in a line of Markdown.
    pub about: &'static str,
    /// Its names in other products, which requests may use.
    pub aliases: &'static [Alias],
}

/// What a field holds.
#[derive(Clone, Copy)]
pub enum Kind {
    /// An expression.
    Cron,
    /// The IANA name of a time zone.
    Zone,
    /// The name of a workflow.
    Workflow,
    /// The name of a schedule or of a set.
    Name,
    /// A text of any length.
    Text,
    /// A text of at most this many characters.
    Short(usize),
    /// A whole number from the first to the second, both included.
    Whole(u64, u64),
    /// A whole number from 0.
    Count,
    /// True or false.
    Flag,
    /// An RFC 3339 time.
    Instant,
    /// A list of at most this many times.
    Instants(usize),
    /// One of some words.
    Choice(fn() -> Vec<Term>),
    /// Texts by name.
    Tags,
    /// Any JSON of at most this many bytes.
    Json(usize),
    /// Where alerts are sent.
    Destination,
    /// The status of a run.
    RunStatus,
    /// Statuses of runs.
    RunStatuses,
    /// An object that has a schema of its own.
    Object(&'static str),
    /// A list of such objects.
    Objects(&'static str),
}

/// Who writes a field.
#[derive(Clone, Copy)]
pub enum Role {
    /// The user; if the user does not, this holds.
    Written(Absent),
    /// Belfry. Requests may repeat it, so that a document that was read can be sent back; what they
    /// say is ignored.
    ReadOnly(Shown),
}

/// What holds if a request does not say.
#[derive(Clone, Copy)]
pub enum Absent {
    /// The request is refused.
    Required,
    /// The request is refused, unless it has the other field.
    RequiredWithout(&'static str),
    /// The field is `null`; in words, what that means.
    Null(&'static str),
    /// The field is filled in when the definition is saved; in words, with what.
    Resolved(&'static str),
    /// The field is this.
    Is(Literal),
    /// The field is what this setting of the deployment says now. The schedule keeps it: another
    /// value of the setting does not change the schedules there are.
    Kept(&'static str, fn(&House) -> Value),
    /// The field is `null`, and this setting of the deployment holds at every run.
    Followed(&'static str, fn(&House) -> Value),
}

/// A default that every deployment has.
#[derive(Clone, Copy)]
pub enum Literal {
    /// A whole number.
    Whole(u64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(&'static str),
    /// An object without fields.
    Empty,
}

/// When an answer has a field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Always.
    Always,
    /// Always, and it may be `null`.
    OrNull,
    /// If it was asked for.
    Sometimes,
    /// If it was asked for, and it may be `null`.
    SometimesOrNull,
}

/// Another name of a field.
#[derive(Clone, Copy)]
pub enum Alias {
    /// With the same meaning.
    Same(&'static str),
    /// With the opposite meaning: `true` is `false`.
    Opposite(&'static str),
}

use Absent::{Followed, Is, Kept, Null, Required, RequiredWithout, Resolved};
use Alias::{Opposite, Same};
use Kind::{
    Choice, Count, Cron, Destination, Flag, Instant, Instants, Json, Name, Object, Objects,
    RunStatus, RunStatuses, Short, Tags, Text, Whole, Workflow,
};
use Shown::{Always, OrNull, Sometimes, SometimesOrNull};

/// Every field of a schedule: what a user writes, then what Belfry adds.
pub const FIELDS: &[Field] = &[
    written("workflow_id", "Workflow", Workflow, Required, "workflow to launch; must exist"),
    written(
        "version",
        "Version",
        Whole(1, u32::MAX as u64),
        Resolved("the newest when the definition is saved"),
        "version of the workflow to launch; must exist",
    ),
    written(
        "cron_expr",
        "Expression",
        Cron,
        RequiredWithout("after_schedule_id"),
        "when the schedule fires, such as `0 9 * * MON-FRI`; see docs/cron.md",
    )
    .also(&[Same("cron_expression")]),
    written(
        "timezone",
        "Time zone",
        Kind::Zone,
        Is(Literal::Text("UTC")),
        "IANA time zone that the expression is read in; must be in `ALLOWED_TIMEZONES` if that is set",
    ),
    written(
        "start_at",
        "Starts at",
        Instant,
        Null("no start"),
        "first moment a fire may have, included; fractions of a second are dropped",
    )
    .also(&[Same("start_date")]),
    written(
        "end_at",
        "Ends at",
        Instant,
        Null("no end"),
        "last moment a fire may have, included; fractions of a second are dropped",
    )
    .also(&[Same("end_date")]),
    written(
        "dst_gap",
        "A local time the clock skips in spring",
        Choice(terms::<DstGap>),
        Null("fixed times fire right after the gap, intervals follow the clock"),
        "what happens to a fire whose local time the clock skips",
    ),
    written(
        "dst_fold",
        "A local time the clock shows twice in autumn",
        Choice(terms::<DstFold>),
        Null("fixed times fire once, intervals follow the clock"),
        "what happens to a fire whose local time the clock shows twice",
    ),
    written(
        "paused",
        "Paused",
        Flag,
        Is(Literal::Flag(false)),
        "whether the schedule is paused; a paused schedule launches nothing by itself",
    )
    .also(&[Opposite("enabled")]),
    written(
        "overlap_policy",
        "When the last run is still going",
        Choice(terms::<Overlap>),
        Kept("DEFAULT_OVERLAP_POLICY", |house| json!(house.overlap_policy)),
        "what happens to a fire while earlier runs of the schedule are still going",
    ),
    written(
        "max_concurrent",
        "Runs at once",
        Whole(1, 100),
        Is(Literal::Whole(1)),
        "runs that may go at the same time under `skip` and `queue`",
    ),
    written(
        "catchup_policy",
        "When fires were missed in an outage",
        Choice(terms::<Catchup>),
        Kept("DEFAULT_CATCHUP_POLICY", |house| json!(house.catchup_policy)),
        "what happens to fires that were missed",
    ),
    written(
        "catchup_window_s",
        "Catch-up window, in s",
        Whole(0, YEAR_S),
        Null("no limit"),
        "missed fires older than this many seconds are never caught up",
    ),
    written(
        "jitter_ms",
        "Jitter, in ms",
        Whole(0, DAY_MS),
        Kept("DEFAULT_JITTER_MS", |house| json!(house.jitter_ms)),
        "how far from its second a fire may start, earlier or later, in milliseconds",
    ),
    written(
        "payload",
        "Payload",
        Json(MAX_PAYLOAD),
        Is(Literal::Empty),
        "JSON that every run is given",
    )
    .also(&[Same("test_payload")]),
    written(
        "inject_metadata",
        "Tell the target about schedule and run",
        Flag,
        Is(Literal::Flag(true)),
        "whether a launch tells its target about the schedule, the run and the coming fires",
    ),
    written("name", "Name", Short(MAX_SHORT_TEXT), Null("none"), "name for people")
        .also(&[Same("schedule_name")]),
    written(
        "description",
        "Description",
        Short(MAX_LONG_TEXT),
        Null("none"),
        "description for people",
    ),
    written("tags", "Tags", Tags, Is(Literal::Empty), "texts by name, for people and filters"),
    written(
        "max_attempts",
        "Attempts of a launch",
        Whole(1, 10),
        Followed("LAUNCH_MAX_ATTEMPTS", |house| json!(house.launch_attempts)),
        "attempts of a launch before the run is `FAILED`, reason `launch_failed`",
    ),
    written(
        "max_runtime_s",
        "Longest runtime, in s",
        Whole(1, YEAR_S),
        Followed("DEFAULT_MAX_RUNTIME_S", |house| json!(house.max_runtime_s)),
        "seconds a tracked run may take; a run that takes longer is `FAILED`, reason `timeout`",
    ),
    written(
        "pause_after_failures",
        "Pause after failures",
        Whole(1, 1000),
        Null("never"),
        "failures in a row after which the schedule is paused, with a note",
    ),
    written(
        "alert_after_failures",
        "Alert after failures",
        Whole(1, 1000),
        Null("never"),
        "failures in a row after which the event `schedule.failing` and `alert_to` tell of them, once until a run succeeds; the schedule continues",
    ),
    written(
        "alert_to",
        "Alert to",
        Destination,
        Null("the event bus only"),
        "where alerts are sent: `{\"kind\": \"http\", \"url\"}` or `{\"kind\": \"sns\", \"topic_arn\"}`",
    ),
    written(
        "after_schedule_id",
        "Runs after",
        Name,
        Null("none"),
        "the schedule also runs when a run of this one, of the same owner, succeeds",
    ),
    written(
        "trigger_node_id",
        "Trigger node",
        Name,
        Null("none"),
        "trigger node of the workflow that the schedule belongs to; by trigger node, the one of the path",
    ),
    read_only("schedule_id", "Id", Name, Always, "name of the schedule"),
    read_only("user_id", "Owner", Text, Always, "owner of the schedule"),
    read_only(
        "status",
        "Status",
        Choice(terms::<Status>),
        Always,
        "whether the schedule fires, and if not, why",
    ),
    read_only("next_run_at", "Next run", Instant, OrNull, "next fire"),
    read_only(
        "next_runs",
        "Next runs",
        Instants(MAX_NEXT_RUNS),
        Always,
        "next fires; none unless the schedule is active or pending",
    ),
    read_only(
        "last_run_at",
        "Last run",
        Instant,
        OrNull,
        "nominal time of the newest run that started, backfills apart",
    ),
    read_only("last_run_id", "Last run", Text, OrNull, "the newest run that started"),
    read_only("warnings", "Warnings", Objects("Warning"), Always, "surprises in the definition"),
    read_only("cron_description", "Meaning", Text, OrNull, "the expression in English"),
    read_only("pause_note", "Pause note", Text, OrNull, "why the schedule was paused"),
    read_only("pause_until", "Paused until", Instant, OrNull, "when the pause ends by itself"),
    read_only("set", "Set", Name, OrNull, "declared set the schedule belongs to"),
    read_only("revision", "Revision", Count, Always, "number of acknowledged changes"),
    read_only("created_at", "Created", Instant, Always, "when the schedule was made"),
    read_only("updated_at", "Updated", Instant, Always, "when the definition was last changed"),
    read_only(
        "last_status",
        "Last status",
        RunStatus,
        OrNull,
        "status of the newest run that started",
    ),
    read_only(
        "stats",
        "Runs",
        Object("Stats"),
        Sometimes,
        "counts over all runs; in lists over the newest",
    ),
    read_only("durations", "Durations", Object("Durations"), Sometimes, "of the newest runs"),
    read_only("recent", "Recent runs", RunStatuses, Sometimes, "statuses of the newest runs"),
    read_only(
        "last_execution_time",
        "Last execution",
        Instant,
        SometimesOrNull,
        "by trigger node: `last_run_at`",
    ),
    read_only(
        "next_execution_time",
        "Next execution",
        Instant,
        SometimesOrNull,
        "by trigger node: `next_run_at`",
    ),
    read_only(
        "execution_count",
        "Executions",
        Count,
        Sometimes,
        "by trigger node: runs of `stats` that succeeded or failed",
    ),
    read_only(
        "failure_count",
        "Failures",
        Count,
        Sometimes,
        "by trigger node: runs of `stats` that failed",
    ),
];

const fn written(
    name: &'static str,
    label: &'static str,
    kind: Kind,
    absent: Absent,
    about: &'static str,
) -> Field {
    Field { name, label, kind, role: Role::Written(absent), about, aliases: &[] }
}

const fn read_only(
    name: &'static str,
    label: &'static str,
    kind: Kind,
    shown: Shown,
    about: &'static str,
) -> Field {
    Field { name, label, kind, role: Role::ReadOnly(shown), about, aliases: &[] }
}

/// The fields a user writes, with what holds if the user does not.
pub fn all_written() -> impl Iterator<Item = (&'static Field, Absent)> {
    FIELDS.iter().filter_map(|field| Some((field, field.absent()?)))
}

/// The field of this name.
pub fn find(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

/// What a request says of a field, under any of its names.
pub fn given<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    let aliases = find(name)?.aliases.iter().map(Alias::name);
    aliases.fold(body.get(name), |given, alias| given.or_else(|| body.get(alias)))
}

/// Whether requests may repeat a field of this name, which Belfry ignores.
pub fn is_read_only(name: &str) -> bool {
    find(name).is_some_and(|field| field.absent().is_none())
}

/// What a field of whole numbers may hold, both included.
pub fn bounds(name: &str) -> Option<(u64, u64)> {
    match find(name)?.kind {
        Whole(min, max) => Some((min, max)),
        _ => None,
    }
}

/// The words a field may hold.
pub fn choices(name: &str) -> Vec<Term> {
    match find(name).map(|field| field.kind) {
        Some(Choice(terms)) => terms(),
        _ => Vec::new(),
    }
}

impl Field {
    const fn also(self, aliases: &'static [Alias]) -> Field {
        Field { aliases, ..self }
    }

    /// What holds if a request does not say; `None` if it has no say.
    pub const fn absent(&self) -> Option<Absent> {
        match self.role {
            Role::Written(absent) => Some(absent),
            Role::ReadOnly(_) => None,
        }
    }

    /// Whether an answer may have `null`.
    pub const fn is_nullable(&self) -> bool {
        match self.role {
            Role::Written(Null(_) | RequiredWithout(_) | Followed(..))
            | Role::ReadOnly(OrNull | SometimesOrNull) => true,
            Role::Written(Required | Resolved(_) | Is(_) | Kept(..))
            | Role::ReadOnly(Always | Sometimes) => false,
        }
    }
}

impl Alias {
    /// The other name.
    pub const fn name(&self) -> &'static str {
        match self {
            Same(name) | Opposite(name) => name,
        }
    }
}

impl Absent {
    /// What the field is of a schedule that does not say, in this deployment.
    pub fn value(self, house: &House) -> Value {
        match self {
            Is(literal) => literal.value(),
            Kept(_, value) | Followed(_, value) => value(house),
            Required | RequiredWithout(_) | Null(_) | Resolved(_) => Value::Null,
        }
    }

    /// What is stored of a schedule that does not say; `null` for nothing.
    pub(crate) fn stored(self, house: &House) -> Value {
        match self {
            Followed(..) => Value::Null,
            absent => absent.value(house),
        }
    }

    /// The setting of the deployment that decides.
    pub const fn setting(self) -> Option<&'static str> {
        match self {
            Kept(setting, _) | Followed(setting, _) => Some(setting),
            _ => None,
        }
    }

    /// What holds, for people, in Markdown.
    pub fn text(self) -> String {
        match self {
            Required => "required".to_owned(),
            RequiredWithout(other) => format!("required without `{other}`"),
            Null(words) | Resolved(words) => words.to_owned(),
            Is(Literal::Text(text)) => format!("`{text}`"),
            Is(literal) => format!("`{}`", literal.value()),
            Kept(setting, _) | Followed(setting, _) => format!("setting `{setting}`"),
        }
    }
}

impl Literal {
    pub(crate) fn value(self) -> Value {
        match self {
            Literal::Whole(number) => json!(number),
            Literal::Flag(flag) => json!(flag),
            Literal::Text(text) => json!(text),
            Literal::Empty => json!({}),
        }
    }
}

impl Kind {
    /// The value as the definition has it, or what is wrong with it. Only what a value alone can tell:
    /// an expression is read with its schedule's name, and a zone must be allowed by the house.
    pub(crate) fn check(self, value: Value) -> Result<Value, String> {
        match self {
            Kind::Flag if value.is_boolean() => Ok(value),
            Kind::Flag => Err("must be true or false".to_owned()),
            Kind::Whole(min, max) => match whole_number(&value) {
                Some(number) if (min..=max).contains(&number) => Ok(json!(number)),
                _ => Err(format!("must be a whole number from {min} to {max}")),
            },
            Kind::Instant => match value.as_str().and_then(instant::parse) {
                Some(at) => Ok(json!(instant::text(at))),
                None => Err("must be an RFC 3339 time, such as 2026-11-16T09:00:00Z".to_owned()),
            },
            Kind::Choice(terms) => {
                let words: Vec<_> = terms().iter().map(|term| term.word).collect();
                match value.as_str() {
                    Some(text) if words.contains(&text) => Ok(value),
                    _ => Err(format!("must be {}", listed(&words))),
                }
            }
            Kind::Tags => tags(value),
            Kind::Json(max) if value.to_string().len() > max => Err(at_most_bytes(max)),
            Kind::Json(_) if !is_shallow(&value) => Err(too_deep()),
            Kind::Json(_) => Ok(value),
            Kind::Cron | Kind::Zone | Kind::Workflow | Kind::Name | Kind::Text | Kind::Short(_) => {
                match value {
                    Value::String(text) => self.check_text(text).map(Value::String),
                    _ => Err("must be a text".to_owned()),
                }
            }
            Kind::Destination => alert::Destination::parse(&value).map(|read| json!(read)),
            // Belfry writes these itself.
            Kind::Count | Kind::Instants(_) | Kind::RunStatus | Kind::RunStatuses => Ok(value),
            Kind::Object(_) | Kind::Objects(_) => Ok(value),
        }
    }

    fn check_text(self, text: String) -> Result<String, String> {
        let at_most = |max: usize| match text.chars().count() <= max {
            true => Ok(()),
            false => Err(format!("must be at most {max} characters")),
        };
        match self {
            Kind::Short(max) => at_most(max)?,
            // Schedules and workflows are named by the same rules.
            Kind::Workflow | Kind::Name => {
                text.parse::<ScheduleId>().map_err(|problem| problem.to_string())?;
            }
            Kind::Zone => {
                at_most(MAX_SHORT_TEXT)?;
                let zone = Zone::parse(&text).map_err(|unknown| unknown.to_string())?;
                return Ok(zone.name().to_owned());
            }
            _ => {}
        }
        Ok(text)
    }

    /// The kind of problem that a wrong value is, of which [`Kind::check`] said this.
    pub(crate) fn code(self, message: &str) -> Code {
        match self {
            Kind::Json(max) if message == at_most_bytes(max) => Code::TooLarge,
            Kind::Cron => Code::InvalidCronExpression,
            Kind::Zone => Code::InvalidTimezone,
            _ => Code::InvalidValue,
        }
    }

    /// What it holds, for people, in Markdown.
    pub fn text(self) -> String {
        match self {
            Kind::Cron => "expression".to_owned(),
            Kind::Zone => "IANA name".to_owned(),
            Kind::Workflow | Kind::Name => "name".to_owned(),
            Kind::Text => "text".to_owned(),
            Kind::Short(max) => format!("text, up to {max} characters"),
            Kind::Whole(min, max) => format!("{min} to {max}"),
            Kind::Count => "whole number".to_owned(),
            Kind::Flag => "boolean".to_owned(),
            Kind::Instant => "RFC 3339 time".to_owned(),
            Kind::Instants(max) => format!("up to {max} RFC 3339 times"),
            Kind::Choice(terms) => {
                let words: Vec<_> = terms().iter().map(|term| format!("`{}`", term.word)).collect();
                words.join(", ")
            }
            Kind::Tags => {
                format!("object of texts, up to {MAX_TAGS} of {MAX_SHORT_TEXT} characters")
            }
            Kind::Json(max) => format!("JSON, up to {max} bytes, nested up to {MAX_DEPTH} deep"),
            Kind::Destination => "`Destination`".to_owned(),
            Kind::RunStatus => "status of a run".to_owned(),
            Kind::RunStatuses => "statuses of runs".to_owned(),
            Kind::Object(name) => format!("`{name}`"),
            Kind::Objects(name) => format!("list of `{name}`"),
        }
    }
}

fn at_most_bytes(max: usize) -> String {
    format!("must be at most {max} bytes")
}

fn tags(value: Value) -> Result<Value, String> {
    let fits = |text: &str| text.chars().count() <= MAX_SHORT_TEXT;
    let Some(tags) = value.as_object() else {
        return Err("must be an object of texts".to_owned());
    };
    let Some(texts) = tags.values().map(Value::as_str).collect::<Option<Vec<_>>>() else {
        return Err("must be an object of texts".to_owned());
    };
    let names_fit = tags.keys().all(|name| !name.is_empty() && fits(name));
    if tags.len() > MAX_TAGS || !names_fit || !texts.into_iter().all(fits) {
        return Err(format!("must be at most {MAX_TAGS}, of {MAX_SHORT_TEXT} characters each"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::definition::Definition;

    fn parsed(field: &str, value: Value) -> Result<Value, String> {
        let mut body = json!({"cron_expr": "0 9 * * *", "workflow_id": "w"});
        body[field] = value;
        match Definition::parse(&body, &"nightly".parse().unwrap(), &House::default()) {
            Ok(definition) => Ok(definition.document()[field].clone()),
            Err(problems) => Err(problems[0].to_string()),
        }
    }

    #[test]
    fn every_field_is_named_once_and_says_what_it_means() {
        let names = FIELDS.iter().map(|field| field.name);
        let aliases = FIELDS.iter().flat_map(|field| field.aliases).map(Alias::name);
        let mut names: Vec<_> = names.chain(aliases).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        for field in FIELDS {
            assert!(!field.label.is_empty() && !field.about.is_empty(), "{}", field.name);
            assert!(!field.about.ends_with('.'), "{}", field.about);
        }
    }

    #[test]
    fn a_definition_has_the_written_fields_and_no_others() {
        let body = json!({"cron_expr": "0 9 * * *", "workflow_id": "w"});
        let definition =
            Definition::parse(&body, &"nightly".parse().unwrap(), &House::default()).unwrap();
        let document = definition.document();
        let found: Vec<_> = document.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected: Vec<_> = all_written().map(|(field, _)| field.name).collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    /// An entry without a field in a struct would be dropped; a struct's number may be too small.
    #[test]
    fn what_the_table_allows_is_kept_and_what_it_does_not_is_refused() {
        for (field, _) in all_written() {
            let (good, bad) = match field.kind {
                Kind::Whole(min, max) => (vec![json!(min), json!(max)], json!(max + 1)),
                Kind::Flag => (vec![json!(true), json!(false)], json!("true")),
                Kind::Choice(terms) => {
                    (terms().iter().map(|term| json!(term.word)).collect(), json!("perhaps"))
                }
                Kind::Short(max) => (vec![json!("é".repeat(max))], json!("é".repeat(max + 1))),
                Kind::Name | Kind::Workflow => (vec![json!("other")], json!("two words")),
                Kind::Instant => (vec![json!("2027-01-01T00:00:00Z")], json!("tomorrow")),
                Kind::Cron => (vec![json!("5 4 * * *")], json!("never")),
                Kind::Zone => (vec![json!("Europe/Zurich")], json!("Mars/Base")),
                Kind::Tags => (vec![json!({"a": "b"})], json!({"a": 1})),
                Kind::Json(max) => (vec![json!([1, 1.5])], json!("x".repeat(max))),
                Kind::Destination => {
                    let topic = "arn:aws:sns:eu-west-1:1:alerts";
                    let good = [
                        json!({"kind": "http", "url": "https://example.com/"}),
                        json!({"kind": "sns", "topic_arn": topic}),
                    ];
                    (good.into(), json!({"kind": "sns", "topic_arn": "alerts"}))
                }
                _ => panic!("{} cannot be written", field.name),
            };
            for value in good {
                assert_eq!(parsed(field.name, value.clone()), Ok(value), "{}", field.name);
            }
            let refused = parsed(field.name, bad).unwrap_err();
            assert!(refused.starts_with(&format!("{}: ", field.name)), "{refused}");
        }
    }
}
