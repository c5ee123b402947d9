//! Tests every reason of the ledger, and every case that the ledger must report as unexplained.

use super::*;
use crate::fire::expected::tests::{at, change, timeline};
use crate::id::Cause;
use crate::run::trace::tests::trace;
use crate::schedule::change::Change;
use crate::words::variants;
use serde_json::json;

fn rules() -> Rules {
    Rules {
        now: at("12:00:00"),
        grace: Duration::minutes(2),
        lost_after: Duration::minutes(5),
        max_runtime: None,
        kept_since: at("00:00:00"),
        next_run_at: Some(at("23:00:00")),
    }
}

/// The word of the API.
fn word(fate: Fate) -> &'static str {
    variants::<Fate>()[fate as usize]
}

fn fire(time: &str) -> RunId {
    RunId::scheduled(&"nightly".parse().unwrap(), at(time))
}

fn record(time: &str, more: Value) -> (RunId, Trace) {
    (fire(time), trace(&format!("2026-01-01T{time}Z"), more))
}

fn summary(first: &str, last: &str, count: u64) -> (RunId, Trace) {
    let missed = Missed { first: at(first), last: at(last), count };
    let more = json!({"status": "SKIPPED", "reason": "missed", "missed": missed});
    let (id, run) = record(first, more);
    (RunId { cause: Some(Cause::summary()), ..id }, run)
}

fn reconcile(changes: Vec<Change>, records: &[(RunId, Trace)], rules: &Rules) -> Ledger {
    let timeline = timeline(changes);
    let expected = timeline.fires(at("00:00:00"), at("23:59:59"), 1000).unwrap();
    Ledger::reconcile(&timeline, &expected, records, rules)
}

/// Checks what the ledger says about a schedule whose only fire is at 10:00.
#[track_caller]
fn check(run: Option<Value>, rules: &Rules, expected: Result<&str, Why>) {
    let made = change("00:00:00", "created", 1, "0 10 * * *");
    let records: Vec<_> = run.into_iter().map(|run| record("10:00:00", run)).collect();
    let ledger = reconcile(vec![made], &records, rules);
    let found = match (ledger.by_reason.first_key_value(), ledger.unexplained.first()) {
        (Some((fate, 1)), None) => Ok(word(*fate)),
        (None, Some(unexplained)) => Err(unexplained.why),
        _ => panic!("{ledger:?}"),
    };
    assert_eq!((ledger.expected, found), (1, expected));
    assert!(ledger.extra.is_empty(), "{ledger:?}");
}

#[test]
fn a_record_says_what_became_of_its_fire() {
    let skipped = |reason: &str| json!({"status": "SKIPPED", "reason": reason});
    for (run, word) in [
        (json!({}), "on_time"),
        (json!({"started_at": "2026-01-01T10:00:01Z"}), "on_time"),
        (json!({"started_at": "2026-01-01T10:00:01.001Z"}), "late"),
        (json!({"started_at": null}), "late"),
        (json!({"launch_at": "2026-01-01T10:30:00Z", "trigger": "catchup"}), "caught_up"),
        (json!({"trigger": "catchup", "status": "FAILED"}), "failed"),
        (json!({"status": "FAILED", "reason": "executor"}), "failed"),
        (json!({"status": "ABANDONED"}), "abandoned"),
        (skipped("overlap"), "skipped_overlap"),
        (skipped("missed"), "missed"),
        (skipped("paused"), "paused"),
        (skipped("deleted"), "deleted"),
        (skipped("superseded"), "superseded"),
        (json!({"status": "STARTED"}), "in_flight"),
        (json!({"status": "QUEUED"}), "in_flight"),
        (json!({"status": "ENQUEUED", "launch_at": "2026-01-01T11:55:00Z"}), "in_flight"),
        (json!({"status": "ENQUEUED", "retry_at": at("11:55:00").timestamp_millis()}), "in_flight"),
    ] {
        check(Some(run), &rules(), Ok(word));
    }
}

#[test]
fn a_run_that_came_to_nothing_is_not_explained_by_its_record() {
    let enqueued = json!({"status": "ENQUEUED", "launch_at": "2026-01-01T11:54:59Z"});
    check(Some(enqueued), &rules(), Err(Why::NotLaunched));
    let limited = |minutes| Rules { max_runtime: Some(Duration::minutes(minutes)), ..rules() };
    check(Some(json!({"status": "STARTED"})), &limited(114), Err(Why::NotEnded));
    check(Some(json!({"status": "STARTED"})), &limited(115), Ok("in_flight"));
}

