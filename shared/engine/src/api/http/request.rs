//! Requests and answers, read from and written to API Gateway's events.

use std::borrow::Cow;
use std::collections::HashMap;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::encodings::Base64Data;
use aws_lambda_events::http::HeaderMap;
use belfry_core::encoding::{cut, too_deep};
use belfry_core::guard::access::{Scopes, is_user};
use belfry_core::schedule::change::Origin;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::problem::Problem;
use crate::schedules::caller::Caller;

/// A request, taken apart.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) segments: Vec<String>,
    /// The parameters of the path by the names that the operation gives them.
    pub(super) path: Vec<(&'static str, String)>,
    pub(super) request_id: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    body: Vec<u8>,
    caller: Option<Caller>,
}

/// Every path begins so, behind the name of the stage if it is not the default one.
pub(super) const BASE: [&str; 2] = ["api", "v1"];

impl Request {
    pub(super) fn read(event: ApiGatewayV2httpRequest) -> Result<Request, Problem> {
        let not_utf8 = |what: &str| {
            let detail = format!("the {what} is not UTF-8");
            move || Problem::new(400, "Bad request", detail)
        };
        let path = event.raw_path.as_deref().unwrap_or("/");
        let segments = path.split('/').filter(|segment| !segment.is_empty()).map(decode);
        let segments: Vec<_> = segments.collect::<Option<_>>().ok_or_else(not_utf8("path"))?;
        let begins = |skip: &usize| segments.iter().skip(*skip).take(BASE.len()).eq(BASE.iter());
        let Some(skip) = (0..=1).find(begins) else {
            return Err(Problem::not_found("resource"));
        };
        let query = event.raw_query_string.as_deref().unwrap_or_default();
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(&key.replace('+', " "))?, decode(&value.replace('+', " "))?))
        });
        let query = pairs.collect::<Option<_>>().ok_or_else(not_utf8("query"))?;
        let context = event.request_context;
        let origin = Origin {
            ip: context.http.source_ip.as_deref().map(cut),
            user_agent: context.http.user_agent.as_deref().map(cut),
        };
        let jwt = context.authorizer.and_then(|authorizer| authorizer.jwt);
        let caller = jwt.and_then(|jwt| caller(&jwt.claims, origin));
        let body = event.body.unwrap_or_default();
        let body = if event.is_base64_encoded { decode_base64(&body)? } else { body.into_bytes() };
        Ok(Request {
            method: context.http.method.as_str().to_owned(),
            segments: segments[skip + BASE.len()..].to_vec(),
            path: Vec::new(),
            request_id: context.request_id.unwrap_or_default(),
            query,
            headers: event.headers,
            body,
            caller,
        })
    }

    /// Who asks. Claims come only from the gateway's authorizer: no header can forge them.
    pub(super) fn caller(&self) -> Result<&Caller, Problem> {
        let problem = || Problem::unauthorized("the request carries no verified token");
        self.caller.as_ref().ok_or_else(problem)
    }

    /// The body as JSON.
    pub(super) fn json(&self) -> Result<Value, Problem> {
        serde_json::from_slice(&self.body).map_err(|e| match e.to_string() {
            // It is JSON, and deeper than what can be read.
            problem if problem.starts_with("recursion limit") => {
                Problem::field(&deepest_field(&self.body), too_deep())
            }
            problem => Problem::unreadable(&format!("is not JSON: {problem}")),
        })
    }

    /// The body as a JSON object; no body is an empty object.
    pub(super) fn small_object(&self) -> Result<Value, Problem> {
        if self.body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Value::Object(Default::default()));
        }
        match self.json()? {
            body if body.is_object() => Ok(body),
            _ => Err(Problem::field("", "must be a JSON object")),
        }
    }

    /// A parameter of the path; empty if the operation's path has none of this name.
    pub(super) fn path(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(key, _)| *key == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// A parameter of the query.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The names of the query's parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.query.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The revision the caller saw, if it named one, for a call that creates nothing.
    pub(super) fn if_match(&self) -> Result<Option<u64>, Problem> {
        match self.header("if-none-match") {
            None => self.seen(),
            Some(_) => Err(Problem::field("If-None-Match", "is only for a call that may create")),
        }
    }

    fn seen(&self) -> Result<Option<u64>, Problem> {
        match self.header("if-match").map(|text| text.trim().trim_matches('"')) {
            None | Some("*") => Ok(None),
            Some(revision) => match revision.parse() {
                Ok(revision) if revision > 0 => Ok(Some(revision)),
                _ => Err(Problem::field("If-Match", "must be a revision, such as 3")),
            },
        }
    }

    /// The revision the caller saw, for a call that may create: 0, which no schedule has, if the
    /// caller wants none to exist.
    pub(super) fn if_match_or_none(&self) -> Result<Option<u64>, Problem> {
        match (self.seen()?, self.is_new()?) {
            (seen, false) => Ok(seen),
            (None, true) => Ok(Some(0)),
            (Some(_), true) => Err(Problem::field("If-None-Match", "contradicts If-Match")),
        }
    }

    /// Whether the caller wants nothing of the name to exist.
    pub(super) fn is_new(&self) -> Result<bool, Problem> {
        match self.header("if-none-match").map(str::trim) {
            None => Ok(false),
            Some("*") => Ok(true),
            Some(_) => Err(Problem::field("If-None-Match", "must be *")),
        }
    }
}

