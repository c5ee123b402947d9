//! Alerts: where a schedule tells that its runs keep failing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::encoding::cut;

/// The longest address of a destination, in bytes.
const MAX_TEXT: usize = 2048;

/// Where the alerts of a schedule are sent. Texts are at most 2048 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Destination {
    /// A signed POST to a URL.
    Http {
        /// The URL.
        #[schemars(length(min = 1), extend("format" = "http-url"))]
        url: String,
    },
    /// A message to an SNS topic.
    Sns {
        /// ARN of the topic; a `.fifo` topic deduplicates by the idempotency key.
        #[schemars(length(min = 1), extend("format" = "sns-topic-arn"))]
        topic_arn: String,
    },
}

impl Destination {
    /// Reads a destination from a request, or says what is wrong with it. The answer does not repeat
    /// the address, which may contain a secret.
    pub(super) fn parse(value: &Value) -> Result<Destination, String> {
        if !value.is_object() {
            return Err("must be an object with a kind, http or sns".to_owned());
        }
        let read: Destination =
            serde_json::from_value(value.clone()).map_err(|problem| cut(&problem.to_string()))?;
        let (field, text, is_right, wanted) = match &read {
            Destination::Http { url } => {
                let is_url = url.starts_with("https://") || url.starts_with("http://");
                ("url", url, is_url, "an http or https URL")
            }
            Destination::Sns { topic_arn } => {
                ("topic_arn", topic_arn, is_topic(topic_arn), "the ARN of an SNS topic")
            }
        };
        if text.len() > MAX_TEXT {
            return Err(format!("{field} must be at most {MAX_TEXT} bytes"));
        }
        if is_right { Ok(read) } else { Err(format!("{field} must be {wanted}")) }
    }
}

/// Whether a text is `arn:<partition>:sns:<region>:<account>:<name>`.
fn is_topic(text: &str) -> bool {
    let parts: Vec<_> = text.split(':').collect();
    matches!(parts[..], ["arn", _, "sns", _, _, _]) && parts.iter().all(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    fn a_destination_is_read_as_it_is_written_or_refused_without_its_address() {
        fn good(value: Value) {
            assert_eq!(json!(Destination::parse(&value).unwrap()), value);
        }
        fn bad(value: Value, said: &str) {
            let problem = Destination::parse(&value).unwrap_err();
            assert!(problem.contains(said) && !problem.contains("hunter2"), "{problem}");
        }
        good(json!({"kind": "http", "url": "https://example.com/alerts?key=hunter2"}));
        good(json!({"kind": "sns", "topic_arn": "arn:aws:sns:eu-west-1:123456789012:alerts"}));
        good(json!({"kind": "sns", "topic_arn": "arn:aws-cn:sns:cn-north-1:1:alerts.fifo"}));
        bad(json!({"kind": "http", "url": "ftp://hunter2"}), "url must be an http or https URL");
        bad(json!({"kind": "http", "url": format!("https://{}", "x".repeat(2048))}), "2048 bytes");
        bad(json!({"kind": "sns", "topic_arn": "hunter2"}), "the ARN of an SNS topic");
        bad(json!({"kind": "sns", "topic_arn": "arn:aws:sqs:eu-west-1:1:q"}), "SNS topic");
        bad(json!({"kind": "sns", "topic_arn": "arn:aws:sns:eu-west-1:1:"}), "SNS topic");
        bad(json!({"kind": "pager", "number": "hunter2"}), "unknown variant");
        bad(json!({"kind": "http", "url": "https://a.b", "token": "hunter2"}), "unknown field");
        bad(json!("https://hunter2"), "must be an object");
    }
}
