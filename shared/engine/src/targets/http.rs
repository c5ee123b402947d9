//! HTTP targets: a signed POST, whose answer may end the run at once.

use belfry_core::id::hex;
use belfry_core::instant::Instant;
use belfry_core::run::{MAX_RESULT, Status, cut};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};
use serde_json::Value;
use sha2::Sha256;

use super::{Accepted, Refused};
use crate::fault::{Fault, sdk};
use crate::settings::Settings;

/// More of an answer is not read: a run record keeps little of it.
const MAX_ANSWER: usize = 64 * 1024;

pub(super) struct Http {
    client: Client,
    signing_key: String,
}

impl Http {
    pub(super) fn new(settings: &Settings) -> Result<Http, Fault> {
        let client = Client::builder()
            .timeout(settings.target_timeout.to_std().unwrap_or_default())
            .redirect(Policy::none())
            .user_agent(concat!("belfry/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(sdk("make an HTTP client"))?;
        Ok(Http { client, signing_key: settings.signing_key.0.clone() })
    }

    /// Posts `body`. A 2xx accepts the run; what may pass is retried, what will not pass is not.
    pub(super) async fn post(
        &self,
        url: &str,
        key: &str,
        body: String,
        now: Instant,
    ) -> Result<Accepted, Refused> {
        let timestamp = now.timestamp().to_string();
        let signature = sign(&self.signing_key, &timestamp, &body);
        let request = self
            .client
            .post(url)
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key)
            .header("Belfry-Timestamp", &timestamp)
            .header("Belfry-Signature", format!("v1={signature}"))
            .body(body);
        let answer = request.send().await.map_err(|error| {
            let error = error.without_url();
            let text = aws_sdk_dynamodb::error::DisplayErrorContext(&error).to_string();
            if error.is_builder() { Refused::for_good(text) } else { Refused::for_now(text) }
        })?;
        let status = answer.status();
        let text = read(answer).await;
        if status.is_success() {
            return Ok(accepted(&text));
        }
        let message = format!("HTTP {}: {text}", status.as_u16());
        let passing = status.is_server_error()
            || matches!(
                status,
                StatusCode::REQUEST_TIMEOUT
                    | StatusCode::TOO_EARLY
                    | StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::CONFLICT
            );
        Err(if passing { Refused::for_now(message) } else { Refused::for_good(message) })
    }
}

/// `HMAC-SHA256(key, timestamp + "." + body)` in hex: the timestamp is signed so that a recorded
/// request cannot be sent again later.
pub(super) fn sign(key: &str, timestamp: &str, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
        unreachable!("HMAC takes keys of any length")
    };
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    hex(&mac.finalize().into_bytes())
}

async fn read(mut answer: Response) -> String {
    let mut bytes = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_ANSWER {
            bytes.truncate(MAX_ANSWER);
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `{"status", "result", "error", "external_run_id"}`, all optional; any other 2xx answer is a
/// plain yes.
fn accepted(text: &str) -> Accepted {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else {
        return Accepted::default();
    };
    let string = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(cut);
    let status = string(fields.remove("status")).as_deref().and_then(Status::parse);
    let external_run_id = string(fields.remove("external_run_id"));
    Accepted {
        told: external_run_id.is_some(),
        external_run_id,
        status: status.filter(|s| matches!(s, Status::Success | Status::Failed)),
        result: fields.remove("result").filter(|result| result.to_string().len() <= MAX_RESULT),
        error: string(fields.remove("error")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_covers_timestamp_and_body() {
        let signature = sign("key of sixteen b", "1700000000", "{}");
        assert_eq!(signature.len(), 64);
        assert_ne!(signature, sign("key of sixteen b", "1700000001", "{}"));
        assert_ne!(signature, sign("key of sixteen b", "1700000000", "{ }"));
        assert_ne!(signature, sign("another key of s", "1700000000", "{}"));
    }

    #[test]
    fn a_target_may_end_the_run_in_its_answer() {
        let answer = accepted(r#"{"status": "FAILED", "error": "no disk", "result": {"a": 1}}"#);
        assert_eq!(answer.status, Some(Status::Failed));
        assert_eq!(answer.error.as_deref(), Some("no disk"));
        assert_eq!(accepted("thanks"), Accepted::default());
        assert_eq!(accepted(r#"{"status": "SKIPPED"}"#).status, None);
    }
}
