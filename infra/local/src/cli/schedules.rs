//! `belfry schedules`: lists, shows, creates, edits and controls schedules over the API.

use std::process::ExitCode;

use belfry_core::schedule::change::Difference;
use belfry_core::schedule::warning::Warning;
use clap::{Args, Subcommand};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::bulk::Bulk;
use super::client::{Answer, Api, Connection, Done, With, most};
use super::definition::{Create, Edit, words_of};
use super::history::{Backfill, Backfills, Changes, Ledger};
use super::table::{plain, print, print_fields, shown};
use super::{fail, json_text, print_json, print_line};

/// Lists, shows, creates, edits and controls schedules over the API.
#[derive(Args)]
pub(crate) struct Schedules {
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List schedules
    List(List),
    /// Show a schedule
    Get {
        /// Id of the schedule
        schedule_id: String,
    },
    /// Create a schedule
    Create(Create),
    /// Change fields of a schedule
    Edit(Edit),
    /// Pause a schedule
    Pause {
        /// Id of the schedule
        schedule_id: String,
        /// Reason, kept with the schedule
        #[arg(long)]
        note: Option<String>,
        /// End of the pause (RFC 3339); until a resume if not given
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
    },
    /// Resume a schedule
    Resume {
        /// Id of the schedule
        schedule_id: String,
        /// Catch-up policy for the fires missed meanwhile; default the schedule's own
        #[arg(long, value_name = "POLICY", value_parser = words_of("catchup_policy"))]
        catchup: Option<String>,
    },
    /// Pause or resume all schedules with a tag or of a workflow
    Bulk(Bulk),
    /// Run a schedule now
    Trigger {
        /// Id of the schedule
        schedule_id: String,
        /// Payload of this run, instead of the schedule's
        #[arg(long, value_name = "JSON", value_parser = json_text)]
        payload: Option<Value>,
        /// Idempotency key: the same key within a day returns the same run
        #[arg(long)]
        key: Option<String>,
    },
    /// Run the fires of a past time range
    Backfill(Backfill),
    /// List the backfills of a schedule, or show or cancel one
    Backfills(Backfills),
    /// Compare the fires a schedule should have had with its runs
    Ledger(Ledger),
    /// List the changes of a schedule, newest first
    Changes(Changes),
    /// Delete a schedule; its history stays until it expires
    Delete {
        /// Id of the schedule
        schedule_id: String,
    },
}

#[derive(Args)]
struct List {
    /// Only schedules with this status
    #[arg(long, value_parser = words_of("status"))]
    status: Option<String>,
    /// Only schedules of this workflow
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// Only schedules with this tag (KEY), or with this tag and value (KEY:VALUE)
    #[arg(long, value_name = "TAG[:VALUE]")]
    tag: Option<String>,
    /// Only schedules of this owner, for admins; * for all owners
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Maximum number of schedules; all if not given
    #[arg(long, value_name = "N", value_parser = most)]
    limit: Option<usize>,
}

/// A schedule as the API shows it. The fields without a default are in every answer: they tell a
/// schedule from anything else.
#[derive(Deserialize)]
pub(crate) struct ScheduleView {
    schedule_id: String,
    user_id: String,
    status: String,
    workflow_id: String,
    version: u32,
    revision: u64,
    timezone: String,
    overlap_policy: String,
    catchup_policy: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    cron_expr: Option<String>,
    #[serde(default)]
    cron_description: Option<String>,
    #[serde(default)]
    next_run_at: Option<String>,
    #[serde(default)]
    next_runs: Vec<String>,
    #[serde(default)]
    pause_note: Option<String>,
    #[serde(default)]
    pause_until: Option<String>,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    last_status: Option<String>,
    #[serde(default)]
    warnings: Vec<Warning>,
}

/// What an edit would change.
#[derive(Deserialize)]
struct DiffView {
    changes: Vec<Difference>,
    runs_per_month: f64,
}

impl Schedules {
    pub(crate) fn run(self) -> ExitCode {
        let connection = self.connection;
        match self.command {
            Command::Create(create) => match create.body() {
                Ok(body) => connection.run(|api| make(api, body)),
                Err(problem) => fail(&problem),
            },
            Command::Edit(mut edit) => match edit.body() {
                Ok(body) => connection.run(|api| change(api, edit, body)),
                Err(problem) => fail(&problem),
            },
            Command::List(wanted) => connection.run(|api| list(api, wanted)),
            Command::Bulk(bulk) => connection.run(|api| bulk.run(api)),
            Command::Backfill(backfill) => connection.run(|api| backfill.run(api)),
            Command::Backfills(backfills) => connection.run(|api| backfills.run(api)),
            Command::Ledger(ledger) => connection.run(|api| ledger.run(api)),
            Command::Changes(changes) => connection.run(|api| changes.run(api)),
            command => connection.run(|api| control(api, command)),
        }
    }
}

