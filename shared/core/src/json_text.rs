//! The user's JSON as one text: DynamoDB's own maps lose number forms and refuse deep nesting.

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
        text.map(|text| serde_json::from_str(&text).map_err(serde::de::Error::custom)).transpose()
    }
}