#[test]
fn a_fire_without_a_record_is_judged_by_its_age_and_by_the_clock() {
    let now = |time: &str| Rules { now: at(time), ..rules() };
    check(None, &now("09:00:00"), Ok("pending"));
    check(None, &now("10:01:59"), Ok("pending"));
    check(None, &now("10:02:00"), Err(Why::NoRecord));
    let next_run_at = Some(at("10:00:00"));
    check(None, &Rules { next_run_at, ..rules() }, Err(Why::Overdue));
    check(None, &Rules { next_run_at: None, ..rules() }, Err(Why::NoRecord));
    check(None, &Rules { kept_since: at("10:00:01"), ..rules() }, Ok("expired"));
}

/// Checks what the ledger says about the fires from 01:00 to 09:00 of an hourly schedule that was
/// paused from 05:30 to 07:30.
#[track_caller]
fn hourly(records: &[(RunId, Trace)], by_reason: &[(&str, u64)], unexplained: &[(&str, Why)]) {
    let expr = "0 1-9 * * *";
    let changes = vec![
        change("00:00:00", "created", 1, expr),
        change("05:30:00", "paused", 2, expr),
        change("07:30:00", "resumed", 3, expr),
    ];
    let ledger = reconcile(changes, records, &rules());
    let mut found: Vec<_> = ledger.by_reason.iter().map(|(fate, n)| (word(*fate), *n)).collect();
    found.sort_unstable();
    assert_eq!(found, by_reason);
    let wrong: Vec<_> = ledger.unexplained.iter().map(|u| (u.run_at, u.why)).collect();
    let expected: Vec<_> = unexplained.iter().map(|(time, why)| (at(time), *why)).collect();
    assert_eq!(wrong, expected);
    let beside = ledger.unexplained.iter().filter(|u| u.why == Why::Unexpected).count();
    let explained: u64 = ledger.by_reason.values().sum();
    assert_eq!(ledger.expected, explained + (ledger.unexplained.len() - beside) as u64);
}

fn done(times: &[&str]) -> Vec<(RunId, Trace)> {
    times.iter().map(|time| record(time, json!({}))).collect()
}

#[test]
fn a_pause_explains_fires_without_a_record_and_nothing_else() {
    let mut records = done(&["01:00:00", "02:00:00", "04:00:00", "05:00:00"]);
    let taken_back = json!({"status": "SKIPPED", "reason": "paused", "started_at": null});
    records.push(record("06:00:00", taken_back));
    records.extend(done(&["09:00:00"]));
    hourly(
        &records,
        &[("on_time", 5), ("paused", 2)],
        &[("03:00:00", Why::NoRecord), ("08:00:00", Why::NoRecord)],
    );
}

#[test]
fn a_summary_stands_for_the_fires_it_counted_and_no_more() {
    let rest = || done(&["05:00:00", "08:00:00", "09:00:00"]);
    let with = |summary: (RunId, Trace)| {
        let mut records = vec![summary];
        records.extend(rest());
        records
    };
    let explained = [("missed", 4), ("on_time", 3), ("paused", 2)];
    hourly(&with(summary("01:00:00", "04:00:00", 4)), &explained, &[]);
    hourly(
        &with(summary("01:00:00", "03:00:00", 3)),
        &[("missed", 3), ("on_time", 3), ("paused", 2)],
        &[("04:00:00", Why::NoRecord)],
    );
    hourly(
        &with(summary("01:00:00", "04:00:00", 2)),
        &[("missed", 2), ("on_time", 3), ("paused", 2)],
        &[("03:00:00", Why::NoRecord), ("04:00:00", Why::NoRecord)],
    );
    hourly(
        &rest(),
        &[("on_time", 3), ("paused", 2)],
        &[
            ("01:00:00", Why::NoRecord),
            ("02:00:00", Why::NoRecord),
            ("03:00:00", Why::NoRecord),
            ("04:00:00", Why::NoRecord),
        ],
    );
}

#[test]
fn a_summary_counts_fires_that_have_a_record_of_their_own() {
    // A tick recorded one fire and crashed. The next tick wrote a summary of all of them.
    let missed = json!({"status": "SKIPPED", "reason": "missed"});
    let mut records = vec![record("01:00:00", missed), summary("01:00:00", "03:00:00", 3)];
    records.extend(done(&["05:00:00", "08:00:00", "09:00:00"]));
    hourly(
        &records,
        &[("missed", 3), ("on_time", 3), ("paused", 2)],
        &[("04:00:00", Why::NoRecord)],
    );
}

