//! Carrying out the plan of a set: first workflow versions, then schedules (a schedule before those
//! that follow it), then deletes. Deletes are made only if everything else was done, so that no
//! schedule is deleted in favour of one that could not be created.

use belfry_core::declare::set::declaration::{Declaration, Declared};
use belfry_core::declare::set::plan::{Action, Item};
use belfry_core::declare::set::view;
use belfry_core::id::{ScheduleId, SetName};
use belfry_core::invalid::Invalid;
use chrono::Duration;
use futures::{FutureExt, StreamExt, stream};
use tracing::error;

use super::Version;
use crate::app::App;
use crate::schedules::caller::Caller;
use crate::schedules::declare::{declare, withdraw};
use crate::schedules::refusal::Refusal;
use crate::schedules::workflows::publish;

/// Schedules changed in one call: each change settles its fires, while the caller waits. The next
/// call makes the rest.
const MAX_CHANGES: usize = 200;
/// Changes made concurrently.
const CONCURRENCY: usize = 8;
/// No change begins later than this after the call began: gateways time out after half a minute.
const MAX_DURATION: Duration = Duration::seconds(15);

/// The outcome of one step of a plan.
pub(super) enum Outcome {
    /// The step was done.
    Done,
    /// The step needed no change, or was refused in the plan.
    Nothing,
    /// The schedule has changed since the plan was made; nothing was done.
    Conflict(String),
    /// The step failed.
    Failed(String),
    /// The step must wait: its owner has created too many schedules.
    Wait {
        /// Which limit was reached.
        why: String,
        /// When to try again.
        seconds: u64,
    },
    /// The step was not reached in this call.
    Pending(&'static str),
}

impl Outcome {
    /// As the API shows it.
    pub(super) fn word(&self) -> view::Outcome {
        match self {
            Outcome::Done => view::Outcome::Done,
            Outcome::Nothing => view::Outcome::Nothing,
            Outcome::Conflict(_) => view::Outcome::Conflict,
            Outcome::Failed(_) => view::Outcome::Failed,
            Outcome::Wait { .. } | Outcome::Pending(_) => view::Outcome::Pending,
        }
    }

    /// When to try again, if that is known.
    pub(super) fn retry_after_s(&self) -> Option<u64> {
        match self {
            Outcome::Wait { seconds, .. } => Some(*seconds),
            _ => None,
        }
    }

    pub(super) fn message(&self) -> Option<&str> {
        match self {
            Outcome::Done | Outcome::Nothing => None,
            Outcome::Pending(why) => Some(why),
            Outcome::Conflict(why) | Outcome::Failed(why) | Outcome::Wait { why, .. } => Some(why),
        }
    }

