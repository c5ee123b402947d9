//! Workflow versions: publishing, reading and deleting them.

use belfry_core::guard::access::Scope;
use belfry_core::id::WorkflowId;
use belfry_core::invalid::{Code, Invalid};
use belfry_core::page::Page;
use belfry_core::workflow::{
    EVERYBODY, MAX_DEFINITION, Target, VersionView, Workflow, WorkflowSummary, WorkflowView,
};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use tracing::info;

use super::caller::Caller;
use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::store::{Published, Users, VersionHead};
use crate::cloud::targets::url_problem;
use crate::fault::Fault;

/// Schedules counted for a workflow in a list.
const COUNTED_USERS: usize = 1000;
/// Schedules named as users of a workflow.
const NAMED_USERS: usize = 20;
/// Workflows of a page that are looked up concurrently.
const CONCURRENCY: usize = 16;

/// Publishes a version. `true`: the version is new. Publishing the same version again changes
/// nothing; a different definition under the same version is refused. A workflow belongs to the
/// caller who published it first.
pub(crate) async fn publish(
    app: &App,
    caller: &Caller,
    id: &WorkflowId,
    version: u32,
    body: &Value,
) -> Result<(bool, WorkflowView), Refusal> {
    let (workflow, named) = match (Workflow::parse(body), caller.named_owner(body)) {
        (Ok(workflow), Ok(named)) => (workflow, named),
        (workflow, named) => {
            let problems = workflow.err().into_iter().flatten();
            return Err(Refusal::Invalid(problems.chain(named.err()).collect()));
        }
    };
    if workflow.definition.to_string().len() > MAX_DEFINITION {
        let message = format!("must be at most {MAX_DEFINITION} bytes");
        return Err(Refusal::TooLarge(Invalid::new("definition", message).coded(Code::TooLarge)));
    }
    if let Some(problem) = target_problem(app, &workflow.target) {
        return Err(Refusal::Invalid(vec![problem]));
    }
    let owner = app.store.claim_workflow(id, named.unwrap_or(&caller.sub)).await?;
    if !caller.acts_for(&owner) {
        return Err(Refusal::NotFound("workflow"));
    }
    if named.is_some_and(|named| named != owner) {
        let message = "is not the owner of this workflow, which never changes";
        return Err(Refusal::invalid("user_id", message));
    }
    match app.store.publish_workflow(id, version, &workflow).await? {
        Published::New => Ok((true, workflow.view(id, version))),
        Published::Same => Ok((false, workflow.view(id, version))),
        Published::Different => Err(Refusal::Conflict(format!(
            "workflow {id} version {version} exists and differs; a version never changes"
        ))),
        Published::Deleted => Err(Refusal::Conflict(format!(
            "workflow {id} version {version} was deleted; publish the next number"
        ))),
    }
}

/// Why no workflow of this deployment may have a target: the network does not allow it, or it is a
/// part of the deployment itself.
pub(crate) fn target_problem(app: &App, target: &Target) -> Option<Invalid> {
    match target {
        Target::Http { url } => {
            let problem = url_problem(url, &app.settings.reachable)?;
            Some(Invalid::new("target.url", problem))
        }
        target => app.settings.own().problem(target),
    }
}

/// Deletes a version. It is refused while schedules use the version, unless `even_if_used`: their
/// runs then fail. A schedule that is saved at the same moment may still get the version, as if it
/// had been deleted so.
pub(crate) async fn delete(
    app: &App,
    caller: &Caller,
    id: &WorkflowId,
    version: u32,
    even_if_used: bool,
) -> Result<(), Refusal> {
    let missing = || Refusal::NotFound("workflow version");
    let owner = app.store.workflow_owner(id).await?;
    let is_known = owner.as_ref().is_some_and(|owner| caller.acts_for(owner));
    if !is_known || app.store.workflow(id, version).await?.is_none() {
        return Err(missing());
    }
    if !even_if_used {
        let users = app.store.users(id, Some(version), NAMED_USERS).await?;
        if let Some(by) = named(&users, caller) {
            return Err(Refusal::Conflict(format!(
                "workflow {id} version {version} is used by {by}; with force=true it is deleted \
                 anyway, and their runs fail"
            )));
        }
    }
    if !app.store.delete_version(id, version, app.now()).await? {
        return Err(missing());
    }
    info!(workflow_id = %id, version, by = caller.sub, even_if_used, "workflow version deleted");
    Ok(())
}

