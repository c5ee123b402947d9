//! The command's HTTP client for the API.

use std::io::{self, Write};
use std::process::ExitCode;

use belfry_core::invalid::ProblemDetails;
use belfry_core::page::Page;
use clap::Args;
use reqwest::{Client, Method, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::table::plain;

/// How to reach the API, and with which token.
#[derive(Args)]
pub(crate) struct Connection {
    /// URL of the API
    #[arg(long, global = true, env = "BELFRY_URL", default_value = "http://127.0.0.1:7600")]
    url: String,
    /// Access token; `belfry token` prints one for the local API
    #[arg(long, global = true, env = "BELFRY_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Print the API's answer as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Why a command failed.
pub(crate) enum Failure {
    /// The API refused the request, with this problem document.
    Refused(ProblemDetails),
    /// The request could not be made, or no answer came.
    Broken(String),
}

impl From<io::Error> for Failure {
    fn from(problem: io::Error) -> Failure {
        Failure::Broken(problem.to_string())
    }
}

pub(crate) type Done = Result<ExitCode, Failure>;

/// A client of the API.
pub(crate) struct Api {
    base: Url,
    token: Option<String>,
    http: Client,
    pub(crate) json: bool,
}

impl Connection {
    /// Runs a command against the API and returns its exit code; 1 if the API refused.
    pub(crate) fn run<F: Future<Output = Done>>(self, work: impl FnOnce(Api) -> F) -> ExitCode {
        let json = self.json;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let done = match (self.open(), runtime) {
            (Ok(api), Ok(runtime)) => runtime.block_on(work(api)),
            (Err(failure), _) => Err(failure),
            (_, Err(problem)) => Err(problem.into()),
        };
        match done {
            Ok(code) => code,
            Err(failure) => failure.tell(json),
        }
    }

    fn open(self) -> Result<Api, Failure> {
        let base = Url::parse(&self.url).ok().filter(|url| !url.cannot_be_a_base());
        let mut base = base.ok_or_else(|| Failure::Broken(format!("{} is not a URL", self.url)))?;
        if !base.path().trim_end_matches('/').ends_with("/api/v1")
            && let Ok(mut path) = base.path_segments_mut()
        {
            path.pop_if_empty().extend(["api", "v1"]);
        }
        let http = Client::builder().user_agent(concat!("belfry-cli/", env!("CARGO_PKG_VERSION")));
        let http = http.build().map_err(|problem| Failure::Broken(problem.to_string()))?;
        Ok(Api { base, token: self.token, http, json: self.json })
    }
}

impl Api {
    pub(crate) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, Option<String>)],
    ) -> Result<Value, Failure> {
        self.ask(Method::GET, path, query, None, None).await
    }

    pub(crate) async fn post(&self, path: &[&str], body: &Value) -> Result<Value, Failure> {
        self.ask(Method::POST, path, &[], Some(body), None).await
    }

    /// Sends a request. Any status that is not a success is a failure.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, Option<String>)],
        body: Option<&Value>,
        key: Option<&str>,
    ) -> Result<Value, Failure> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        for (name, value) in query {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        let mut request = self.http.request(method, url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        let broken = |problem: reqwest::Error| {
            let base = &self.base;
            Failure::Broken(format!("no answer from {base}: {}", root(&problem)))
        };
        let answer = request.send().await.map_err(broken)?;
        let status = answer.status();
        let text = answer.text().await.map_err(broken)?;
        if status.is_success() {
            return Ok(serde_json::from_str(&text).unwrap_or(Value::Null));
        }
        Err(Failure::Refused(
            serde_json::from_str(&text).unwrap_or_else(|_| unnamed(status, &text)),
        ))
    }

    /// The items of a list, over all pages, up to `most`.
    pub(crate) async fn all(
        &self,
        path: &[&str],
        query: &[(&str, Option<String>)],
        most: usize,
    ) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        let mut cursor = None;
        loop {
            let mut query = query.to_vec();
            query.push(("limit", Some((most - items.len()).clamp(1, PAGE).to_string())));
            query.push(("cursor", cursor));
            let page: Page<Value> = read(self.get(path, &query).await?)?;
            items.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() || items.len() >= most {
                items.truncate(most);
                return Ok(items);
            }
        }
    }
}

/// Reads an answer.
pub(crate) fn read<T: DeserializeOwned>(answer: Value) -> Result<T, Failure> {
    serde_json::from_value(answer).map_err(|problem| {
        let version = env!("CARGO_PKG_VERSION");
        Failure::Broken(format!("the answer is not one that belfry {version} reads: {problem}"))
    })
}

/// A refusal that is no problem document: something in front of the API refused.
fn unnamed(status: StatusCode, text: &str) -> ProblemDetails {
    let body: Value = serde_json::from_str(text).unwrap_or_default();
    ProblemDetails {
        kind: "about:blank".to_owned(),
        title: status.canonical_reason().unwrap_or("Refused").to_owned(),
        status: status.as_u16(),
        detail: body["message"].as_str().unwrap_or_default().to_owned(),
        errors: Vec::new(),
    }
}

/// The API's largest page.
const PAGE: usize = 200;

impl Failure {
    #[expect(clippy::print_stderr, reason = "a command's errors belong on standard error")]
    fn tell(&self, json: bool) -> ExitCode {
        match self {
            Failure::Broken(problem) => eprintln!("belfry: {problem}"),
            Failure::Refused(problem) if json => {
                let _ = writeln!(io::stdout(), "{}", json!(problem));
            }
            Failure::Refused(problem) => {
                let title = format!("{} {}", problem.status, plain(&problem.title));
                match plain(&problem.detail) {
                    detail if detail.is_empty() => eprintln!("belfry: {title}"),
                    detail => eprintln!("belfry: {title}: {detail}"),
                }
                for error in &problem.errors {
                    eprintln!("  {} {}", plain(&error.field), plain(&error.message));
                }
                if problem.status == 401 {
                    eprintln!(
                        "  set BELFRY_TOKEN; for the local API: export BELFRY_TOKEN=$(belfry token)"
                    );
                }
            }
        }
        ExitCode::FAILURE
    }
}

/// The innermost cause of an error, which is the informative one.
fn root(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_a_gateway_is_told_by_its_status_and_message() {
        let refused = unnamed(StatusCode::UNAUTHORIZED, r#"{"message": "Unauthorized"}"#);
        assert_eq!((refused.status, refused.detail.as_str()), (401, "Unauthorized"));
        let refused = unnamed(StatusCode::BAD_GATEWAY, "<html>");
        assert_eq!((refused.title.as_str(), refused.detail.as_str()), ("Bad Gateway", ""));
    }

    #[test]
    fn an_answer_with_fields_of_a_newer_api_is_read() {
        let answer = json!({"items": [1], "next_cursor": null, "total": 1});
        assert!(matches!(read::<Page<u8>>(answer), Ok(page) if page.items == [1]));
        assert!(matches!(read::<Page<u8>>(json!({"items": 1})), Err(Failure::Broken(_))));
    }
}
