//! `belfry workflows`: lists, shows and publishes workflow versions over the API.

use std::path::PathBuf;
use std::process::ExitCode;

use belfry_core::id::WorkflowId;
use belfry_core::workflow::{Completion, WorkflowView};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Answer, Api, Connection, Done, With, most};
use super::table::{print, print_fields, shown};
use super::{fail, json_text, print_json, read_json};

/// Lists, shows and publishes workflow versions over the API.
#[derive(Args)]
pub(crate) struct Workflows {
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List workflows with their newest version, or the versions of one, newest first
    List {
        /// Id of a workflow, to list its versions
        workflow_id: Option<String>,
        /// Maximum number of lines; all if not given
        #[arg(long, value_name = "N", value_parser = most)]
        limit: Option<usize>,
    },
    /// Show a version of a workflow
    Get {
        /// Id of the workflow
        workflow_id: String,
        /// Version number
        version: u32,
    },
    /// Publish a version of a workflow; a published version never changes
    Publish(Publish),
}

#[derive(Args)]
struct Publish {
    /// Id of the workflow
    workflow_id: String,
    /// Version number
    version: u32,
    /// Read definition, target and completion from a file, or from standard input with -
    #[arg(long, value_name = "FILE", required_unless_present = "target")]
    file: Option<PathBuf>,
    /// Target of the runs, such as '{"kind": "http", "url": "https://example.com/run"}'
    #[arg(long, value_name = "JSON", value_parser = json_text)]
    target: Option<Value>,
    /// Definition passed to the target
    #[arg(long, value_name = "JSON", value_parser = json_text)]
    definition: Option<Value>,
    /// Runs are done when their executor reports it, not at launch
    #[arg(long)]
    tracked: bool,
}

/// A workflow with its newest version, or a version of one.
#[derive(Deserialize)]
struct Listed {
    workflow_id: WorkflowId,
    version: u32,
    target: Value,
    completion: Completion,
    /// How many schedules use the workflow; not told of a single version.
    #[serde(default)]
    schedules: Option<u64>,
}

impl Workflows {
    pub(crate) fn run(self) -> ExitCode {
        match self.command {
            Command::List { workflow_id, limit } => {
                self.connection.run(|api| list(api, workflow_id, limit))
            }
            Command::Get { workflow_id, version } => {
                self.connection.run(|api| get(api, workflow_id, version))
            }
            Command::Publish(publish) => match publish.body() {
                Ok(body) => {
                    self.connection.run(|api| put(api, publish.workflow_id, publish.version, body))
                }
                Err(problem) => fail(&problem),
            },
        }
    }
}

async fn list(api: Api, id: Option<String>, limit: Option<usize>) -> Done {
    let path = match &id {
        Some(id) => vec!["workflows", id, "versions"],
        None => vec!["workflows"],
    };
    let list = api.all::<Listed>(&path, &[], limit).await?;
    list.tell_rest();
    if api.json {
        list.print_json()?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |item: &Answer<Listed>| {
        let it = &item.view;
        vec![
            shown(&it.workflow_id),
            it.version.to_string(),
            shown(&it.schedules),
            shown(&it.completion),
            shown(&it.target),
        ]
    };
    let rows: Vec<_> = list.items.iter().map(row).collect();
    print(&["workflow", "version", "schedules", "completion", "target"], &rows)?;
    Ok(ExitCode::SUCCESS)
}

async fn get(api: Api, id: String, version: u32) -> Done {
    let path = ["workflows", &id, "versions", &version.to_string()];
    show(&api, api.get(&path, &[]).await?)
}

async fn put(api: Api, id: String, version: u32, body: Value) -> Done {
    let path = ["workflows", &id, "versions", &version.to_string()];
    let with = With { body: Some(&body), ..With::default() };
    show(&api, api.ask(Method::PUT, &path, with).await?)
}

fn show(api: &Api, answer: Answer<WorkflowView>) -> Done {
    if api.json {
        print_json(&answer.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let workflow = answer.view;
    print_fields(&[
        ("workflow_id", shown(&workflow.workflow_id)),
        ("version", shown(&workflow.version)),
        ("completion", shown(&workflow.completion)),
        ("target", shown(&workflow.target)),
        ("definition", shown(&workflow.definition)),
    ])?;
    Ok(ExitCode::SUCCESS)
}

impl Publish {
    fn body(&self) -> Result<Value, String> {
        let mut body = match &self.file {
            Some(file) => read_json(file)?,
            None => json!({}),
        };
        let Some(fields) = body.as_object_mut() else {
            return Err("the workflow version must be a JSON object".to_owned());
        };
        for (field, value) in [("target", &self.target), ("definition", &self.definition)] {
            if let Some(value) = value {
                fields.insert(field.to_owned(), value.clone());
            }
        }
        if self.tracked {
            fields.insert("completion".to_owned(), json!("tracked"));
        }
        Ok(body)
    }
}
