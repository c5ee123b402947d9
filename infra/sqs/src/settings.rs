//! Settings: the queue attributes that callers set, checked once when they are set.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::refusal::{Kind, Refusal};
use crate::sqs::name_in_arn;

/// The attributes that were set; the others have their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Settings {
    given: BTreeMap<String, String>,
}

/// Where a message goes that was received too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redrive {
    /// The dead-letter queue's name.
    pub(crate) target: String,
    pub(crate) max_receives: i64,
}

struct Number {
    name: &'static str,
    default: i64,
    least: i64,
    most: i64,
}

/// Since August 2025 a message, or a batch, may have 1 MiB.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Twelve hours.
pub(crate) const MAX_VISIBILITY_SECONDS: i64 = 43_200;
pub(crate) const MAX_DELAY_SECONDS: i64 = 900;
pub(crate) const MAX_WAIT_SECONDS: i64 = 20;

const VISIBILITY: Number =
    Number { name: "VisibilityTimeout", default: 30, least: 0, most: MAX_VISIBILITY_SECONDS };
const DELAY: Number =
    Number { name: "DelaySeconds", default: 0, least: 0, most: MAX_DELAY_SECONDS };
const WAIT: Number =
    Number { name: "ReceiveMessageWaitTimeSeconds", default: 0, least: 0, most: MAX_WAIT_SECONDS };
const RETENTION: Number =
    Number { name: "MessageRetentionPeriod", default: 345_600, least: 60, most: 1_209_600 };
const MESSAGE_BYTES: Number = Number {
    name: "MaximumMessageSize",
    default: MAX_MESSAGE_BYTES as i64,
    least: 1024,
    most: MAX_MESSAGE_BYTES as i64,
};
const NUMBERS: [Number; 5] = [VISIBILITY, DELAY, WAIT, RETENTION, MESSAGE_BYTES];

const REDRIVE: &str = "RedrivePolicy";

/// Stored and returned without effect: a local queue has no callers to authorise and no disks to
/// encrypt.
const WITHOUT_EFFECT: [&str; 5] = [
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "Policy",
    "RedriveAllowPolicy",
    "SqsManagedSseEnabled",
];

impl Settings {
    /// Checks attributes given at creation.
    pub(crate) fn parse(given: &BTreeMap<String, String>) -> Result<Self, Refusal> {
        let mut settings = Self::default();
        settings.change(given)?;
        Ok(settings)
    }

    /// Settings as read from the store.
    pub(crate) fn stored(text: &str) -> Self {
        Self { given: serde_json::from_str(text).unwrap_or_default() }
    }

    /// Checks and applies changed attributes. An empty redrive policy removes it.
    pub(crate) fn change(&mut self, given: &BTreeMap<String, String>) -> Result<(), Refusal> {
        for (name, value) in given {
            match checked(name, value)? {
                Some(value) => self.given.insert(name.clone(), value),
                None => self.given.remove(name),
            };
        }
        Ok(())
    }

