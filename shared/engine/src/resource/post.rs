//! Delivering an answer to the signed URL that came with CloudFormation's request.
//!
//! Anyone who has that URL can answer in Belfry's place, so the URL appears in no log and no error.

use std::time::Duration;

use belfry_core::declare::resource::is_aws_host;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, StatusCode, Url};

use crate::cloud::targets::Guard;
use crate::fault::in_words;

/// The time-out of one delivery.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// The delays between deliveries. Together with the time-outs they fit into the time reserved for
/// the answer.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1000),
    Duration::from_millis(2000),
];

/// The answer could not be delivered.
#[derive(Debug, thiserror::Error)]
#[error("the answer could not be delivered: {0}")]
pub(super) struct Undelivered(String);

/// A URL that answers may be sent to.
pub(super) struct Post {
    client: Client,
    url: Url,
}

/// Admits a URL of AWS, or a plain http URL in a network that the deployment allows.
pub(super) fn admit(guard: &Guard, url: &str) -> Result<Post, Undelivered> {
    let problem = || Undelivered("the ResponseURL is not one of AWS".to_owned());
    let (client, url) = guard.admit(url).map_err(|_| problem())?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    let of_aws = url.port().is_none() && url.host_str().is_some_and(is_aws_host);
    // Without TLS the guard connects only to networks that the deployment allows.
    match url.scheme() {
        "https" if is_plain && of_aws => {}
        "http" if is_plain => {}
        _ => return Err(problem()),
    }
    Ok(Post { client: client.clone(), url })
}

impl Post {
    /// Delivers an answer. A transient error is retried.
    pub(super) async fn deliver(&self, body: String) -> Result<(), Undelivered> {
        let mut pauses = PAUSES.iter();
        loop {
            let problem = match self.put(body.clone()).await {
                Ok(status) if status.is_success() => return Ok(()),
                Ok(status) => {
                    let text = format!("HTTP {}", status.as_u16());
                    let passing = status.is_server_error()
                        || matches!(
                            status,
                            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
                        );
                    if !passing {
                        return Err(Undelivered(text));
                    }
                    text
                }
                Err(error) => {
                    let error = error.without_url();
                    in_words(&error)
                }
            };
            match pauses.next() {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => return Err(Undelivered(problem)),
            }
        }
    }

    async fn put(&self, body: String) -> Result<StatusCode, reqwest::Error> {
        // The signature of the URL covers the content type, which is empty.
        let empty = HeaderValue::from_static("");
        let put = self.client.put(self.url.clone()).header(CONTENT_TYPE, empty);
        Ok(put.timeout(TIMEOUT).body(body).send().await?.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use belfry_core::guard::network::Reachable;

    #[track_caller]
    fn check(url: &str, allowed: &[&str], expected: bool) {
        let allowed = allowed.iter().map(|network| network.parse().unwrap()).collect();
        let guard = Guard::new(&Reachable { allowed }, TIMEOUT);
        let admitted = admit(&guard, url);
        assert_eq!(admitted.is_ok(), expected, "{url}");
        if let Err(problem) = admitted {
            assert!(!problem.to_string().contains("secret"), "{problem}");
        }
    }

    #[tokio::test]
    async fn answers_go_to_aws_and_nowhere_else() {
        check("https://bucket.s3.amazonaws.com/x?signature=secret", &[], true);
        check("https://bucket.s3.cn-north-1.amazonaws.com.cn/x", &[], true);
        for url in [
            "http://bucket.s3.amazonaws.com/x?signature=secret",
            "https://bucket.s3.amazonaws.com:8443/x?signature=secret",
            "https://user@bucket.s3.amazonaws.com/x?signature=secret",
            "https://example.com/?signature=secret",
            "https://example.com/.s3.amazonaws.com?signature=secret",
            "https://example.com#.s3.amazonaws.com",
            "https://169.254.169.254/latest/meta-data/",
            "http://127.0.0.1/?signature=secret",
            "file:///etc/passwd",
            "secret",
            "",
        ] {
            check(url, &[], false);
        }
        check("http://127.0.0.1:4566/x", &["127.0.0.0/8"], true);
        // The address is checked when the name is resolved, at the connection.
        check("http://localhost:4566/x", &["127.0.0.0/8"], true);
        check("http://10.0.0.1/x", &["127.0.0.0/8"], false);
        check("https://127.0.0.1/x", &["127.0.0.0/8"], false);
    }
}
