//! How stored records contain texts and JSON.

use serde_json::Value;

/// The most bytes that a run record keeps of a text from a target or an executor. The limit keeps
/// the record within one write unit of DynamoDB.
pub const MAX_TEXT: usize = 300;

/// Cuts a text from a target or an executor to [`MAX_TEXT`] bytes, between two characters.
pub fn cut(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// How deep a user's JSON may be nested. Answers and the change log nest it deeper, and what reads
/// them has limits too: serde_json stops at 128.
pub const MAX_DEPTH: usize = 64;

/// The message about JSON that is nested deeper than [`MAX_DEPTH`].
pub fn too_deep() -> String {
    format!("must be nested at most {MAX_DEPTH} deep")
}

/// Whether a value is nested at most [`MAX_DEPTH`] deep. A list or object without another one in it
/// is nested once.
///
/// ```
/// use serde_json::json;
/// assert!(belfry_core::encoding::is_shallow(&json!({"a": [1]})));
/// ```
pub fn is_shallow(value: &Value) -> bool {
    fn within(value: &Value, levels: usize) -> bool {
        match value {
            Value::Array(values) => {
                levels > 0 && values.iter().all(|value| within(value, levels - 1))
            }
            Value::Object(fields) => {
                levels > 0 && fields.values().all(|value| within(value, levels - 1))
            }
            _ => true,
        }
    }
    within(value, MAX_DEPTH)
}

/// Serde for the user's JSON as one text. DynamoDB's own maps lose number formats and refuse deep
/// nesting.
pub mod json_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    /// Writes a value as JSON text.
    pub fn serialize<S: Serializer>(value: &Value, out: S) -> Result<S::Ok, S::Error> {
        value.to_string().serialize(out)
    }

    /// Reads a value from JSON text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }

    /// Does the same for a value that may be missing.
    pub mod optional {
        use super::{Deserialize, Deserializer, Serialize, Serializer, Value};

        /// Writes the value as JSON text, or null if there is none.
        pub fn serialize<S: Serializer>(value: &Option<Value>, out: S) -> Result<S::Ok, S::Error> {
            value.as_ref().map(Value::to_string).serialize(out)
        }

        /// Reads the value from JSON text, if there is one.
        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
            let text = Option::<String>::deserialize(from)?;
            text.map(|text| serde_json::from_str(&text).map_err(serde::de::Error::custom))
                .transpose()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nesting_is_counted_in_lists_and_objects() {
        let nested = |levels: usize| {
            let wrap = |value, level| match level % 2 {
                0 => json!([value, 1]),
                _ => json!({"a": value}),
            };
            (0..levels).fold(json!(1), wrap)
        };
        assert!(is_shallow(&nested(MAX_DEPTH)));
        assert!(!is_shallow(&nested(MAX_DEPTH + 1)));
    }

    #[test]
    fn numbers_of_any_size_are_stored_as_they_were_sent() {
        #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        struct Stored(#[serde(with = "json_text")] Value);
        for text in ["18446744073709551616", "-170141183460469231731687303715884105729", "1.10"] {
            let value: Value = serde_json::from_str(&format!("{{\"n\":{text}}}")).unwrap();
            let stored: Stored =
                serde_json::from_value(serde_json::to_value(Stored(value)).unwrap()).unwrap();
            assert_eq!(stored.0.to_string(), format!("{{\"n\":{text}}}"));
        }
    }

    #[test]
    fn text_is_cut_between_characters() {
        let long = "é".repeat(MAX_TEXT);
        assert!(cut(&long).len() <= MAX_TEXT);
        assert!(cut(&long).chars().all(|c| c == 'é'));
    }
}
