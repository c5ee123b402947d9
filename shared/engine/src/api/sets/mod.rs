//! Sets: planning and applying a declaration, exporting a set, and listing the caller's sets.

mod apply;

use std::collections::{BTreeMap, BTreeSet};

use belfry_core::declare::set::declaration::{Declaration, DeclaredWorkflow, declared};
use belfry_core::declare::set::plan::{self, Action, Found, Item, Scene};
use belfry_core::declare::set::view::{
    self, ExportedWorkflow, PlannedSchedule, PlannedWorkflow, SetExport, SetList, SetPlan, SetSize,
    WorkflowAction,
};
use belfry_core::id::{ScheduleId, SetName, WorkflowId};
use belfry_core::invalid::Invalid;
use belfry_core::schedule::Schedule;
use belfry_core::schedule::definition::Definition;
use belfry_core::workflow::{Completion, MAX_DEFINITION};
use serde_json::Value;

use crate::api::fitting::fits;
use crate::app::App;
use crate::schedules::caller::Caller;
use crate::schedules::input::destination_problem;
use crate::schedules::lookup::resolve_version;
use crate::schedules::refusal::Refusal;
use crate::schedules::workflows::target_problem;
use apply::{Outcome, carry_out};

/// Schedules read in one batch.
const PAGE: usize = 50;

/// How a declaration is applied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// Only plan, and change nothing.
    pub dry_run: bool,
    /// Delete members that the declaration does not contain.
    pub prune: bool,
    /// The number of deletes that the caller has confirmed, if the guard asks for it.
    pub allow_delete: Option<usize>,
}

/// A declared workflow version, and what is done about it.
pub(super) struct Version<'a> {
    pub(super) declared: &'a DeclaredWorkflow,
    /// Whether the version is published; otherwise it exists already.
    pub(super) is_new: bool,
    pub(super) refused: Option<String>,
}

/// Changes a set of the caller to what is declared, or says what that would change. A step that
/// fails does not stop the others; the answer has the outcome of each.
pub(crate) async fn apply(
    app: &App,
    caller: &Caller,
    set: &SetName,
    declaration: &Declaration,
    wish: Wish,
) -> Result<SetPlan, Refusal> {
    let members: BTreeSet<_> = ids_of(app, caller, set).await?;
    let afters =
        declaration.schedules.iter().flat_map(|d| d.definition.options.after_schedule_id.clone());
    let names = declaration.schedules.iter().map(|d| d.schedule_id.clone());
    let found = found(app, names.chain(afters).chain(members.iter().cloned())).await?;
    let workflows = workflows(app, caller, declaration).await?;
    let versions = versions(app, caller, declaration, &found, &workflows).await?;
    let scene = Scene {
        caller: &caller.sub,
        set,
        found: &found,
        members: &members,
        versions: &versions,
        prune: wish.prune,
        now: app.now(),
    };
    let items = plan::plan(declaration, &scene);
    let deletes = items.iter().filter(|item| item.action == Action::Delete).count();
    let guard = plan::guard(members.len(), deletes, wish.allow_delete);
    let (published, outcomes) = match (wish.dry_run, &guard) {
        (true, _) => (Vec::new(), Vec::new()),
        (false, Some(why)) => return Err(Refusal::Conflict(why.clone())),
        (false, None) => carry_out(app, caller, set, declaration, &workflows, &items).await,
    };
    let schedules = items.iter().enumerate();
    let workflows = workflows.iter().enumerate();
    let waits = |outcome: &&Outcome| matches!(outcome, Outcome::Pending(_) | Outcome::Wait { .. });
    Ok(SetPlan {
        set: set.clone(),
        dry_run: wish.dry_run,
        prune: wish.prune,
        counts: counts(&items),
        guard,
        remaining: outcomes.iter().filter(waits).count(),
        workflows: workflows.map(|(n, version)| version.told(n, published.get(n))).collect(),
        schedules: schedules.map(|(n, item)| told(item.view(), outcomes.get(n))).collect(),
    })
}

/// The declaration that a body is.
pub(crate) fn read(
    app: &App,
    caller: &Caller,
    set: &SetName,
    body: &Value,
) -> Result<Declaration, Refusal> {
    let declaration = Declaration::parse(body, set, &app.settings.house);
    match (declaration, other_owners(caller, body)) {
        (Ok(declaration), others) if others.is_empty() => Ok(declaration),
        (declaration, others) => {
            let problems = declaration.err().into_iter().flatten();
            Err(Refusal::Invalid(problems.chain(others).collect()))
        }
    }
}

