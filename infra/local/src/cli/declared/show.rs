//! Prints a plan for people.

use std::io;

use belfry_core::declare::set::plan::Action;
use belfry_core::declare::set::view::{
    Outcome, PlannedSchedule, PlannedWorkflow, SetPlan, WorkflowAction,
};
use serde_json::Value;

use crate::cli::print_line;
use crate::cli::table::{plain, shown};

/// Longer values are cut: a diff is no place to read a payload.
const MAX_VALUE: usize = 100;

/// Prints what a plan would do, or did.
pub(super) fn print(plan: &SetPlan, verbose: bool) -> io::Result<()> {
    print_line(&format!("set {}", plan.set))?;
    for workflow in &plan.workflows {
        if workflow.action != WorkflowAction::Unchanged || verbose {
            print_workflow(workflow)?;
        }
    }
    for schedule in &plan.schedules {
        if schedule.action != Action::Unchanged || verbose {
            print_schedule(schedule)?;
        }
    }
    match counted(plan) {
        counted if counted.is_empty() => print_line("  nothing declared"),
        counted => print_line(&format!("  {}", counted.join(", "))),
    }?;
    match &plan.guard {
        Some(guard) => print_line(&plain(&format!("  {guard}"))),
        None => Ok(()),
    }
}

fn print_workflow(workflow: &PlannedWorkflow) -> io::Result<()> {
    let sign = match workflow.action {
        WorkflowAction::Publish => "+",
        WorkflowAction::Refused => "!",
        WorkflowAction::Unchanged => "=",
    };
    let name = format!("{} version {}", workflow.workflow_id, workflow.version);
    let action = shown(&workflow.action);
    head(sign, &name, &action, workflow.outcome, workflow.message.as_deref())
}

fn print_schedule(schedule: &PlannedSchedule) -> io::Result<()> {
    let sign = match schedule.action {
        Action::Create => "+",
        Action::Update => "~",
        Action::Delete => "-",
        Action::Refused => "!",
        Action::Undeclared => "?",
        Action::Unchanged => "=",
    };
    let action = match schedule.action {
        Action::Undeclared => "not declared; --prune deletes it".to_owned(),
        action => shown(&action),
    };
    let (name, message) = (schedule.schedule_id.as_str(), schedule.message.as_deref());
    head(sign, name, &action, schedule.outcome, message)?;
    // What is made is told by when it runs; its fields are in the file.
    if schedule.action == Action::Update {
        for change in &schedule.changes {
            let (old, new) = (value(&change.old), value(&change.new));
            print_line(&plain(&format!("      {}: {old} -> {new}", change.field)))?;
        }
    }
    schedule.says.iter().try_for_each(|says| print_line(&plain(&format!("      {says}"))))
}

/// How many parts of the plan are to be made, changed and so on, those that there are.
fn counted(plan: &SetPlan) -> Vec<String> {
    let some = |count: u64, word: &str| (count > 0).then(|| format!("{count} {word}"));
    let action = |action, word| some(plan.counts.get(&action).copied().unwrap_or(0), word);
    let publish =
        plan.workflows.iter().filter(|workflow| workflow.action == WorkflowAction::Publish);
    let counted = [
        some(publish.count() as u64, "to publish"),
        action(Action::Create, "to create"),
        action(Action::Update, "to update"),
        action(Action::Delete, "to delete"),
        action(Action::Refused, "refused"),
        action(Action::Undeclared, "in the set and not declared"),
        action(Action::Unchanged, "unchanged"),
    ];
    counted.into_iter().flatten().collect()
}

fn head(
    sign: &str,
    name: &str,
    action: &str,
    outcome: Outcome,
    message: Option<&str>,
) -> io::Result<()> {
    let became = match outcome {
        Outcome::Planned | Outcome::Nothing | Outcome::Refused => String::new(),
        outcome => format!(": {}", shown(&outcome)),
    };
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    print_line(&plain(&format!("  {sign} {name}  {action}{became}{message}")))
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

/// Looks at every part of a plan.
pub(super) fn verdict(plan: &SetPlan) -> Verdict {
    let publishes = |workflow: &PlannedWorkflow| workflow.action == WorkflowAction::Publish;
    let workflows = plan.workflows.iter().map(|workflow| workflow.outcome);
    let schedules = plan.schedules.iter().map(|schedule| schedule.outcome);
    Verdict {
        changes: plan.workflows.iter().any(publishes)
            || plan.schedules.iter().any(|schedule| schedule.action.changes()),
        problems: workflows.chain(schedules).any(is_problem),
    }
}

/// Whether an outcome is not what was asked for.
pub(super) fn is_problem(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Refused | Outcome::Conflict | Outcome::Failed | Outcome::Pending)
}