    fn of<T>(result: Result<T, Refusal>) -> Outcome {
        match result {
            Ok(_) => Outcome::Done,
            Err(Refusal::Stale { current: 0 }) => {
                Outcome::Conflict("was deleted after the plan was made".to_owned())
            }
            Err(Refusal::Stale { current }) => {
                Outcome::Conflict(format!("is at revision {current}, changed after the plan"))
            }
            Err(Refusal::TooMany { why, wait }) => {
                let seconds = u64::try_from(wait.num_seconds()).unwrap_or(0) + 1;
                Outcome::Wait { why, seconds }
            }
            Err(Refusal::Invalid(problems)) => {
                let texts: Vec<_> = problems.iter().map(Invalid::to_string).collect();
                Outcome::Failed(texts.join("; "))
            }
            // The text of a fault is for the operator: it goes into the log, not to the caller.
            Err(Refusal::Fault(fault)) => {
                error!(%fault, "set change failed");
                Outcome::Failed("something behind the API did not answer; try again".to_owned())
            }
            Err(refusal) => Outcome::Failed(refusal.to_string()),
        }
    }
}

/// Carries out a plan. Answers with the outcomes of the workflow versions and of the items.
pub(super) async fn carry_out(
    app: &App,
    caller: &Caller,
    set: &SetName,
    declaration: &Declaration,
    workflows: &[Version<'_>],
    items: &[Item],
) -> (Vec<Outcome>, Vec<Outcome>) {
    let published = publish_all(app, caller, workflows).await;
    let mut outcomes: Vec<_> = items.iter().map(|item| before(declaration, item)).collect();
    let deadline = app.now() + MAX_DURATION;
    let mut room = MAX_CHANGES;
    let last = items.iter().map(|item| item.wave).max().unwrap_or(0);
    for wave in 0..=last {
        let saves = |item: &Item| {
            item.wave == wave && matches!(item.action, Action::Create | Action::Update)
        };
        let places = to_do(items, &outcomes, saves);
        let places: Vec<_> = places.into_iter().take(room).collect();
        room -= places.len();
        let save = |place: &usize| {
            let item = &items[*place];
            let declared = item.place.map(|place| &declaration.schedules[place]);
            save(app, caller, set, item, declared, deadline).boxed()
        };
        settle(&mut outcomes, &places, places.iter().map(save).collect()).await;
    }
    let is_delete = |item: &Item| item.action == Action::Delete;
    let lost = |outcome: &Outcome| matches!(outcome, Outcome::Conflict(_) | Outcome::Failed(_));
    let waits = |outcome: &Outcome| matches!(outcome, Outcome::Pending(_) | Outcome::Wait { .. });
    let others = || items.iter().zip(&outcomes).filter(|(item, _)| !is_delete(item));
    let is_refused = items.iter().any(|item| item.action == Action::Refused)
        || workflows.iter().any(|version| version.refused.is_some());
    let is_lost =
        is_refused || published.iter().any(lost) || others().any(|(_, outcome)| lost(outcome));
    let is_waiting = others().any(|(_, outcome)| waits(outcome));
    let deletes = to_do(items, &outcomes, is_delete);
    if is_lost {
        for place in deletes {
            outcomes[place] = Outcome::Failed("not deleted: another change failed".into());
        }
    } else if !is_waiting {
        let places: Vec<_> = deletes.into_iter().take(room).collect();
        let delete = |place: &usize| {
            let item = &items[*place];
            delete(app, caller, set, &item.schedule_id, item.revision, deadline).boxed()
        };
        settle(&mut outcomes, &places, places.iter().map(delete).collect()).await;
    }
    (published, outcomes)
}

/// Publishes the workflow versions that are new. Answers with the outcome of each version.
async fn publish_all(app: &App, caller: &Caller, workflows: &[Version<'_>]) -> Vec<Outcome> {
    let mut published = Vec::with_capacity(workflows.len());
    for version in workflows {
        let declared = version.declared;
        published.push(match version.refused.is_none() && version.is_new {
            false => Outcome::Nothing,
            true => {
                let (id, body) = (&declared.workflow_id, &declared.body);
                Outcome::of(publish(app, caller, id, declared.version, body).await)
            }
        });
    }
    published
}

/// The outcome of an item before anything is done.
fn before(declaration: &Declaration, item: &Item) -> Outcome {
    if !item.action.changes() {
        return Outcome::Nothing;
    }
    match declaration.planned.get(&item.schedule_id) {
        Some(planned) if *planned != item.revision => {
            let (from, is) = (planned, item.revision);
            Outcome::Conflict(format!("was planned from revision {from} and is at {is}"))
        }
        _ => Outcome::Pending("not reached in this call; apply again"),
    }
}

fn to_do(items: &[Item], outcomes: &[Outcome], wanted: impl Fn(&Item) -> bool) -> Vec<usize> {
    let open = |place: &usize| matches!(outcomes[*place], Outcome::Pending(_));
    (0..items.len()).filter(|place| wanted(&items[*place])).filter(open).collect()
}

async fn settle(
    outcomes: &mut [Outcome],
    places: &[usize],
    work: Vec<futures::future::BoxFuture<'_, Outcome>>,
) {
    let became: Vec<_> = stream::iter(work).buffered(CONCURRENCY).collect().await;
    for (place, outcome) in places.iter().zip(became) {
        outcomes[*place] = outcome;
    }
}

async fn save(
    app: &App,
    caller: &Caller,
    set: &SetName,
    item: &Item,
    declared: Option<&Declared>,
    deadline: belfry_core::instant::Instant,
) -> Outcome {
    let Some(declared) = declared else { return Outcome::Nothing };
    if app.now() > deadline {
        return Outcome::Pending("not reached in this call; apply again");
    }
    let (id, body) = (&item.schedule_id, &declared.body);
    Outcome::of(declare(app, caller, set, id, body, Some(item.revision)).await)
}

async fn delete(
    app: &App,
    caller: &Caller,
    set: &SetName,
    id: &ScheduleId,
    revision: u64,
    deadline: belfry_core::instant::Instant,
) -> Outcome {
    if app.now() > deadline {
        return Outcome::Pending("not reached in this call; apply again");
    }
    match withdraw(app, caller, set, id, Some(revision)).await {
        // Another caller deleted the schedule first.
        Err(Refusal::NotFound(_)) => Outcome::Done,
        deleted => Outcome::of(deleted),
    }
}
