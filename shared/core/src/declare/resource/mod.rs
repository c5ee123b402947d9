//! A custom resource: a schedule or a workflow that a CloudFormation stack declares.
//!
//! Every resource of every stack has its own declared set. A set never touches a schedule that it
//! does not own. So a deletion after a failed creation removes only what that creation made, and
//! two resources that name the same schedule cannot take it from each other.

mod answer;
mod properties;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::id::{ScheduleId, SetName, WorkflowId};
use crate::invalid::Invalid;

pub use answer::{Answer, is_aws_host, reason};
pub use properties::{Properties, property};

/// What CloudFormation requests for a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create the resource.
    Create,
    /// Change the resource to its current properties.
    Update,
    /// Delete the resource.
    Delete,
}

/// The kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A schedule: `Custom::BelfrySchedule`.
    Schedule,
    /// A workflow: `Custom::BelfryWorkflow`.
    Workflow,
}

/// A request from CloudFormation. Every `Request` has a response URL, so it can be answered even if
/// the rest of it is invalid.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL that the response is sent to. It is signed and secret: anyone who has it can send a
    /// response.
    pub response_url: String,
    /// The ARN of the stack.
    pub stack_id: String,
    /// The id of the request.
    pub request_id: String,
    /// The logical id: the name of the resource in the template.
    pub logical_id: String,
    /// The physical id that an earlier response gave to the resource.
    pub physical_id: Option<String>,
    /// The properties of the resource in the template.
    pub properties: Properties,
    action: String,
    kind: String,
    old: Properties,
}

impl Request {
    /// Reads an event. `None` if it has no response URL.
    pub fn read(event: &Value) -> Option<Request> {
        let text = |name: &str| event[name].as_str().map(str::to_owned);
        Some(Request {
            response_url: text("ResponseURL")?,
            stack_id: text("StackId").unwrap_or_default(),
            request_id: text("RequestId").unwrap_or_default(),
            logical_id: text("LogicalResourceId").unwrap_or_default(),
            physical_id: text("PhysicalResourceId"),
            properties: Properties::of(&event["ResourceProperties"]),
            action: text("RequestType").unwrap_or_default(),
            kind: text("ResourceType").unwrap_or_default(),
            old: Properties::of(&event["OldResourceProperties"]),
        })
    }

    /// What CloudFormation requests. An error if the type of request is unknown.
    pub fn action(&self) -> Result<Action, Invalid> {
        match self.action.as_str() {
            "Create" => Ok(Action::Create),
            "Update" => Ok(Action::Update),
            "Delete" => Ok(Action::Delete),
            other => Err(Invalid::new(
                "RequestType",
                format!("must be Create, Update or Delete, not {other:?}"),
            )),
        }
    }

    /// The kind of resource. An error if the type is unknown.
    pub fn kind(&self) -> Result<Kind, Invalid> {
        match self.kind.as_str() {
            "Custom::BelfrySchedule" => Ok(Kind::Schedule),
            "Custom::BelfryWorkflow" => Ok(Kind::Workflow),
            _ => Err(Invalid::new(
                "Type",
                "must be Custom::BelfrySchedule or Custom::BelfryWorkflow",
            )),
        }
    }

    /// The name of the stack, read from its ARN.
    pub fn stack_name(&self) -> &str {
        self.stack_id.split('/').nth(1).unwrap_or_default()
    }

    /// The set that owns what this resource creates. Its name contains a digest of the stack's ARN
    /// and of the logical id. A later stack with the same name has another ARN.
    pub fn set(&self) -> Result<SetName, Invalid> {
        let unnamed = |_| Invalid::new("StackId", "is not the ARN of a stack");
        let (stack, logical) = (short(self.stack_name(), 24), short(&self.logical_id, 20));
        format!("stack.{stack}.{logical}.{}", self.digest()).parse().map_err(unnamed)
    }

    /// The name of the schedule, from the properties or derived from the stack.
    pub fn schedule_id(&self) -> Result<ScheduleId, Invalid> {
        self.named("ScheduleId", &self.properties)
    }

