//! A workflow: an immutable, versioned definition and the target that a run of it is launched at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::encoding::{is_shallow, json_text, too_deep};
use crate::id::{ScheduleId, WorkflowId};
use crate::invalid::Invalid;
use crate::words::listed;

/// One version of a workflow. A version never changes, so launchers cache it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// What the executor runs. Belfry passes it on without reading it.
    #[serde(with = "json_text")]
    pub definition: Value,
    /// The target that runs are launched at.
    pub target: Target,
    /// When a run counts as done: at the accepted launch, or when its executor reports.
    #[serde(default)]
    pub completion: Completion,
}

/// When a run counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// When the target accepts the launch.
    #[default]
    OnLaunch,
    /// When the executor reports how the run ended.
    Tracked,
}

/// Where runs are launched. Texts are at most 2048 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// A signed POST to a URL.
    Http {
        /// The URL.
        #[schemars(length(min = 1), extend("format" = "http-url"))]
        url: String,
    },
    /// A message to a queue.
    Sqs {
        /// URL of the queue; a `.fifo` queue deduplicates by the idempotency key.
        #[schemars(length(min = 1), extend("format" = "http-url"))]
        queue_url: String,
    },
    /// An asynchronous invocation of a function.
    Lambda {
        /// Name or ARN of the function.
        #[schemars(length(min = 1), extend("format" = "function"))]
        function: String,
    },
    /// An execution of a state machine, named by the idempotency key.
    StepFunctions {
        /// ARN of the state machine.
        #[schemars(length(min = 1), extend("format" = "arn"))]
        state_machine_arn: String,
    },
    /// An event on a bus.
    #[serde(rename = "eventbridge")]
    EventBridge {
        /// Name or ARN of the bus.
        #[schemars(length(min = 1), extend("format" = "function"))]
        bus: String,
        /// `source` of the event.
        #[schemars(length(min = 1), extend("format" = "function"))]
        source: String,
        /// `detail-type` of the event.
        #[schemars(length(min = 1), extend("format" = "function"))]
        detail_type: String,
    },
}

/// A published version of a workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Workflow", deny_unknown_fields)]
pub struct WorkflowView {
    /// Name of the workflow.
    pub workflow_id: WorkflowId,
    /// Number of the version.
    pub version: u32,
    /// What the executor runs; handed to the target as `dag`.
    pub definition: Value,
    /// Where runs are launched.
    pub target: Target,
    /// When a run counts as done.
    pub completion: Completion,
}

/// A version of a workflow without its definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Version", deny_unknown_fields)]
pub struct VersionView {
    /// Name of the workflow.
    pub workflow_id: WorkflowId,
    /// Number of the version.
    pub version: u32,
    /// Where runs are launched.
    pub target: Target,
    /// When a run counts as done.
    pub completion: Completion,
}

/// A workflow by its newest version, and what uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkflowSummary", deny_unknown_fields)]
pub struct WorkflowSummary {
    /// Name of the workflow.
    pub workflow_id: WorkflowId,
    /// Owner of the workflow; `*` if everybody may use it.
    pub user_id: String,
    /// Number of the newest version.
    pub version: u32,
    /// Where runs of the newest version are launched.
    pub target: Target,
    /// When a run of the newest version counts as done.
    pub completion: Completion,
    /// How many schedules use the workflow, whatever their version; counted up to 1000.
    pub schedules: usize,
    /// The first 20 of those that belong to the caller, by name.
    pub used_by: Vec<ScheduleId>,
}

/// The owner of a workflow that everybody may use.
pub const EVERYBODY: &str = "*";

/// The largest definition, in bytes. Together with the target it must fit in a DynamoDB item.
pub const MAX_DEFINITION: usize = 350 * 1024;

/// The longest address or name of a target, in bytes.
const MAX_TEXT: usize = 2048;

/// The fields of a request that publishes a version. `user_id` is checked with the caller.
const FIELDS: [&str; 4] = ["definition", "target", "completion", "user_id"];

/// The kinds of targets and the fields of each.
const KINDS: [(&str, &[&str]); 5] = [
    ("http", &["url"]),
    ("sqs", &["queue_url"]),
    ("lambda", &["function"]),
    ("step_functions", &["state_machine_arn"]),
    ("eventbridge", &["bus", "source", "detail_type"]),
];

impl Workflow {
    /// The version as the API shows it.
    pub fn view(&self, id: &WorkflowId, version: u32) -> WorkflowView {
        WorkflowView {
            workflow_id: id.clone(),
            version,
            definition: self.definition.clone(),
            target: self.target.clone(),
            completion: self.completion,
        }
    }

