//! `belfry plan` and `belfry apply`: show what files would change, and apply the changes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use belfry_core::declare::set::view::{Outcome, PlannedSchedule, SetPlan};
use belfry_core::id::ScheduleId;
use clap::Args;
use reqwest::Method;
use serde_json::json;

use super::file::{Files, Problem, Set};
use super::show::{is_problem, print, verdict};
use super::validate::tell;
use crate::cli::client::{Api, Connection, Done, Failure, With};
use crate::cli::table::{plain, shown};
use crate::cli::{print_json, print_line, unread_is_fine};

/// A limit on the calls for one set: a large set takes several, at the pace the API sets.
const MAX_CALLS: usize = 200;
/// Calls in a row without progress before giving up.
const MAX_IDLE: usize = 3;
/// The longest wait before the next call.
const MAX_WAIT_S: u64 = 60;

/// Shows what applying files of schedules would change; exits with 2 if there are changes, 1 on an
/// error.
#[derive(Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    files: Files,
    /// Plan to delete the set's schedules that the files leave out
    #[arg(long)]
    prune: bool,
    /// Also show unchanged schedules
    #[arg(long)]
    verbose: bool,
}

/// Applies files of schedules to their sets.
#[derive(Args)]
pub(crate) struct Apply {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    files: Files,
    /// Delete the set's schedules that the files leave out
    #[arg(long)]
    prune: bool,
    /// Allow this many deletions; required to delete most of a set or more than 20 schedules
    #[arg(long, value_name = "N")]
    allow_delete: Option<u32>,
    /// Apply without asking for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Also show unchanged schedules
    #[arg(long)]
    verbose: bool,
}

struct Wish {
    prune: bool,
    allow_delete: Option<u32>,
    yes: bool,
    verbose: bool,
}

impl Wish {
    fn query(&self) -> Vec<(&'static str, Option<String>)> {
        vec![
            ("prune", self.prune.then(|| "true".to_owned())),
            ("allow_delete", self.allow_delete.map(|count| count.to_string())),
        ]
    }
}

impl Plan {
    pub(crate) fn run(self) -> ExitCode {
        let wish =
            Wish { prune: self.prune, allow_delete: None, yes: false, verbose: self.verbose };
        match self.files.read() {
            Ok(sets) => self.connection.run(|api| plan(api, sets, wish)),
            Err(problems) => refuse(&problems, self.connection.json),
        }
    }
}

impl Apply {
    pub(crate) fn run(self) -> ExitCode {
        let asks = !self.yes;
        if asks && (self.files.takes_input() || !io::stdin().is_terminal()) {
            return crate::cli::fail(
                "stdin is not a terminal; pass --yes to apply without confirmation",
            );
        }
        let wish = Wish {
            prune: self.prune,
            allow_delete: self.allow_delete,
            yes: self.yes,
            verbose: self.verbose,
        };
        match self.files.read() {
            Ok(sets) => self.connection.run(|api| apply(api, sets, wish)),
            Err(problems) => refuse(&problems, self.connection.json),
        }
    }
}

fn refuse(problems: &[Problem], json: bool) -> ExitCode {
    if json {
        let errors: Vec<_> = problems.iter().map(Problem::view).collect();
        let _ = print_json(&json!({"valid": false, "errors": errors}));
    } else {
        tell(problems);
    }
    ExitCode::FAILURE
}

async fn plan(api: Api, sets: Vec<Set>, wish: Wish) -> Done {
    let plans = plan_all(&api, &sets, &wish).await?;
    if api.json {
        print_json(&json!({"sets": plans}))?;
    }
    let (mut changes, mut problems) = (false, false);
    for plan in &plans {
        if !api.json {
            print(plan, wish.verbose)?;
        }
        let found = verdict(plan);
        (changes, problems) = (changes || found.changes, problems || found.problems);
    }
    Ok(match (problems, changes) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => ExitCode::from(2),
        (false, false) => ExitCode::SUCCESS,
    })
}

async fn plan_all(api: &Api, sets: &[Set], wish: &Wish) -> Result<Vec<SetPlan>, Failure> {
    let mut plans = Vec::new();
    for set in sets {
        let path = ["sets", set.name.as_str(), "plan"];
        let (query, body) = (wish.query(), set.body());
        let with = With { query: &query, body: Some(&body), ..With::default() };
        let asked = api.ask::<SetPlan>(Method::POST, &path, with).await;
        plans.push(asked.map_err(|failure| located(failure, set))?.view);
    }
    Ok(plans)
}

