//! `belfry export`, `adopt` and `release`: a set as a file, and schedules made by hand.

use std::process::ExitCode;

use belfry_core::id::SetName;
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::yaml;
use crate::cli::client::{Api, Connection, Done};
use crate::cli::table::plain;
use crate::cli::{print_json, print_line};

/// Prints a set as the file that would declare it.
#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    connection: Connection,
    /// Which; all your sets are listed if not given
    #[arg(long)]
    set: Option<SetName>,
}

/// Takes schedules made by hand into a set, without changing them.
#[derive(Args)]
pub(crate) struct Adopt {
    #[command(flatten)]
    connection: Connection,
    /// Into which set
    #[arg(long)]
    set: SetName,
    /// Which schedules
    #[arg(required = true)]
    schedule_ids: Vec<String>,
}

/// Lets schedules go from a set; they stay, and are by hand again.
#[derive(Args)]
pub(crate) struct Release {
    #[command(flatten)]
    connection: Connection,
    /// From which set
    #[arg(long)]
    set: SetName,
    /// Which schedules
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
        let sets = api.get(&["sets"], &[]).await?;
        if api.json {
            print_json(&sets)?;
        } else {
            for item in super::show::items(&sets, "items") {
                let name = item["set"].as_str().unwrap_or_default();
                print_line(&plain(&format!("{name}  {} schedules", item["schedules"])))?;
            }
        }
        return Ok(ExitCode::SUCCESS);
    };
    let export = api.get(&["sets", set.as_str()], &[]).await?;
    if api.json {
        print_json(&export)?;
    } else {
        print_line(yaml::write(&told(&export)).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A set without what is empty in it.
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
        let schedule = api.ask(method.clone(), &path, &[], None, None).await?;
        if !api.json {
            print_line(&plain(&format!("{word} {id}")))?;
        }
        moved.push(schedule);
    }
    if api.json {
        print_json(&json!({"items": moved}))?;
    }
    Ok(ExitCode::SUCCESS)
}
