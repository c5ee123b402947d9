//! `belfry preview`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::binary;

fn preview(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(binary("belfry"))
        .arg("preview")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
}

fn lines(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_case_is_answered_as_expected() {
    let cases = include_str!("../data/cron_cases.jsonl");
    let answers = lines(&preview(&["--stdin"], cases));
    let cases: Vec<Value> = cases.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(answers) {
        assert_eq!(answer, json!({"next": case["next"]}), "{case}");
    }
}

#[test]
fn every_invalid_case_is_an_error() {
    let cases = include_str!("../data/cron_invalid.jsonl");
    let answers = lines(&preview(&["--stdin"], cases));
    assert_eq!(answers.len(), cases.lines().count());
    for (case, answer) in cases.lines().zip(answers) {
        assert!(answer["error"].is_string(), "{case}: {answer}");
    }
}

#[test]
fn ten_thousand_lines_are_answered_line_by_line() {
    let cases = include_str!("../data/cron_cases.jsonl").repeat(72);
    let count = cases.lines().count();
    assert!(count >= 10_000);
    assert_eq!(lines(&preview(&["--stdin"], &cases)).len(), count);
}

#[test]
fn what_is_no_question_is_answered_with_an_error() {
    let input = "{}\nnot json\n\n{\"expr\": \"* * * * *\", \"tz\": \"Mars/Base\"}\n\
                 {\"expr\": \"* * * * *\", \"after\": \"soon\"}\n\
                 {\"expr\": \"* * * * *\", \"count\": 100000000}\n";
    let output = preview(&["--stdin"], input);
    assert!(output.status.success());
    let answers = lines(&output);
    assert_eq!(answers.len(), 5);
    assert!(answers.iter().all(|answer| answer["error"].is_string()), "{answers:?}");
}

#[test]
fn one_expression_is_explained_to_people_and_to_programs() {
    let arguments = ["30 2 * * *", "--tz", "Europe/Zurich", "--after", "2026-03-28T12:00:00Z"];
    let output = preview(&arguments, "");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("At 02:30, every day, Europe/Zurich"), "{text}");
    assert!(text.contains("Sun 2026-03-29 03:00:00  2026-03-29T01:00:00Z"), "{text}");

    let output = preview(&[&arguments[..], &["--count", "1", "--json"]].concat(), "");
    assert_eq!(lines(&output), [json!({"next": ["2026-03-29T01:00:00Z"]})]);

    let output = preview(&["61 * * * *"], "");
    assert!(!output.status.success());
    let problem = String::from_utf8(output.stderr).unwrap();
    assert!(problem.contains("minute: 61 is out of range"), "{problem}");
}
