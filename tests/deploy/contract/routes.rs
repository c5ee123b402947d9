//! The routes: one for each operation of the API, open or closed as the code says.

use std::collections::BTreeMap;

use belfry_engine::api::http::gate::Gate;
use belfry_engine::api::http::openapi::OPERATIONS;
use belfry_tests::Template;
use serde_json::{Value, json};

use super::{Problems, default, referred};

pub(super) fn check(template: &Template, problems: &mut Problems) {
    let mut found = BTreeMap::new();
    for (id, route) in template.of_type("AWS::ApiGatewayV2::Route") {
        let key = route["RouteKey"].as_str().unwrap_or_default();
        problems.unless(
            found.insert(key.to_owned(), gate(route)).is_none(),
            format!("{key} has two routes"),
        );
        let target = &route["Target"]["Fn::Sub"];
        problems.equal(id, target, &json!("integrations/${ApiIntegration}"));
        problems.equal(id, &route["ApiId"], &json!({"Ref": "HttpApi"}));
    }
    let wanted = wanted();
    for (key, gate) in &wanted {
        match found.get(key) {
            None => problems.add(format!("no route for {key}; add\n{}", yaml(key, gate))),
            Some(other) if other != gate => {
                problems.add(format!("{key} is {other} at the gateway and should be {gate}"));
            }
            Some(_) => {}
        }
    }
    for key in found.keys().filter(|key| !wanted.contains_key(*key)) {
        problems.add(format!("{key} is a route, but not an operation of the code"));
    }
    gateway(template, problems);
}

/// Every route key and whether it requires a token.
fn wanted() -> BTreeMap<String, &'static str> {
    let calls = OPERATIONS.iter().flat_map(|operation| {
        let gate = match operation.gate {
            Gate::Open | Gate::RunToken => "open",
            Gate::Token(_) => "closed",
        };
        // A HEAD that needs a token comes by the route of everything else.
        let head = (operation.method == "GET" && gate == "open").then_some("HEAD");
        let methods = [operation.method].into_iter().chain(head);
        methods.map(move |method| (format!("{method} /api/v1{}", operation.path), gate))
    });
    let console = ["GET", "HEAD"]
        .into_iter()
        .flat_map(|method| [format!("{method} /console"), format!("{method} /console/{{file+}}")]);
    // Unknown routes require a token too, so that strangers learn nothing about them.
    let others = [("$default".to_owned(), "closed")];
    calls.chain(console.map(|key| (key, "open"))).chain(others).collect()
}

fn gate(route: &Value) -> &'static str {
    match (route["AuthorizationType"].as_str(), referred(&route["AuthorizerId"])) {
        (Some("JWT"), "JwtAuthorizer") => "closed",
        (Some("NONE"), "") => "open",
        _ => "neither open nor closed",
    }
}

/// The YAML to add for a missing route.
fn yaml(key: &str, gate: &str) -> String {
    let words = key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name: String = words
        .map(|word| word[..1].to_ascii_uppercase() + &word[1..].to_ascii_lowercase())
        .collect();
    let authorization = match gate {
        "open" => "AuthorizationType: NONE",
        _ => "AuthorizationType: JWT\n      AuthorizerId: !Ref JwtAuthorizer",
    };
    format!(
        "  Route{name}:\n    Type: AWS::ApiGatewayV2::Route\n    Properties:\n      ApiId: !Ref HttpApi\n      \
         RouteKey: {key}\n      Target: !Sub integrations/${{ApiIntegration}}\n      {authorization}"
    )
}

/// The gateway checks tokens, limits the request rate, and writes an access log.
fn gateway(template: &Template, problems: &mut Problems) {
    let authorizer = template.properties("JwtAuthorizer");
    problems.equal("the authorizer", &authorizer["AuthorizerType"], &json!("JWT"));
    let jwt = &authorizer["JwtConfiguration"];
    problems.equal(
        "what tokens are held against",
        jwt,
        &json!({"Issuer": {"Ref": "JwtIssuer"}, "Audience": {"Ref": "JwtAudience"}}),
    );
    problems.unless(
        default(template, "JwtIssuer").is_none(),
        "JwtIssuer has a default: an operator must choose the trusted issuer",
    );
    let header = json!(["$request.header.Authorization"]);
    problems.equal("where tokens are", &authorizer["IdentitySource"], &header);
    let integration = template.properties("ApiIntegration");
    problems.equal("the integration", &integration["PayloadFormatVersion"], &json!("2.0"));
    let function = referred(&integration["IntegrationUri"]);
    problems.equal("the API's function", &json!(function), &json!("ApiFunction"));
    let patience = integration["TimeoutInMillis"].as_i64().unwrap_or_default();
    let timeout = template.properties("ApiFunction")["Timeout"].as_i64().unwrap_or(i64::MAX);
    problems.unless(timeout * 1000 < patience, "the gateway gives up before the function does");
    let stage = template.properties("ApiStage");
    problems.equal("the stage", &stage["AutoDeploy"], &json!(true));
    for limit in ["ThrottlingRateLimit", "ThrottlingBurstLimit"] {
        let parameter = referred(&stage["DefaultRouteSettings"][limit]);
        problems.unless(default(template, parameter).is_some(), format!("no {limit}"));
    }
    let log = &stage["AccessLogSettings"];
    let destination = template.properties(referred(&log["DestinationArn"]));
    problems.unless(!destination["RetentionInDays"].is_null(), "no access log with an expiry");
    let format = log["Format"].as_str().unwrap_or_default();
    problems.unless(serde_json::from_str::<Value>(format).is_ok(), "the access log is not JSON");
    let allowed = template.of_type("AWS::Lambda::Permission").any(|(_, permission)| {
        referred(&permission["FunctionName"]) == "ApiFunction"
            && permission["Principal"] == "apigateway.amazonaws.com"
            && permission["SourceArn"]["Fn::Sub"].as_str().is_some_and(|s| s.contains("${HttpApi}"))
    });
    problems.unless(allowed, "the gateway may not invoke ApiFunction");
}
