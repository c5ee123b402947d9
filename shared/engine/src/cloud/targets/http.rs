//! HTTP targets: a signed POST whose answer may end the run at once.

use std::time::Duration;

use belfry_core::encoding::cut;
use belfry_core::instant::Instant;
use belfry_core::run::Status;
use belfry_core::run::attempts::retry_after;
use belfry_core::run::feedback::{fits, meaning};
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use sha2::Sha256;
use tokio::sync::Semaphore;

use super::guard::{Guard, Unreachable};
use super::{Accepted, Refused, with_causes};
use crate::settings::Settings;

/// The most bytes read of an answer: a run record keeps little of it.
const MAX_ANSWER: usize = 64 * 1024;

/// The number of concurrent calls beyond which a call waits for a connection to become free:
/// opening one takes longer than most calls.
const CONNECTIONS: usize = 128;
/// How long a call waits for a free connection. After that it opens one: the targets are slow.
const MAX_CONNECTION_WAIT: Duration = Duration::from_millis(100);

pub(super) struct Http {
    pub(super) guard: Guard,
    signing_key: String,
    connections: Semaphore,
}

impl Http {
    pub(super) fn new(settings: &Settings) -> Http {
        let timeout = settings.target_timeout.to_std().unwrap_or_default();
        let guard = Guard::new(&settings.reachable, timeout);
        let connections = Semaphore::new(CONNECTIONS);
        Http { guard, signing_key: settings.signing_key.0.clone(), connections }
    }

