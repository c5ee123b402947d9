//! Finds the schedules and rules of a CloudFormation template, with its functions (`Ref`, `GetAtt`,
//! `Sub`, `Join`) replaced by what they stand for.

use belfry_local::yaml::{Kind, Node};
use serde_json::{Map, Value, json};

use super::eventbridge::Wish;

/// A schedule or rule of a template.
pub(super) struct Found {
    pub(super) name: String,
    /// In the form of EventBridge's own answers, or why it cannot be brought into it.
    pub(super) properties: Result<Value, String>,
    pub(super) warnings: Vec<String>,
}

/// A YAML node with the short forms of functions written out: `!Ref A` is `{"Ref": "A"}`.
pub(super) fn untagged(node: &Node) -> Value {
    let value = match &node.kind {
        Kind::Scalar { value, .. } => value.clone(),
        Kind::List(nodes) => nodes.iter().map(untagged).collect(),
        Kind::Map(fields) => {
            let fields = fields.iter().map(|(key, node)| (key.text.clone(), untagged(node)));
            Value::Object(fields.collect())
        }
    };
    match node.tag.as_deref() {
        None => value,
        Some(tag @ ("Ref" | "Condition")) => json!({tag: value}),
        Some(tag) => json!({format!("Fn::{tag}"): value}),
    }
}

