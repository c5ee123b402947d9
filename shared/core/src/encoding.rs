//! How stored records contain texts and JSON.

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

    #[test]
    fn text_is_cut_between_characters() {
        let long = "é".repeat(MAX_TEXT);
        assert!(cut(&long).len() <= MAX_TEXT);
        assert!(cut(&long).chars().all(|c| c == 'é'));
    }
}
