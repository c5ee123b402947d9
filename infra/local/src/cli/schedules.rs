//! `belfry schedules`: lists, shows, creates and controls schedules over the API.

use std::path::PathBuf;
use std::process::ExitCode;

use belfry_core::schedule::fields::choices;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Api, Connection, Done};
use super::table::{print, print_fields, shown};
use super::{fail, json_text, print_json, read_json};

/// Lists, shows, creates and controls schedules over the API.
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
    /// Pause a schedule
    Pause {
        /// Id of the schedule
        schedule_id: String,
        /// Reason, kept with the schedule
        #[arg(long)]
        note: Option<String>,
    },
    /// Resume a schedule
    Resume {
        /// Id of the schedule
        schedule_id: String,
        /// Catch-up policy for the fires missed meanwhile; default the schedule's own
        #[arg(long, value_name = "POLICY", value_parser = words_of("catchup_policy"))]
        catchup: Option<String>,
    },
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
    /// Only schedules with this tag (KEY), or with this tag and value (KEY=VALUE)
    #[arg(long, value_name = "TAG[:VALUE]")]
    tag: Option<String>,
    /// Only schedules of this owner, for admins; * for all owners
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Maximum number of schedules
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
}

#[derive(Args)]
struct Create {
    /// Id of the schedule; generated if not given
    schedule_id: Option<String>,
    /// Read the definition from a file, or from standard input with -
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Id of the workflow to launch
    #[arg(long, value_name = "ID", required_unless_present = "file")]
    workflow: Option<String>,
    /// Version of the workflow; default the newest
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Cron expression, such as '0 9 * * MON-FRI'
    #[arg(long, value_name = "EXPR", required_unless_present = "file")]
    cron: Option<String>,
    /// IANA time zone; default UTC
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Payload of every run
    #[arg(long, value_name = "JSON", value_parser = json_text)]
    payload: Option<Value>,
    /// Display name
    #[arg(long)]
    name: Option<String>,
    /// Tag, may be repeated
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    tags: Vec<(String, String)>,
    /// Overlap policy: what happens to a fire while an earlier run is going
    #[arg(long, value_name = "POLICY", value_parser = words_of("overlap_policy"))]
    overlap: Option<String>,
    /// Catch-up policy: what happens to missed fires
    #[arg(long, value_name = "POLICY", value_parser = words_of("catchup_policy"))]
    catchup: Option<String>,
    /// Create the schedule paused
    #[arg(long)]
    paused: bool,
}

/// Takes the words of a field of a schedule, and explains them in the help.
fn words_of(field: &str) -> PossibleValuesParser {
    let values = choices(field).into_iter();
    values.map(|term| PossibleValue::new(term.word).help(term.meaning)).collect::<Vec<_>>().into()
}

impl Schedules {
    pub(crate) fn run(self) -> ExitCode {
        let command = match self.command {
            Command::Create(create) => match create.body() {
                Ok(body) => return self.connection.run(|api| make(api, body)),
                Err(problem) => return fail(&problem),
            },
            command => command,
        };
        self.connection.run(|api| carry_out(api, command))
    }
}

