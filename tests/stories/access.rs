//! Who may do what: every route, requested by every kind of caller, through the gateway with real
//! tokens.

use belfry_engine::api::http::gate::Gate;
use belfry_engine::api::http::openapi::{OPERATIONS, Operation};
use belfry_local::tokens::Issuer;
use chrono::Duration;
use serde_json::{Value, json};

use belfry_tests::door::{Door, read};
use belfry_tests::world::SCOPES;
use belfry_tests::{Launch, World};

/// What ann has: a schedule, a run of it that its executor has, and a backfill.
struct Subject {
    schedule: String,
    backfill: String,
    run: String,
    run_token: String,
}

/// A request to a route.
struct Ask {
    path: String,
    body: Value,
    /// What a stranger gets: nothing of ann's.
    stranger: u16,
}

/// The request for each route. A new route has no entry here, and fails the matrix.
fn ask(route: &Operation, subject: &Subject, fresh: &str) -> Ask {
    let schedule = json!({"workflow_id": "tracked", "cron_expr": "0 9 * * *"});
    let (body, stranger) = match (route.method, route.path) {
        (
            "GET",
            "/health" | "/openapi.json" | "/presets" | "/timezones" | "/vocabulary" | "/schedules"
            | "/stats" | "/overview" | "/sets" | "/workflows" | "/runs",
        ) => (Value::Null, 200),
        ("GET", "/sets/{set}") => (Value::Null, 404),
        // Every owner has sets of their own.
        ("PUT", "/sets/{set}") | ("POST", "/sets/{set}/plan") => (json!({"schedules": []}), 200),
        ("PUT" | "DELETE", "/sets/{set}/members/{schedule_id}") => (Value::Null, 404),
        ("POST", "/schedules/bulk") => (json!({"action": "pause", "tag": "none"}), 200),
        ("POST", "/schedules/{schedule_id}/backfill") => {
            (json!({"from": "2025-12-01T00:00:00Z", "to": "2025-12-02T00:00:00Z"}), 404)
        }
        ("GET", "/schedules/{schedule_id}/backfills") => (Value::Null, 404),
        ("GET" | "DELETE", "/schedules/{schedule_id}/backfills/{backfill_id}") => {
            (Value::Null, 404)
        }
        // Every owner has a schedule of their own at a trigger, but not with ann's workflow.
        ("PUT", "/workflows/{workflow_id}/triggers/{node_id}/schedule") => {
            (json!({"cron_expr": "0 9 * * *"}), 422)
        }
        ("PATCH", "/workflows/{workflow_id}/triggers/{node_id}/schedule") => {
            (json!({"name": "another"}), 404)
        }
        ("GET" | "DELETE", "/workflows/{workflow_id}/triggers/{node_id}/schedule") => {
            (Value::Null, 404)
        }
        ("GET", "/workflows/{workflow_id}/versions") => (Value::Null, 404),
        // A stranger may create schedules, but not with ann's workflow.
        ("POST", "/schedules") => (schedule, 422),
        ("POST", "/schedules/validate") => (json!({"cron_expr": "0 9 * * *"}), 200),
        ("GET" | "DELETE", "/schedules/{schedule_id}") => (Value::Null, 404),
        ("PUT", "/schedules/{schedule_id}") => (schedule, 404),
        ("PATCH", "/schedules/{schedule_id}") => (json!({"name": "another"}), 404),
        ("POST", "/schedules/{schedule_id}/pause" | "/schedules/{schedule_id}/resume") => {
            (Value::Null, 404)
        }
        ("POST", "/schedules/{schedule_id}/trigger") => (Value::Null, 404),
        (
            "GET",
            "/schedules/{schedule_id}/runs"
            | "/schedules/{schedule_id}/ledger"
            | "/schedules/{schedule_id}/changes"
            | "/runs/{run_id}",
        ) => (Value::Null, 404),
        ("POST", "/runs/{run_id}/status") => (json!({"status": "SUCCESS"}), 404),
        ("POST", "/runs/{run_id}/feedback") => (json!({"status": "SUCCESS"}), 401),
        ("PUT", "/workflows/{workflow_id}/versions/{version}") => {
            (json!({"target": {"kind": "lambda", "function": "f"}}), 404)
        }
        ("GET" | "DELETE", "/workflows/{workflow_id}/versions/{version}") => (Value::Null, 404),
        _ => panic!("add a request for {} {}", route.method, route.path),
    };
    let version = if route.method == "GET" { "1" } else { fresh };
    let path = route
        .path
        .replace("{schedule_id}", &subject.schedule)
        .replace("{backfill_id}", &subject.backfill)
        .replace("{node_id}", &subject.schedule)
        .replace("{run_id}", &subject.run)
        .replace("{set}", "billing")
        .replace("{workflow_id}", "tracked")
        .replace("{version}", version);
    // The schedules of this story use the versions.
    let deletes_version = route.method == "DELETE" && route.path.ends_with("{version}");
    let path = if deletes_version { path + "?force=true" } else { path };
    Ask { path, body, stranger }
}

