//! YAML as a tree that knows its lines and columns. JSON is YAML, so one reader reads both.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Number, Value, json};

/// A limit on nodes, because aliases of aliases grow exponentially.
const MAX_NODES: usize = 500_000;
/// A limit on nesting, because the functions that walk the tree are recursive.
const MAX_DEPTH: usize = 100;

/// A position in a text, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// The value.
    pub kind: Kind,
    /// The name of its local tag, such as `Ref` for `!Ref`.
    pub tag: Option<String>,
}

/// The kinds of values.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A string, a number, true, false or null.
    Scalar {
        /// The value in JSON.
        value: Value,
        /// Columns between the node's position and its first character, if the text stands in the
        /// file unescaped: 1 for a quoted text.
        lead: Option<usize>,
    },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the text.
    Map(Vec<(Key, Node)>),
}

/// The name of a field.
#[derive(Clone, Debug)]
pub struct Key {
    /// The name.
    pub text: String,
    /// Where it begins.
    pub place: Place,
}

/// Why a file cannot be read, and at which position.
#[derive(Debug)]
pub struct Unreadable {
    /// The position.
    pub place: Place,
    /// The problem.
    pub message: String,
}

impl Node {
    /// The value in JSON, without tags.
    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar { value, .. } => value.clone(),
            Kind::List(nodes) => nodes.iter().map(Node::value).collect(),
            Kind::Map(fields) => Value::Object(
                fields.iter().map(|(key, node)| (key.text.clone(), node.value())).collect(),
            ),
        }
    }

    /// The field of a map.
    pub fn get(&self, name: &str) -> Option<&Node> {
        let Kind::Map(fields) = &self.kind else { return None };
        fields.iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
    }

    /// The position of a dotted path, or of its nearest parent that exists. `at` is a character of
    /// the text at the path, counted from 0.
    pub fn find(&self, path: &str, at: Option<usize>) -> Place {
        if path.is_empty() {
            let Kind::Scalar { lead: Some(lead), .. } = self.kind else { return self.place };
            let Some(at) = at else { return self.place };
            return Place { column: self.place.column + lead + at, ..self.place };
        }
        let Kind::Map(fields) = &self.kind else { return self.place };
        for (key, node) in fields {
            if let Some(rest) = path.strip_prefix(key.text.as_str())
                && (rest.is_empty() || rest.starts_with('.'))
            {
                let rest = rest.trim_start_matches('.');
                // A problem with a whole field is reported at its name.
                return match (&node.kind, rest) {
                    (Kind::List(_) | Kind::Map(_), "") => key.place,
                    _ => node.find(rest, at),
                };
            }
        }
        self.place
    }
}

/// The documents of a YAML text.
pub fn read(text: &str) -> Result<Vec<Node>, Unreadable> {
    let mut reader = Reader::default();
    let mut documents = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|problem| {
            let marker = problem.marker();
            let place = Place { line: marker.line(), column: marker.col() + 1 };
            Unreadable { place, message: hinted(problem.info(), text, place) }
        })?;
        if let Some(document) = reader.take(event, span)? {
            documents.push(document);
        }
    }
    Ok(documents)
}

/// The scanner's message, with a hint at the most common cause.
fn hinted(problem: &str, text: &str, place: Place) -> String {
    let line = text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
    let value = line.split_once(": ").map_or("", |(_, value)| value.trim_start());
    match value.starts_with(['*', '@', '%']) {
        true => format!("{problem}; quote a text that begins with this character"),
        false => problem.to_owned(),
    }
}

#[derive(Default)]
struct Reader {
    /// The open lists and maps, each map with the name of its next value.
    open: Vec<(Node, usize, Option<Key>)>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
}

