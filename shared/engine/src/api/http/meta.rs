//! The API about itself: health, its document, and what a person may choose from.

use belfry_core::cron::tzdb_version;
use belfry_core::vocabulary::vocabulary;
use schemars::JsonSchema;
use serde::Serialize;

use super::answer::Answer;
use super::presets::presets;
use super::problem::Routed;
use super::request::Request;
use super::timezones::timezones;
use crate::app::App;

/// That the API answers, and what it is made of.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// Version of Belfry.
    version: &'static str,
    /// Release of the time zone data.
    tzdb: &'static str,
}

pub(super) async fn health(_: &App, _: &Request) -> Routed {
    let version = env!("CARGO_PKG_VERSION");
    Ok(Answer::json(200, &Health { status: "ok", version, tzdb: tzdb_version() }))
}

pub(super) async fn list_presets(_: &App, _: &Request) -> Routed {
    Ok(Answer::json(200, &presets()))
}

pub(super) async fn list_timezones(app: &App, _: &Request) -> Routed {
    Ok(Answer::json(200, &timezones(&app.settings.house, app.now())))
}

pub(super) async fn show_vocabulary(app: &App, _: &Request) -> Routed {
    Ok(Answer::json(200, &vocabulary(&app.settings.house)))
}