/// Schedules that use something, in words: those of the caller by their names. `None`: nothing does.
fn named(users: &Users, caller: &Caller) -> Option<String> {
    let mut names: Vec<_> = users
        .schedules
        .iter()
        .filter(|user| caller.acts_for(&user.owner))
        .map(|user| format!("schedule {}", user.schedule_id))
        .collect();
    if names.len() < users.schedules.len() || users.more {
        names.push("other schedules".to_owned());
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The workflows of an owner by name, each with its newest version and the schedules that use it.
/// A workflow whose versions are all deleted is left out.
pub(crate) async fn list(
    app: &App,
    caller: &Caller,
    owner: &str,
    limit: usize,
    cursor: Option<&WorkflowId>,
) -> Result<Page<WorkflowSummary>, Refusal> {
    if owner != EVERYBODY && !caller.acts_for(owner) {
        return Err(Refusal::Forbidden(Scope::Admin));
    }
    let ids = app.store.workflows_of(owner, limit, cursor).await?;
    let next_cursor = ids.last().filter(|_| ids.len() == limit).map(ToString::to_string);
    let items = ids.into_iter().map(|id| summary(app, caller, owner, id));
    let items: Vec<_> = stream::iter(items.collect::<Vec<_>>())
        .buffered(CONCURRENCY)
        .try_collect::<Vec<Option<_>>>()
        .await?;
    Ok(Page { items: items.into_iter().flatten().collect(), next_cursor })
}

async fn summary(
    app: &App,
    caller: &Caller,
    owner: &str,
    id: WorkflowId,
) -> Result<Option<WorkflowSummary>, Fault> {
    let newest = app.store.workflow_versions(&id, 1, None).await?.items.pop();
    let Some(VersionHead { version, target, completion }) = newest else { return Ok(None) };
    let users = app.store.users(&id, None, COUNTED_USERS).await?.schedules;
    let schedules = users.len();
    let used_by = users.into_iter().filter(|user| caller.acts_for(&user.owner));
    let used_by = used_by.take(NAMED_USERS).map(|user| user.schedule_id).collect();
    let (workflow_id, user_id) = (id, owner.to_owned());
    let summary =
        WorkflowSummary { workflow_id, user_id, version, target, completion, schedules, used_by };
    Ok(Some(summary))
}

/// A published version of a workflow that belongs to the caller or to everybody.
pub(crate) async fn version(
    app: &App,
    caller: &Caller,
    id: &WorkflowId,
    version: u32,
) -> Result<WorkflowView, Refusal> {
    let missing = Refusal::NotFound("workflow version");
    match app.store.workflow_owner(id).await? {
        Some(owner) if owner == EVERYBODY || caller.acts_for(&owner) => {}
        _ => return Err(missing),
    }
    // Not from memory, which may have a version that was deleted.
    match app.store.workflow(id, version).await? {
        Some(workflow) => Ok(workflow.view(id, version)),
        None => Err(missing),
    }
}

/// The versions of a workflow, newest first, without their definitions.
pub(crate) async fn versions(
    app: &App,
    caller: &Caller,
    id: &WorkflowId,
    limit: usize,
    cursor: Option<u32>,
) -> Result<Page<VersionView>, Refusal> {
    match app.store.workflow_owner(id).await? {
        Some(owner) if owner == EVERYBODY || caller.acts_for(&owner) => {}
        _ => return Err(Refusal::NotFound("workflow")),
    }
    let page = app.store.workflow_versions(id, limit, cursor).await?;
    let item = |head: VersionHead| VersionView {
        workflow_id: id.clone(),
        version: head.version,
        target: head.target,
        completion: head.completion,
    };
    let items = page.items.into_iter().map(item).collect();
    Ok(Page { items, next_cursor: page.cursor.map(|version| version.to_string()) })
}