impl Reader {
    /// Processes an event; returns a document when one is complete.
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<Option<Node>, Unreadable> {
        let place = Place { line: span.start.line(), column: span.start.col() + 1 };
        let refuse = |message: &str| Err(Unreadable { place, message: message.to_owned() });
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return refuse("the file has too many nodes");
        }
        match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if self.open.len() == MAX_DEPTH => {
                refuse("is nested too deeply")
            }
            Event::SequenceStart(anchor, tag) => {
                let node = Node { place, kind: Kind::List(Vec::new()), tag: local(tag) };
                self.open.push((node, anchor, None));
                Ok(None)
            }
            Event::MappingStart(anchor, tag) => {
                let node = Node { place, kind: Kind::Map(Vec::new()), tag: local(tag) };
                self.open.push((node, anchor, None));
                Ok(None)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((node, anchor, _)) => self.put(node, anchor),
                None => Ok(None),
            },
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.as_ref().is_some_and(|tag| tag.suffix == "str");
                let kind = scalar(&text, style, is_text, place)?;
                let node = Node { place, kind, tag: local(tag) };
                self.put(node, anchor)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some(node) => {
                    self.nodes += size(&node);
                    self.put(node, 0)
                }
                None => refuse("the alias refers to no anchor"),
            },
            _ => Ok(None),
        }
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<Option<Node>, Unreadable> {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some((parent, _, name)) = self.open.last_mut() else { return Ok(Some(node)) };
        let refuse = |place: Place, message: String| Err(Unreadable { place, message });
        match &mut parent.kind {
            Kind::List(nodes) => nodes.push(node),
            Kind::Map(fields) => match name.take() {
                Some(key) => fields.push((key, node)),
                None => {
                    let text = match &node.kind {
                        Kind::Scalar { value: Value::String(text), .. } => text.clone(),
                        Kind::Scalar { value, .. } => value.to_string(),
                        _ => return refuse(node.place, "a field name must be a text".to_owned()),
                    };
                    if text == "<<" {
                        let message = "merge keys are not supported; use `defaults:`";
                        return refuse(node.place, message.to_owned());
                    }
                    if fields.iter().any(|(key, _)| key.text == text) {
                        return refuse(node.place, format!("the field {text} occurs twice"));
                    }
                    *name = Some(Key { text, place: node.place });
                }
            },
            Kind::Scalar { .. } => {}
        }
        Ok(None)
    }
}

/// The name of a local tag. Tags of YAML's core schema are left out: they only give the type of a scalar.
fn local(tag: Option<Cow<'_, Tag>>) -> Option<String> {
    tag.filter(|tag| !tag.is_yaml_core_schema()).map(|tag| tag.suffix.clone())
}

fn size(node: &Node) -> usize {
    match &node.kind {
        Kind::Scalar { .. } => 1,
        Kind::List(nodes) => 1 + nodes.iter().map(size).sum::<usize>(),
        Kind::Map(fields) => 1 + fields.iter().map(|(_, node)| size(node)).sum::<usize>(),
    }
}

fn scalar(text: &str, style: ScalarStyle, is_text: bool, place: Place) -> Result<Kind, Unreadable> {
    let lead = match style {
        ScalarStyle::Plain => Some(0),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Some(1),
        ScalarStyle::Literal | ScalarStyle::Folded => None,
    };
    let value = match style {
        ScalarStyle::Plain if !is_text => plain(text),
        _ => Some(Value::from(text)),
    };
    match value {
        Some(value) => Ok(Kind::Scalar { value, lead }),
        None => Err(Unreadable { place, message: format!("{text} is not a number in JSON") }),
    }
}

/// What a plain scalar means in the core schema of YAML 1.2, in which `no`, `on` and times are
/// strings.
pub fn plain(text: &str) -> Option<Value> {
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => json!(true),
        "false" | "False" | "FALSE" => json!(false),
        _ => {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
                && digits.chars().any(|c| c.is_ascii_digit());
            match digits {
                ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN" => return None,
                _ if !is_number => Value::from(text),
                _ => number(text, digits).map_or_else(|| Value::from(text), Value::Number),
            }
        }
    };
    Some(value)
}