/// Carries out a command on one schedule.
async fn control(api: Api, command: Command) -> Done {
    match command {
        Command::Get { schedule_id } => {
            show(&api, api.get(&["schedules", &schedule_id], &[]).await?)?;
        }
        Command::Pause { schedule_id, note, until } => {
            let body = json!({"note": note, "until": until});
            show(&api, api.post(&["schedules", &schedule_id, "pause"], &body).await?)?;
        }
        Command::Resume { schedule_id, catchup } => {
            let body = json!({"catchup": catchup});
            show(&api, api.post(&["schedules", &schedule_id, "resume"], &body).await?)?;
        }
        Command::Trigger { schedule_id, payload, key } => {
            let body = payload.map_or(json!({}), |payload| json!({"payload": payload}));
            let header = key.as_deref().map(|key| ("Idempotency-Key", key));
            let with = With { header, body: Some(&body), ..With::default() };
            let path = ["schedules", &schedule_id, "trigger"];
            super::runs::show(&api, &api.ask(Method::POST, &path, with).await?)?;
        }
        Command::Delete { schedule_id } => {
            api.delete(&["schedules", &schedule_id]).await?;
            match api.json {
                true => print_json(&json!({"deleted": schedule_id}))?,
                false => print_fields(&[("deleted", schedule_id)])?,
            }
        }
        // `run` handles the others.
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

async fn make(api: Api, body: Value) -> Done {
    show(&api, api.post(&["schedules"], &body).await?)?;
    Ok(ExitCode::SUCCESS)
}

async fn change(api: Api, edit: Edit, body: Value) -> Done {
    let path = ["schedules", &edit.schedule_id];
    let revision = edit.revision.map(|revision| format!("\"{revision}\""));
    let header = revision.as_deref().map(|revision| ("If-Match", revision));
    let query = [("dry_run", edit.dry_run.then(|| "true".to_owned()))];
    let with = With { query: &query, header, body: Some(&body) };
    if !edit.dry_run {
        show(&api, api.ask(Method::PATCH, &path, with).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let diff = api.ask::<DiffView>(Method::PATCH, &path, with).await?;
    if api.json {
        print_json(&diff.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if diff.view.changes.is_empty() {
        print_line("nothing would change")?;
    }
    for Difference { field, old, new } in &diff.view.changes {
        print_line(&plain(&format!("{field}: {old} -> {new}")))?;
    }
    print_line(&format!("{:.0} runs a month", diff.view.runs_per_month))?;
    Ok(ExitCode::SUCCESS)
}

async fn list(api: Api, wanted: List) -> Done {
    let query = [
        ("status", wanted.status),
        ("workflow_id", wanted.workflow),
        ("tag", wanted.tag),
        ("user_id", wanted.user),
    ];
    let list = api.all::<ScheduleView>(&["schedules"], &query, wanted.limit).await?;
    list.tell_rest();
    if api.json {
        list.print_json()?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |item: &Answer<ScheduleView>| {
        let it = &item.view;
        vec![
            it.schedule_id.clone(),
            it.status.clone(),
            shown(&it.next_run_at),
            shown(&it.cron_expr),
            it.timezone.clone(),
            it.workflow_id.clone(),
            shown(&it.name),
        ]
    };
    let rows: Vec<_> = list.items.iter().map(row).collect();
    print(&["schedule", "status", "next run", "cron", "zone", "workflow", "name"], &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn show(api: &Api, schedule: Answer<ScheduleView>) -> std::io::Result<()> {
    if api.json {
        return print_json(&schedule.json);
    }
    let it = schedule.view;
    let warnings: Vec<_> = it.warnings.into_iter().map(|warning| warning.message).collect();
    print_fields(&[
        ("schedule", it.schedule_id),
        ("name", shown(&it.name)),
        ("owner", it.user_id),
        ("status", it.status),
        ("note", shown(&it.pause_note)),
        ("until", shown(&it.pause_until)),
        ("cron", shown(&it.cron_expr)),
        ("zone", it.timezone),
        ("meaning", shown(&it.cron_description)),
        ("next runs", it.next_runs.join(" ")),
        ("workflow", format!("{} version {}", it.workflow_id, it.version)),
        ("overlap", it.overlap_policy),
        ("catch-up", it.catchup_policy),
        ("payload", shown(&it.payload)),
        ("last", shown(&it.last_status)),
        ("revision", it.revision.to_string()),
        ("warnings", warnings.join("; ")),
    ])
}
