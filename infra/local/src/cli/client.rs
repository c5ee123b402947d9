//! The command's HTTP client for the API.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use belfry_core::invalid::ProblemDetails;
use clap::Args;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::table::plain;
use super::{complain, fail, print_json};

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
    /// The request could not be made, no answer came, or the answer is not one of the API.
    Broken(String),
    /// The reader of the output has enough and is gone, as `head` does. This is no failure.
    Closed,
}

impl From<io::Error> for Failure {
    fn from(problem: io::Error) -> Failure {
        match problem.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Broken(problem.to_string()),
        }
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

/// An answer of the API: as it came, for `--json`, and as the command reads it. A command never
/// prints what it does not understand.
pub(crate) struct Answer<T> {
    pub(crate) json: Value,
    pub(crate) view: T,
}

/// The items of a list, over its pages.
pub(crate) struct Listing<T> {
    pub(crate) items: Vec<Answer<T>>,
    /// Where the list goes on, if it was not read to its end.
    pub(crate) next_cursor: Option<String>,
}

/// What a request carries besides its method and path. `None` is left out.
#[derive(Clone, Copy, Default)]
pub(crate) struct With<'a> {
    pub(crate) query: &'a [(&'a str, Option<String>)],
    pub(crate) header: Option<(&'a str, &'a str)>,
    pub(crate) body: Option<&'a Value>,
}

/// Longer than any answer of the API takes: its functions end after 30 seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

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
        // The API never redirects. What does is something else, such as a login page, and it must
        // not get the request again as another one.
        let http = Client::builder().redirect(redirect::Policy::none()).timeout(TIMEOUT);
        let http = http.user_agent(concat!("belfry-cli/", env!("CARGO_PKG_VERSION")));
        let http = http.build().map_err(|problem| Failure::Broken(problem.to_string()))?;
        Ok(Api { base, token: self.token, http, json: self.json })
    }
}

impl Api {
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, Option<String>)],
    ) -> Result<Answer<T>, Failure> {
        self.ask(Method::GET, path, With { query, ..With::default() }).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &[&str],
        body: &Value,
    ) -> Result<Answer<T>, Failure> {
        self.ask(Method::POST, path, With { body: Some(body), ..With::default() }).await
    }

    /// Sends a request. Any status that is not a success is a failure, and so is any answer that is
    /// not of the shape that the API has.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        with: With<'_>,
    ) -> Result<Answer<T>, Failure> {
        let answer = self.send(method, path, with).await?;
        let (status, kind) = (answer.status(), kind(&answer));
        let text = answer.text().await.map_err(|problem| self.no_answer(&problem))?;
        if status == StatusCode::NO_CONTENT || !is_json(&kind) {
            return Err(self.foreign(status, &kind));
        }
        let json: Value =
            serde_json::from_str(&text).map_err(|problem| unread(&problem.to_string()))?;
        Ok(Answer { view: read(&json)?, json })
    }

    /// Deletes something, to which the API answers with no content.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<(), Failure> {
        let answer = self.send(Method::DELETE, path, With::default()).await?;
        match answer.status() {
            StatusCode::NO_CONTENT => Ok(()),
            status => Err(self.foreign(status, &kind(&answer))),
        }
    }

    /// Sends a request and refuses every answer that is not a success.
    async fn send(
        &self,
        method: Method,
        path: &[&str],
        with: With<'_>,
    ) -> Result<Response, Failure> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        for (name, value) in with.query {
            if let Some(value) = value {
                url.query_pairs_mut().append_pair(name, value);
            }
        }
        let mut request = self.http.request(method, url);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some((name, value)) = with.header {
            request = request.header(name, value);
        }
        if let Some(body) = with.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let answer = request.send().await.map_err(|problem| self.no_answer(&problem))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        if status.is_redirection() {
            let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = plain(to.unwrap_or("an unnamed place"));
            let problem = format!("{} redirects to {to}, as the API never does", self.base);
            return Err(Failure::Broken(problem));
        }
        let text = answer.text().await.map_err(|problem| self.no_answer(&problem))?;
        let problem = serde_json::from_str(&text).unwrap_or_else(|_| unnamed(status, &text));
        Err(Failure::Refused(problem))
    }

    fn no_answer(&self, problem: &reqwest::Error) -> Failure {
        Failure::Broken(format!("no answer from {}: {}", self.base, root(problem)))
    }

    fn foreign(&self, status: StatusCode, kind: &str) -> Failure {
        let content = match kind {
            "" => "no content".to_owned(),
            kind => plain(kind),
        };
        Failure::Broken(format!(
            "{} answered {} and {content}, which is not an answer of the API; check the address",
            self.base,
            status.as_u16()
        ))
    }

    /// The items of a list, over all pages, or up to `most`.
    pub(crate) async fn all<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, Option<String>)],
        most: Option<usize>,
    ) -> Result<Listing<T>, Failure> {
        let most = most.unwrap_or(usize::MAX);
        let mut list = Listing { items: Vec::new(), next_cursor: None };
        loop {
            let mut query = query.to_vec();
            query.push(("limit", Some((most - list.items.len()).clamp(1, PAGE).to_string())));
            query.push(("cursor", list.next_cursor.clone()));
            let page: Page = self.get(path, &query).await?.view;
            for json in page.items {
                list.items.push(Answer { view: read(&json)?, json });
            }
            if page.next_cursor.is_some() && page.next_cursor == list.next_cursor {
                return Err(unread("the list does not go on"));
            }
            list.next_cursor = page.next_cursor;
            if list.next_cursor.is_none() || list.items.len() >= most {
                return Ok(list);
            }
        }
    }
}

