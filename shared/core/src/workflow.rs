//! A workflow: an immutable, versioned definition and the target that a run of it is launched at.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::encoding::json_text;
use crate::id::WorkflowId;
use crate::invalid::Invalid;

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

/// The owner of a workflow that everybody may use.
pub const EVERYBODY: &str = "*";

/// The largest definition, in bytes. Together with the target it must fit in a DynamoDB item.
pub const MAX_DEFINITION: usize = 350 * 1024;

/// The longest address or name of a target, in bytes.
const MAX_TEXT: usize = 2048;

fn too_long() -> String {
    format!("must be at most {MAX_TEXT} bytes")
}

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
            .filter(|key| !matches!(key.as_str(), "definition" | "target" | "completion"))
            .map(|key| Invalid::new(key, "is not a field of a workflow version"))
            .collect();
        let completion = match fields.get("completion") {
            None | Some(Value::Null) => Completion::default(),
            Some(value) => serde_json::from_value(value.clone()).unwrap_or_else(|_| {
                problems.push(Invalid::new("completion", "must be on_launch or tracked"));
                Completion::default()
            }),
        };
        let target = match fields.get("target") {
            None | Some(Value::Null) => Err(Invalid::new("target", "is required")),
            Some(value) => Target::parse(value),
        };
        match target {
            Ok(target) if problems.is_empty() => {
                let definition = fields.get("definition").cloned().unwrap_or(Value::Null);
                Ok(Workflow { definition, target, completion })
            }
            Ok(_) => Err(problems),
            Err(problem) => {
                problems.push(problem);
                Err(problems)
            }
        }
    }
}

impl Target {
    fn parse(value: &Value) -> Result<Target, Invalid> {
        let target: Target = serde_json::from_value(value.clone())
            .map_err(|e| Invalid::new("target", crate::encoding::cut(&e.to_string())))?;
        let (field, text) = match &target {
            Target::Http { url } => ("target.url", url),
            Target::Sqs { queue_url } => ("target.queue_url", queue_url),
            Target::Lambda { function } => ("target.function", function),
            Target::StepFunctions { state_machine_arn } => {
                ("target.state_machine_arn", state_machine_arn)
            }
            Target::EventBridge { bus, source, detail_type } => {
                if source.is_empty() || detail_type.is_empty() {
                    return Err(Invalid::new("target", "must have a source and a detail_type"));
                }
                let texts = [("target.source", source), ("target.detail_type", detail_type)];
                if let Some((field, _)) = texts.iter().find(|(_, text)| text.len() > MAX_TEXT) {
                    return Err(Invalid::new(*field, too_long()));
                }
                ("target.bus", bus)
            }
        };
        let is_url = text.starts_with("https://") || text.starts_with("http://");
        match &target {
            _ if text.is_empty() => Err(Invalid::new(field, "must not be empty")),
            _ if text.len() > MAX_TEXT => Err(Invalid::new(field, too_long())),
            Target::Http { .. } | Target::Sqs { .. } if !is_url => {
                Err(Invalid::new(field, "must be an http or https URL"))
            }
            Target::StepFunctions { .. } if !text.starts_with("arn:") => {
                Err(Invalid::new(field, "must be an ARN"))
            }
            _ => Ok(target),
        }
    }
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
        refused(json!({"target": {"kind": "pigeon"}}), "target");
        refused(json!({"target": {"kind": "http", "url": "ftp://x"}}), "target.url");
        refused(json!({"target": {"kind": "lambda", "function": ""}}), "target.function");
        refused(json!({"target": {"kind": "lambda", "function": "f"}, "x": 1}), "x");
        refused(
            json!({"target": {"kind": "lambda", "function": "f"}, "completion": "maybe"}),
            "completion",
        );
    }
}
