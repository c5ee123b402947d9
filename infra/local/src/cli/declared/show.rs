//! Prints a plan for people.

use std::io;

use serde_json::Value;

use crate::cli::print_line;
use crate::cli::table::{plain, shown};

/// Longer values are cut: a diff is no place to read a payload.
const MAX_VALUE: usize = 100;

/// Prints what a plan would change, or what an apply changed.
pub(super) fn print(plan: &Value, verbose: bool) -> io::Result<()> {
    print_line(&format!("set {}", plain(&shown(&plan["set"]))))?;
    for workflow in items(plan, "workflows") {
        let action = shown(&workflow["action"]);
        if action != "unchanged" || verbose {
            let name =
                format!("{} version {}", shown(&workflow["workflow_id"]), workflow["version"]);
            head(&action, &name, workflow)?;
        }
    }
    for schedule in items(plan, "schedules") {
        let action = shown(&schedule["action"]);
        if action == "unchanged" && !verbose {
            continue;
        }
        head(&action, &shown(&schedule["schedule_id"]), schedule)?;
        // For a new schedule show its next runs; its fields are in the file.
        if action == "update" {
            for change in items(schedule, "changes") {
                let (old, new) = (value(&change["old"]), value(&change["new"]));
                print_line(&plain(&format!("      {}: {old} -> {new}", shown(&change["field"]))))?;
            }
        }
        for says in items(schedule, "says") {
            print_line(&plain(&format!("      {}", shown(says))))?;
        }
    }
    let counts = &plan["counts"];
    let some = |action: &str, word: &str| {
        let count = counts[action].as_u64().unwrap_or(0);
        (count > 0).then(|| format!("{count} {word}"))
    };
    let publish =
        items(plan, "workflows").filter(|workflow| workflow["action"] == "publish").count();
    let publish = (publish > 0).then(|| format!("{publish} to publish"));
    let counted = [
        publish,
        some("create", "to create"),
        some("update", "to update"),
        some("delete", "to delete"),
        some("refused", "refused"),
        some("undeclared", "in the set and not declared"),
        some("unchanged", "unchanged"),
    ];
    let counted: Vec<_> = counted.into_iter().flatten().collect();
    match counted.is_empty() {
        true => print_line("  nothing declared"),
        false => print_line(&format!("  {}", counted.join(", "))),
    }?;
    match plan["guard"].as_str() {
        Some(guard) => print_line(&plain(&format!("  {guard}"))),
        None => Ok(()),
    }
}

fn head(action: &str, name: &str, item: &Value) -> io::Result<()> {
    let sign = match action {
        "create" | "publish" => "+",
        "update" => "~",
        "delete" => "-",
        "refused" => "!",
        "undeclared" => "?",
        _ => "=",
    };
    let outcome = shown(&item["outcome"]);
    let became = match outcome.as_str() {
        "planned" | "nothing" | "refused" => String::new(),
        outcome => format!(": {outcome}"),
    };
    let message = match item["message"].as_str() {
        Some(message) => format!(": {message}"),
        None => String::new(),
    };
    let action =
        if action == "undeclared" { "not in the files; --prune deletes it" } else { action };
    print_line(&plain(&format!("  {sign} {name}  {action}{became}{message}")))
}

pub(super) fn items<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value[field].as_array().into_iter().flatten()
}

fn value(value: &Value) -> String {
    let text = value.to_string();
    match text.chars().count() {
        0..=MAX_VALUE => text,
        _ => text.chars().take(MAX_VALUE).chain(['…']).collect(),
    }
}

/// Whether a plan contains changes, and whether it contains problems.
pub(super) struct Verdict {
    pub(super) changes: bool,
    pub(super) problems: bool,
}

/// Examines every part of a plan.
pub(super) fn verdict(plan: &Value) -> Verdict {
    let is = |item: &Value, field: &str, words: &[&str]| {
        item[field].as_str().is_some_and(|word| words.contains(&word))
    };
    let all = || items(plan, "workflows").chain(items(plan, "schedules"));
    Verdict {
        changes: all().any(|i| is(i, "action", &["publish", "create", "update", "delete"])),
        problems: all().any(|i| is(i, "outcome", &["refused", "conflict", "failed", "pending"])),
    }
}
