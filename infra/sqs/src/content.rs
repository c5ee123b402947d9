//! Content: what a message may contain, how large it may be, and the digests that prove it arrived
//! intact.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use crate::refusal::{Kind, Refusal};

/// Attributes by name, in the order in which AWS digests them.
pub(crate) type Attributes = BTreeMap<String, Attribute>;

/// One attribute of a message, as sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Attribute {
    data_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<String>,
    /// Base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
}

const MAX_ATTRIBUTES: usize = 10;
const MAX_NAME: usize = 256;

impl Attribute {
    pub(crate) fn text(&self) -> Option<&str> {
        self.string_value.as_deref()
    }

    fn is_binary(&self) -> bool {
        self.data_type == "Binary" || self.data_type.starts_with("Binary.")
    }

    /// The bytes of the value. A value that does not decode is empty, which the check refuses.
    fn bytes(&self) -> Vec<u8> {
        let value = if self.is_binary() { &self.binary_value } else { &self.string_value };
        match value {
            Some(text) if self.is_binary() => BASE64.decode(text).unwrap_or_default(),
            Some(text) => text.clone().into_bytes(),
            None => Vec::new(),
        }
    }
}

/// Refuses an empty body, and characters that XML 1.0 cannot represent, as AWS still does.
pub(crate) fn check_body(body: Option<&str>) -> Result<&str, Refusal> {
    let body = body.filter(|body| !body.is_empty());
    let body = body.ok_or_else(|| Refusal::parameter_missing("MessageBody"))?;
    if body.chars().all(is_allowed) {
        return Ok(body);
    }
    let message = "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | \
                   #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF";
    Err(Refusal::new(Kind::InvalidMessageContents, message))
}

fn is_allowed(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Refuses attributes that AWS would refuse.
pub(crate) fn check_attributes(attributes: &Attributes) -> Result<(), Refusal> {
    let invalid = |message: String| Err(Refusal::new(Kind::InvalidParameterValue, message));
    if attributes.len() > MAX_ATTRIBUTES {
        return invalid(format!(
            "Number of message attributes [{}] exceeds the allowed maximum [{MAX_ATTRIBUTES}].",
            attributes.len()
        ));
    }
    for (name, attribute) in attributes {
        if !is_name(name) {
            return invalid(format!("Invalid message attribute name: '{name}'."));
        }
        let kind = attribute.data_type.split('.').next().unwrap_or_default();
        if !["String", "Number", "Binary"].contains(&kind) {
            return invalid(format!(
                "The message attribute '{name}' has an invalid message attribute type, the set of \
                 supported type prefixes is Binary, Number, and String."
            ));
        }
        if attribute.bytes().is_empty() {
            return invalid(format!(
                "The message attribute '{name}' must contain a non-empty message attribute value \
                 for message attribute type '{}'.",
                attribute.data_type
            ));
        }
        if !attribute.text().unwrap_or_default().chars().all(is_allowed) {
            return invalid(format!("Invalid characters in message attribute '{name}'."));
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        && !lower.starts_with("aws.")
        && !lower.starts_with("amazon.")
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..")
}

/// A message's size against the limits: its body, and the name, type and value of each attribute.
pub(crate) fn weight(body: &str, attributes: &Attributes) -> usize {
    let attributes: usize = attributes
        .iter()
        .map(|(name, attribute)| name.len() + attribute.data_type.len() + attribute.bytes().len())
        .sum();
    body.len() + attributes
}

/// The digest of a body.
pub(crate) fn digest_of_body(body: &str) -> String {
    format!("{:x}", md5::compute(body))
}

/// The digest of the attributes: every name, type and value preceded by its length, in the order of
/// the names. Without attributes there is none.
pub(crate) fn digest_of_attributes(attributes: &Attributes) -> Option<String> {
    const TEXT: u8 = 1;
    const BINARY: u8 = 2;
    if attributes.is_empty() {
        return None;
    }
    let mut fed = Vec::new();
    for (name, attribute) in attributes {
        feed(&mut fed, name.as_bytes());
        feed(&mut fed, attribute.data_type.as_bytes());
        fed.push(if attribute.is_binary() { BINARY } else { TEXT });
        feed(&mut fed, &attribute.bytes());
    }
    Some(format!("{:x}", md5::compute(fed)))
}

fn feed(fed: &mut Vec<u8>, part: &[u8]) {
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    fed.extend(length.to_be_bytes());
    fed.extend(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Attribute {
        Attribute {
            data_type: "String".into(),
            string_value: Some(value.into()),
            binary_value: None,
        }
    }

    #[test]
    fn a_body_keeps_to_the_characters_of_xml() {
        for body in ["plain", "tab\tline\r\n", "\u{D7FF}\u{E000}\u{FFFD}", "\u{10FFFF}"] {
            assert_eq!(check_body(Some(body)), Ok(body));
        }
        for body in ["\u{0}", "\u{8}", "\u{B}", "\u{1F}", "\u{FFFE}", "\u{FFFF}", ""] {
            assert!(check_body(Some(body)).is_err(), "{body:?}");
        }
    }

    #[test]
    fn attributes_keep_to_the_names_and_types_of_aws() {
        let check = |name: &str, attribute: Attribute| {
            check_attributes(&Attributes::from([(name.to_owned(), attribute)])).is_ok()
        };
        assert!(check("run.id", text("x")));
        assert!(check("run", Attribute { data_type: "Number.int".into(), ..text("1") }));
        assert!(!check("run", Attribute { data_type: "Colour".into(), ..text("1") }));
        assert!(!check("run", Attribute { data_type: "Binary".into(), ..text("1") }));
        for name in ["", "AWS.x", "amazon.x", ".x", "x.", "x..y", "x y"] {
            assert!(!check(name, text("x")), "{name:?}");
        }
        assert!(!check("run", text("")));
    }

    #[test]
    fn the_digest_covers_every_name_type_and_value_in_order() {
        // Computed by hand from the algorithm in the SQS developer guide.
        let spelled = b"\0\0\0\x01a\0\0\0\x06String\x01\0\0\0\x02hi\0\0\0\x01b\0\0\0\x06Binary\x02\0\0\0\x01\xff";
        let binary = Attribute {
            data_type: "Binary".into(),
            string_value: None,
            binary_value: Some(BASE64.encode([0xff])),
        };
        let attributes = Attributes::from([("b".into(), binary), ("a".into(), text("hi"))]);
        let digest = digest_of_attributes(&attributes);
        assert_eq!(digest, Some(format!("{:x}", md5::compute(spelled))));
        assert_eq!(digest_of_attributes(&Attributes::new()), None);
    }
}
