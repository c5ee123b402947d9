//! Reads the deploy template: YAML with CloudFormation's tags, as the JSON it stands for.

use std::sync::OnceLock;

use belfry_local::yaml::{Kind, Node};
use serde_json::{Value, json};

/// A template.
pub struct Template(Value);

/// The text of the template this repository deploys.
pub const TEXT: &str = include_str!("../../infra/template.yaml");

impl Template {
    /// The template this repository deploys.
    pub fn ours() -> &'static Template {
        static OURS: OnceLock<Template> = OnceLock::new();
        OURS.get_or_init(|| Template::read(TEXT).expect("infra/template.yaml is readable"))
    }

    /// Reads a template.
    pub fn read(text: &str) -> Result<Template, String> {
        yaml(text).map(Template)
    }

    /// The value at a path of keys, such as `/Globals/Function`; null if there is none.
    pub fn at(&self, pointer: &str) -> &Value {
        self.0.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The properties of a resource; null if the resource does not exist.
    pub fn properties(&self, id: &str) -> &Value {
        &self.0["Resources"][id]["Properties"]
    }

    /// Every resource.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &Value)> {
        let resources = self.0["Resources"].as_object().into_iter().flatten();
        resources.map(|(id, resource)| (id.as_str(), resource))
    }

    /// The resources of a type, with their properties.
    pub fn of_type(&self, kind: &str) -> impl Iterator<Item = (&str, &Value)> {
        self.resources()
            .filter(move |(_, resource)| resource["Type"] == *kind)
            .map(|(id, resource)| (id, &resource["Properties"]))
    }
}

/// The JSON that a YAML document stands for, with tags in CloudFormation's long form.
pub fn yaml(text: &str) -> Result<Value, String> {
    let documents = belfry_local::yaml::read(text).map_err(|problem| {
        format!("{}:{}: {}", problem.place.line, problem.place.column, problem.message)
    })?;
    match documents.as_slice() {
        [document] => Ok(value(document)),
        documents => Err(format!("{} documents instead of one", documents.len())),
    }
}

fn value(node: &Node) -> Value {
    let plain = match &node.kind {
        Kind::Scalar { value, .. } => value.clone(),
        Kind::List(nodes) => nodes.iter().map(value).collect(),
        Kind::Map(fields) => Value::Object(
            fields.iter().map(|(key, node)| (key.text.clone(), value(node))).collect(),
        ),
    };
    match &node.tag {
        Some(tag) => intrinsic(tag, &plain),
        None => plain,
    }
}

/// The long form of a tag.
fn intrinsic(tag: &str, value: &Value) -> Value {
    match (tag, value.as_str()) {
        ("Ref" | "Condition", _) => json!({ tag: value }),
        ("GetAtt", Some(text)) => {
            let (resource, attribute) = text.split_once('.').unwrap_or((text, ""));
            json!({"Fn::GetAtt": [resource, attribute]})
        }
        _ => json!({ format!("Fn::{tag}"): value }),
    }
}
