//! Workflow versions: written once, read by the launcher.

use belfry_core::id::WorkflowId;
use belfry_core::workflow::{Completion, Target, Workflow};
use futures::FutureExt;
use serde::Deserialize;

use super::{FORMAT, Item, Store, conditions, number, string, text};
use crate::cloud::store::tables::{USER_ID, VERSION, WORKFLOW_ID};
use crate::fault::{Fault, Unreadable, sdk};

/// The answer to publishing a version.
#[derive(Debug, PartialEq, Eq)]
pub enum Published {
    /// The version is new.
    New,
    /// The version existed already, with the same content.
    Same,
    /// The version existed already, with other content: a version never changes.
    Different,
}

/// A version without its definition, which may be large.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct VersionHead {
    /// The number of the version.
    pub version: u32,
    /// The target that runs it.
    pub target: Target,
    /// When a run of this version counts as done.
    #[serde(default)]
    pub completion: Completion,
}

/// One page of versions, newest first.
pub struct Versions {
    /// The versions.
    pub items: Vec<VersionHead>,
    /// The last version of this page, if there may be more.
    pub cursor: Option<u32>,
}
/// The number of the row that holds the owner of a workflow. Versions begin at 1.
const OWNERSHIP: u32 = 0;

impl Store {
    /// Makes `owner` the owner of a workflow, unless it has one. Answers with the owner.
    pub async fn claim_workflow(&self, id: &WorkflowId, owner: &str) -> Result<String, Fault> {
        let doing = format!("claim workflow {id}");
        let mut item = version_key(id, OWNERSHIP);
        item.insert(USER_ID.into(), text(owner));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let condition = conditions::VERSION_IS_NEW;
        match self.put_if(&self.workflows, item, condition, None, &doing).await? {
            None => Ok(owner.to_owned()),
            Some(old) => {
                let has = string(&old, USER_ID).map(str::to_owned);
                has.ok_or_else(|| Fault::new(doing, Unreadable("the owner".to_owned())))
            }
        }
    }

    /// The owner of a workflow; `None` if there is no such workflow.
    pub async fn workflow_owner(&self, id: &WorkflowId) -> Result<Option<String>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.workflows)
            .set_key(Some(version_key(id, OWNERSHIP)))
            .consistent_read(true)
            .send()
            .boxed()
            .await
            .map_err(sdk(format!("read the owner of workflow {id}")))?;
        Ok(answer.item.as_ref().and_then(|item| string(item, USER_ID)).map(str::to_owned))
    }

    /// Writes a workflow version, unless it exists.
    pub async fn publish_workflow(
        &self,
        id: &WorkflowId,
        version: u32,
        workflow: &Workflow,
    ) -> Result<Published, Fault> {
        let doing = || format!("publish workflow {id} version {version}");
        let mut item: Item = serde_dynamo::to_item(workflow).map_err(|e| Fault::new(doing(), e))?;
        item.extend(version_key(id, version));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        let condition = conditions::VERSION_IS_NEW;
        Ok(match self.put_if(&self.workflows, item, condition, None, &doing()).await? {
            None => Published::New,
            Some(old) => match read_workflow(old)?.1 == *workflow {
                true => Published::Same,
                false => Published::Different,
            },
        })
    }

    /// One workflow version.
    pub async fn workflow(&self, id: &WorkflowId, version: u32) -> Result<Option<Workflow>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.workflows)
            .set_key(Some(version_key(id, version)))
            .send()
            .boxed()
            .await
            .map_err(sdk(format!("read workflow {id} version {version}")))?;
        Ok(answer.item.map(read_workflow).transpose()?.map(|(_, workflow)| workflow))
    }

    /// The next versions of a workflow that are older than `cursor`, newest first.
    pub async fn workflow_versions(
        &self,
        id: &WorkflowId,
        limit: usize,
        cursor: Option<u32>,
    ) -> Result<Versions, Fault> {
        let doing = || format!("list versions of workflow {id}");
        let page = self
            .client
            .query()
            .table_name(&self.workflows)
            .key_condition_expression("workflow_id = :id AND #version > :ownership")
            .expression_attribute_values(":id", text(id.as_str()))
            .expression_attribute_values(":ownership", number(OWNERSHIP))
            .projection_expression("#version, #target, #completion")
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_names("#target", "target")
            .expression_attribute_names("#completion", "completion")
            .set_exclusive_start_key(cursor.map(|version| version_key(id, version)))
            .scan_index_forward(false)
            .limit(limit as i32)
            .send()
            .boxed()
            .await
            .map_err(sdk(doing()))?;
        let more = page.last_evaluated_key.is_some();
        let items: Vec<VersionHead> = serde_dynamo::from_items(page.items.unwrap_or_default())
            .map_err(|e| Fault::new(doing(), Unreadable(e.to_string())))?;
        let cursor = items.last().map(|last| last.version).filter(|_| more);
        Ok(Versions { items, cursor })
    }

    /// The newest version of a workflow, with its number.
    pub async fn newest_workflow(&self, id: &WorkflowId) -> Result<Option<(u32, Workflow)>, Fault> {
        let answer = self
            .client
            .query()
            .table_name(&self.workflows)
            .consistent_read(true)
            .key_condition_expression("workflow_id = :id AND #version > :ownership")
            .expression_attribute_values(":id", text(id.as_str()))
            .expression_attribute_values(":ownership", number(OWNERSHIP))
            .expression_attribute_names("#version", VERSION)
            .scan_index_forward(false)
            .limit(1)
            .send()
            .boxed()
            .await
            .map_err(sdk(format!("read newest version of workflow {id}")))?;
        answer.items.unwrap_or_default().pop().map(read_workflow).transpose()
    }
}

fn version_key(id: &WorkflowId, version: u32) -> Item {
    Item::from([(WORKFLOW_ID.into(), text(id.as_str())), (VERSION.into(), number(version))])
}

fn read_workflow(item: Item) -> Result<(u32, Workflow), Fault> {
    let unreadable = |what: &str| Fault::new("read workflow", Unreadable(what.to_owned()));
    let version = item.get(VERSION).and_then(|v| v.as_n().ok()?.parse().ok());
    let version = version.ok_or_else(|| unreadable("the version"))?;
    let workflow = serde_dynamo::from_item(item).map_err(|e| unreadable(&e.to_string()))?;
    Ok((version, workflow))
}