async fn subject(world: &World, name: String) -> Subject {
    let more = json!({"workflow_id": "tracked", "version": 1});
    world.schedule(&name, "0 9 * * *", &more).await;
    let path = format!("/schedules/{name}/trigger");
    let run = world.ok("POST", &path, &Value::Null).await["run_id"].as_str().unwrap().to_owned();
    world.deliver().await;
    let past = json!({"from": "2025-12-10T00:00:00Z", "to": "2025-12-11T00:00:00Z"});
    let backfill = world.ok("POST", &format!("/schedules/{name}/backfill"), &past).await;
    let backfill = backfill["backfill_id"].as_str().unwrap().to_owned();
    for who in ["ann", "root admin"] {
        let path = format!("/workflows/tracked/triggers/{name}/schedule");
        let body = json!({"cron_expr": "0 9 * * *", "version": 1});
        assert_eq!(world.call_as(Some(who), "PUT", &path, &body, &[]).await.0, 201);
        let member = format!("{name}-{}", &who[..3]);
        let declared = json!({"schedules": [
            {"schedule_id": member, "workflow_id": "tracked", "cron_expr": "0 9 * * *"},
        ]});
        assert_eq!(world.call_as(Some(who), "PUT", "/sets/billing", &declared, &[]).await.0, 200);
    }
    let launch = world.executor.launches().into_iter().find(|launch| launch.run_id == run).unwrap();
    Subject { schedule: name, backfill, run, run_token: run_token(&launch) }
}

fn run_token(launch: &Launch) -> String {
    let token = launch.headers["belfry-run-token"].to_str().unwrap().to_owned();
    assert_eq!(launch.body["metadata"]["run_token"], token);
    token
}

