//! Tests of plans: which action each schedule gets, and in which order.

use super::*;
use crate::schedule::definition::object;
use crate::schedule::house::House;
use serde_json::{Value, json};

fn now() -> Instant {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn definition(more: &Value) -> Definition {
    let mut body = json!({"workflow_id": "w", "version": 1, "cron_expr": "0 9 * * *"});
    body.as_object_mut().unwrap().extend(object(more));
    Definition::parse(&body, &"x".parse().unwrap(), &House::default()).unwrap()
}

/// An existing schedule of ann, with its set.
fn there(id: &str, set: Option<&str>, more: &Value) -> (ScheduleId, Found) {
    let found = Found {
        owner: "ann".to_owned(),
        set: set.map(|set| set.parse().unwrap()),
        revision: 3,
        created_at: now(),
        definition: definition(more),
    };
    (id.parse().unwrap(), found)
}

fn declared(id: &str, more: &Value) -> Value {
    let mut body = json!({"schedule_id": id, "workflow_id": "w", "cron_expr": "0 9 * * *"});
    body.as_object_mut().unwrap().extend(object(more));
    body
}

fn planned(found: Vec<(ScheduleId, Found)>, schedules: &[Value], prune: bool) -> Vec<Item> {
    let set: SetName = "billing".parse().unwrap();
    let body = json!({"schedules": schedules});
    let declaration = Declaration::parse(&body, &set, &House::default()).unwrap();
    let found: BTreeMap<_, _> = found.into_iter().collect();
    let of_set = |found: &Found| found.set.as_ref() == Some(&set);
    let members = found.iter().filter(|(_, f)| of_set(f)).map(|(id, _)| id.clone()).collect();
    let versions = vec![Ok(1); declaration.schedules.len()];
    plan(
        &declaration,
        &Scene {
            caller: "ann",
            set: &set,
            found: &found,
            members: &members,
            versions: &versions,
            prune,
            now: now(),
        },
    )
}

#[track_caller]
fn check(found: Vec<(ScheduleId, Found)>, schedules: &[Value], expected: &[(&str, Action)]) {
    let items = planned(found, schedules, true);
    let actions: Vec<_> = items.iter().map(|i| (i.schedule_id.as_str(), i.action)).collect();
    assert_eq!(actions, expected, "{items:?}");
}

const OURS: Option<&str> = Some("billing");

#[test]
fn each_schedule_is_created_updated_unchanged_or_deleted() {
    check(
        vec![
            there("same", OURS, &json!({})),
            there("drifted", OURS, &json!({"name": "by hand"})),
            there("old", OURS, &json!({})),
        ],
        &[
            declared("new", &json!({})),
            declared("drifted", &json!({})),
            declared("same", &json!({})),
        ],
        &[
            ("new", Action::Create),
            ("drifted", Action::Update),
            ("same", Action::Unchanged),
            ("old", Action::Delete),
        ],
    );
}

#[test]
fn nothing_is_deleted_unless_asked() {
    let items = planned(vec![there("old", OURS, &json!({}))], &[], false);
    assert_eq!(items[0].action, Action::Undeclared);
    assert!(!items[0].action.changes());
}

#[test]
fn what_is_not_the_sets_is_refused_and_never_pruned() {
    let (id, mut bobs) = there("bobs", OURS, &json!({}));
    bobs.owner = "bob".to_owned();
    let others = vec![
        there("by-hand", None, &json!({})),
        there("reports", Some("reports"), &json!({})),
        (id, bobs),
    ];
    let names = ["by-hand", "reports", "bobs"];
    let refused: Vec<_> = names.iter().map(|name| (*name, Action::Refused)).collect();
    let all: Vec<_> = names.iter().map(|name| declared(name, &json!({"name": "mine"}))).collect();
    check(others.clone(), &all, &refused);
    check(others, &[], &[]);
}

#[test]
fn left_out_is_the_default_except_for_the_pause() {
    let found = vec![there("a", OURS, &json!({"paused": true, "jitter_ms": 500}))];
    let items = planned(found.clone(), &[declared("a", &json!({}))], false);
    let fields: Vec<_> = items[0].changes.iter().map(|c| c.field.as_str()).collect();
    assert_eq!(fields, ["jitter_ms"]);
    let asks = declared("a", &json!({"paused": false, "jitter_ms": 500}));
    let items = planned(found, &[asks], false);
    assert_eq!(items[0].changes[0].field, "paused");
    assert_eq!(items[0].moves.as_ref().unwrap().old, None);
}

#[test]
fn a_schedule_that_follows_comes_after_the_one_it_follows() {
    let items = planned(
        vec![],
        &[
            declared("third", &json!({"after_schedule_id": "second"})),
            declared("second", &json!({"after_schedule_id": "first"})),
            declared("first", &json!({})),
            declared("lost", &json!({"after_schedule_id": "nowhere"})),
            declared("behind", &json!({"after_schedule_id": "lost"})),
        ],
        false,
    );
    let waves: Vec<_> = items.iter().map(|item| (item.wave, item.action)).collect();
    let (create, refused) = (Action::Create, Action::Refused);
    assert_eq!(waves, [(2, create), (1, create), (0, create), (0, refused), (1, refused)]);
    assert!(items[3].why.as_ref().unwrap().contains("nowhere does not exist"));
}

#[test]
fn many_deletes_are_asked_for_by_their_number() {
    let refused = |members, deletes, allowed| guard(members, deletes, allowed).is_some();
    assert!(!refused(10, 0, None));
    assert!(!refused(10, 5, None));
    assert!(refused(10, 6, None));
    assert!(refused(1, 1, None));
    assert!(!refused(1, 1, Some(1)));
    assert!(!refused(100, 20, None));
    assert!(refused(100, 21, None));
    assert!(refused(100, 21, Some(20)));
    assert!(!refused(100, 21, Some(21)));
    assert!(!refused(0, 0, None));
}