async fn apply(api: Api, sets: Vec<Set>, wish: Wish) -> Done {
    let plans = plan_all(&api, &sets, &wish).await?;
    if !api.json {
        for plan in &plans {
            unread_is_fine(print(plan, wish.verbose))?;
        }
    }
    if let Some(guard) = plans.iter().find_map(|plan| plan.guard.as_ref()) {
        let words =
            "nothing was applied; pass the number of deletions you intend with --allow-delete";
        return Err(Failure::Broken(plain(&format!("{guard}: {words}"))));
    }
    let is_change = plans.iter().any(|plan| verdict(plan).changes);
    if is_change && !wish.yes && !agreed().unwrap_or(false) {
        return Err(Failure::Broken("nothing was applied".to_owned()));
    }
    let mut answers = Vec::new();
    for (set, plan) in sets.iter().zip(plans) {
        answers.push(match verdict(&plan).changes {
            true => bring(&api, set, &plan, &wish).await?,
            false => plan,
        });
    }
    let problems = answers.iter().any(|answer| verdict(answer).problems);
    if api.json {
        unread_is_fine(print_json(&json!({"sets": answers})))?;
    }
    Ok(if problems { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn agreed() -> io::Result<bool> {
    let mut out = io::stdout();
    write!(out, "apply? [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

/// Applies a set in repeated calls until nothing is left to do. Each change is conditional on the
/// revision the plan showed.
async fn bring(api: &Api, set: &Set, plan: &SetPlan, wish: &Wish) -> Result<SetPlan, Failure> {
    let mut body = set.body();
    let planned = plan.schedules.iter().map(|item| (&item.schedule_id, item.revision));
    body["planned"] = json!(planned.collect::<BTreeMap<_, _>>());
    let total = plan.schedules.iter().filter(|item| item.action.changes()).count();
    let (mut before, mut idle) = (usize::MAX, 0);
    // Changes made by earlier calls, which later calls report as unchanged.
    let mut told = BTreeMap::new();
    for _ in 0..MAX_CALLS {
        let path = ["sets", set.name.as_str()];
        let query = wish.query();
        let with = With { query: &query, body: Some(&body), ..With::default() };
        let asked = api.ask::<SetPlan>(Method::PUT, &path, with).await;
        let answer = asked.map_err(|failure| located(failure, set))?.view;
        for item in answer.schedules.iter().filter(|item| item.action.changes()) {
            told.insert(item.schedule_id.clone(), item.clone());
        }
        let left = answer.remaining;
        if !api.json && total > 20 {
            let line = format!("  {} of {total}", total.saturating_sub(left));
            unread_is_fine(print_line(&line))?;
        }
        idle = if left < before { 0 } else { idle + 1 };
        before = left;
        if left == 0 || idle == MAX_IDLE {
            let answer = merged(answer, told);
            if !api.json {
                unread_is_fine(outcomes(&answer))?;
            }
            return Ok(answer);
        }
        let waits = answer.schedules.iter().filter_map(|item| item.retry_after_s);
        let wait = waits.min().unwrap_or(0).min(MAX_WAIT_S);
        tokio::time::sleep(Duration::from_secs(wait)).await;
    }
    Err(Failure::Broken(format!(
        "set {} is incomplete after {MAX_CALLS} calls; apply again to continue",
        set.name
    )))
}

/// The last answer, with the changes that earlier calls made.
fn merged(mut answer: SetPlan, mut told: BTreeMap<ScheduleId, PlannedSchedule>) -> SetPlan {
    for item in &mut answer.schedules {
        if let Some(done) = told.remove(&item.schedule_id) {
            *item = done;
        }
    }
    answer.schedules.extend(told.into_values());
    answer
}

/// Prints the result of each change.
fn outcomes(answer: &SetPlan) -> io::Result<()> {
    let workflows = answer.workflows.iter();
    let workflows = workflows.map(|it| (it.workflow_id.as_str(), it.outcome, &it.message));
    let schedules = answer.schedules.iter();
    let schedules = schedules.map(|it| (it.schedule_id.as_str(), it.outcome, &it.message));
    let mut done = 0;
    for (name, outcome, message) in workflows.chain(schedules) {
        done += usize::from(outcome == Outcome::Done);
        if is_problem(outcome) {
            let line = format!("  {name}  {}: {}", shown(&outcome), shown(message));
            print_line(&plain(&line))?;
        }
    }
    print_line(&format!("set {}: {done} done", answer.set))
}

/// Translates a refusal's places in the request body into places in the files.
fn located(failure: Failure, set: &Set) -> Failure {
    let Failure::Refused(mut problem) = failure else { return failure };
    for error in &mut problem.errors {
        error.message = set.locate(error).to_string();
    }
    Failure::Refused(problem)
}
