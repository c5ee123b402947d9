//! Workflow versions: written once, read by the launcher.

use std::ops::ControlFlow;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use belfry_core::id::{ScheduleId, WorkflowId};
use belfry_core::instant::{self, Instant};
use belfry_core::workflow::{Completion, Target, Workflow};
use futures::FutureExt;
use serde::Deserialize;

use super::paging::{self, until};
use super::{FORMAT, Item, Store, conditions, number, string, text};
use crate::cloud::store::tables::{
    OWNER, SCHEDULE_ID, USER_ID, VERSION, WORKFLOW_ID, WORKFLOW_INDEX,
};
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
    /// The version was deleted: its number is not used again.
    Deleted,
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

/// Schedules that use a workflow.
#[derive(Debug, Default)]
pub struct Users {
    /// The schedules, in alphabetical order.
    pub schedules: Vec<User>,
    /// Whether there may be more.
    pub more: bool,
}

/// A schedule that uses a workflow.
#[derive(Debug)]
pub struct User {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// The owner of the schedule.
    pub owner: String,
}

/// The attribute of a deleted version, of which nothing else is left.
const DELETED_AT: &str = "deleted_at";
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
            Some(old) if old.contains_key(DELETED_AT) => Published::Deleted,
            Some(old) => match read_workflow(old)?.1 == *workflow {
                true => Published::Same,
                false => Published::Different,
            },
        })
    }

    /// Deletes a workflow version. Its number stays taken, because functions may have the version
    /// in their memory. `false`: there is no such version.
    pub async fn delete_version(
        &self,
        id: &WorkflowId,
        version: u32,
        now: Instant,
    ) -> Result<bool, Fault> {
        let doing = format!("delete workflow {id} version {version}");
        let mut item = version_key(id, version);
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        item.insert(DELETED_AT.into(), text(instant::text(now)));
        let condition = conditions::VERSION_IS_THERE;
        let put = self.put_if(&self.workflows, item, condition, None, &doing).await?;
        Ok(put.is_none())
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
        let item = answer.item.filter(|item| !item.contains_key(DELETED_AT));
        Ok(item.map(read_workflow).transpose()?.map(|(_, workflow)| workflow))
    }

    /// The names of an owner's workflows in alphabetical order, after `cursor`.
    pub async fn workflows_of(
        &self,
        owner: &str,
        limit: usize,
        cursor: Option<&WorkflowId>,
    ) -> Result<Vec<WorkflowId>, Fault> {
        self.names_of(&self.workflows, WORKFLOW_ID, owner, limit, cursor.map(WorkflowId::as_str))
            .await
    }

    /// At most `limit` schedules that use a workflow, or one version of it.
    pub async fn users(
        &self,
        id: &WorkflowId,
        version: Option<u32>,
        limit: usize,
    ) -> Result<Users, Fault> {
        let query = match version {
            // Without a filter, a page need not be larger than what is wanted.
            None => self.query_users(id).limit(limit as i32 + 1),
            Some(version) => self
                .query_users(id)
                .filter_expression("#version = :version")
                .expression_attribute_names("#version", VERSION)
                .expression_attribute_values(":version", number(version)),
        };
        read_users(query, id, limit).await
    }

    /// At most `limit` schedules of an owner that use a workflow.
    pub async fn users_of(
        &self,
        id: &WorkflowId,
        owner: &str,
        limit: usize,
    ) -> Result<Users, Fault> {
        let query = self
            .query_users(id)
            .filter_expression("#owner = :owner")
            .expression_attribute_names("#owner", OWNER)
            .expression_attribute_values(":owner", text(owner));
        read_users(query, id, limit).await
    }

    fn query_users(&self, id: &WorkflowId) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.schedules)
            .index_name(WORKFLOW_INDEX)
            .key_condition_expression("workflow_id = :id")
            .expression_attribute_values(":id", text(id.as_str()))
    }

    /// The next versions of a workflow that are older than `cursor`, newest first.
    pub async fn workflow_versions(
        &self,
        id: &WorkflowId,
        limit: usize,
        cursor: Option<u32>,
    ) -> Result<Versions, Fault> {
        let doing = || format!("list versions of workflow {id}");
        let query = self
            .query_versions(id)
            .projection_expression("#version, #target, #completion")
            .expression_attribute_names("#target", "target")
            .expression_attribute_names("#completion", "completion")
            .set_exclusive_start_key(cursor.map(|version| version_key(id, version)))
            .limit(limit as i32);
        let mut items: Vec<VersionHead> = Vec::new();
        let take = |item: Item| {
            let head = serde_dynamo::from_item(item);
            items.push(head.map_err(|e| Fault::new(doing(), Unreadable(e.to_string())))?);
            until(&items, limit)
        };
        paging::each(query, doing(), take).await?;
        let cursor = items.last().map(|last| last.version).filter(|_| items.len() >= limit);
        Ok(Versions { items, cursor })
    }

    /// The newest version of a workflow, with its number.
    pub async fn newest_workflow(&self, id: &WorkflowId) -> Result<Option<(u32, Workflow)>, Fault> {
        let mut newest = None;
        let take = |item: Item| {
            newest = Some(read_workflow(item)?);
            Ok(ControlFlow::Break(()))
        };
        // One at a time: definitions are large, and deleted versions are rare.
        let query = self.query_versions(id).consistent_read(true).limit(1);
        paging::each(query, format!("read newest version of workflow {id}"), take).await?;
        Ok(newest)
    }

    /// The number after the highest one that was ever used for a version.
    pub async fn next_version(&self, id: &WorkflowId) -> Result<u32, Fault> {
        let page = self.query_numbers(id).consistent_read(true).limit(1).send().boxed().await;
        let page = page.map_err(sdk(format!("read the last version of workflow {id}")))?;
        let last = page.items().first().and_then(|item| item.get(VERSION)?.as_n().ok());
        Ok(last.and_then(|last| last.parse::<u32>().ok()).unwrap_or(OWNERSHIP).saturating_add(1))
    }

    /// A query for the versions of a workflow that are not deleted, newest first.
    fn query_versions(&self, id: &WorkflowId) -> QueryFluentBuilder {
        self.query_numbers(id).filter_expression("attribute_not_exists(deleted_at)")
    }

    /// A query for the rows of a workflow's versions, deleted ones included, newest first.
    fn query_numbers(&self, id: &WorkflowId) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.workflows)
            .key_condition_expression("workflow_id = :id AND #version > :ownership")
            .expression_attribute_values(":id", text(id.as_str()))
            .expression_attribute_values(":ownership", number(OWNERSHIP))
            .expression_attribute_names("#version", VERSION)
            .scan_index_forward(false)
    }
}

async fn read_users(
    query: QueryFluentBuilder,
    id: &WorkflowId,
    limit: usize,
) -> Result<Users, Fault> {
    let mut users = Vec::new();
    let take = |item: Item| {
        let user = || {
            let schedule_id = string(&item, SCHEDULE_ID)?.parse().ok()?;
            Some(User { schedule_id, owner: string(&item, OWNER)?.to_owned() })
        };
        users.extend(user());
        until(&users, limit + 1)
    };
    paging::each(query, format!("list schedules of workflow {id}"), take).await?;
    let more = users.len() > limit;
    users.truncate(limit);
    Ok(Users { schedules: users, more })
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
