//! The example stack, deployed: its real template, resource by resource, against the real handler.

use std::collections::BTreeMap;

use belfry_tests::{Stack, Template, World};
use serde_json::{Map, Value, json};

const EXAMPLE: &str = include_str!("../../infra/examples/schedules.yaml");

/// What CloudFormation knows of a deployed resource.
#[derive(Clone, Debug)]
struct Deployed {
    physical_id: String,
    attributes: Value,
    properties: Value,
}

/// As much of CloudFormation as the example needs: references, order, and its kinds of requests.
struct Deployment {
    world: World,
    stack: Stack,
    template: Template,
    parameters: BTreeMap<String, String>,
    deployed: BTreeMap<String, Deployed>,
}

impl Deployment {
    async fn new(queue_url: &str) -> Deployment {
        let template = Template::read(EXAMPLE).unwrap();
        let declared = template.at("/Parameters").as_object().unwrap().iter();
        let mut parameters: BTreeMap<_, _> =
            declared.map(|(name, it)| (name.clone(), text(&it["Default"]))).collect();
        let given = [("ServiceToken", "arn:f"), ("LauncherRoleArn", "arn:r"), ("Owner", "ann")];
        parameters.extend(given.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let queue = Deployed {
            physical_id: queue_url.to_owned(),
            attributes: json!({"Arn": "arn:aws:sqs:us-east-1:1:jobs"}),
            properties: Value::Null,
        };
        let deployed = BTreeMap::from([("Jobs".to_owned(), queue)]);
        let (world, stack) = (World::new().await, Stack::start("jobs").await);
        Deployment { world, stack, template, parameters, deployed }
    }

    /// The value of a part of the template; `None` if it refers to something not deployed yet.
    /// Numbers and booleans become strings, as in CloudFormation.
    fn resolved(&self, value: &Value) -> Option<Value> {
        let Value::Object(fields) = value else {
            return match value {
                Value::Array(items) => items.iter().map(|item| self.resolved(item)).collect(),
                value => Some(json!(text(value))),
            };
        };
        let name = |of: &Value| of.as_str().unwrap().to_owned();
        Some(match fields.iter().next() {
            Some((key, of)) if key == "Ref" => json!(self.reference(&name(of))?),
            Some((key, of)) if key == "Fn::GetAtt" => {
                let of_resource = self.deployed.get(&name(&of[0]))?;
                json!(text(&of_resource.attributes[name(&of[1])]))
            }
            Some((key, of)) if key == "Fn::Sub" => {
                let mut told = name(of);
                while let Some((_, rest)) = told.split_once("${") {
                    let inner = rest.split_once('}').unwrap().0.to_owned();
                    told = told.replace(&format!("${{{inner}}}"), &self.reference(&inner)?);
                }
                json!(told)
            }
            // The example's only condition is whether an owner is given, and one is.
            Some((key, of)) if key == "Fn::If" => self.resolved(&of[1])?,
            Some((key, of)) if key == "Fn::Split" => {
                let whole = text(&self.resolved(&of[1])?);
                whole.split(&name(&of[0])).collect()
            }
            _ => {
                let field =
                    |(key, value): (&String, &Value)| Some((key.clone(), self.resolved(value)?));
                Value::Object(fields.iter().map(field).collect::<Option<Map<_, _>>>()?)
            }
        })
    }

    fn reference(&self, name: &str) -> Option<String> {
        let known = match name {
            "AWS::StackName" => Some("jobs".to_owned()),
            name => self.parameters.get(name).cloned(),
        };
        known.or_else(|| Some(self.deployed.get(name)?.physical_id.clone()))
    }

    /// Creates or updates every custom resource of ours, in the order of their references. Returns
    /// those that changed.
    async fn deploy(&mut self) -> Vec<String> {
        let ours = |resource: &Value| text(&resource["Type"]).starts_with("Custom::");
        let all = self.template.resources().filter(|(_, resource)| ours(resource));
        let mut waiting: Vec<_> = all.map(|(id, it)| (id.to_owned(), it.clone())).collect();
        let mut changed = Vec::new();
        // A resource's attributes from an earlier deployment are unknown until it is deployed
        // again.
        let mut before = self.deployed.clone();
        self.deployed.retain(|id, _| id == "Jobs");
        while !waiting.is_empty() {
            let ready =
                waiting.iter().position(|(_, it)| self.resolved(&it["Properties"]).is_some());
            let (id, resource) = waiting.remove(ready.expect("references without a circle"));
            let properties = self.resolved(&resource["Properties"]).unwrap();
            let deployed = match before.remove(&id) {
                Some(old) if old.properties == properties => old,
                old => {
                    changed.push(id.clone());
                    self.ask(&id, &resource["Type"], old, properties).await
                }
            };
            self.deployed.insert(id, deployed);
        }
        changed
    }

    async fn ask(
        &self,
        id: &str,
        kind: &Value,
        old: Option<Deployed>,
        properties: Value,
    ) -> Deployed {
        let mut more = json!({"ResourceType": kind});
        if let Some(old) = &old {
            more["PhysicalResourceId"] = json!(old.physical_id);
            more["OldResourceProperties"] = old.properties.clone();
        }
        let action = if old.is_some() { "Update" } else { "Create" };
        let event = self.stack.request(action, id, &properties, &more);
        let answer = self.stack.ask(&self.world, &event).await;
        assert_eq!(answer["Status"], "SUCCESS", "{id}: {answer}");
        let physical_id = text(&answer["PhysicalResourceId"]);
        Deployed { physical_id, attributes: answer["Data"].clone(), properties }
    }

    async fn delete(&mut self) {
        for (id, resource) in std::mem::take(&mut self.deployed) {
            if id == "Jobs" {
                continue;
            }
            let kind = &self.template.at(&format!("/Resources/{id}"))["Type"];
            let more = json!({"ResourceType": kind, "PhysicalResourceId": resource.physical_id});
            let event = self.stack.request("Delete", &id, &resource.properties, &more);
            let answer = self.stack.ask(&self.world, &event).await;
            assert_eq!(answer["Status"], "SUCCESS", "{id}: {answer}");
        }
    }

    /// The schedules as the API shows them to their owner, by name.
    async fn shown(&self) -> BTreeMap<String, Value> {
        let list = self.world.ok("GET", "/schedules", &Value::Null).await;
        let mut shown = BTreeMap::new();
        for id in list["items"].as_array().unwrap().iter().map(|item| text(&item["schedule_id"])) {
            // A list leaves some fields out, so each schedule is read by itself.
            let path = format!("/schedules/{id}");
            shown.insert(id, self.world.ok("GET", &path, &Value::Null).await);
        }
        shown
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_stack_is_created_updated_and_deleted() {
    let mut deployment = Deployment::new("https://sqs.us-east-1.amazonaws.com/1/jobs").await;
    assert_eq!(deployment.deploy().await.len(), 11);
    let shown = deployment.shown().await;
    assert_eq!(shown.len(), 10);
    assert_eq!(shown["jobs-nightly"]["cron_expr"], "30 2 * * *");
    assert_eq!(shown["jobs-publish"]["after_schedule_id"], "jobs-nightly");
    assert_eq!(shown["jobs-digest"]["payload"], json!({"recipients": 12, "html": true}));
    assert_eq!(shown["jobs-backlog"]["max_concurrent"], 3);
    assert_eq!(shown["jobs-heartbeat"]["inject_metadata"], false);
    assert!(shown.values().all(|schedule| schedule["version"] == 1));

    assert_eq!(deployment.deploy().await, Vec::<String>::new(), "nothing to do");

    let set = |deployment: &mut Deployment, name: &str, value: &str| {
        deployment.parameters.insert(name.to_owned(), value.to_owned());
    };
    set(&mut deployment, "NightHour", "4");
    set(&mut deployment, "DigestPaused", "true");
    let mut changed = deployment.deploy().await;
    changed.sort();
    assert_eq!(changed, ["Digest", "Nightly"]);
    let after = deployment.shown().await;
    assert_eq!(after["jobs-nightly"]["cron_expr"], "30 4 * * *");
    assert_eq!(after["jobs-digest"]["status"], "paused");
    let untouched = |id: &&String| !["jobs-nightly", "jobs-digest"].contains(&id.as_str());
    for id in shown.keys().filter(untouched) {
        assert_eq!(after[id]["revision"], shown[id]["revision"], "{id}");
    }

    // Another definition is another version, which every schedule follows.
    set(&mut deployment, "Steps", "extract,transform,load");
    assert_eq!(deployment.deploy().await.len(), 11);
    assert!(deployment.shown().await.values().all(|schedule| schedule["version"] == 2));

    deployment.delete().await;
    assert_eq!(deployment.shown().await, BTreeMap::new());
    let versions = deployment.world.ok("GET", "/workflows/jobs-flow/versions", &Value::Null).await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
}