    /// The name of the workflow, from the properties or derived from the stack.
    pub fn workflow_id(&self) -> Result<WorkflowId, Invalid> {
        self.named("WorkflowId", &self.properties)
    }

    /// The physical id in a response that reports a failure: the id that the resource had before,
    /// or the id that it would have got.
    pub fn name_if_failed(&self) -> String {
        let wanted = || match self.kind() {
            Ok(Kind::Schedule) => self.schedule_id().map(String::from).ok(),
            Ok(Kind::Workflow) => self.workflow_id().map(String::from).ok(),
            Err(_) => None,
        };
        // The last of these ids contains a slash, so no schedule can have it as its name.
        let known = self.physical_id.clone().filter(|id| !id.is_empty());
        known.or_else(wanted).unwrap_or_else(|| format!("none/{}", self.logical_id))
    }

    /// The schedule that a failed replacement may have left behind. After a failure CloudFormation
    /// continues with the earlier physical id and sends the properties of the failed update as the
    /// old ones.
    pub fn left_behind(&self, id: &ScheduleId) -> Option<ScheduleId> {
        let physical = self.physical_id.as_deref()?;
        let tried: ScheduleId = self.named("ScheduleId", &self.old).ok()?;
        (id.as_str() == physical && tried != *id).then_some(tried)
    }

    /// The schedule to delete, by its physical id.
    pub fn doomed(&self) -> Option<ScheduleId> {
        self.physical_id.as_deref()?.parse().ok()
    }

    /// The schedule to delete if CloudFormation sends a physical id that it made up. It does so for
    /// a creation that was never answered. That creation may have created the schedule of the
    /// properties.
    pub fn never_answered(&self) -> Option<ScheduleId> {
        let physical = self.physical_id.as_deref()?;
        let wanted = self.schedule_id().ok()?;
        let made_up = physical.strip_prefix(&format!("{}-{}-", self.stack_name(), self.logical_id));
        let ours = physical == wanted.as_str() || physical == self.derived();
        (made_up.is_some() && !ours).then_some(wanted)
    }

    fn named<T: std::str::FromStr<Err: std::fmt::Display>>(
        &self,
        property: &str,
        properties: &Properties,
    ) -> Result<T, Invalid> {
        let name = properties.text(property)?.unwrap_or_else(|| self.derived());
        name.parse().map_err(|problem| Invalid::new(property, format!("{problem}")))
    }

    /// The name of a resource whose properties have none. It stays the same as long as the resource
    /// is in its stack.
    fn derived(&self) -> String {
        let (stack, logical) = (short(self.stack_name(), 28), short(&self.logical_id, 22));
        format!("{stack}-{logical}-{}", self.digest())
    }

    fn digest(&self) -> String {
        // ARNs contain no line break, so two different pairs never give the same text.
        hex::encode(Sha256::digest(format!("{}\n{}", self.stack_id, self.logical_id)))[..12]
            .to_owned()
    }
}

