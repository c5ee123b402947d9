//! Small histories, and the checker's verdict on them.

use chrono::Duration;

use super::history::Instant;
use super::*;

fn at(time: &str) -> Instant {
    format!("2026-01-01T{time}Z").parse().unwrap()
}

fn definition(overlap_policy: &str) -> Definition {
    Definition {
        cron_expr: "* * * * *".to_owned(),
        timezone: "UTC".to_owned(),
        end_at: at("00:02:30"),
        paused: false,
        overlap_policy: overlap_policy.to_owned(),
        max_concurrent: 1,
        catchup_policy: "none".to_owned(),
        jitter_ms: 0,
        payload: 0,
    }
}

fn run(time: &str) -> Run {
    Run {
        run_id: format!("report@2026-01-01T{time}Z"),
        run_at: at(time),
        cause: None,
        status: "SUCCESS".to_owned(),
        reason: None,
        enqueued_at: at(time),
        finished_at: Some(at(time) + Duration::seconds(90)),
        missed: None,
        missed_count: 0,
        overlap_policy: None,
        recoveries: 0,
    }
}

fn call(time: &str) -> Call {
    Call {
        at: at(time),
        until: at(time) + Duration::seconds(1),
        run_id: format!("report@2026-01-01T{time}Z"),
        key: time.to_owned(),
        fence: 1,
        payload: 0,
        effective: true,
        answer: Answer::Accepted,
        tracked: false,
    }
}

/// A schedule created half a minute after midnight that fired every minute until it ended.
fn history() -> History {
    let change = Change {
        from: at("00:00:30"),
        to: at("00:00:31"),
        acknowledged: true,
        definition: Some(definition("skip")),
    };
    let fires = ["00:01:00", "00:02:00"];
    let schedule = Schedule {
        id: "report".to_owned(),
        changes: vec![change],
        runs: fires.map(run).to_vec(),
        ..Schedule::default()
    };
    let rules = Rules {
        skew: Duration::zero(),
        grace: Duration::minutes(2),
        lease: Duration::minutes(1),
        runtime: Duration::minutes(5),
        calm_at: at("00:00:00"),
        until: at("00:10:00"),
    };
    let calls = fires.map(call).to_vec();
    History {
        rules,
        schedules: vec![schedule],
        calls,
        executions: Vec::new(),
        records: Vec::new(),
        sent_early: Vec::new(),
    }
}

#[track_caller]
fn check(history: &History, expected: &[Kind]) {
    let kinds: Vec<_> = judge(history).into_iter().map(|violation| violation.kind).collect();
    assert_eq!(kinds, expected);
}

#[test]
fn a_history_as_it_should_be_has_no_violation() {
    check(&history(), &[]);
    assert_eq!(fires(&history()), 2);
}

#[test]
fn a_fire_without_a_record_is_lost() {
    let mut history = history();
    history.schedules[0].runs.remove(0);
    history.calls.remove(0);
    check(&history, &[Kind::Lost]);
}

#[test]
fn an_accepted_run_is_not_launched_again() {
    let mut history = history();
    history.calls[1].tracked = true;
    history.calls.push(Call { at: at("00:09:00"), fence: 2, ..call("00:02:00") });
    check(&history, &[Kind::Duplicate]);
    history.calls[1].answer = Answer::AcceptedThenTrouble;
    check(&history, &[]);
}

#[test]
fn a_record_comes_before_its_message() {
    let mut history = history();
    history.sent_early.push(history.schedules[0].runs[1].run_id.clone());
    check(&history, &[Kind::Record]);
}

#[test]
fn a_second_launch_needs_a_reason() {
    let mut history = history();
    history.calls.push(Call { at: at("00:02:05"), ..call("00:02:00") });
    check(&history, &[Kind::Duplicate]);
    history.calls[1].answer = Answer::Lost;
    check(&history, &[]);
}

#[test]
fn a_launch_after_an_acknowledged_pause_is_disobedience() {
    let mut history = history();
    let paused = Definition { paused: true, ..definition("skip") };
    let (from, to) = (at("00:01:20"), at("00:01:21"));
    let change = Change { from, to, acknowledged: true, definition: Some(paused) };
    history.schedules[0].changes.push(change);
    check(&history, &[Kind::Disobeyed]);
}

#[test]
fn two_at_once_are_one_too_many() {
    let mut history = history();
    let (from, to) = (at("00:01:00"), Some(at("00:02:10")));
    history.executions = vec![Execution { run_id: run("00:01:00").run_id, from, to }];
    check(&history, &[Kind::Overlap]);
}

#[test]
fn a_run_that_is_not_reported_ends_within_its_bound() {
    let mut history = history();
    let from = at("00:02:00");
    history.executions = vec![Execution { run_id: run("00:02:00").run_id, from, to: None }];
    check(&history, &[]);
    let late = Some(from + history.rules.runtime + Duration::minutes(11));
    history.schedules[0].runs[1].finished_at = late;
    check(&history, &[Kind::Unended]);
    // While calls fail, recovery may need longer.
    history.rules.calm_at = at("00:08:00");
    check(&history, &[]);
}

#[test]
fn what_does_not_end_is_told() {
    let mut history = history();
    history.schedules[0].runs[1].status = "STARTED".to_owned();
    history.schedules[0].active = vec!["2026-01-01T00:01:00Z".to_owned()];
    check(&history, &[Kind::Unended, Kind::SlotLeaked]);
}
