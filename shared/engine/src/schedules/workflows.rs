//! Workflow versions: publishing and reading them.

use belfry_core::id::WorkflowId;
use belfry_core::invalid::Invalid;
use belfry_core::page::Page;
use belfry_core::workflow::{
    EVERYBODY, MAX_DEFINITION, Target, VersionView, Workflow, WorkflowView,
};
use serde_json::Value;

use super::caller::Caller;
use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::store::{Published, VersionHead};
use crate::cloud::targets::url_problem;

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
    let workflow = Workflow::parse(body).map_err(Refusal::Invalid)?;
    if workflow.definition.to_string().len() > MAX_DEFINITION {
        let message = format!("must be at most {MAX_DEFINITION} bytes");
        return Err(Refusal::TooLarge(Invalid::new("definition", message)));
    }
    if let Target::Http { url } = &workflow.target
        && let Some(problem) = url_problem(url, &app.settings.reachable)
    {
        return Err(Refusal::invalid("target.url", problem));
    }
    let owner = app.store.claim_workflow(id, &caller.sub).await?;
    if !caller.acts_for(&owner) {
        return Err(Refusal::NotFound("workflow"));
    }
    match app.store.publish_workflow(id, version, &workflow).await? {
        Published::New => Ok((true, workflow.view(id, version))),
        Published::Same => Ok((false, workflow.view(id, version))),
        Published::Different => Err(Refusal::Conflict(format!(
            "workflow {id} version {version} exists and differs; a version never changes"
        ))),
    }
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
    match app.workflow(id, version).await? {
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
