//! The API: valid requests with one thing wrong, in the body, the path, the query or a header.

use belfry_engine::functions;
use belfry_tests::World;
use chrono::Duration;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::odd::{self, Change};
use crate::{check, runtime};

/// A valid request.
#[derive(Clone, Debug)]
struct Request {
    method: &'static str,
    path: &'static str,
    body: Value,
}

fn requests() -> Vec<Request> {
    let schedule = json!({
        "name": "a", "description": "b", "tags": {"team": "x"}, "workflow_id": "w", "version": 1,
        "cron_expr": "*/5 * * * *", "timezone": "Europe/Berlin",
        "start_at": "2026-01-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z", "paused": false,
        "jitter_ms": 10, "overlap_policy": "skip", "max_concurrent": 1, "catchup_policy": "once",
        "catchup_window_s": 60, "dst_gap": "shift", "dst_fold": "first", "payload": {"a": 1},
        "inject_metadata": true, "max_runtime_s": 60, "pause_after_failures": 3,
    });
    let validate = json!({
        "cron_expr": "0 9 * * MON", "timezone": "UTC", "start_at": "2026-01-01T00:00:00Z",
        "end_at": "2027-01-01T00:00:00Z", "after": "2026-01-01T00:00:00Z", "count": 5,
    });
    let workflow = json!({
        "definition": {"steps": 1}, "target": {"kind": "http", "url": "http://127.0.0.1:1/"},
        "completion": "tracked",
    });
    let mut member = schedule.clone();
    member["schedule_id"] = json!("member");
    let mut version = workflow.clone();
    version["workflow_id"] = json!("y");
    version["version"] = json!(1);
    let set = json!({
        "set": "s", "workflows": [version], "schedules": [member], "planned": {"member": 0},
    });
    let request = |method, path, body: &Value| Request { method, path, body: body.clone() };
    let feedback = json!({"status": "SUCCESS", "error": "e", "result": 1, "external_run_id": "x"});
    let none = Value::Null;
    vec![
        request("POST", "/schedules", &schedule),
        request("PUT", "/schedules/a", &schedule),
        request("PATCH", "/schedules/a", &schedule),
        request("PUT", "/schedules/b", &schedule),
        request("PATCH", "/schedules/b", &schedule),
        request("POST", "/schedules/validate", &validate),
        request("POST", "/schedules/a/pause", &json!({"note": "n"})),
        request("POST", "/schedules/a/resume", &json!({"catchup": "once", "dry_run": true})),
        request("POST", "/schedules/a/resume", &json!({"catchup": "spread"})),
        request("POST", "/schedules/a/trigger", &json!({"payload": 1, "overlap_policy": "allow"})),
        request("PUT", "/workflows/w/versions/2", &workflow),
        request("PUT", "/workflows/x/versions/1", &workflow),
        request("PUT", "/sets/s?prune=true&allow_delete=5", &set),
        request("POST", "/sets/s/plan?prune=true", &set),
        request("POST", "/runs/a@2026-01-01T00:05:00Z/status", &feedback),
        request("GET", "/schedules?status=active&workflow_id=w&tag=team:x&limit=5&cursor=a", &none),
        request("GET", "/schedules/a", &none),
        request(
            "GET",
            "/schedules/a/runs?status=SUCCESS&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z&limit=5&cursor=2026-01-01T00:00:00Z",
            &none,
        ),
        request(
            "GET",
            "/schedules/a/ledger?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z",
            &none,
        ),
        request("GET", "/schedules/a/changes?limit=5", &none),
        request("GET", "/runs/a@2026-01-01T00:05:00Z", &none),
        request("GET", "/workflows/w/versions/1", &none),
        request("GET", "/stats", &none),
        request("DELETE", "/schedules/b", &none),
    ]
}

