//! `belfry export`, `adopt` and `release`: print a set as a file; add schedules to a set or remove
//! them from it.

use std::process::ExitCode;

use belfry_core::declare::set::view::{SetExport, SetList};
use belfry_core::id::SetName;
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::write::write;
use crate::cli::client::{Api, Connection, Done, With};
use crate::cli::schedules::ScheduleView;
use crate::cli::table::plain;
use crate::cli::{print_json, print_line, unread_is_fine};

/// Prints a set as the file that would declare it.
#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    connection: Connection,
    /// Name of the set; lists all your sets if not given
    #[arg(long)]
    set: Option<SetName>,
}

/// Adds existing schedules to a set without changing them.
#[derive(Args)]
pub(crate) struct Adopt {
    #[command(flatten)]
    connection: Connection,
    /// Name of the set
    #[arg(long)]
    set: SetName,
    /// Ids of the schedules
    #[arg(required = true)]
    schedule_ids: Vec<String>,
}

/// Removes schedules from a set without deleting them.
#[derive(Args)]
pub(crate) struct Release {
    #[command(flatten)]
    connection: Connection,
    /// Name of the set
    #[arg(long)]
    set: SetName,
    /// Ids of the schedules
    #[arg(required = true)]
    schedule_ids: Vec<String>,
}

impl Export {
    pub(crate) fn run(self) -> ExitCode {
        self.connection.run(|api| export(api, self.set))
    }
}

impl Adopt {
    pub(crate) fn run(self) -> ExitCode {
        self.connection.run(|api| move_all(api, Method::PUT, self.set, self.schedule_ids))
    }
}

impl Release {
    pub(crate) fn run(self) -> ExitCode {
        self.connection.run(|api| move_all(api, Method::DELETE, self.set, self.schedule_ids))
    }
}

async fn export(api: Api, set: Option<SetName>) -> Done {
    let Some(set) = set else {
        let sets = api.get::<SetList>(&["sets"], &[]).await?;
        if api.json {
            print_json(&sets.json)?;
        } else {
            for item in sets.view.items {
                print_line(&format!("{}  {} schedules", item.set, item.schedules))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    };
    let export = api.get::<SetExport>(&["sets", set.as_str()], &[]).await?;
    if api.json {
        print_json(&export.json)?;
    } else {
        print_line(write(&told(&json!(export.view))).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A set without its empty fields.
pub(super) fn told(export: &Value) -> Value {
    let mut told = json!({});
    for field in ["set", "defaults", "workflows", "schedules"] {
        let value = &export[field];
        let is_empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty);
        if !is_empty {
            told[field] = value.clone();
        }
    }
    told
}

async fn move_all(api: Api, method: Method, set: SetName, ids: Vec<String>) -> Done {
    let word = if method == Method::PUT { "adopted" } else { "released" };
    let mut moved = Vec::new();
    for id in &ids {
        let path = ["sets", set.as_str(), "members", id];
        let schedule = api.ask::<ScheduleView>(method.clone(), &path, With::default()).await?;
        if !api.json {
            unread_is_fine(print_line(&plain(&format!("{word} {id}"))))?;
        }
        moved.push(schedule.json);
    }
    if api.json {
        print_json(&json!({"items": moved}))?;
    }
    Ok(ExitCode::SUCCESS)
}