fn short(text: &str, most: usize) -> &str {
    text.get(..most).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const STACK: &str =
        "arn:aws:cloudformation:us-east-1:1:stack/billing/11111111-2222-3333-4444-555555555555";

    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    fn request(more: Value) -> Request {
        let mut event = json!({
            "RequestType": "Update", "ResourceType": "Custom::BelfrySchedule", "RequestId": "r",
            "ResponseURL": "https://example.amazonaws.com/", "StackId": STACK,
            "LogicalResourceId": "Nightly",
        });
        event.as_object_mut().unwrap().extend(crate::schedule::definition::object(&more));
        Request::read(&event).unwrap()
    }

    fn id(text: &str) -> ScheduleId {
        text.parse().unwrap()
    }

    #[test]
    fn every_resource_of_every_stack_has_a_set_of_its_own() {
        let set = |stack: &str, logical: &str| {
            request(json!({"StackId": stack, "LogicalResourceId": logical})).set().unwrap()
        };
        let nightly = set(STACK, "Nightly");
        assert!(nightly.as_str().starts_with("stack.billing.Nightly."), "{nightly}");
        assert_eq!(nightly, set(STACK, "Nightly"));
        assert_ne!(nightly, set(STACK, "Weekly"));
        assert_ne!(nightly, set(&STACK.replace("5555", "6666"), "Nightly"), "a later stack");
        // The longest names that CloudFormation allows.
        let long = format!("arn:aws:cloudformation:r:1:stack/{}/u", "s".repeat(128));
        set(&long, &"L".repeat(255));
        assert!(request(json!({"StackId": "héé/é/é"})).set().is_err());
    }

    #[test]
    fn a_schedule_without_a_name_is_named_after_its_place() {
        let derived = request(json!({})).schedule_id().unwrap();
        assert!(derived.as_str().starts_with("billing-Nightly-"), "{derived}");
        assert_eq!(derived, request(json!({"RequestId": "another"})).schedule_id().unwrap());
        let named = request(json!({"ResourceProperties": {"ScheduleId": "n"}}));
        assert_eq!(named.schedule_id().unwrap(), id("n"));
        let bad = request(json!({"ResourceProperties": {"ScheduleId": "no spaces"}}));
        assert_eq!(bad.schedule_id().unwrap_err().field, "ScheduleId");
    }

    #[track_caller]
    fn failed(more: Value, expected: &str) {
        assert_eq!(request(more).name_if_failed(), expected);
    }

    #[test]
    fn a_resource_that_failed_keeps_its_name_or_has_the_one_it_would_have_had() {
        let n = json!({"ScheduleId": "n"});
        failed(json!({"PhysicalResourceId": "old", "ResourceProperties": n}), "old");
        failed(json!({"ResourceProperties": n}), "n");
        failed(json!({"ResourceProperties": {"ScheduleId": "no spaces"}}), "none/Nightly");
        failed(json!({"ResourceProperties": n, "ResourceType": "Custom::Other"}), "none/Nightly");
    }

    #[test]
    fn only_the_rollback_of_a_failed_replacement_has_leftovers() {
        let left = |physical: &str, old: &str, new: &str| {
            let request = request(json!({
                "PhysicalResourceId": physical, "OldResourceProperties": {"ScheduleId": old},
                "ResourceProperties": {"ScheduleId": new},
            }));
            request.left_behind(&request.schedule_id().unwrap())
        };
        assert_eq!(left("a", "b", "a"), Some(id("b")));
        assert_eq!(left("a", "a", "a"), None, "a plain update");
        assert_eq!(left("a", "a", "b"), None, "a replacement");
        assert_eq!(left("b", "b", "a"), None, "the rollback of one that succeeded");
    }

    #[test]
    fn a_creation_that_was_never_answered_is_found_by_its_properties() {
        let found = |physical: &str, properties: Value| {
            let request =
                request(json!({"PhysicalResourceId": physical, "ResourceProperties": properties}));
            (request.doomed(), request.never_answered())
        };
        let n = || json!({"ScheduleId": "n"});
        assert_eq!(found("n", n()), (Some(id("n")), None));
        let made_up = "billing-Nightly-1ABCDEFGHIJK";
        assert_eq!(found(made_up, n()), (Some(id(made_up)), Some(id("n"))));
        let derived = request(json!({})).schedule_id().unwrap();
        assert_eq!(found(derived.as_str(), n()), (Some(derived), None));
        assert_eq!(found("none/Nightly", n()), (None, None));
    }

    #[test]
    fn what_it_does_not_know_is_told() {
        assert!(request(json!({"RequestType": "Import"})).action().is_err());
        assert!(request(json!({"ResourceType": "Custom::Other"})).kind().is_err());
        assert!(Request::read(&json!({"RequestType": "Create"})).is_none());
        assert!(Request::read(&json!("nonsense")).is_none());
    }
}