async fn world_with_a_tracked_workflow() -> World {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("tracked", &json!({"target": target, "completion": "tracked"})).await;
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_lets_in_whom_it_should_and_nobody_else() {
    let world = world_with_a_tracked_workflow().await;
    let door = Door::of(&world).await;
    let hour = Duration::hours(1).num_seconds();
    let now = world.now().timestamp();
    let other = Issuer::of_key(&Issuer::new_key().unwrap()).unwrap();
    let good = door.token("ann", "admin", |_| {});
    let claims = json!({
        "iss": "belfry-local", "aud": "belfry", "sub": "ann", "scope": "admin", "exp": now + hour,
    });
    let unverified: Vec<(&str, Option<String>)> = vec![
        ("no token", None),
        ("expired", Some(door.token("ann", "admin", |c| c["exp"] = json!(now)))),
        ("not yet", Some(door.token("ann", "admin", |c| c["nbf"] = json!(now + hour)))),
        ("wrong audience", Some(door.token("ann", "admin", |c| c["aud"] = json!("other")))),
        ("wrong issuer", Some(door.token("ann", "admin", |c| c["iss"] = json!("other")))),
        ("no subject", Some(door.token("", "admin", |_| {}))),
        ("another key", Some(other.sign(&claims).unwrap())),
        ("broken", Some(good[..good.len() - 8].to_owned())),
    ];
    let (ann, bob) = (door.token("ann", SCOPES, |_| {}), door.token("bob", SCOPES, |_| {}));
    let root = door.token("root", "admin", |_| {});
    let mut cells = 0;
    for (place, route) in OPERATIONS.iter().enumerate() {
        let one = subject(&world, format!("one-{place}")).await;
        let before = world.ok("GET", &format!("/schedules/{}", one.schedule), &Value::Null).await;
        let asked = ask(route, &one, "2");
        let open = route.gate == Gate::Open;
        let about =
            |who: &str, answer: &Value| format!("{who}: {} {}: {answer}", route.method, route.path);
        for (who, token) in &unverified {
            let answer =
                door.ask(token.as_deref(), route.method, &asked.path, &asked.body, &[]).await;
            let challenge = answer.headers().get("www-authenticate").cloned();
            let (status, answer) = read(answer).await;
            assert_eq!(status, if open { 200 } else { 401 }, "{}", about(who, &answer));
            if !open {
                assert!(challenge.unwrap().to_str().unwrap().starts_with("Bearer"));
                assert_eq!(answer["status"], 401);
            }
            cells += 1;
        }
        let needed = match route.gate {
            Gate::Token(scope) => scope.as_str(),
            Gate::Open | Gate::RunToken => "",
        };
        let others: Vec<_> = SCOPES.split(' ').filter(|scope| *scope != needed).collect();
        let lacking = door.token("ann", &others.join(" "), |_| {});
        let answer = door.ask(Some(&lacking), route.method, &asked.path, &asked.body, &[]).await;
        let (status, answer) = read(answer).await;
        let expected = match route.gate {
            Gate::Open => 200,
            Gate::RunToken => 401,
            Gate::Token(_) => 403,
        };
        assert_eq!(status, expected, "{}", about("missing scope", &answer));
        let detail = answer["detail"].as_str().unwrap_or_default();
        assert!(needed.is_empty() || detail.contains(needed), "{}", about("scope", &answer));

        let answer = door.ask(Some(&bob), route.method, &asked.path, &asked.body, &[]).await;
        let (status, answer) = read(answer).await;
        assert_eq!(status, asked.stranger, "{}", about("stranger", &answer));
        assert!(!answer.to_string().contains(&one.schedule), "{}", about("stranger", &answer));
        let after = world.ok("GET", &format!("/schedules/{}", one.schedule), &Value::Null).await;
        assert_eq!(before, after, "{} {} changed something", route.method, route.path);

        // Those who may: each with a schedule and a run of their own to change.
        let two = subject(&world, format!("two-{place}")).await;
        for (who, token, subject, fresh) in [("owner", &ann, one, "2"), ("admin", &root, two, "3")]
        {
            let asked = ask(route, &subject, fresh);
            let headers: &[(&str, &str)] = match route.gate {
                Gate::RunToken => &[("belfry-run-token", &subject.run_token)],
                _ => &[],
            };
            let token = (route.gate != Gate::RunToken).then_some(token.as_str());
            let answer = door.ask(token, route.method, &asked.path, &asked.body, headers).await;
            let (status, answer) = read(answer).await;
            assert!((200..300).contains(&status), "{} {status}", about(who, &answer));
            cells += 1;
        }
        cells += 2;
    }
    println!("{} routes, {cells} cells", OPERATIONS.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_a_caller_sends_makes_it_somebody() {
    let world = World::new().await;
    world.schedule("report", "0 9 * * *", &json!({})).await;
    let door = Door::of(&world).await;
    let claims = r#"{"authorizer":{"jwt":{"claims":{"sub":"ann","scope":"admin"}}}}"#;
    let forged = json!({
        "requestContext": {"authorizer": {"jwt": {"claims": {"sub": "ann", "scope": "admin"}}}},
        "authorizer": {"jwt": {"claims": {"sub": "ann", "scope": "admin"}}},
    });
    let good = door.token("ann", SCOPES, |_| {});
    for headers in [
        &[("x-amzn-request-context", claims)][..],
        &[("x-amzn-lambda-context", claims), ("x-amz-authorizer", "ann")],
        &[("x-apigateway-event", claims), ("x-apigateway-context", claims)],
        &[("x-sub", "ann"), ("x-user-id", "ann"), ("x-forwarded-user", "ann")],
        &[("authorization", "ann"), ("x-authorization", &format!("Bearer {good}"))],
        &[("authorization", "Basic YW5uOmFubg==")],
        &[("authorization", &format!("Bearer {good}")), ("authorization", "Bearer x")],
        &[("cookie", &format!("token={good}"))],
    ] {
        for path in ["/schedules/report", "/schedules/report?sub=ann&access_token=ann"] {
            let answer = door.ask(None, "GET", path, &forged, headers).await;
            assert_eq!(answer.status(), 401, "{headers:?}");
            let answer = world.call_as(None, "GET", path, &forged, headers).await;
            assert_eq!(answer.0, 401, "{headers:?}");
        }
    }
    let answer = door.ask(Some(&good), "GET", "/schedules/report", &Value::Null, &[]).await;
    assert_eq!(answer.status(), 200);
    // The token identifies the caller, whatever else the request says.
    let bob = door.token("bob", SCOPES, |_| {});
    let headers = [("x-sub", "ann"), ("x-amzn-request-context", claims)];
    let answer = door.ask(Some(&bob), "GET", "/schedules/report", &forged, &headers).await;
    assert_eq!(answer.status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_good_until_it_expires() {
    let world = World::new().await;
    let door = Door::of(&world).await;
    let token = door.token("ann", "schedules:read", |_| {});
    let ask = async || {
        let answer = door.ask(Some(&token), "GET", "/schedules", &Value::Null, &[]).await;
        (answer.status().as_u16(), answer.headers().get("www-authenticate").cloned())
    };
    assert_eq!(ask().await.0, 200);
    world.time.set(world.now() + Duration::minutes(60) - Duration::seconds(1));
    assert_eq!(ask().await.0, 200);
    world.time.set(world.now() + Duration::seconds(1));
    let (status, challenge) = ask().await;
    assert_eq!(status, 401);
    assert!(challenge.unwrap().to_str().unwrap().contains("the token has expired"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_reports_with_the_token_of_its_run_and_of_no_other() {
    let world = world_with_a_tracked_workflow().await;
    let door = Door::of(&world).await;
    let (one, two) = (subject(&world, "a".into()).await, subject(&world, "b".into()).await);
    let body = json!({"status": "SUCCESS", "result": {"rows": 42}});
    let path = format!("/runs/{}/feedback", one.run);
    for wrong in ["", "0", &two.run_token, &one.run_token[2..]] {
        let headers = [("belfry-run-token", wrong)];
        let answer = door.ask(None, "POST", &path, &body, &headers).await;
        assert_eq!(answer.status(), 401, "{wrong}");
    }
    let headers = [("belfry-run-token", one.run_token.as_str())];
    let (status, run) = read(door.ask(None, "POST", &path, &body, &headers).await).await;
    assert_eq!((status, &run["status"]), (200, &json!("SUCCESS")));
    // The run token allows nothing else.
    for path in [format!("/runs/{}", one.run), format!("/schedules/{}", one.schedule)] {
        let answer = door.ask(Some(&one.run_token), "GET", &path, &Value::Null, &headers).await;
        assert_eq!(answer.status(), 401);
    }
    // A run whose executor is not waited for gets no token.
    world.schedule("plain", "0 9 * * *", &json!({})).await;
    world.ok("POST", "/schedules/plain/trigger", &Value::Null).await;
    world.deliver().await;
    let launches = world.executor.launches();
    let plain = launches.iter().find(|launch| launch.run_id.starts_with("plain")).unwrap();
    assert!(!plain.headers.contains_key("belfry-run-token"));
    assert!(!plain.text.contains("run_token"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_its_first_publishers_and_an_admins() {
    let world = World::new().await;
    let version = json!({"target": {"kind": "lambda", "function": "f"}});
    let call = async |who: &str, method: &str, path: &str, body: &Value| {
        world.call_as(Some(who), method, path, body, &[]).await
    };
    let path = "/workflows/pipeline/versions/1";
    assert_eq!(call("ann", "PUT", path, &version).await.0, 201);
    assert_eq!(call("bob", "PUT", "/workflows/pipeline/versions/2", &version).await.0, 404);
    assert_eq!(call("bob", "GET", path, &Value::Null).await.0, 404);
    let schedule = json!({"workflow_id": "pipeline", "cron_expr": "0 9 * * *"});
    let (status, answer) = call("bob", "PUT", "/schedules/bobs", &schedule).await;
    assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("workflow_id")));
    assert_eq!(call("ann", "PUT", "/schedules/anns", &schedule).await.0, 201);
    assert_eq!(call("root admin", "PUT", "/workflows/pipeline/versions/2", &version).await.0, 201);
    assert_eq!(call("root admin", "PUT", "/schedules/roots", &schedule).await.0, 201);
    // What an admin changes still belongs to its owner, who can go on changing it.
    let patch = json!({"name": "by an admin"});
    assert_eq!(call("root admin", "PATCH", "/schedules/anns", &patch).await.0, 200);
    let seen = call("ann", "GET", "/schedules/anns", &Value::Null).await.1;
    assert_eq!((&seen["user_id"], &seen["name"]), (&json!("ann"), &json!("by an admin")));
    let changes = call("ann", "GET", "/schedules/anns/changes", &Value::Null).await.1;
    assert_eq!(changes["items"][0]["by"], "root");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_lists_what_anybody_has() {
    let world = World::new().await;
    let version = json!({"target": {"kind": "lambda", "function": "f"}});
    let mut all = Vec::new();
    for (number, who) in ["ann", "bob", "eve/1~#&"].into_iter().enumerate() {
        let path = format!("/workflows/own-{number}/versions/1");
        world.call_as(Some(&format!("{who} {SCOPES}")), "PUT", &path, &version, &[]).await;
        for place in 0..3 {
            let id = format!("s{number}-{place}");
            let body = json!({"workflow_id": format!("own-{number}"), "cron_expr": "0 9 * * *"});
            let path = format!("/schedules/{id}");
            assert_eq!(world.call_as(Some(who), "PUT", &path, &body, &[]).await.0, 201);
            all.push(id);
        }
    }
    let list = async |who: &str, query: &str| {
        let path = format!("/schedules{query}");
        let (status, page) = world.call_as(Some(who), "GET", &path, &Value::Null, &[]).await;
        let items = page["items"].as_array().cloned().unwrap_or_default();
        let ids: Vec<_> =
            items.iter().map(|item| item["schedule_id"].as_str().unwrap().to_owned()).collect();
        (status, ids, page["next_cursor"].as_str().map(str::to_owned))
    };
    assert_eq!(list("ann", "").await.1, ["s0-0", "s0-1", "s0-2"]);
    assert_eq!(list("ann", "?user_id=ann").await.1, ["s0-0", "s0-1", "s0-2"]);
    assert_eq!(list("ann", "?user_id=bob").await.0, 403);
    assert_eq!(list("ann", "?user_id=*").await.0, 403);
    assert_eq!(list("root admin", "").await.1, Vec::<String>::new());
    assert_eq!(list("root admin", "?user_id=bob").await.1, ["s1-0", "s1-1", "s1-2"]);
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let query = format!("?user_id=*&limit=2{cursor}");
        let (status, ids, next) = list("root admin", &query).await;
        assert_eq!(status, 200);
        seen.extend(ids);
        match next {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, all);
    let stats = async |query: &str| {
        let path = format!("/stats{query}");
        world.call_as(Some("root admin"), "GET", &path, &Value::Null, &[]).await.1
    };
    assert_eq!(stats("?user_id=*").await["schedules"]["total"], 9);
    assert_eq!(stats("?user_id=bob").await["schedules"]["total"], 3);
    assert_eq!(stats("").await["schedules"]["total"], 0);
}