/// Where the mistake is.
#[derive(Clone, Debug)]
enum Wrong {
    Body(Change),
    Path(usize, String),
    Query(usize, String),
    Header(&'static str, String),
    Method(String),
}

fn wrong() -> impl Strategy<Value = Wrong> {
    let header = select(vec!["if-match", "idempotency-key", "content-type", "x-anything"]);
    prop_oneof![
        6 => odd::change().prop_map(Wrong::Body),
        2 => (any::<usize>(), odd::text()).prop_map(|(place, text)| Wrong::Path(place, text)),
        2 => (any::<usize>(), odd::text()).prop_map(|(place, text)| Wrong::Query(place, text)),
        1 => (header, odd::text()).prop_map(|(name, text)| Wrong::Header(name, text)),
        // Any value that HTTP allows.
        1 => "[A-Z!#$%&'*+.^_`|~0-9-]{1,20}".prop_map(Wrong::Method),
    ]
}

/// Sends it as the gateway would.
async fn send(world: &World, request: &Request, wrong: &Wrong) -> (u16, Value) {
    let (path, query) = request.path.split_once('?').unwrap_or((request.path, ""));
    let (mut path, mut query) = (path.to_owned(), query.to_owned());
    let mut body = if request.body.is_null() { String::new() } else { request.body.to_string() };
    let (mut headers, mut method) = (Vec::new(), request.method.to_owned());
    match wrong {
        Wrong::Body(change) => body = change.of(&request.body),
        Wrong::Path(place, text) => {
            let mut segments: Vec<_> = path.split('/').map(str::to_owned).collect();
            let place = place % segments.len();
            segments[place] = escape(text);
            path = segments.join("/");
        }
        Wrong::Query(place, text) => {
            let mut pairs: Vec<_> = query.split('&').map(str::to_owned).collect();
            let place = place % pairs.len();
            let name = pairs[place].split('=').next().unwrap_or_default().to_owned();
            pairs[place] = format!("{name}={}", escape(text));
            query = pairs.join("&");
        }
        Wrong::Header(name, text) => headers.push((*name, text.as_str())),
        Wrong::Method(text) => method.clone_from(text),
    }
    let path = format!("{path}?{query}");
    world.call_raw(Some("ann"), &method, &path, &body, &headers).await
}

/// Percent-encodes what a segment of a path may not contain.
fn escape(text: &str) -> String {
    const ESCAPED: AsciiSet = NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~')
        .remove(b'@')
        .remove(b':');
    utf8_percent_encode(text, &ESCAPED).to_string()
}

async fn world() -> World {
    let world = World::new().await;
    for id in ["a", "b"] {
        world.schedule(id, "*/5 * * * *", &json!({})).await;
    }
    world.pass(Duration::minutes(6)).await;
    world
}

#[test]
fn every_request_is_answered_and_none_with_a_5xx() {
    let runtime = runtime();
    let world = runtime.block_on(world());
    let strategy = (select(requests()), wrong());
    check(1500, &strategy, |(request, wrong)| {
        let (status, answer) = runtime.block_on(send(&world, &request, &wrong));
        prop_assert!(status < 500, "{status} {answer}");
        if status >= 400 {
            prop_assert_eq!(&answer["status"], &json!(status), "the answer is a problem document");
        }
        Ok(())
    });
    runtime.block_on(everything_still_works(&world));
}

/// What was accepted on the way can be read, listed, fired and swept.
async fn everything_still_works(world: &World) {
    for _ in 0..10 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    let mut cursor = String::new();
    let mut seen = 0;
    loop {
        let path = format!("/schedules?limit=50{cursor}");
        let page = world.ok("GET", &path, &Value::Null).await;
        for schedule in page["items"].as_array().unwrap() {
            let id = schedule["schedule_id"].as_str().unwrap();
            for part in ["", "/runs", "/changes", "/ledger"] {
                world.ok("GET", &format!("/schedules/{id}{part}"), &Value::Null).await;
            }
            seen += 1;
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert!(seen > 2, "some odd schedules were accepted");
    let tick = world.tick().await;
    assert_eq!(tick["failed"], 0, "{tick}");
}

/// The event of a request that API Gateway would never make.
#[test]
fn no_event_makes_a_function_panic() {
    let runtime = runtime();
    let world = runtime.block_on(world());
    let record = json!({
        "messageId": "m", "receiptHandle": "r", "body": "{}", "attributes": {},
        "messageAttributes": {}, "md5OfBody": "x", "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:q", "awsRegion": "us-east-1",
    });
    let event = json!({
        "version": "2.0", "routeKey": "$default", "rawPath": "/api/v1/health",
        "rawQueryString": "", "headers": {}, "body": "", "isBase64Encoded": true,
        "requestContext": {"http": {"method": "GET"}, "requestId": "x"}, "Records": [record],
    });
    check(300, &odd::change(), |change| {
        let Ok(event) = serde_json::from_str::<Value>(&change.of(&event)) else { return Ok(()) };
        // An error is a valid answer: the runtime reports it. A panic would end this test.
        let record =
            json!({"Records": [serde_json::from_str(&change.of(&record)).unwrap_or(Value::Null)]});
        runtime.block_on(async {
            let _ = functions::api(&world.app, event.clone()).await;
            let _ = functions::launcher(&world.app, event.clone()).await;
            let _ = functions::launcher(&world.app, record.clone()).await;
            let deadline = world.now() + chrono::Duration::minutes(1);
            let _ = functions::tick(&world.app, event.clone(), deadline).await;
            let _ = functions::tick(&world.app, record, deadline).await;
            functions::recovery(&world.app, event).await.unwrap();
        });
        Ok(())
    });
}
