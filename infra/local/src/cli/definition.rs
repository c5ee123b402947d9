//! The fields of a definition as options of `belfry schedules create` and `edit`.

use std::path::PathBuf;

use belfry_core::schedule::fields::choices;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::{Map, Value, json};

use super::{json_text, read_json};

#[derive(Args)]
pub(super) struct Create {
    /// Id of the schedule; generated if not given
    schedule_id: Option<String>,
    /// Id of the workflow to launch
    #[arg(long, value_name = "ID", required_unless_present = "file")]
    workflow: Option<String>,
    /// Cron expression, such as '0 9 * * MON-FRI'
    #[arg(long, value_name = "EXPR", required_unless_present_any = ["file", "set"])]
    cron: Option<String>,
    /// Create the schedule paused
    #[arg(long)]
    paused: bool,
    #[command(flatten)]
    fields: Fields,
}

#[derive(Args)]
pub(super) struct Edit {
    /// Id of the schedule
    pub(super) schedule_id: String,
    /// Id of the workflow to launch
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// Cron expression, such as '0 9 * * MON-FRI'
    #[arg(long, value_name = "EXPR")]
    cron: Option<String>,
    #[command(flatten)]
    fields: Fields,
    /// Only if the schedule is at this revision
    #[arg(long, value_name = "N")]
    pub(super) revision: Option<u64>,
    /// Only show what would change
    #[arg(long)]
    pub(super) dry_run: bool,
}

/// Fields of a definition, as options.
#[derive(Args)]
struct Fields {
    /// Read fields from a JSON file, or from standard input with -; an option replaces its field
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Version of the workflow; default the newest
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// IANA time zone; default UTC
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Payload of every run
    #[arg(long, value_name = "JSON", value_parser = json_text)]
    payload: Option<Value>,
    /// Display name
    #[arg(long)]
    name: Option<String>,
    /// Tag, may be repeated; these are all tags of the schedule
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    tags: Vec<(String, String)>,
    /// Overlap policy: what happens to a fire while an earlier run is going
    #[arg(long, value_name = "POLICY", value_parser = words_of("overlap_policy"))]
    overlap: Option<String>,
    /// Catch-up policy: what happens to missed fires
    #[arg(long, value_name = "POLICY", value_parser = words_of("catchup_policy"))]
    catchup: Option<String>,
    /// Any other field, such as jitter_ms=500, may be repeated; null clears a field
    #[arg(long, value_name = "FIELD=VALUE", value_parser = field)]
    set: Vec<(String, Value)>,
}

/// Takes the words of a field of a schedule, and explains them in the help.
pub(super) fn words_of(field: &str) -> PossibleValuesParser {
    let values = choices(field).into_iter();
    values.map(|term| PossibleValue::new(term.word).help(term.meaning)).collect::<Vec<_>>().into()
}

impl Create {
    pub(super) fn body(self) -> Result<Value, String> {
        let mut body = self.fields.body()?;
        put(&mut body, "schedule_id", self.schedule_id.map(Value::from));
        put(&mut body, "workflow_id", self.workflow.map(Value::from));
        put(&mut body, "cron_expr", self.cron.map(Value::from));
        put(&mut body, "paused", self.paused.then_some(Value::Bool(true)));
        Ok(Value::Object(body))
    }
}

impl Edit {
    pub(super) fn body(&mut self) -> Result<Value, String> {
        let mut body = self.fields.body()?;
        put(&mut body, "workflow_id", self.workflow.take().map(Value::from));
        put(&mut body, "cron_expr", self.cron.take().map(Value::from));
        if body.is_empty() {
            return Err("nothing to change: name a field, such as --cron, --set or --file".into());
        }
        Ok(Value::Object(body))
    }
}

impl Fields {
    fn body(&self) -> Result<Map<String, Value>, String> {
        let body = match &self.file {
            Some(file) => read_json(file)?,
            None => json!({}),
        };
        let Value::Object(mut body) = body else {
            return Err("the definition is not a JSON object".to_owned());
        };
        let tags = self.tags.iter().map(|(key, value)| (key.clone(), json!(value)));
        let tags = (!self.tags.is_empty()).then(|| Value::Object(tags.collect()));
        put(&mut body, "version", self.version.map(Value::from));
        put(&mut body, "timezone", self.tz.clone().map(Value::from));
        put(&mut body, "payload", self.payload.clone());
        put(&mut body, "name", self.name.clone().map(Value::from));
        put(&mut body, "tags", tags);
        put(&mut body, "overlap_policy", self.overlap.clone().map(Value::from));
        put(&mut body, "catchup_policy", self.catchup.clone().map(Value::from));
        body.extend(self.set.iter().cloned());
        Ok(body)
    }
}

fn put(body: &mut Map<String, Value>, field: &str, value: Option<Value>) {
    if let Some(value) = value {
        body.insert(field.to_owned(), value);
    }
}

fn tag(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// A field and its value: JSON, or a text without quotes.
fn field(text: &str) -> Result<(String, Value), String> {
    let (field, value) = text.split_once('=').ok_or("must be FIELD=VALUE")?;
    let is_json = value.starts_with(['{', '[', '"']);
    let value = match json_text(value) {
        Ok(json) => json,
        Err(problem) if is_json => return Err(problem),
        Err(_) => Value::from(value),
    };
    Ok((field.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_or_a_text_without_quotes() {
        let value = |text: &str| field(text).map(|(_, value)| value);
        assert_eq!(value("jitter_ms=500"), Ok(json!(500)));
        assert_eq!(value("end_at=null"), Ok(Value::Null));
        assert_eq!(value("timezone=Europe/Zurich"), Ok(json!("Europe/Zurich")));
        assert_eq!(value("payload={\"a\": 1}"), Ok(json!({"a": 1})));
        assert!(value("payload={a: 1}").is_err() && value("jitter_ms").is_err());
    }
}