/// The elements of a declaration that name another owner: what a set has belongs to its caller.
fn other_owners(caller: &Caller, body: &Value) -> Vec<Invalid> {
    let is_other = |owner: &Value| !owner.is_null() && *owner != caller.sub.as_str();
    let mut problems = Vec::new();
    for list in ["workflows", "schedules"] {
        let elements = body[list].as_array().into_iter().flatten().enumerate();
        for (place, _) in elements.filter(|(_, element)| is_other(&element["user_id"])) {
            let message = "must be the caller, who owns everything in a set";
            problems.push(Invalid::new(format!("{list}[{place}].user_id"), message));
        }
    }
    problems
}

/// A set as it would be declared.
pub(crate) async fn export(
    app: &App,
    caller: &Caller,
    set: &SetName,
) -> Result<SetExport, Refusal> {
    let ids = ids_of(app, caller, set).await?;
    if ids.is_empty() {
        return Err(Refusal::NotFound("set"));
    }
    let found = found(app, ids.into_iter()).await?;
    let of_set = |(_, one): &(&ScheduleId, &Found)| one.set.as_ref() == Some(set);
    let schedules = found.iter().filter(of_set);
    let house = &app.settings.house;
    let schedules = schedules.map(|(id, one)| declared(id, &one.definition, house)).collect();
    let bound: BTreeSet<_> = found
        .values()
        .filter_map(|one| Some((&one.definition.workflow_id, one.definition.version?)))
        .collect();
    let mut workflows = Vec::new();
    for (id, version) in bound {
        // A workflow of everybody or of another owner is not for this set to publish.
        if app.store.workflow_owner(id).await?.as_deref() == Some(caller.sub.as_str())
            && let Some(workflow) = app.workflow(id, version).await?
        {
            let is_usual = workflow.completion == Completion::default();
            workflows.push(ExportedWorkflow {
                workflow_id: id.clone(),
                version,
                target: workflow.target.clone(),
                definition: Some(workflow.definition.clone()).filter(|value| !value.is_null()),
                completion: (!is_usual).then_some(workflow.completion),
            });
        }
    }
    let export = SetExport { set: set.clone(), workflows, schedules };
    if !fits(&export) {
        return Err(Refusal::Conflict("the set is larger than an answer may be".to_owned()));
    }
    Ok(export)
}

/// The caller's sets, and how many schedules each has.
pub(crate) async fn sets(app: &App, caller: &Caller) -> Result<SetList, Refusal> {
    let mut sizes: BTreeMap<SetName, usize> = BTreeMap::new();
    for (set, _) in app.store.members(&caller.sub, None).await? {
        *sizes.entry(set).or_default() += 1;
    }
    let items = sizes.into_iter().map(|(set, schedules)| SetSize { set, schedules });
    Ok(SetList { items: items.collect() })
}

async fn ids_of(
    app: &App,
    caller: &Caller,
    set: &SetName,
) -> Result<BTreeSet<ScheduleId>, Refusal> {
    let members = app.store.members(&caller.sub, Some(set)).await?;
    Ok(members.into_iter().map(|(_, id)| id).collect())
}

async fn found(
    app: &App,
    ids: impl Iterator<Item = ScheduleId>,
) -> Result<BTreeMap<ScheduleId, Found>, Refusal> {
    let ids: Vec<_> = ids.collect::<BTreeSet<_>>().into_iter().collect();
    let mut found = BTreeMap::new();
    for some in ids.chunks(PAGE) {
        for Schedule { clock, spec } in app.store.schedules_now(some).await? {
            let definition = Definition::of(&clock, &spec);
            let one = Found {
                owner: clock.owner,
                set: spec.set,
                revision: clock.revision,
                created_at: clock.created_at,
                definition,
            };
            found.insert(clock.schedule_id, one);
        }
    }
    Ok(found)
}

async fn workflows<'a>(
    app: &App,
    caller: &Caller,
    declaration: &'a Declaration,
) -> Result<Vec<Version<'a>>, Refusal> {
    let mut versions = Vec::with_capacity(declaration.workflows.len());
    for declared in &declaration.workflows {
        let (id, number) = (&declared.workflow_id, declared.version);
        let owner = app.store.workflow_owner(id).await?;
        let there = app.store.workflow(id, number).await?;
        let refused = if owner.is_some_and(|owner| !caller.acts_for(&owner)) {
            Some(format!("workflow {id} is a name that cannot be used"))
        } else if there.as_ref().is_some_and(|there| *there != declared.workflow) {
            Some(format!("version {number} exists and differs; a version never changes"))
        } else {
            unfit(app, declared)
        };
        versions.push(Version { declared, is_new: there.is_none(), refused });
    }
    Ok(versions)
}

