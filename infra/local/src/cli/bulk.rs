//! `belfry schedules bulk`: pauses or resumes many schedules over the API.

use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::client::{Api, Done, Failure};
use super::definition::words_of;
use super::table::plain;
use super::{print_json, print_line};

#[derive(Args)]
pub(super) struct Bulk {
    /// What to do with each schedule
    #[arg(value_parser = ["pause", "resume"])]
    action: String,
    /// Only schedules with this tag (KEY), or with this tag and value (KEY:VALUE)
    #[arg(long, value_name = "TAG[:VALUE]", required_unless_present = "workflow")]
    tag: Option<String>,
    /// Only schedules of this workflow
    #[arg(long, value_name = "ID")]
    workflow: Option<String>,
    /// Reason of a pause, kept with the schedules
    #[arg(long)]
    note: Option<String>,
    /// Catch-up policy of a resume; default each schedule's own
    #[arg(long, value_name = "POLICY", value_parser = words_of("catchup_policy"))]
    catchup: Option<String>,
    /// Only count the schedules
    #[arg(long)]
    dry_run: bool,
}

/// What a call of a bulk change did.
#[derive(Deserialize)]
struct BulkView {
    matched: u64,
    changed: u64,
    failed: Vec<BulkFailure>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct BulkFailure {
    schedule_id: String,
    message: String,
}

impl Bulk {
    /// Changes a number of schedules in each call until none is left.
    pub(super) async fn run(self, api: Api) -> Done {
        let (mut matched, mut changed, mut failed) = (0, 0, Vec::new());
        let mut cursor: Option<String> = None;
        loop {
            let body = json!({
                "action": self.action, "tag": self.tag, "workflow_id": self.workflow,
                "note": self.note, "catchup": self.catchup, "dry_run": self.dry_run,
                "cursor": cursor,
            });
            let answer = api.post::<BulkView>(&["schedules", "bulk"], &body).await?.view;
            (matched, changed) = (matched + answer.matched, changed + answer.changed);
            failed.extend(answer.failed);
            if answer.next_cursor.is_none() {
                break;
            }
            if answer.next_cursor == cursor {
                let problem = "the schedules were not all looked at: the API does not go on";
                return Err(Failure::Broken(problem.to_owned()));
            }
            cursor = answer.next_cursor;
        }
        let code = if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        if api.json {
            let failed: Vec<_> = failed
                .iter()
                .map(|it| json!({"schedule_id": it.schedule_id, "message": it.message}))
                .collect();
            print_json(&json!({
                "matched": matched, "changed": changed, "failed": failed, "dry_run": self.dry_run,
            }))?;
            return Ok(code);
        }
        let would = if self.dry_run { "would be " } else { "" };
        print_line(&format!("{matched} matched, {changed} {would}{}d", self.action))?;
        for BulkFailure { schedule_id, message } in &failed {
            print_line(&plain(&format!("{schedule_id}: {message}")))?;
        }
        Ok(code)
    }
}