/// The field of an object in which the most levels begin, without reading the object: it is nested
/// too deep for that. Empty if the body is no object.
fn deepest_field(body: &[u8]) -> String {
    let (mut depth, mut most, mut found) = (0_usize, 0, String::new());
    let (mut text, mut last, mut is_escaped) = (None, String::new(), false);
    for (place, byte) in body.iter().enumerate() {
        match (text, byte) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), b'\\') => is_escaped = true,
            (Some(begin), b'"') => {
                if depth == 1 {
                    last = String::from_utf8_lossy(&body[begin..place]).into_owned();
                }
                text = None;
            }
            (Some(_), _) => {}
            (None, b'"') => text = Some(place + 1),
            (None, b'{' | b'[') => {
                depth += 1;
                if depth > most {
                    (most, found) = (depth, last.clone());
                }
            }
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    found
}

/// The caller of these claims. `None` if the claims have no name, a name that no record could keep, or
/// the name that stands for all users.
fn caller(claims: &HashMap<String, String>, origin: Origin) -> Option<Caller> {
    let sub = claims.get("sub")?;
    let scopes = claims.get("scope").or_else(|| claims.get("scp"));
    is_user(sub).then(|| Caller {
        sub: sub.clone(),
        scopes: Scopes::parse(scopes.map_or("", String::as_str)),
        origin: Some(origin),
    })
}

/// A text of a URL without its escapes. Broken ones stay as they are.
pub(super) fn decode(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}

fn decode_base64(text: &str) -> Result<Vec<u8>, Problem> {
    serde_json::from_value::<Base64Data>(Value::from(text))
        .map(|data| data.0)
        .map_err(|_| Problem::unreadable("is not base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_too_deep_to_be_read_names_its_field() {
        let deep = "[".repeat(200) + &"]".repeat(200);
        let body = format!(r#"{{"a": "\"[[", "b": [1], "payload": {deep}, "c": {{"d": []}}}}"#);
        assert_eq!(deepest_field(body.as_bytes()), "payload");
        assert_eq!(deepest_field(deep.as_bytes()), "");
        assert_eq!(deepest_field(b"]}{"), "");
    }

    #[test]
    fn escapes_are_decoded_and_broken_ones_left_alone() {
        assert_eq!(decode("a%40b%3A").as_deref(), Some("a@b:"));
        assert_eq!(decode("100%").as_deref(), Some("100%"));
        assert_eq!(decode("%zz%4").as_deref(), Some("%zz%4"));
        assert_eq!(decode("%ff"), None);
    }
}