/// The problem for which publishing would refuse the workflow, if there is one.
fn unfit(app: &App, declared: &DeclaredWorkflow) -> Option<String> {
    if declared.workflow.definition.to_string().len() > MAX_DEFINITION {
        return Some(format!("definition: must be at most {MAX_DEFINITION} bytes"));
    }
    target_problem(app, &declared.workflow.target).map(|problem| problem.to_string())
}

/// The workflow version of each declared schedule, as it will be after the declared versions are
/// published.
async fn versions(
    app: &App,
    caller: &Caller,
    declaration: &Declaration,
    found: &BTreeMap<ScheduleId, Found>,
    workflows: &[Version<'_>],
) -> Result<Vec<Result<u32, String>>, Refusal> {
    let mut coming: BTreeMap<&WorkflowId, BTreeSet<u32>> = BTreeMap::new();
    for version in workflows.iter().filter(|version| version.refused.is_none()) {
        coming.entry(&version.declared.workflow_id).or_default().insert(version.declared.version);
    }
    let mut known: BTreeMap<_, Result<u32, String>> = BTreeMap::new();
    let mut versions = Vec::with_capacity(declaration.schedules.len());
    for declared in &declaration.schedules {
        let definition = &declared.definition;
        let id = &definition.workflow_id;
        let bound = found.get(&declared.schedule_id).map(|found| &found.definition);
        let before = bound.map(|bound| &bound.options);
        if let Some(problem) = destination_problem(app, before, &definition.options) {
            versions.push(Err(problem.to_string()));
            continue;
        }
        let here = coming.get(id);
        if let Some(version) = definition.version
            && here.is_some_and(|here| here.contains(&version))
        {
            versions.push(Ok(version));
            continue;
        }
        let bound = bound.and_then(|bound| Some((&bound.workflow_id, bound.version?)));
        let bound = bound.filter(|(bound, _)| *bound == id);
        let key = (id, definition.version, bound);
        let stored = match known.get(&key) {
            Some(stored) => stored.clone(),
            None => {
                let resolved = resolve_version(app, caller, &caller.sub, definition, bound).await;
                let stored = match resolved {
                    Ok(version) => Ok(version),
                    Err(Refusal::Invalid(problems)) => {
                        Err(problems.iter().map(ToString::to_string).collect())
                    }
                    Err(refusal) => return Err(refusal),
                };
                known.insert(key, stored.clone());
                stored
            }
        };
        let newest = here.and_then(|here| here.last().copied());
        versions.push(match (stored, newest) {
            (Ok(stored), Some(newest)) if definition.version.is_none() => Ok(stored.max(newest)),
            (Err(_), Some(newest)) if definition.version.is_none() => Ok(newest),
            (stored, _) => stored,
        });
    }
    Ok(versions)
}

/// Every action, and how many schedules it is planned for.
fn counts(items: &[Item]) -> BTreeMap<Action, u64> {
    use Action::{Create, Delete, Refused, Unchanged, Undeclared, Update};
    let count = |action| items.iter().filter(|item| item.action == action).count() as u64;
    let all = [Create, Update, Unchanged, Delete, Undeclared, Refused];
    all.into_iter().map(|action| (action, count(action))).collect()
}

impl Version<'_> {
    /// The version at `place` of the declaration, with what became of it.
    fn told(&self, place: usize, outcome: Option<&Outcome>) -> PlannedWorkflow {
        let action = match (&self.refused, self.is_new) {
            (Some(_), _) => WorkflowAction::Refused,
            (None, true) => WorkflowAction::Publish,
            (None, false) => WorkflowAction::Unchanged,
        };
        PlannedWorkflow {
            workflow_id: self.declared.workflow_id.clone(),
            version: self.declared.version,
            place,
            action,
            outcome: word(self.refused.is_some(), outcome),
            message: message(outcome).or_else(|| self.refused.clone()),
            retry_after_s: outcome.and_then(Outcome::retry_after_s),
        }
    }
}

/// A schedule of the plan with what became of it.
fn told(planned: PlannedSchedule, outcome: Option<&Outcome>) -> PlannedSchedule {
    PlannedSchedule {
        outcome: word(planned.action == Action::Refused, outcome),
        message: message(outcome).or(planned.message),
        retry_after_s: outcome.and_then(Outcome::retry_after_s),
        ..planned
    }
}

fn word(is_refused: bool, outcome: Option<&Outcome>) -> view::Outcome {
    match outcome {
        _ if is_refused => view::Outcome::Refused,
        None => view::Outcome::Planned,
        Some(outcome) => outcome.word(),
    }
}

fn message(outcome: Option<&Outcome>) -> Option<String> {
    outcome.and_then(Outcome::message).map(str::to_owned)
}