/// The schedules and rules of a template, in the order of their names.
pub(super) fn schedules(template: &Value, wish: &Wish) -> Vec<Found> {
    let mut found = Vec::new();
    for (id, resource) in template["Resources"].as_object().into_iter().flatten() {
        match resource["Type"].as_str().unwrap_or_default() {
            "AWS::Scheduler::Schedule" | "AWS::Events::Rule" => {
                found.push(one(template, wish, id, resource, &resource["Properties"]));
            }
            "AWS::Serverless::Function" | "AWS::Serverless::StateMachine" => {
                let events = resource["Properties"]["Events"].as_object();
                for (event, value) in events.into_iter().flatten() {
                    if matches!(value["Type"].as_str(), Some("Schedule" | "ScheduleV2")) {
                        let name = format!("{id}{event}");
                        let properties = of_event(id, resource, &value["Properties"]);
                        found.push(one(template, wish, &name, resource, &properties));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The schedule event of a SAM function or state machine, as the rule that it becomes.
fn of_event(id: &str, resource: &Value, event: &Value) -> Value {
    let mut rule = event.as_object().cloned().unwrap_or_default();
    if let Some(expression) = rule.remove("Schedule").or_else(|| rule.remove("ScheduleExpression"))
    {
        rule.insert("ScheduleExpression".to_owned(), expression);
    }
    if rule.remove("Enabled") == Some(Value::Bool(false)) {
        rule.insert("State".to_owned(), json!("DISABLED"));
    }
    let arn = match resource["Type"].as_str() {
        Some("AWS::Serverless::StateMachine") => json!({"Ref": id}),
        _ => json!({"Fn::GetAtt": [id, "Arn"]}),
    };
    let mut target = json!({"Arn": arn});
    for field in ["Input", "RetryPolicy", "DeadLetterConfig"] {
        if let Some(value) = rule.remove(field) {
            target[field] = value;
        }
    }
    rule.insert("Target".to_owned(), target);
    Value::Object(rule)
}

fn one(template: &Value, wish: &Wish, id: &str, resource: &Value, properties: &Value) -> Found {
    let mut resolver = Resolver { template, wish, warnings: Vec::new(), depth: 0 };
    if let Some(condition) = resource["Condition"].as_str() {
        resolver.warnings.push(format!("depends on the condition {condition} of the template"));
    }
    let properties = resolver.value(properties).map(|mut properties| {
        if properties["Name"].as_str().is_none() {
            properties["Name"] = json!(id);
        }
        properties
    });
    Found { name: id.to_owned(), properties, warnings: resolver.warnings }
}

/// A chain of functions that is longer leads in a circle.
const MAX_DEPTH: usize = 50;

struct Resolver<'a> {
    template: &'a Value,
    wish: &'a Wish,
    warnings: Vec<String>,
    depth: usize,
}

impl Resolver<'_> {
    /// A value without functions.
    fn value(&mut self, value: &Value) -> Result<Value, String> {
        match value {
            Value::Array(values) => values.iter().map(|value| self.value(value)).collect(),
            Value::Object(fields) => {
                let mut only = fields.iter();
                if let (Some((name, argument)), None) = (only.next(), only.next())
                    && (name == "Ref" || name.starts_with("Fn::"))
                {
                    return self.nested(name, argument);
                }
                let mut resolved = Map::new();
                for (name, value) in fields {
                    let value = match name.as_str() {
                        // Not carried over, so they need not be known.
                        "RoleArn" | "DeadLetterConfig" | "KmsKeyArn" => json!({}),
                        _ => self.value(value)?,
                    };
                    resolved.insert(name.clone(), value);
                }
                Ok(Value::Object(resolved))
            }
            value => Ok(value.clone()),
        }
    }

    fn nested(&mut self, name: &str, argument: &Value) -> Result<Value, String> {
        if self.depth == MAX_DEPTH {
            return Err("its functions refer to each other in a circle".to_owned());
        }
        self.depth += 1;
        let called = self.call(name, argument);
        self.depth -= 1;
        called
    }

    fn call(&mut self, name: &str, argument: &Value) -> Result<Value, String> {
        let unknown = || format!("{name} cannot be resolved here");
        match name {
            "Ref" => self.reference(argument.as_str().ok_or_else(unknown)?),
            "Fn::GetAtt" => {
                let (id, attribute) = match argument {
                    Value::String(text) => text.split_once('.').ok_or_else(unknown)?,
                    list => {
                        let part = |at: usize| list[at].as_str().ok_or_else(unknown);
                        (part(0)?, part(1)?)
                    }
                };
                self.attribute(id, attribute)
            }
            "Fn::Sub" => {
                let (text, own) = match argument {
                    Value::String(text) => (text.as_str(), &Value::Null),
                    list => (list[0].as_str().ok_or_else(unknown)?, &list[1]),
                };
                self.substitute(text, own)
            }
            "Fn::Join" => {
                let separator = argument[0].as_str().ok_or_else(unknown)?;
                let parts = self.value(&argument[1])?;
                let parts = parts.as_array().ok_or_else(unknown)?.iter().map(Value::as_str);
                let parts: Option<Vec<_>> = parts.collect();
                Ok(json!(parts.ok_or_else(unknown)?.join(separator)))
            }
            _ => Err(unknown()),
        }
    }

    fn reference(&mut self, id: &str) -> Result<Value, String> {
        match id {
            "AWS::Region" => return self.region().map(Value::from),
            "AWS::AccountId" => return self.account().map(Value::from),
            "AWS::Partition" => return Ok(json!("aws")),
            _ => {}
        }
        if let Some(parameter) = self.template["Parameters"].get(id) {
            let default = parameter.get("Default").cloned();
            return default.ok_or_else(|| format!("the parameter {id} has no default"));
        }
        match self.template["Resources"][id]["Type"].as_str() {
            Some("AWS::StepFunctions::StateMachine" | "AWS::Serverless::StateMachine") => {
                self.attribute(id, "Arn")
            }
            Some(_) => self.name(id).map(Value::from),
            None => Err(format!("{id} cannot be resolved here")),
        }
    }

    /// The address of a resource that can be a target.
    fn attribute(&mut self, id: &str, attribute: &str) -> Result<Value, String> {
        let kind = self.template["Resources"][id]["Type"].as_str().unwrap_or_default();
        let (service, prefix) = match kind {
            "AWS::Lambda::Function" | "AWS::Serverless::Function" => ("lambda", "function:"),
            "AWS::StepFunctions::StateMachine" | "AWS::Serverless::StateMachine" => {
                ("states", "stateMachine:")
            }
            "AWS::SQS::Queue" => ("sqs", ""),
            "AWS::Events::EventBus" => ("events", "event-bus/"),
            _ => return Err(format!("{id}.{attribute} cannot be resolved here")),
        };
        let name = self.name(id)?;
        match attribute {
            "Arn" => {
                let (region, account) = (self.region()?, self.account()?);
                Ok(json!(format!("arn:aws:{service}:{region}:{account}:{prefix}{name}")))
            }
            "Name" | "QueueName" | "FunctionName" => Ok(json!(name)),
            _ => Err(format!("{id}.{attribute} cannot be resolved here")),
        }
    }

    /// The name of a resource. CloudFormation makes one up if the template has none.
    fn name(&mut self, id: &str) -> Result<String, String> {
        let properties = &self.template["Resources"][id]["Properties"];
        let fields = ["FunctionName", "StateMachineName", "QueueName", "Name"];
        let given = fields.iter().map(|field| &properties[field]).find(|value| !value.is_null());
        if let Some(given) = given {
            let name = self.value(given)?;
            return name.as_str().map(str::to_owned).ok_or_else(|| format!("{id} has an odd name"));
        }
        self.warnings.push(format!(
            "{id} has no name in the template; {id} stands for the name that CloudFormation made up"
        ));
        Ok(id.to_owned())
    }

    /// Replaces each `${...}` of a text; `${!...}` stands for itself.
    fn substitute(&mut self, text: &str, own: &Value) -> Result<Value, String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) =
                after.split_once('}').ok_or_else(|| format!("Fn::Sub: {text} has no end"))?;
            result += before;
            let value = match (name.strip_prefix('!'), own.get(name), name.split_once('.')) {
                (Some(literal), ..) => json!(format!("${{{literal}}}")),
                (_, Some(own), _) => self.value(own)?,
                (.., Some((id, attribute))) => self.attribute(id, attribute)?,
                _ => self.nested("Ref", &json!(name))?,
            };
            match value {
                Value::String(value) => result += &value,
                value => result += &value.to_string(),
            }
            rest = behind;
        }
        Ok(json!(result + rest))
    }

    fn region(&self) -> Result<String, String> {
        let missing = || "its target depends on the region; pass --region".to_owned();
        self.wish.region.clone().ok_or_else(missing)
    }

    fn account(&self) -> Result<String, String> {
        let missing = || "its target depends on the account; pass --account".to_owned();
        self.wish.account.clone().ok_or_else(missing)
    }
}