    /// Posts the launch of a run. A 2xx answer accepts the run. A transient error may be retried; a
    /// permanent one may not.
    pub(super) async fn post(
        &self,
        url: &str,
        key: &str,
        run_token: Option<&str>,
        headers: &[(&'static str, String)],
        body: String,
        now: Instant,
    ) -> Result<Accepted, Refused> {
        let (text, broken) = self.send(url, key, run_token, headers, body, now).await?;
        // The target may have taken the run, whatever is wrong with its answer.
        broken.map_or_else(|| accepted(&text), |problem| Err(Refused::unheard(problem)))
    }

    /// Posts `body` and answers with the text of a 2xx answer, and with what is wrong with that text
    /// if it is not whole.
    pub(super) async fn send(
        &self,
        url: &str,
        key: &str,
        run_token: Option<&str>,
        headers: &[(&'static str, String)],
        body: String,
        now: Instant,
    ) -> Result<(String, Option<String>), Refused> {
        let timestamp = now.timestamp().to_string();
        let signature = sign(&self.signing_key, &timestamp, &body);
        let admitted = self.guard.admit(url);
        let (client, url) =
            admitted.map_err(|problem| Refused::for_good(format!("the URL {problem}")))?;
        let mut request = client
            .post(url)
            .header("Content-Type", "application/json")
            .header("Idempotency-Key", key)
            .header("Belfry-Timestamp", &timestamp)
            .header("Belfry-Signature", format!("v1={signature}"))
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if let Some(token) = run_token {
            request = request.header("Belfry-Run-Token", token);
        }
        let _connection =
            tokio::time::timeout(MAX_CONNECTION_WAIT, self.connections.acquire()).await;
        let answer = request.send().await.map_err(unanswered)?;
        let status = answer.status();
        let retry_after = asked_delay(&answer, now);
        let (text, broken) = read(answer).await;
        if status.is_success() {
            return Ok((text, broken));
        }
        let message = format!("HTTP {}", status.as_u16());
        let passing = status.is_server_error()
            || matches!(
                status,
                StatusCode::REQUEST_TIMEOUT
                    | StatusCode::TOO_EARLY
                    | StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::CONFLICT
            );
        let refused = match passing {
            true => Refused { retry_after, ..Refused::for_now(message) },
            false => Refused::for_good(message),
        };
        let answer = Some(cut(&text)).filter(|text| !text.is_empty());
        Err(Refused { answer, ..refused })
    }
}

/// Why a request has no answer.
fn unanswered(error: reqwest::Error) -> Refused {
    let error = error.without_url();
    let text = with_causes(&error);
    let for_good = error.is_builder() || Unreachable::is_behind(&error);
    match error {
        _ if for_good => Refused::for_good(text),
        error if error.is_connect() => Refused::for_now(text),
        _ => Refused::unheard(text),
    }
}

/// The `Retry-After` of a target that is busy or out of order.
fn asked_delay(answer: &Response, now: Instant) -> Option<chrono::Duration> {
    let is_meant =
        |status| matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let header = answer.headers().get(RETRY_AFTER).filter(|_| is_meant(answer.status()))?;
    retry_after(header.to_str().ok()?, now)
}

/// `HMAC-SHA256(key, timestamp + "." + body)` in hex. The timestamp is part of the signature so
/// that a recorded request cannot be sent again later.
pub(super) fn sign(key: &str, timestamp: &str, body: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
        unreachable!("HMAC takes keys of any length")
    };
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

/// The text of an answer, and what is wrong with it if the text is not whole.
async fn read(mut answer: Response) -> (String, Option<String>) {
    let mut bytes = Vec::new();
    let broken = loop {
        match answer.chunk().await {
            Ok(None) => break None,
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Err(error) => {
                break Some(format!("the answer broke off: {}", with_causes(&error.without_url())));
            }
        }
        if bytes.len() > MAX_ANSWER {
            bytes.truncate(MAX_ANSWER);
            break Some(format!("the answer is longer than {MAX_ANSWER} bytes"));
        }
    };
    (String::from_utf8_lossy(&bytes).into_owned(), broken)
}

/// Reads `{"status", "result", "error", "external_run_id"}`, all optional, or a status alone. Any
/// other 2xx answer accepts the run and says no more; but an unknown status, and JSON that
/// cannot be read, may be about a failure.
fn accepted(text: &str) -> Result<Accepted, Refused> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let mut fields = match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::String(word)) => {
            return Ok(Accepted { status: ended(meaning(&word)), ..Accepted::default() });
        }
        Err(problem) if text.starts_with('{') => {
            return Err(Refused::unheard(format!("the answer is not whole JSON: {problem}")));
        }
        _ => return Ok(Accepted::default()),
    };
    let status = match fields.remove("status").unwrap_or_default() {
        Value::Null => None,
        said => match said.as_str().and_then(meaning) {
            Some(status) => ended(Some(status)),
            None => {
                let message = format!("the target answered with the unknown status {said}");
                return Err(Refused::for_good(message));
            }
        },
    };
    let string = |value: Option<Value>| value.as_ref().and_then(Value::as_str).map(cut);
    let external_run_id = string(fields.remove("external_run_id"));
    Ok(Accepted {
        external_run_id,
        status,
        result: fields.remove("result").filter(fits),
        error: string(fields.remove("error")),
    })
}

/// A status with which a run has ended.
fn ended(status: Option<Status>) -> Option<Status> {
    status.filter(|status| status.is_terminal())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::settings::ROWS;

    #[test]
    fn the_signature_covers_timestamp_and_body() {
        let signature = sign("key of sixteen b", "1700000000", "{}");
        assert_eq!(signature.len(), 64);
        assert_ne!(signature, sign("key of sixteen b", "1700000001", "{}"));
        assert_ne!(signature, sign("key of sixteen b", "1700000000", "{ }"));
        assert_ne!(signature, sign("another key of s", "1700000000", "{}"));
    }

    fn http(networks: &str) -> Http {
        let settings = Settings::read(|name| match name {
            "ALLOWED_TARGET_NETWORKS" => Some(networks.to_owned()),
            "TARGET_TIMEOUT_MS" => Some("500".to_owned()),
            _ => {
                let row = ROWS.iter().find(|row| row.name == name)?;
                row.default.is_none().then(|| "a text of some length".to_owned())
            }
        });
        Http::new(&settings.unwrap())
    }

    /// A server that answers every request with `answer`, and counts connections.
    async fn server(answer: String) -> (u16, Arc<AtomicUsize>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, count) = (listener.local_addr().unwrap().port(), Arc::<AtomicUsize>::default());
        let counted = count.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                let (mut request, mut read) = ([0; 4096], 0);
                // An answer before the whole request was read would not count as its answer.
                while !request[..read].ends_with(b"{}") {
                    stream.readable().await.unwrap();
                    match stream.try_read(&mut request[read..]) {
                        Ok(0) => break,
                        Ok(more) => read += more,
                        Err(_) => {}
                    }
                }
                let mut rest = answer.as_bytes();
                while !rest.is_empty() && stream.writable().await.is_ok() {
                    match stream.try_write(rest) {
                        Ok(written) => rest = &rest[written..],
                        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                        Err(_) => break,
                    }
                }
                if answer.is_empty() {
                    tokio::spawn(async move {
                        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
                        drop(stream);
                    });
                }
            }
        });
        (port, count)
    }

    async fn post(networks: &str, url: &str) -> Result<Accepted, Refused> {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        http(networks).post(url, "key", None, &[], "{}".to_owned(), now).await
    }

    const HERE: &str = "127.0.0.0/8";
    const YES: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";

    #[tokio::test]
    async fn a_name_that_leads_home_is_refused_for_good_and_nobody_is_called() {
        let (port, calls) = server(YES.to_owned()).await;
        for networks in ["", "10.0.0.0/8"] {
            for (scheme, host) in
                [("https", "localhost"), ("https", "127.0.0.1"), ("http", "localhost")]
            {
                let refused =
                    post(networks, &format!("{scheme}://{host}:{port}/")).await.unwrap_err();
                assert!(!refused.retryable, "{networks} {scheme}://{host}: {refused}");
            }
        }
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        for host in ["localhost", "127.0.0.1", "2130706433"] {
            post(HERE, &format!("http://{host}:{port}/")).await.unwrap();
        }
        assert_eq!(calls.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed() {
        let (inside, calls) = server(YES.to_owned()).await;
        let (port, _) = server(format!(
            "HTTP/1.1 307 T\r\nlocation: http://127.0.0.1:{inside}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ))
        .await;
        let refused = post(HERE, &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
        assert!(!refused.retryable && refused.message.contains("307"), "{refused}");
        assert_eq!(calls.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_or_broken_off_and_a_silent_target_are_asked_again() {
        let long = "x".repeat(MAX_ANSWER + 1);
        for (answer, said) in [
            (format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{long}"), "longer than 65536"),
            ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}".to_owned(), "broke off"),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n".to_owned(),
                "broke off",
            ),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{\"status\":".to_owned(),
                "not whole JSON",
            ),
            (String::new(), "error sending request"),
        ] {
            let (port, _) = server(answer).await;
            let refused = post(HERE, &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
            assert!(refused.retryable && refused.unheard, "{refused}");
            assert!(refused.message.contains(said), "{refused}");
            assert!(!refused.message.contains("kind:"), "no Rust in {refused}");
        }
        let whole = "x".repeat(MAX_ANSWER);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {MAX_ANSWER}\r\n\r\n");
        let (port, _) = server(head + &whole).await;
        post(HERE, &format!("http://127.0.0.1:{port}/")).await.unwrap();
    }

    #[tokio::test]
    async fn only_a_target_that_is_busy_says_when_to_come_again() {
        for (status, expected) in [("429 T", Some(90)), ("503 S", Some(90)), ("500 E", None)] {
            let head = format!("HTTP/1.1 {status}\r\nretry-after: 90\r\n");
            let (port, _) = server(head + "content-length: 0\r\nconnection: close\r\n\r\n").await;
            let refused = post(HERE, &format!("http://127.0.0.1:{port}/")).await.unwrap_err();
            let expected = expected.map(chrono::Duration::seconds);
            assert_eq!((refused.retryable, refused.retry_after), (true, expected), "{status}");
        }
    }

    #[test]
    fn a_target_may_end_the_run_in_its_answer() {
        let said = r#"{"status": "FAILED", "error": "no disk", "result": {"a": 1}}"#;
        let answer = accepted(said).unwrap();
        assert_eq!(answer.status, Some(Status::Failed));
        assert_eq!(answer.error.as_deref(), Some("no disk"));
        for (text, expected) in [
            ("thanks", None),
            ("", None),
            ("{}", None),
            ("[1]", None),
            (r#"{"status": null}"#, None),
            (r#"{"status": "running"}"#, None),
            (r#"{"status": "Succeeded"}"#, Some(Status::Success)),
            (r#"{"status": "failed"}"#, Some(Status::Failed)),
            ("\u{feff}{\"status\": \"error\"}", Some(Status::Failed)),
            (r#""ERROR""#, Some(Status::Failed)),
            (r#""hello""#, None),
        ] {
            assert_eq!(accepted(text).unwrap().status, expected, "{text}");
        }
        for (text, said) in [
            (r#"{"status": "SKIPPED"}"#, r#"the unknown status "SKIPPED""#),
            (r#"{"status": 500}"#, "the unknown status 500"),
        ] {
            let refused = accepted(text).unwrap_err();
            assert!(!refused.retryable && refused.message.contains(said), "{refused}");
        }
        // A result that no record can keep is left out.
        for (levels, is_kept) in [(64, true), (65, false)] {
            let nested = "[".repeat(levels) + &"]".repeat(levels);
            let answer = accepted(&format!(r#"{{"result": {nested}}}"#)).unwrap();
            assert_eq!(answer.result.is_some(), is_kept, "{levels}");
        }
        let deep = format!(r#"{{"status": "failed", "trace": {}"#, "[".repeat(500));
        assert!(accepted(&deep).unwrap_err().retryable);
    }
}