    /// Reads a workflow version from a request body.
    pub fn parse(body: &Value) -> Result<Workflow, Vec<Invalid>> {
        let Some(fields) = body.as_object() else {
            return Err(vec![Invalid::new("", "must be a JSON object")]);
        };
        let mut problems: Vec<Invalid> = fields
            .keys()
            .filter(|key| !FIELDS.contains(&key.as_str()))
            .map(|key| Invalid::unknown(key, "is not a field of a workflow version"))
            .collect();
        let completion = match fields.get("completion") {
            None | Some(Value::Null) => Completion::default(),
            Some(value) => serde_json::from_value(value.clone()).unwrap_or_else(|_| {
                problems.push(Invalid::new("completion", "must be on_launch or tracked"));
                Completion::default()
            }),
        };
        let target = match fields.get("target") {
            None | Some(Value::Null) => Err(vec![Invalid::required("target")]),
            Some(value) => Target::parse(value),
        };
        if fields.get("definition").is_some_and(|definition| !is_shallow(definition)) {
            problems.push(Invalid::new("definition", too_deep()));
        }
        match target {
            Ok(target) if problems.is_empty() => {
                let definition = fields.get("definition").cloned().unwrap_or(Value::Null);
                Ok(Workflow { definition, target, completion })
            }
            target => {
                problems.extend(target.err().into_iter().flatten());
                Err(problems)
            }
        }
    }
}

impl Target {
    fn parse(value: &Value) -> Result<Target, Vec<Invalid>> {
        let shape = Target::shape_problems(value);
        if !shape.is_empty() {
            return Err(shape);
        }
        let target: Target = serde_json::from_value(value.clone())
            .map_err(|e| vec![Invalid::new("target", crate::encoding::cut(&e.to_string()))])?;
        let check = |(field, text): (&str, &str)| match text {
            _ if text.is_empty() => Some(Invalid::new(field, "must not be empty")),
            _ if text.len() > MAX_TEXT => {
                Some(Invalid::new(field, format!("must be at most {MAX_TEXT} bytes")))
            }
            _ if field.ends_with("url") && !is_url(text) => {
                Some(Invalid::new(field, "must be an http or https URL"))
            }
            _ if field.ends_with("arn") && !text.starts_with("arn:") => {
                Some(Invalid::new(field, "must be an ARN"))
            }
            _ => None,
        };
        let problems: Vec<_> = target.texts().into_iter().filter_map(check).collect();
        if problems.is_empty() { Ok(target) } else { Err(problems) }
    }

    /// The fields that a target lacks, has too many of, or that are not texts.
    fn shape_problems(value: &Value) -> Vec<Invalid> {
        let Some(fields) = value.as_object() else {
            return vec![Invalid::new("target", "must be a JSON object")];
        };
        let kind = match fields.get("kind") {
            None | Some(Value::Null) => return vec![Invalid::required("target.kind")],
            Some(kind) => KINDS.iter().find(|(name, _)| *kind == *name),
        };
        let Some((_, names)) = kind else {
            let kinds: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
            return vec![Invalid::new("target.kind", format!("must be {}", listed(&kinds)))];
        };
        let missing = names.iter().filter_map(|name| match fields.get(*name) {
            None | Some(Value::Null) => Some(Invalid::required(format!("target.{name}"))),
            Some(Value::String(_)) => None,
            Some(_) => Some(Invalid::new(format!("target.{name}"), "must be a text")),
        });
        let unknown = fields.keys().filter(|key| *key != "kind" && !names.contains(&key.as_str()));
        let message = "is not a field of this kind of target";
        let unknown = unknown.map(|key| Invalid::unknown(format!("target.{key}"), message));
        missing.chain(unknown).collect()
    }

    /// Every text of the target with the name of its field.
    fn texts(&self) -> Vec<(&'static str, &str)> {
        match self {
            Target::Http { url } => vec![("target.url", url)],
            Target::Sqs { queue_url } => vec![("target.queue_url", queue_url)],
            Target::Lambda { function } => vec![("target.function", function)],
            Target::StepFunctions { state_machine_arn } => {
                vec![("target.state_machine_arn", state_machine_arn)]
            }
            Target::EventBridge { bus, source, detail_type } => vec![
                ("target.bus", bus),
                ("target.source", source),
                ("target.detail_type", detail_type),
            ],
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    fn refused(body: Value, field: &str) {
        let problems = Workflow::parse(&body).unwrap_err();
        assert!(problems.iter().any(|p| p.field == field), "{problems:?}");
    }

    #[test]
    fn every_kind_of_target_is_read_and_written_alike() {
        for target in [
            json!({"kind": "http", "url": "https://example.com/run"}),
            json!({"kind": "sqs", "queue_url": "https://sqs.example.com/1/q"}),
            json!({"kind": "lambda", "function": "report"}),
            json!({"kind": "step_functions", "state_machine_arn": "arn:aws:states:x:1:stateMachine:m"}),
            json!({"kind": "eventbridge", "bus": "default", "source": "s", "detail_type": "d"}),
        ] {
            let workflow = Workflow::parse(&json!({"target": target})).unwrap();
            assert_eq!(serde_json::to_value(&workflow.target).unwrap(), target);
            assert_eq!(workflow.completion, Completion::OnLaunch);
        }
    }

    #[test]
    fn problems_name_their_field() {
        refused(json!([]), "");
        refused(json!({}), "target");
        refused(json!({"target": 1}), "target");
        refused(json!({"target": {"kind": "pigeon"}}), "target.kind");
        refused(json!({"target": {"kind": "http", "url": "ftp://x"}}), "target.url");
        refused(json!({"target": {"kind": "lambda", "function": ""}}), "target.function");
        refused(json!({"target": {"kind": "lambda", "function": "f"}, "x": 1}), "x");
        refused(
            json!({"target": {"kind": "lambda", "function": "f"}, "completion": "maybe"}),
            "completion",
        );
    }
}