fn number(text: &str, digits: &str) -> Option<Number> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(Number::from);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return u64::from_str_radix(octal, 8).ok().map(Number::from);
    }
    // JSON's own notation is kept as it is written, whatever its size and precision.
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let is_float = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '-' | '+');
    if !digits.chars().all(is_float) {
        return None;
    }
    // What only YAML takes for a number, such as 007, .5 and 1.
    let (whole, rest) = match digits.find(|c: char| !c.is_ascii_digit()) {
        Some(end) => digits.split_at(end),
        None => (digits, ""),
    };
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let rest = match rest.strip_prefix('.') {
        Some(after) if !after.starts_with(|c: char| c.is_ascii_digit()) => after,
        _ => rest,
    };
    let sign = if text.starts_with('-') { "-" } else { "" };
    format!("{sign}{whole}{rest}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        read(text).unwrap()[0].value()
    }

    #[test]
    fn yaml_and_json_are_read_alike() {
        let yaml = "set: billing\nschedules:\n- schedule_id: a # a comment\n  cron_expr: 0 2 * * *\n  \
                    start_at: 2026-01-01T00:00:00Z\n  paused: false\n  jitter_ms: 500\n  \
                    payload: {no: off, n: 1.5, s: '7', nothing: ~, x: 0x10, more: [1, -2]}\n";
        let json = json!({"set": "billing", "schedules": [{
            "schedule_id": "a", "cron_expr": "0 2 * * *", "start_at": "2026-01-01T00:00:00Z",
            "paused": false, "jitter_ms": 500,
            "payload": {"no": "off", "n": 1.5, "s": "7", "nothing": null, "x": 16, "more": [1, -2]},
        }]});
        assert_eq!(value(yaml), json);
        assert_eq!(value(&json.to_string()), json);
    }

    #[test]
    fn numbers_stay_as_they_are_written() {
        for number in
            ["123456789012345678901234567890", "-98765432109876543210", "1.10", "-0.50", "1e+400"]
        {
            assert_eq!(value(number).to_string(), number);
            assert!(value(number).is_number(), "{number}");
        }
        for (yaml, json) in [
            ("+7", "7"),
            ("007", "7"),
            ("00", "0"),
            (".5", "0.5"),
            ("1.", "1"),
            ("-.5e3", "-0.5e+3"),
            ("1.e2", "1e+2"),
        ] {
            assert_eq!(value(yaml).to_string(), json, "{yaml}");
        }
        for text in ["1-2", "1.2.3", "10.0.0.1", "2026-01-01", "1e", "."] {
            assert_eq!(value(text), json!(text));
        }
    }

    #[track_caller]
    fn refused(text: &str, place: (usize, usize), message: &str) {
        let problem = read(text).unwrap_err();
        assert_eq!((problem.place.line, problem.place.column), place, "{}", problem.message);
        assert!(problem.message.contains(message), "{}", problem.message);
    }

    #[test]
    fn what_cannot_be_read_is_told_by_line_and_column() {
        refused("a: 1\nb: 2\na: 3\n", (3, 1), "the field a occurs twice");
        refused("a:\n  <<: {}\n", (2, 3), "defaults");
        refused("a: .inf\n", (1, 4), "not a number");
        refused("cron_expr: @daily\n", (1, 12), "quote a text");
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                    c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                    e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
        assert!(read(bomb).is_err());
        assert!(read(&"[".repeat(1000)).is_err());
    }

    #[test]
    fn a_place_is_found_by_its_path() {
        let text = "schedule_id: a\ncron_expr: '61 * * * *'\ntags:\n  a: 1\n";
        let node = &read(text).unwrap()[0];
        let found = |path: &str, at| {
            let place = node.find(path, at);
            (place.line, place.column)
        };
        assert_eq!(found("cron_expr", None), (2, 12));
        assert_eq!(found("cron_expr", Some(3)), (2, 16));
        assert_eq!(found("tags", None), (3, 1));
        assert_eq!(found("tags.a", None), (4, 6));
        assert_eq!(found("workflow_id", None), (1, 1));
    }
}
