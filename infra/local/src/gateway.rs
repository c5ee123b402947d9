//! The gateway: checks tokens, and translates HTTP to API Gateway's HTTP API events and back.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use belfry_core::instant::Instant;
use belfry_engine::api::http::access;
use belfry_time::Time;
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tracing::{error, info};

use crate::functions::{Function, Functions};
use crate::tokens::Issuer;

/// API Gateway's limit on the request body.
const MAX_BODY: usize = 10 * 1024 * 1024;
/// The path of the public key of the tokens.
pub const KEYS_PATH: &str = "/.well-known/jwks.json";
/// The path that executes the demo workflow's runs.
pub const DEMO_PATH: &str = "/demo";

struct Gateway {
    functions: Functions,
    time: Arc<dyn Time>,
    issuer: Issuer,
    requests: AtomicU64,
}

/// Serves the API for ever.
pub async fn serve(
    listener: TcpListener,
    functions: Functions,
    time: Arc<dyn Time>,
    issuer: Issuer,
) {
    let gateway = Arc::new(Gateway { functions, time, issuer, requests: AtomicU64::new(0) });
    let router = Router::new()
        .route(DEMO_PATH, routing::post(demo))
        .route(KEYS_PATH, routing::get(keys))
        .fallback(forward)
        .with_state(gateway)
        .into_make_service_with_connect_info::<SocketAddr>();
    if let Err(problem) = axum::serve(listener, router).await {
        error!(%problem, "the gateway stopped");
    }
}

/// Executes the demo workflow: logs the run and the size of what it was given. Logs hold no payload.
async fn demo(body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    info!(
        run_id = body["metadata"]["run_id"].as_str(),
        payload_bytes = body["payload"].to_string().len(),
        "demo workflow ran"
    );
    (StatusCode::OK, r#"{"status":"SUCCESS"}"#).into_response()
}

async fn keys(State(gateway): State<Arc<Gateway>>) -> Response {
    let kind = [("content-type", "application/json")];
    (kind, gateway.issuer.keys().to_string()).into_response()
}

type Claims = Map<String, Value>;

impl Gateway {
    /// The claims of a request's token; none if its route is open.
    fn claims(&self, parts: &Parts, now: Instant) -> Result<Option<Claims>, Box<Response>> {
        if access::is_open(parts.method.as_str(), parts.uri.path()) {
            return Ok(None);
        }
        let mut headers = parts.headers.get_all("authorization").iter();
        let token = match (headers.next(), headers.next()) {
            (Some(header), None) => header.to_str().ok().and_then(bearer),
            _ => None,
        };
        let Some(token) = token else {
            return Err(unauthorized("the request carries no token", "Bearer".to_owned()).into());
        };
        let claims = self.issuer.check(token, now).map_err(|rejected| {
            let challenge =
                format!("Bearer error=\"invalid_token\", error_description=\"{rejected}\"");
            unauthorized(&rejected.to_string(), challenge).into()
        });
        claims.map(Some)
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

async fn forward(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(caller): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let now = gateway.time.now();
    let claims = match gateway.claims(&parts, now) {
        Ok(claims) => claims,
        Err(refusal) => return *refusal,
    };
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 10 MB");
    };
    let number = gateway.requests.fetch_add(1, Ordering::Relaxed);
    // Unique across restarts too: schedules and manual runs get their ids from it.
    let request_id = format!("{:x}-{number:x}", now.timestamp_nanos_opt().unwrap_or_default());
    let path = parts.uri.path();
    let user_agent = parts.headers.get("user-agent").and_then(|value| value.to_str().ok());
    let (body, is_base64) = match std::str::from_utf8(&body) {
        Ok(text) => (text.to_owned(), false),
        Err(_) => (STANDARD.encode(&body), true),
    };
    let event = json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": parts.uri.query().unwrap_or_default(),
        "headers": headers(&parts.headers),
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "authorizer": claims.map(|claims| json!({"jwt": {"claims": claims, "scopes": null}})),
            "domainName": "127.0.0.1",
            "http": {
                "method": parts.method.as_str(),
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": caller.ip().to_string(),
                "userAgent": user_agent,
            },
            "requestId": request_id,
            "routeKey": "$default",
            "stage": "$default",
            "timeEpoch": now.timestamp_millis(),
        },
        "body": body,
        "isBase64Encoded": is_base64,
    });
    match gateway.functions.invoke(Function::Api, event).await {
        Ok(answer) => response(&answer),
        Err(failure) => {
            error!(%failure, "the API function failed");
            problem(StatusCode::BAD_GATEWAY, "the API function failed")
        }
    }
}

/// Header names in lower case, and repeated headers joined, as API Gateway does.
fn headers(headers: &HeaderMap) -> Map<String, Value> {
    let mut joined = Map::new();
    for name in headers.keys() {
        let values = headers.get_all(name).iter();
        let values: Vec<_> =
            values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        joined.insert(name.as_str().to_owned(), json!(values.join(",")));
    }
    joined
}

fn response(answer: &Value) -> Response {
    let status = answer["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    let text = answer["body"].as_str().unwrap_or_default();
    let body = match answer["isBase64Encoded"].as_bool() {
        Some(true) => STANDARD.decode(text).unwrap_or_default(),
        _ => text.as_bytes().to_vec(),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status.unwrap_or(StatusCode::BAD_GATEWAY);
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        let name = HeaderName::try_from(name.as_str());
        let value = HeaderValue::from_str(value.as_str().unwrap_or_default());
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

fn unauthorized(detail: &str, challenge: String) -> Response {
    let mut response = problem(StatusCode::UNAUTHORIZED, detail);
    if let Ok(challenge) = HeaderValue::try_from(challenge) {
        response.headers_mut().insert("www-authenticate", challenge);
    }
    response
}

fn problem(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({
        "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail,
    });
    let mut response = (status, body.to_string()).into_response();
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert("content-type", kind);
    response
}
