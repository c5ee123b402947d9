//! Writes JSON as YAML for people.

use belfry_local::yaml::plain;
use serde_json::Value;

/// Fields written first, because people look for them first.
const FIRST: [&str; 11] = [
    "set",
    "defaults",
    "workflows",
    "schedules",
    "schedule_id",
    "workflow_id",
    "version",
    "name",
    "description",
    "cron_expr",
    "timezone",
];

/// Writes JSON as YAML.
pub(crate) fn write(value: &Value) -> String {
    let mut text = String::new();
    block(&mut text, value, 0);
    text
}

fn block(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let mut fields: Vec<_> = fields.iter().collect();
            let rank = |name: &str| FIRST.iter().position(|first| *first == name);
            fields.sort_by_key(|(name, _)| rank(name).unwrap_or(FIRST.len()));
            for (name, value) in fields {
                *text += &format!("{indent}{}:", word(name));
                behind(text, value, depth);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for value in values {
                match value {
                    Value::Object(fields) if !fields.is_empty() => {
                        let mut inner = String::new();
                        block(&mut inner, value, depth + 1);
                        *text += &format!("{indent}- {}", inner.trim_start());
                    }
                    value => *text += &format!("{indent}- {}\n", flow(value)),
                }
            }
        }
        value => *text += &format!("{indent}{}\n", flow(value)),
    }
}

fn behind(text: &mut String, value: &Value, depth: usize) {
    let is_empty = match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(values) => values.is_empty(),
        _ => true,
    };
    if is_empty {
        *text += &format!(" {}\n", flow(value));
    } else {
        text.push('\n');
        block(text, value, depth + 1);
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        value => value.to_string(),
    }
}

/// A string unquoted if YAML reads it back as the same string, else in JSON quotes, which YAML
/// reads too.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let begins_well = text.starts_with(|c: char| c.is_ascii_alphabetic());
    // Also quote words that YAML 1.1 readers take for booleans or numbers.
    let odd = ["yes", "no", "on", "off", "y", "n"].contains(&text.to_ascii_lowercase().as_str());
    let itself = plain(text) == Some(Value::from(text));
    match begins_well
        && !odd
        && itself
        && text.chars().all(|c| is_plain(c) || c == ' ')
        && !text.ends_with(' ')
    {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use belfry_local::yaml;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(json: &Value) {
        let text = write(json);
        assert_eq!(yaml::read(&text).unwrap()[0].value(), *json, "{text}");
    }

    #[test]
    fn a_set_is_written_so_that_it_is_read_again() {
        check(&json!({"set": "billing", "schedules": [{
            "schedule_id": "a", "cron_expr": "0 2 * * *", "start_at": "2026-01-01T00:00:00Z",
            "paused": false, "jitter_ms": 500,
            "payload": {"no": "off", "n": 1.5, "s": "7", "nothing": null, "x": 16, "more": [1, -2]},
        }]}));
    }

    #[test]
    fn odd_texts_are_written_so_that_they_are_read_again() {
        for text in [
            "",
            "no",
            "7",
            "1e3",
            "- a",
            "a: b",
            "#x",
            "* * * * *",
            "a\nb",
            "é",
            "true",
            " a",
            "a ",
            "@daily",
        ] {
            let json = json!({"field": text, "list": [text, {text: text}]});
            check(&json);
        }
        let nested = json!({"a": {}, "b": [], "c": [[1, {"x": []}], {"y": {"z": [1]}}]});
        check(&nested);
    }
}
