//! `belfry schedules`: schedules over the API.

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

/// Lists, shows, makes and steers schedules over the API.
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
    /// Show one
    Get {
        /// Which
        schedule_id: String,
    },
    /// Make one
    Create(Create),
    /// Stop one from firing
    Pause {
        /// Which
        schedule_id: String,
        /// Why
        #[arg(long)]
        note: Option<String>,
    },
    /// Let one fire again
    Resume {
        /// Which
        schedule_id: String,
        /// How to catch up what was missed; as its own policy says if not given
        #[arg(long, value_name = "POLICY", value_parser = words_of("catchup_policy"))]
        catchup: Option<String>,
    },
    /// Run one now
    Trigger {
        /// Which
        schedule_id: String,
        /// What the run is given instead of the schedule's payload
        #[arg(long, value_name = "JSON", value_parser = json_text)]
        payload: Option<Value>,
        /// Asking again with the same key within a day is asking for the same run
        #[arg(long)]
        key: Option<String>,
    },
    /// Delete one; its history stays until it expires
    Delete {
        /// Which
        schedule_id: String,
    },
}

#[derive(Args)]
struct List {
    /// Only those doing this
    #[arg(long, value_parser = words_of("status"))]
    status: Option<String>,
    /// Only those that launch this workflow
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// Only those with this tag, or with this tag and value
    #[arg(long, value_name = "TAG[:VALUE]")]
    tag: Option<String>,
    /// Whose, for admins; * for everybody's
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
}

#[derive(Args)]
struct Create {
    /// Its name; one is made up if not given
    schedule_id: Option<String>,
    /// Read the whole definition from a file, or from standard input with -
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// What to launch
    #[arg(long, value_name = "ID", required_unless_present = "file")]
    workflow: Option<String>,
    /// Which version of it; the newest if not given
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// When, such as '0 9 * * MON-FRI'
    #[arg(long, value_name = "EXPR", required_unless_present = "file")]
    cron: Option<String>,
    /// IANA time zone; UTC if not given
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// What every run is given
    #[arg(long, value_name = "JSON", value_parser = json_text)]
    payload: Option<Value>,
    /// A name for people
    #[arg(long)]
    name: Option<String>,
    /// A tag, again for more
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    tags: Vec<(String, String)>,
    /// What happens while earlier runs are going
    #[arg(long, value_name = "POLICY", value_parser = words_of("overlap_policy"))]
    overlap: Option<String>,
    /// What happens to missed fires
    #[arg(long, value_name = "POLICY", value_parser = words_of("catchup_policy"))]
    catchup: Option<String>,
    /// Do not fire yet
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
        // Read before the connection is made.
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
            super::runs::show(&api, &run)?;
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
