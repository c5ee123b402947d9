//! The definition of the language as test cases: when each expression fires, and which texts are
//! refused.

use belfry_cron::{Cron, Timetable, Zone};
use chrono::{DateTime, Utc};
use serde_json::Value;
use std::path::Path;

fn lines(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(file);
    let text = std::fs::read_to_string(path).expect("read the cases");
    text.lines().map(|line| serde_json::from_str(line).expect("a case is JSON")).collect()
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().expect("a text")
}

#[test]
fn every_valid_case_fires_when_the_definition_says() {
    let cases = lines("cron_cases.jsonl");
    assert!(cases.len() >= 140);
    let mut wrong = Vec::new();
    for case in &cases {
        let cron = Cron::parse(text(case, "expr"), "").unwrap_or_else(|e| panic!("{case}: {e}"));
        let zone = Zone::parse(text(case, "tz")).expect("a zone");
        let table = Timetable::new(cron, zone);
        let after: DateTime<Utc> = text(case, "after").parse().expect("an instant");
        let expected: Vec<DateTime<Utc>> = case["next"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|at| at.as_str().expect("a text").parse().expect("an instant"))
            .collect();
        let fires: Vec<_> = table.fires_after(after).take(expected.len().max(5)).collect();
        if fires != expected {
            wrong.push(format!("{case}\n  got {fires:?}"));
        }
        for pair in fires.windows(2) {
            assert_eq!(table.prev_before(pair[1]), Some(pair[0]), "{case}");
            assert!(table.contains(pair[0]), "{case}");
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_invalid_case_is_refused() {
    let cases = lines("cron_invalid.jsonl");
    assert!(cases.len() >= 60);
    for case in &cases {
        let refused = Cron::parse(text(case, "expr"), "");
        assert!(refused.is_err(), "{case}");
    }
}
