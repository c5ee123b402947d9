use super::*;
use crate::instant;
use crate::schedule::Overlap;

fn id() -> ScheduleId {
    "nightly".parse().unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
fn parse(body: Value) -> Result<Definition, Vec<Invalid>> {
    Definition::parse(&body, &id(), &House::default())
}

/// A clock of the schedule `nightly`, for tests that need no more than its expression.
pub(crate) fn clock(cron_expr: &str) -> Clock {
    let body = json!({"cron_expr": cron_expr, "workflow_id": "w", "overlap_policy": "allow"});
    let definition = parse(body).unwrap();
    Clock {
        schedule_id: id(),
        owner: "ann".to_owned(),
        revision: 1,
        timing: definition.timing,
        policies: definition.policies,
        workflow_id: definition.workflow_id,
        version: 1,
        paused: false,
        zone_lost: false,
        created_at: instant::parse("2025-12-31T00:00:00Z").unwrap(),
        next_run_at: None,
        last_run_at: None,
        last_run_id: None,
        active: Default::default(),
        then: Default::default(),
        last_claimed: None,
        failing: false,
    }
}

#[track_caller]
fn refused(body: Value, fields: &[&str]) {
    let problems = parse(body).unwrap_err();
    let mut named: Vec<_> = problems.iter().map(|p| p.field.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, fields, "{problems:?}");
}

#[test]
fn little_is_required() {
    let definition = parse(json!({"cron_expr": "0 9 * * *", "workflow_id": "w"})).unwrap();
    assert_eq!(definition.timing.timezone, "UTC");
    assert_eq!(definition.policies.overlap_policy, Overlap::Skip);
    assert_eq!(definition.payload, json!({}));
    assert!(definition.options.inject_metadata);
}

#[test]
fn every_problem_is_named_at_once() {
    refused(
        json!({
            "cron_expr": "61 * * * *", "timezone": "Mars/Base", "start_at": "soon",
            "jitter_ms": -1, "overlap_policy": "maybe", "tags": {"a": 1}, "paused": "no",
            "max_runtime_s": 1.5, "name": 7, "colour": "red",
        }),
        &[
            "colour",
            "cron_expr",
            "jitter_ms",
            "max_runtime_s",
            "name",
            "overlap_policy",
            "paused",
            "start_at",
            "tags",
            "timezone",
            "workflow_id",
        ],
    );
    refused(json!([]), &[""]);
}

#[test]
fn other_products_names_are_understood() {
    let definition = parse(json!({
        "cron_expression": "0 9 * * *", "schedule_name": "n", "workflow_id": "w",
        "start_date": "2026-01-01T00:00:00+01:00", "test_payload": {"a": 1}, "enabled": false,
    }))
    .unwrap();
    assert!(definition.paused);
    assert_eq!(definition.options.name.as_deref(), Some("n"));
    assert_eq!(definition.timing.start_at, instant::parse("2025-12-31T23:00:00Z"));
    refused(
        json!({"cron_expr": "* * * * *", "cron_expression": "* * * * *", "workflow_id": "w"}),
        &["cron_expression"],
    );
}

#[test]
fn what_was_read_can_be_sent_back() {
    let definition = parse(json!({
        "cron_expr": "0 9 * * *", "workflow_id": "w", "version": 3, "tags": {"a": "b"},
        "end_at": "2027-01-01T00:00:00Z", "dst_gap": "skip", "payload": [1, 2],
    }))
    .unwrap();
    assert_eq!(parse(definition.document()).unwrap(), definition);
}

#[test]
fn null_clears_and_payload_is_replaced_whole() {
    let house = House::default();
    let definition = parse(json!({
        "cron_expr": "0 9 * * *", "workflow_id": "w", "timezone": "Europe/Zurich",
        "payload": {"old": 1}, "tags": {"a": "1", "b": "2"},
    }))
    .unwrap();
    let patch = json!({"timezone": null, "payload": {"new": 2}, "tags": {"a": null}});
    let patched = definition.patched(&patch, &id(), &house).unwrap();
    assert_eq!(patched.timing.timezone, "UTC");
    assert_eq!(patched.payload, json!({"new": 2}));
    assert_eq!(patched.options.tags.keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn zones_may_be_limited_by_the_deployment() {
    let house = House { allowed_zones: vec!["UTC".to_owned()], ..House::default() };
    let body = json!({"cron_expr": "* * * * *", "workflow_id": "w", "timezone": "Asia/Tokyo"});
    assert_eq!(Definition::parse(&body, &id(), &house).unwrap_err()[0].field, "timezone");
}
