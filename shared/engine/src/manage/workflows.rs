//! Workflow versions.

use belfry_core::id::WorkflowId;
use belfry_core::invalid::Invalid;
use belfry_core::workflow::{MAX_DEFINITION, Workflow};
use serde_json::{Value, json};

use super::Refusal;
use crate::app::App;
use crate::store::{Published, VersionHead};

/// Publishes a version. `true`: it is new; the same again is welcome, a different one is not.
pub async fn publish(
    app: &App,
    id: &WorkflowId,
    version: u32,
    body: &Value,
) -> Result<(bool, Value), Refusal> {
    let workflow = Workflow::parse(body).map_err(Refusal::Invalid)?;
    if workflow.definition.to_string().len() > MAX_DEFINITION {
        let message = format!("must be at most {MAX_DEFINITION} bytes");
        return Err(Refusal::TooLarge(Invalid::new("definition", message)));
    }
    match app.store.publish_workflow(id, version, &workflow).await? {
        Published::New => Ok((true, view(id, version, &workflow))),
        Published::Same => Ok((false, view(id, version, &workflow))),
        Published::Different => Err(Refusal::Conflict(format!(
            "workflow {id} version {version} exists and differs; a version never changes"
        ))),
    }
}

/// A published version.
pub async fn version(app: &App, id: &WorkflowId, version: u32) -> Result<Value, Refusal> {
    match app.workflow(id, version).await? {
        Some(workflow) => Ok(view(id, version, &workflow)),
        None => Err(Refusal::NotFound("workflow version")),
    }
}

/// The versions of a workflow, newest first, without their definitions.
pub async fn versions(
    app: &App,
    id: &WorkflowId,
    limit: usize,
    cursor: Option<u32>,
) -> Result<Value, Refusal> {
    let page = app.store.workflow_versions(id, limit, cursor).await?;
    if page.items.is_empty() && cursor.is_none() {
        return Err(Refusal::NotFound("workflow"));
    }
    let item = |version: &VersionHead| {
        json!({
            "workflow_id": id,
            "version": version.version,
            "target": version.target,
            "completion": version.completion,
        })
    };
    let items: Vec<_> = page.items.iter().map(item).collect();
    Ok(json!({"items": items, "next_cursor": page.cursor.map(|version| version.to_string())}))
}

fn view(id: &WorkflowId, version: u32, workflow: &Workflow) -> Value {
    json!({
        "workflow_id": id,
        "version": version,
        "definition": workflow.definition,
        "target": workflow.target,
        "completion": workflow.completion,
    })
}
