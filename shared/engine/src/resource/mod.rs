//! The custom resource: schedules and workflows of CloudFormation stacks.
//!
//! A stack whose request is not answered waits for an hour. So every request is answered: if its
//! properties are invalid, if a service fails, if this function panics, and before the time of the
//! invocation is over. Only an answer that could not be delivered fails the invocation. Lambda then
//! sends the event again, and what was done before is found done.

mod post;
mod schedule;
mod workflow;

use std::fmt::Display;
use std::panic::AssertUnwindSafe;

use belfry_core::declare::resource::{Action, Answer, Kind, Request, reason};
use belfry_core::guard::network::Reachable;
use belfry_core::instant::Instant;
use belfry_core::invalid::Invalid;
use belfry_core::schedule::change::Origin;
use chrono::Duration;
use futures::FutureExt;
use futures::future::{Either, select};
use serde_json::{Value, json};
use tracing::{error, info};

use crate::app::App;
use crate::cloud::targets::Guard;
use crate::fault::Handled;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// The time reserved for delivering the answer, with its retries. Work that is not done by then is
/// not waited for.
const ANSWER_TIME: Duration = Duration::seconds(15);

/// The time assumed if the runtime reports no usable deadline.
const DEFAULT_TIME: Duration = Duration::seconds(30);

/// Does what a stack asks for, and answers before `deadline`.
pub(crate) async fn resource(app: &App, event: &Value, deadline: Instant) -> Handled {
    let request = read(event)?;
    // A request that cannot be answered did not come from CloudFormation: nothing is done for it.
    let post = post::admit(app.targets.guard(), &request.response_url)?;
    let answer = answer(app, &request, deadline).await;
    let status = tell(&request, &answer);
    post.deliver(answer.body(&request)).await?;
    Ok(json!({"Status": status}))
}

/// Answers for a function that could not start, so that no stack waits for it.
pub(crate) async fn unavailable(
    problem: &impl Display,
    reachable: &Reachable,
    event: &Value,
) -> Handled {
    let request = read(event)?;
    let guard = Guard::new(reachable, post::TIMEOUT);
    let post = post::admit(&guard, &request.response_url)?;
    let answer = Answer::Failed { reason: format!("Belfry's function cannot start: {problem}") };
    let status = tell(&request, &answer);
    post.deliver(answer.body(&request)).await?;
    Ok(json!({"Status": status}))
}

fn read(event: &Value) -> Result<Request, &'static str> {
    Request::read(event).ok_or("the event is not a request of CloudFormation: no ResponseURL")
}

async fn answer(app: &App, request: &Request, deadline: Instant) -> Answer {
    let until = enough(app.time.now(), deadline);
    let work = AssertUnwindSafe(Box::pin(act(app, request))).catch_unwind();
    match select(Box::pin(work), app.time.sleep_until(until)).await {
        Either::Left((Ok(Ok(done)), _)) => done,
        Either::Left((Ok(Err(refusal)), _)) => Answer::Failed { reason: told(request, &refusal) },
        Either::Left((Err(_), _)) => {
            error!(request_id = request.request_id, "resource request panicked");
            let reason = "Belfry's function failed; its log says more";
            Answer::Failed { reason: reason.to_owned() }
        }
        Either::Right(_) => {
            error!(request_id = request.request_id, "resource request timed out");
            let reason = "Belfry's function ran out of time; try again";
            Answer::Failed { reason: reason.to_owned() }
        }
    }
}

/// When the work must end so that the answer is delivered in time.
fn enough(now: Instant, deadline: Instant) -> Instant {
    let left = deadline - now;
    // No function is called after its deadline: a deadline in the past is not a real one.
    let left = if left > Duration::zero() { left } else { DEFAULT_TIME };
    now + left - ANSWER_TIME.min(left / 2)
}

async fn act(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let action = request.action().map_err(invalid)?;
    match (action, request.kind()) {
        (Action::Delete, Ok(Kind::Schedule)) => schedule::delete(app, request).await,
        // Versions are never deleted, because schedules may use them. A resource of an unknown kind
        // was never created, so there is nothing to delete.
        (Action::Delete, Ok(Kind::Workflow) | Err(_)) => Ok(gone(request)),
        (_, Err(problem)) => Err(invalid(problem)),
        (_, Ok(Kind::Schedule)) => schedule::save(app, request).await,
        (_, Ok(Kind::Workflow)) => workflow::publish(app, request).await,
    }
}

/// The caller that a stack acts for. Anyone who may invoke this function may name any owner.
fn caller(app: &App, request: &Request) -> Result<Caller, Invalid> {
    let owner = request.properties.owner()?;
    Ok(acting_for(owner.as_deref().unwrap_or(&app.settings.resource_owner), request))
}

fn acting_for(owner: &str, request: &Request) -> Caller {
    let stack = format!("CloudFormation {} {}", request.stack_name(), request.logical_id);
    let origin = Some(Origin { ip: None, user_agent: Some(stack) });
    Caller { origin, ..Caller::in_the_name_of(owner) }
}

fn gone(request: &Request) -> Answer {
    Answer::Done { physical_id: request.name_if_failed(), attributes: Default::default() }
}

fn invalid(problem: Invalid) -> Refusal {
    Refusal::Invalid(vec![problem])
}

/// The reason of a failure, for the person who deploys. The text of a fault is for the operator: it
/// goes into the log.
fn told(request: &Request, refusal: &Refusal) -> String {
    match refusal {
        Refusal::Invalid(problems) => reason(problems),
        Refusal::TooLarge(problem) => reason(std::slice::from_ref(problem)),
        Refusal::Fault(fault) => {
            error!(request_id = request.request_id, %fault, "resource request failed");
            "a service that Belfry depends on failed; try again".to_owned()
        }
        refusal => refusal.to_string(),
    }
}

/// Logs the answer to a stack. The properties and the signed URL are not logged.
fn tell(request: &Request, answer: &Answer) -> &'static str {
    let (status, reason) = match answer {
        Answer::Done { .. } => ("SUCCESS", ""),
        Answer::Failed { reason } => ("FAILED", reason.as_str()),
    };
    info!(
        request_id = request.request_id,
        stack = request.stack_name(),
        resource = request.logical_id,
        status,
        reason,
        "resource request answered"
    );
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_in_time_for_the_answer() {
        let now: Instant = "2026-01-01T00:00:00Z".parse().unwrap();
        for (given, worked) in [(60, 45), (30, 15), (10, 5), (0, 15), (-1, 15)] {
            let until = enough(now, now + Duration::seconds(given));
            assert_eq!(until - now, Duration::seconds(worked), "of {given} s");
        }
    }
}