#[test]
fn a_record_of_a_fire_that_no_definition_had_is_unexpected() {
    let hours = ["01:00:00", "02:00:00", "03:00:00", "04:00:00", "05:00:00"];
    let mut records = done(&hours);
    records.extend(done(&["08:00:00", "08:30:00", "09:00:00", "11:00:00"]));
    let explained = [("on_time", 7), ("paused", 2)];
    let wrong = [("08:30:00", Why::Unexpected), ("11:00:00", Why::Unexpected)];
    hourly(&records, &explained, &wrong);
}

/// Checks what the ledger says about a record at 10:00 whose definition was replaced at 09:59:50 by
/// a definition without that fire.
#[track_caller]
fn replaced(run: Value, rules: &Rules, expected: Result<&str, Why>) {
    let changes = vec![
        change("00:00:00", "created", 1, "0 10 * * *"),
        change("09:59:50", "updated", 2, "0 23 * * *"),
    ];
    let ledger = reconcile(changes, &[record("10:00:00", run)], rules);
    assert_eq!(ledger.by_reason, BTreeMap::from([(Fate::Pending, 1)]));
    let found = match (ledger.extra.first_key_value(), ledger.unexplained.first()) {
        (Some((fate, 1)), None) => Ok(word(*fate)),
        (None, Some(unexplained)) => Err(unexplained.why),
        _ => panic!("{ledger:?}"),
    };
    assert_eq!(found, expected);
}

#[test]
fn what_a_change_took_back_is_counted_apart() {
    for reason in ["superseded", "deleted", "paused"] {
        replaced(json!({"status": "SKIPPED", "reason": reason}), &rules(), Ok(reason));
    }
    let soon = Rules { now: at("09:59:55"), ..rules() };
    replaced(json!({"status": "ENQUEUED", "started_at": null}), &soon, Ok("in_flight"));
    replaced(json!({"status": "ENQUEUED", "started_at": null}), &rules(), Err(Why::Unexpected));
    replaced(
        json!({"status": "SKIPPED", "reason": "overlap", "started_at": null}),
        &rules(),
        Err(Why::Unexpected),
    );
}

#[test]
fn what_launched_before_the_change_was_in_force_is_counted_apart() {
    let early = json!({"started_at": "2026-01-01T09:59:45Z"});
    replaced(early, &rules(), Ok("before_change"));
    let while_it_was_made = json!({"started_at": "2026-01-01T10:00:00Z"});
    replaced(while_it_was_made, &rules(), Ok("before_change"));
    let long_after = json!({"started_at": "2026-01-01T10:00:21Z"});
    replaced(long_after, &rules(), Err(Why::Unexpected));
    replaced(json!({"revision": 2}), &rules(), Err(Why::Unexpected));
}

#[test]
fn runs_that_somebody_asked_for_are_counted_apart() {
    let (id, run) = record("10:00:00", json!({"trigger": "manual"}));
    let by_hand = (RunId { cause: Some(Cause::manual("x")), ..id }, run);
    let made = change("00:00:00", "created", 1, "0 10 * * *");
    let ledger = reconcile(vec![made], &[record("10:00:00", json!({})), by_hand], &rules());
    assert_eq!(ledger.by_reason, BTreeMap::from([(Fate::OnTime, 1)]));
    assert_eq!(ledger.extra, BTreeMap::from([(Fate::Manual, 1)]));
    assert!(ledger.unexplained.is_empty());
}

#[test]
fn an_unreadable_definition_is_reported_and_its_records_are_extra() {
    let mut made = change("00:00:00", "created", 1, "0 10 * * *");
    made.timing.cron_expr = "when the owl cries".to_owned();
    let ledger = reconcile(vec![made], &[record("10:00:00", json!({}))], &rules());
    assert_eq!(ledger.extra, BTreeMap::from([(Fate::OnTime, 1)]));
    let unknown = Unexplained { run_at: at("00:00:00"), why: Why::UnknownDefinition };
    assert_eq!((ledger.expected, ledger.unexplained), (0, vec![unknown]));
}

#[test]
fn a_long_list_is_cut_and_says_so() {
    let changes = vec![change("00:00:00", "created", 1, "*/10 * * * * *")];
    let timeline = timeline(changes);
    let (from, to) = (at("00:00:00"), at("11:00:00"));
    let expected = timeline.fires(from, to, 10_000).unwrap();
    let view = Ledger::reconcile(&timeline, &expected, &[], &rules()).view(from, to);
    let view = serde_json::to_value(view).unwrap();
    assert_eq!((&view["expected"], &view["unexplained_count"]), (&json!(3960), &json!(3960)));
    assert_eq!(view["unexplained"].as_array().unwrap().len(), MAX_LISTED);
    assert_eq!(view["truncated"], true);
    let first = json!({"run_at": "2026-01-01T00:00:10Z", "why": "no_record"});
    assert_eq!(view["unexplained"][0], first);
}
