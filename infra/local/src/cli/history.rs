//! The past of a schedule, over the API: its ledger, its changes, and backfills, which run past
//! fires again.

use std::process::ExitCode;

use belfry_core::fire::backfill::{BackfillPreview, BackfillView};
use belfry_core::ledger::{LedgerView, Unexplained};
use belfry_core::page::List;
use belfry_core::schedule::change::ChangeView;
use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Answer, Api, Done, With, most};
use super::table::{print, print_fields, shown};
use super::{json_text, print_json};

#[derive(Args)]
pub(super) struct Backfill {
    /// Id of the schedule
    schedule_id: String,
    /// Start of the range (RFC 3339), included
    #[arg(long, value_name = "TIME")]
    from: String,
    /// End of the range (RFC 3339), included; not in the future
    #[arg(long, value_name = "TIME")]
    to: String,
    /// Order of the fires; default oldest_first
    #[arg(long, value_parser = ["oldest_first", "newest_first"])]
    order: Option<String>,
    /// How many runs may go at once; default 1
    #[arg(long, value_name = "N")]
    max_concurrent: Option<u32>,
    /// Also run fires that ran at their time
    #[arg(long)]
    rerun: bool,
    /// Payload of its runs, instead of the schedule's
    #[arg(long, value_name = "JSON", value_parser = json_text)]
    payload: Option<Value>,
    /// Tells backfills of the same range apart
    #[arg(long)]
    name: Option<String>,
    /// Only show what the backfill would do
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
pub(super) struct Backfills {
    /// Id of the schedule
    schedule_id: String,
    /// Id of one backfill; lists all if not given
    backfill_id: Option<String>,
    /// Cancel the backfill
    #[arg(long, requires = "backfill_id")]
    cancel: bool,
}

#[derive(Args)]
pub(super) struct Ledger {
    /// Id of the schedule
    schedule_id: String,
    /// Start of the range (RFC 3339), included
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// End of the range (RFC 3339), included
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

#[derive(Args)]
pub(super) struct Changes {
    /// Id of the schedule
    schedule_id: String,
    /// Maximum number of changes; all if not given
    #[arg(long, value_name = "N", value_parser = most)]
    limit: Option<usize>,
}

impl Backfill {
    pub(super) async fn run(self, api: Api) -> Done {
        let mut body = json!({
            "from": self.from, "to": self.to, "order": self.order,
            "max_concurrent": self.max_concurrent, "rerun": self.rerun, "name": self.name,
            "dry_run": self.dry_run,
        });
        if let Some(payload) = self.payload {
            body["payload"] = payload;
        }
        let path = ["schedules", &self.schedule_id, "backfill"];
        if !self.dry_run {
            return show(&api, api.post(&path, &body).await?);
        }
        let preview = api.post::<BackfillPreview>(&path, &body).await?;
        if api.json {
            print_json(&preview.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let it = preview.view;
        print_fields(&[
            ("backfill", it.backfill_id),
            ("fires", it.fires.to_string()),
            ("already ran", it.already_ran.to_string()),
            ("would launch", it.launches.to_string()),
            ("first", shown(&it.first)),
            ("last", shown(&it.last)),
            ("order", shown(&it.order)),
            ("at once", it.max_concurrent.to_string()),
        ])?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Backfills {
    pub(super) async fn run(self, api: Api) -> Done {
        let mut path = vec!["schedules", &self.schedule_id, "backfills"];
        if let Some(id) = &self.backfill_id {
            path.push(id);
            let method = if self.cancel { Method::DELETE } else { Method::GET };
            return show(&api, api.ask(method, &path, With::default()).await?);
        }
        let list = api.get::<List<BackfillView>>(&path, &[]).await?;
        if api.json {
            print_json(&list.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let row = |it: &BackfillView| {
            vec![
                it.backfill_id.clone(),
                shown(&it.state),
                shown(&it.from),
                shown(&it.to),
                it.fires.to_string(),
                it.succeeded.to_string(),
                it.failed.to_string(),
                it.remaining.to_string(),
            ]
        };
        let rows: Vec<_> = list.view.items.iter().map(row).collect();
        let head = ["backfill", "state", "from", "to", "fires", "succeeded", "failed", "remaining"];
        print(&head, &rows)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn show(api: &Api, backfill: Answer<BackfillView>) -> Done {
    if api.json {
        print_json(&backfill.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let it = backfill.view;
    let active: Vec<_> = it.active.iter().map(ToString::to_string).collect();
    print_fields(&[
        ("backfill", it.backfill_id),
        ("state", shown(&it.state)),
        ("from", shown(&it.from)),
        ("to", shown(&it.to)),
        ("fires", it.fires.to_string()),
        ("already ran", it.already_ran.to_string()),
        ("succeeded", it.succeeded.to_string()),
        ("failed", it.failed.to_string()),
        ("skipped", it.skipped.to_string()),
        ("remaining", it.remaining.to_string()),
        ("under way", active.join(" ")),
    ])?;
    Ok(ExitCode::SUCCESS)
}

impl Ledger {
    pub(super) async fn run(self, api: Api) -> Done {
        let path = ["schedules", &self.schedule_id, "ledger"];
        let query = [("from", self.from), ("to", self.to)];
        let ledger = api.get::<LedgerView>(&path, &query).await?;
        if api.json {
            print_json(&ledger.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        let it = ledger.view;
        print_fields(&[
            ("from", shown(&it.from)),
            ("to", shown(&it.to)),
            ("expected", it.expected.to_string()),
        ])?;
        let reasons = it.by_reason.iter().map(|(reason, count)| (reason, count, ""));
        let extra = it.extra.iter().map(|(reason, count)| (reason, count, "besides"));
        let rows: Vec<_> = reasons
            .chain(extra)
            .map(|(reason, count, besides)| {
                vec![reason.clone(), count.to_string(), besides.to_owned()]
            })
            .collect();
        print(&["became", "fires", ""], &rows)?;
        print_fields(&[("unexplained", it.unexplained_count.to_string())])?;
        let row = |it: &Unexplained| vec![shown(&it.run_at), shown(&it.why)];
        if !it.unexplained.is_empty() {
            let rows: Vec<_> = it.unexplained.iter().map(row).collect();
            print(&["fire", "why"], &rows)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Changes {
    pub(super) async fn run(self, api: Api) -> Done {
        let path = ["schedules", &self.schedule_id, "changes"];
        let list = api.all::<ChangeView>(&path, &[], self.limit).await?;
        list.tell_rest();
        if api.json {
            list.print_json()?;
            return Ok(ExitCode::SUCCESS);
        }
        let row = |item: &Answer<ChangeView>| {
            let it = &item.view;
            let changes = it.changes.iter();
            let changes = changes.map(|it| format!("{}: {} -> {}", it.field, it.old, it.new));
            let run = it.run_id.iter().map(ToString::to_string);
            let what: Vec<_> = run.chain(changes).collect();
            vec![
                shown(&it.at),
                it.by.clone(),
                shown(&it.verb),
                it.revision.to_string(),
                what.join(", "),
            ]
        };
        let rows: Vec<_> = list.items.iter().map(row).collect();
        print(&["at", "by", "did", "revision", "what"], &rows)?;
        Ok(ExitCode::SUCCESS)
    }
}
