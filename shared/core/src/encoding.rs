//! How texts and JSON are kept in records.

/// Texts from targets and executors are cut here, so that a run record stays one write unit.
pub const MAX_TEXT: usize = 300;

/// Cuts a text from outside to what a run record keeps.
pub fn cut(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

/// The user's JSON as one text: DynamoDB's own maps lose number forms and refuse deep nesting.
pub mod json_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    /// Writes the JSON text.
    pub fn serialize<S: Serializer>(value: &Value, out: S) -> Result<S::Ok, S::Error> {
        value.to_string().serialize(out)
    }

    /// Reads the JSON text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
        serde_json::from_str(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }

    /// The same for a value that may be missing.
    pub mod optional {
        use super::{Deserialize, Deserializer, Serialize, Serializer, Value};

        /// Writes the JSON text.
        pub fn serialize<S: Serializer>(value: &Option<Value>, out: S) -> Result<S::Ok, S::Error> {
            value.as_ref().map(Value::to_string).serialize(out)
        }

        /// Reads the JSON text.
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

    #[test]
    fn text_is_cut_between_characters() {
        let long = "é".repeat(MAX_TEXT);
        assert!(cut(&long).len() <= MAX_TEXT);
        assert!(cut(&long).chars().all(|c| c == 'é'));
    }
}