async fn carry_out(api: Api, command: Command) -> Done {
    match command {
        Command::List(wanted) => return list(&api, wanted).await,
        // `run` handled it before connecting, because the body comes from a file.
        Command::Create(_) => {}
        Command::Get { schedule_id } => {
            show(&api, &api.get(&["schedules", &schedule_id], &[]).await?)?;
        }
        Command::Pause { schedule_id, note } => {
            let body = json!({"note": note});
            show(&api, &api.post(&["schedules", &schedule_id, "pause"], &body).await?)?;
        }
        Command::Resume { schedule_id, catchup } => {
            let body = json!({"catchup": catchup});
            show(&api, &api.post(&["schedules", &schedule_id, "resume"], &body).await?)?;
        }
        Command::Trigger { schedule_id, payload, key } => {
            let body = payload.map_or(json!({}), |payload| json!({"payload": payload}));
            let path = ["schedules", &schedule_id, "trigger"];
            let run = api.ask(Method::POST, &path, &[], Some(&body), key.as_deref()).await?;
            super::runs::show(&api, run)?;
        }
        Command::Delete { schedule_id } => {
            api.ask(Method::DELETE, &["schedules", &schedule_id], &[], None, None).await?;
            if !api.json {
                print_fields(&[("deleted", schedule_id)])?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn make(api: Api, body: Value) -> Done {
    show(&api, &api.post(&["schedules"], &body).await?)?;
    Ok(ExitCode::SUCCESS)
}

async fn list(api: &Api, wanted: List) -> Done {
    let query = [
        ("status", wanted.status),
        ("workflow_id", wanted.workflow),
        ("tag", wanted.tag),
        ("user_id", wanted.user),
    ];
    let items = api.all(&["schedules"], &query, wanted.limit).await?;
    if api.json {
        print_json(&json!({"items": items}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let fields =
        ["schedule_id", "status", "next_run_at", "cron_expr", "timezone", "workflow_id", "name"];
    let rows: Vec<_> =
        items.iter().map(|item| fields.iter().map(|f| shown(&item[*f])).collect()).collect();
    print(&["schedule", "status", "next run", "cron", "zone", "workflow", "name"], &rows)?;
    Ok(ExitCode::SUCCESS)
}

fn show(api: &Api, schedule: &Value) -> std::io::Result<()> {
    if api.json {
        return print_json(schedule);
    }
    let text = |field: &str| shown(&schedule[field]);
    let warnings = schedule["warnings"].as_array().into_iter().flatten();
    let warnings: Vec<_> = warnings.map(|warning| shown(&warning["message"])).collect();
    let runs = schedule["next_runs"].as_array().into_iter().flatten();
    let runs: Vec<_> = runs.map(shown).collect();
    print_fields(&[
        ("schedule", text("schedule_id")),
        ("name", text("name")),
        ("owner", text("user_id")),
        ("status", text("status")),
        ("note", text("pause_note")),
        ("cron", text("cron_expr")),
        ("zone", text("timezone")),
        ("meaning", text("cron_description")),
        ("next runs", runs.join(" ")),
        ("workflow", format!("{} version {}", text("workflow_id"), text("version"))),
        ("overlap", text("overlap_policy")),
        ("catch-up", text("catchup_policy")),
        ("payload", text("payload")),
        ("last", text("last_status")),
        ("revision", text("revision")),
        ("warnings", warnings.join("; ")),
    ])
}

impl Create {
    fn body(self) -> Result<Value, String> {
        let mut body = match &self.file {
            Some(file) => read_json(file)?,
            None => json!({}),
        };
        let Some(fields) = body.as_object_mut() else {
            return Err("the definition is not a JSON object".to_owned());
        };
        let tags: Option<serde_json::Map<_, _>> = (!self.tags.is_empty())
            .then(|| self.tags.into_iter().map(|(key, value)| (key, json!(value))).collect());
        for (field, value) in [
            ("schedule_id", self.schedule_id.map(Value::from)),
            ("workflow_id", self.workflow.map(Value::from)),
            ("version", self.version.map(Value::from)),
            ("cron_expr", self.cron.map(Value::from)),
            ("timezone", self.tz.map(Value::from)),
            ("payload", self.payload),
            ("name", self.name.map(Value::from)),
            ("tags", tags.map(Value::from)),
            ("overlap_policy", self.overlap.map(Value::from)),
            ("catchup_policy", self.catchup.map(Value::from)),
            ("paused", self.paused.then_some(Value::Bool(true))),
        ] {
            if let Some(value) = value {
                fields.insert(field.to_owned(), value);
            }
        }
        Ok(body)
    }
}

fn tag(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}