impl<T> Listing<T> {
    /// Prints the list as JSON, as the API answers a page.
    pub(crate) fn print_json(&self) -> io::Result<()> {
        let items: Vec<_> = self.items.iter().map(|item| &item.json).collect();
        print_json(&json!({"items": items, "next_cursor": self.next_cursor}))
    }

    /// Says that the list was not read to its end, if it was not.
    pub(crate) fn tell_rest(&self) {
        if self.next_cursor.is_some() {
            complain(&format!("belfry: stopped after {}; --limit brings more", self.items.len()));
        }
    }
}

/// Reads the most items that a list is to bring.
pub(crate) fn most(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|most| *most > 0).ok_or_else(|| "must be a number from 1".to_owned())
}

/// A page of a list. The lists of the API call their items `items`, or by their name.
#[derive(Deserialize)]
struct Page {
    #[serde(alias = "workflows")]
    items: Vec<Value>,
    /// Every page of the API says whether there is another one: without the field it is none.
    #[serde(deserialize_with = "Option::deserialize")]
    next_cursor: Option<String>,
}

/// Reads an answer, or a part of one.
pub(crate) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, Failure> {
    T::deserialize(answer).map_err(|problem| unread(&problem.to_string()))
}

fn unread(problem: &str) -> Failure {
    let version = env!("CARGO_PKG_VERSION");
    let problem = plain(problem);
    Failure::Broken(format!("the answer is not one that belfry {version} reads: {problem}"))
}

/// The content type of an answer, empty if it has none.
fn kind(answer: &Response) -> String {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().to_owned()
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
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
    fn tell(&self, json: bool) -> ExitCode {
        match self {
            Failure::Closed => return ExitCode::SUCCESS,
            Failure::Broken(problem) => return fail(problem),
            Failure::Refused(problem) if json => {
                let _ = print_json(&json!(problem));
            }
            Failure::Refused(problem) => {
                let title = format!("belfry: {} {}", problem.status, plain(&problem.title));
                match plain(&problem.detail) {
                    detail if detail.is_empty() => complain(&title),
                    detail => complain(&format!("{title}: {detail}")),
                }
                for error in &problem.errors {
                    complain(&format!("  {} {}", plain(&error.field), plain(&error.message)));
                }
                if problem.status == 401 {
                    complain(
                        "  set BELFRY_TOKEN; for the local API: export BELFRY_TOKEN=$(belfry token)",
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
    fn json_is_told_by_its_content_type() {
        assert!(is_json("application/json") && is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("text/html") && !is_json("") && !is_json("application/jsonp"));
    }

    #[test]
    fn an_answer_with_fields_of_a_newer_api_is_read() {
        let answer = json!({"items": [1], "next_cursor": null, "total": 1});
        assert!(matches!(read::<Page>(&answer), Ok(page) if page.items == [1]));
        for other in [json!({"items": 1, "next_cursor": null}), json!({"items": []})] {
            assert!(matches!(read::<Page>(&other), Err(Failure::Broken(_))), "{other}");
        }
    }
}