    /// The first attribute in which a repeated creation differs from the existing queue. Only the
    /// given attributes are compared: a creation without attributes accepts the queue as it is.
    pub(crate) fn contradicts<'a>(&self, asked: &'a Settings) -> Option<&'a str> {
        let has = |name: &str| self.attributes().into_iter().find(|(of, _)| *of == name);
        asked
            .given
            .iter()
            .find(|(name, value)| has(name).is_none_or(|(_, has)| has != **value))
            .map(|(name, _)| name.as_str())
    }

    /// Every attribute with its value, set or default.
    pub(crate) fn attributes(&self) -> BTreeMap<&str, String> {
        let mut all: BTreeMap<&str, String> = NUMBERS
            .iter()
            .map(|number| (number.name, number.default.to_string()))
            .chain([("SqsManagedSseEnabled", "true".to_owned())])
            .collect();
        all.extend(self.given.iter().map(|(name, value)| (name.as_str(), value.clone())));
        all
    }

    pub(crate) fn to_stored(&self) -> String {
        json!(self.given).to_string()
    }

    pub(crate) fn visibility_seconds(&self) -> i64 {
        self.number(&VISIBILITY)
    }

    pub(crate) fn delay_seconds(&self) -> i64 {
        self.number(&DELAY)
    }

    pub(crate) fn wait_seconds(&self) -> i64 {
        self.number(&WAIT)
    }

    pub(crate) fn retention_seconds(&self) -> i64 {
        self.number(&RETENTION)
    }

    pub(crate) fn max_message_bytes(&self) -> usize {
        usize::try_from(self.number(&MESSAGE_BYTES)).unwrap_or(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn redrive(&self) -> Option<Redrive> {
        self.given.get(REDRIVE).and_then(|policy| parse_redrive(policy).ok())
    }

    fn number(&self, number: &Number) -> i64 {
        self.given.get(number.name).and_then(|given| given.parse().ok()).unwrap_or(number.default)
    }
}

/// Whether `name` is an attribute that callers can read, settable or not.
pub(crate) fn is_attribute(name: &str) -> bool {
    const TOLD: [&str; 7] = [
        "All",
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesDelayed",
        "ApproximateNumberOfMessagesNotVisible",
        "CreatedTimestamp",
        "LastModifiedTimestamp",
        "QueueArn",
    ];
    is_chosen(name) || TOLD.contains(&name)
}

fn is_chosen(name: &str) -> bool {
    name == REDRIVE
        || WITHOUT_EFFECT.contains(&name)
        || NUMBERS.iter().any(|number| number.name == name)
}

/// The value to store; `None` if it unsets the attribute.
fn checked(name: &str, value: &str) -> Result<Option<String>, Refusal> {
    if name.starts_with("Fifo")
        || ["ContentBasedDeduplication", "DeduplicationScope"].contains(&name)
    {
        return Err(fifo());
    }
    if !is_chosen(name) {
        let message = format!("Unknown Attribute {name}.");
        return Err(Refusal::new(Kind::InvalidAttributeName, message));
    }
    if value.is_empty() {
        return Ok(None);
    }
    if name == REDRIVE {
        let redrive = parse_redrive(value)
            .map_err(|reason| Refusal::parameter_invalid(REDRIVE, &value, &reason))?;
        return Ok(Some(canonical(value, &redrive)));
    }
    let Some(number) = NUMBERS.iter().find(|number| number.name == name) else {
        return Ok(Some(value.to_owned()));
    };
    match value.parse::<i64>() {
        Ok(given) if (number.least..=number.most).contains(&given) => Ok(Some(given.to_string())),
        _ => {
            let message = format!("Invalid value for the parameter {name}.");
            Err(Refusal::new(Kind::InvalidAttributeValue, message))
        }
    }
}

/// Refuses FIFO queues: Belfry does not use them, and an order kept only in part would be worse
/// than none.
pub(crate) fn fifo() -> Refusal {
    let message = "This endpoint serves standard queues only; FIFO queues are not supported.";
    Refusal::new(Kind::UnsupportedOperation, message)
}

/// Templates write `maxReceiveCount` as a number, some SDKs as a string; AWS accepts both.
fn parse_redrive(policy: &str) -> Result<Redrive, String> {
    let policy: Value = serde_json::from_str(policy)
        .map_err(|_| "Redrive policy is not a valid JSON map.".to_owned())?;
    let target = policy["deadLetterTargetArn"]
        .as_str()
        .ok_or("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")?;
    let target = name_in_arn(target).ok_or("Invalid value for deadLetterTargetArn.")?.to_owned();
    let count = match &policy["maxReceiveCount"] {
        Value::Null => {
            return Err(
                "Redrive policy does not contain mandatory attribute: maxReceiveCount.".into()
            );
        }
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_i64(),
    };
    match count {
        Some(max_receives @ 1..=1000) => Ok(Redrive { target, max_receives }),
        _ => Err(format!(
            "Invalid value for maxReceiveCount: {}, valid values are from 1 to 1000 both inclusive.",
            policy["maxReceiveCount"]
        )),
    }
}

/// The policy in one spelling, so that repeating a creation in the other spelling is not a
/// conflict.
fn canonical(policy: &str, redrive: &Redrive) -> String {
    let given: Value = serde_json::from_str(policy).unwrap_or_default();
    json!({
        "deadLetterTargetArn": given["deadLetterTargetArn"],
        "maxReceiveCount": redrive.max_receives,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[track_caller]
    fn check(name: &str, value: &str, kept: Option<&str>) {
        let settings = Settings::parse(&given(name, value)).ok();
        assert_eq!(settings.as_ref().and_then(|all| all.given.get(name)).map(String::as_str), kept);
    }

    #[test]
    fn numbers_are_kept_within_the_limits_of_aws() {
        check("VisibilityTimeout", "0", Some("0"));
        check("VisibilityTimeout", "43200", Some("43200"));
        check("VisibilityTimeout", "43201", None);
        check("VisibilityTimeout", "soon", None);
        check("MessageRetentionPeriod", "59", None);
        check("DelaySeconds", "900", Some("900"));
        check("DelaySeconds", "-1", None);
        check("MaximumMessageSize", "1048577", None);
        check("Colour", "blue", None);
        check("FifoQueue", "true", None);
    }

    #[test]
    fn a_redrive_policy_reads_the_same_with_its_count_as_text() {
        let policy = |count: &str| {
            format!(
                r#"{{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:dead","maxReceiveCount":{count}}}"#
            )
        };
        let number = Settings::parse(&given("RedrivePolicy", &policy("3"))).unwrap();
        let text = Settings::parse(&given("RedrivePolicy", &policy("\"3\""))).unwrap();
        assert_eq!(number, text);
        assert_eq!(number.redrive(), Some(Redrive { target: "dead".into(), max_receives: 3 }));
        for wrong in ["0", "1001", "\"x\"", "null", "[]"] {
            check("RedrivePolicy", &policy(wrong), None);
        }
        check("RedrivePolicy", "{}", None);
        check("RedrivePolicy", "[", None);
    }

    #[test]
    fn a_creation_repeated_contradicts_only_what_it_asks_for() {
        let queue = Settings::parse(&given("VisibilityTimeout", "60")).unwrap();
        let asked = |name, value| Settings::parse(&given(name, value)).unwrap();
        assert_eq!(queue.contradicts(&Settings::default()), None);
        assert_eq!(queue.contradicts(&asked("VisibilityTimeout", "60")), None);
        assert_eq!(queue.contradicts(&asked("DelaySeconds", "0")), None);
        assert_eq!(queue.contradicts(&asked("VisibilityTimeout", "61")), Some("VisibilityTimeout"));
    }
}
