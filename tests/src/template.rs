//! Reads the deploy template: YAML with CloudFormation's tags, as the JSON it stands for.

use std::sync::OnceLock;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value, json};

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

/// The JSON a YAML document stands for.
pub fn yaml(text: &str) -> Result<Value, String> {
    let mut events = Parser::new_from_str(text);
    loop {
        match next(&mut events)? {
            Event::StreamStart | Event::DocumentStart(_) => {}
            event => return node(event, &mut events),
        }
    }
}

fn next<'a>(events: &mut Parser<'a, StrInput<'a>>) -> Result<Event<'a>, String> {
    match events.next() {
        Some(Ok((event, _))) => Ok(event),
        Some(Err(problem)) => Err(problem.to_string()),
        None => Err("the document ends too early".to_owned()),
    }
}

fn node<'a>(event: Event<'a>, events: &mut Parser<'a, StrInput<'a>>) -> Result<Value, String> {
    let (tag, value) = match event {
        Event::Scalar(text, style, _, tag) => {
            let value = match (style, &tag) {
                (ScalarStyle::Plain, None) => plain(&text),
                _ => json!(text),
            };
            (tag, value)
        }
        Event::SequenceStart(_, tag) => {
            let mut items = Vec::new();
            loop {
                match next(events)? {
                    Event::SequenceEnd => break (tag, Value::Array(items)),
                    event => items.push(node(event, events)?),
                }
            }
        }
        Event::MappingStart(_, tag) => {
            let mut pairs = Map::new();
            loop {
                let key = match next(events)? {
                    Event::MappingEnd => break (tag, Value::Object(pairs)),
                    Event::Scalar(key, ..) => key.into_owned(),
                    event => return Err(format!("a key is {event:?}")),
                };
                let event = next(events)?;
                let value = node(event, events)?;
                if pairs.insert(key.clone(), value).is_some() {
                    return Err(format!("{key} is there twice"));
                }
            }
        }
        event => return Err(format!("cannot read {event:?}")),
    };
    Ok(match tag {
        Some(tag) => intrinsic(&tag.suffix, &value),
        None => value,
    })
}

/// What a word without quotes means: a number, yes or no, nothing, or itself.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => json!(true),
        "false" => json!(false),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => json!(number),
            (_, Ok(number)) if text.starts_with(|c: char| c.is_ascii_digit()) => json!(number),
            _ => json!(text),
        },
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
