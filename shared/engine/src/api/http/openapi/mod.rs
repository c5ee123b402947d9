//! The OpenAPI document: made from the same table that the router is served by.

mod derived;
pub(super) mod find;
pub(super) mod kind;
mod operation;
mod operations;
pub(super) mod requests;
mod schedule;
mod schemas;
mod words;

use belfry_core::invalid::ProblemDetails;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::gate::Gate;

pub use operation::Operation;
use operation::in_path;
pub use operations::OPERATIONS;

/// The document, as `GET /openapi.json` answers.
pub fn document() -> Value {
    let mut generator = derived::generator();
    let mut paths: Map<String, Value> = Map::new();
    for operation in OPERATIONS {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method.to_ascii_lowercase()] = described(operation, &mut generator);
    }
    let mut schemas = schemas::all();
    schemas.extend(derived::definitions(&mut generator));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Belfry",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Schedules that fire, and a record of every fire.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
        },
    })
}

fn described(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let tag = operation.path.split('/').nth(1).unwrap_or_default();
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.does,
        "tags": [tag],
        "parameters": parameters(operation),
        "responses": responses(operation, generator),
    });
    match operation.gate {
        Gate::Token(scope) => described["security"] = json!([{"token": [scope.as_str()]}]),
        Gate::Open | Gate::RunToken => described["security"] = json!([]),
    }
    if let Some(body) = &operation.body {
        described["requestBody"] = json!({
            "required": body.required,
            "content": {"application/json": {"schema": reference(body.schema)}},
        });
    }
    described
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let of_path = operation.path_parameters().map(|name| {
        let (kind, note) = in_path(name);
        json!({
            "name": name, "in": "path", "required": true, "schema": kind.schema(),
            "description": note,
        })
    });
    let query = operation.query.iter().map(|parameter| ("query", parameter));
    let headers = operation.headers.iter().map(|parameter| ("header", parameter));
    let others = query.chain(headers).map(|(place, parameter)| {
        json!({
            "name": parameter.name, "in": place, "required": false,
            "schema": parameter.kind.schema(), "description": parameter.note,
        })
    });
    of_path.chain(others).collect()
}

fn responses(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    for (status, _) in operation.answers {
        let bodies = operation.answers.iter().filter(|(of, _)| of == status);
        let schemas = bodies.filter_map(|(_, shape)| Some(shape.as_ref()?(generator).to_value()));
        let mut schemas: Vec<_> = schemas.collect();
        let mut response = json!({"description": "The call succeeded."});
        let schema = match schemas.len() {
            0 => Value::Null,
            1 => schemas.remove(0),
            _ => json!({"oneOf": schemas}),
        };
        if !schema.is_null() {
            response["content"] = json!({"application/json": {"schema": schema}});
        }
        responses.insert(status.to_string(), response);
    }
    for status in operation.refused_with() {
        let response = json!({
            "description": meaning(status),
            "content": {"application/problem+json": {"schema": derived::of::<ProblemDetails>(generator)}},
        });
        responses.insert(status.to_string(), response);
    }
    Value::Object(responses)
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// What a status of refusal means.
fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The body is not JSON, or the path or query is not UTF-8.",
        401 => "The request carries no verified token.",
        403 => "The token does not carry the scope that the call needs.",
        404 => "The resource does not exist, or belongs to another user.",
        409 => "The state of the resource does not allow the call.",
        412 => "The schedule is not at the revision of If-Match.",
        413 => "The body is too large.",
        422 => "Fields have problems; `errors` names every one.",
        _ => "A service behind the API did not answer; try again.",
    }
}

/// The fields a user writes, of docs/api.md: a row for each.
pub fn field_table() -> String {
    schedule::written_table()
}

/// The reference of docs/api.md: a row for each call.
pub fn reference_table() -> String {
    let mut text = "| call | does | takes | answers |\n|---|---|---|---|\n".to_owned();
    for operation in OPERATIONS {
        let query = operation.query.iter().map(|parameter| format!("`?{}`", parameter.name));
        let headers = operation.headers.iter().map(|parameter| format!("`{}`", parameter.name));
        let body = operation.body.as_ref().map(|body| format!("`{}`", body.schema));
        let takes: Vec<_> = body.into_iter().chain(query).chain(headers).collect();
        let mut answers: Vec<_> = operation.answers.iter().map(|(s, _)| s.to_string()).collect();
        answers.dedup();
        let refusals: Vec<_> = operation.refused_with().iter().map(u16::to_string).collect();
        text += &format!(
            "| `{} {}` | {} | {} | {}; {} |\n",
            operation.method,
            operation.path,
            operation.does,
            takes.join(", "),
            answers.join(", "),
            refusals.join(", "),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::find::{Found, find};
    use super::*;

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let mut ids: Vec<_> = OPERATIONS.iter().map(|operation| operation.id).collect();
        ids.sort_unstable();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }

    #[test]
    fn a_path_without_parameters_goes_before_one_with_some() {
        let id = |method: &str, path: &[&str]| match find(method, path) {
            Found::Call(operation) => operation.id.to_owned(),
            Found::Otherwise(methods) => methods,
            Found::Nothing => "nothing".to_owned(),
        };
        assert_eq!(id("POST", &["schedules", "validate"]), "validate");
        assert_eq!(id("GET", &["schedules", "validate"]), "POST");
        assert_eq!(id("GET", &["schedules", "nightly"]), "get_schedule");
        assert_eq!(id("HEAD", &["schedules", "nightly"]), "get_schedule");
        assert_eq!(id("HEAD", &["schedules", "validate"]), "POST");
        assert_eq!(id("POST", &["schedules", "nightly"]), "GET, HEAD, PUT, PATCH, DELETE");
        assert_eq!(id("GET", &["schedules", "nightly", "dreams"]), "nothing");
    }

    #[test]
    fn every_object_that_is_named_has_a_schema() {
        let schemas = document()["components"]["schemas"].clone();
        let text = document().to_string();
        for name in text.split("#/components/schemas/").skip(1) {
            let name = name.split('"').next().unwrap();
            assert!(schemas.get(name).is_some(), "{name}");
        }
    }

    #[test]
    fn no_two_types_share_a_name_in_the_document() {
        let schemas = document()["components"]["schemas"].clone();
        // schemars tells types of the same name apart by a number behind it.
        for name in schemas.as_object().unwrap().keys() {
            assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}");
        }
        // A derived schema would take the place of a request's.
        for name in schemas::all().keys() {
            assert_eq!(schemas[name], schemas::all()[name], "{name}");
        }
    }

    #[test]
    fn the_page_of_the_api_has_the_reference_made_from_the_code() {
        let page = include_str!("../../../../../../docs/api.md");
        assert!(page.contains(&reference_table()), "run `make api-docs`");
        assert!(page.contains(&field_table()), "run `make api-docs`");
    }
}
