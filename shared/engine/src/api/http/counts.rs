//! Counts over many schedules: statistics and the overview.

use super::answer::Answer;
use super::problem::Routed;
use super::request::Request;
use super::schedules::whose;
use crate::api::overview;
use crate::api::stats;
use crate::app::App;

pub(super) async fn stats(app: &App, request: &Request) -> Routed {
    let whose = whose(request, None)?;
    Ok(Answer::json(200, &stats::overall(app, request.caller()?, &whose).await?))
}

pub(super) async fn overview(app: &App, request: &Request) -> Routed {
    Ok(Answer::json(200, &overview::overview(app, request.caller()?).await?))
}
