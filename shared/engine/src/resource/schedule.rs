//! A schedule of a stack: a member of the set that belongs to the stack's resource.

use belfry_core::declare::resource::{Answer, Request, property};
use belfry_core::id::{ScheduleId, SetName};
use belfry_core::schedule::definition::Definition;
use chrono::Duration;
use serde_json::{Map, Value};
use tracing::info;

use super::{acting_for, caller, gone};
use crate::app::App;
use crate::cloud::store::Stored;
use crate::schedules::caller::Caller;
use crate::schedules::change::Saving;
use crate::schedules::declare;
use crate::schedules::refusal::Refusal;

/// The longest wait for the rate limit: a stack creates many schedules at once, so some must wait.
const MAX_WAIT: Duration = Duration::seconds(5);
/// How often one schedule waits for the rate limit.
const MAX_WAITS: usize = 5;

/// The attributes that `Fn::GetAtt` returns. They leave out what changes between two deployments,
/// because an attribute is as old as the answer that it came with. They leave out what may be
/// secret.
const ATTRIBUTES: [&str; 5] = ["schedule_id", "workflow_id", "version", "revision", "set"];

/// Creates or changes the schedule to what the properties say.
pub(super) async fn save(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let (body, mut problems) = request.properties.schedule();
    let id = request.schedule_id().map_err(|problem| problems.push(problem));
    let caller = caller(app, request).map_err(|problem| problems.push(problem));
    let set = request.set().map_err(|problem| problems.push(problem));
    let (Ok(id), Ok(caller), Ok(set), []) = (&id, caller, set, problems.as_slice()) else {
        // Parsed under any id, so that all problems are reported at once.
        let name = id.or_else(|()| "unnamed".parse()).map_err(|_| Refusal::Invalid(vec![]))?;
        let judged = Definition::parse(&body, &name, &app.settings.house);
        let mut told = judged.err().unwrap_or_default();
        told.append(&mut problems);
        return Err(Refusal::Invalid(told));
    };
    let saving = declare(app, &caller, &set, id, &body).await?;
    if let Some(left) = request.left_behind(id) {
        withdraw(app, request, &set, &left).await?;
    }
    Ok(Answer::Done { physical_id: id.to_string(), attributes: attributes(&saving.schedule) })
}

/// Deletes the schedule if this resource made it. There is nothing to do if it does not exist, or
/// if it does not belong to this resource.
pub(super) async fn delete(app: &App, request: &Request) -> Result<Answer, Refusal> {
    // Without a valid set name nothing was ever created.
    let Ok(set) = request.set() else { return Ok(gone(request)) };
    if let Some(id) = request.doomed() {
        withdraw(app, request, &set, &id).await?;
        if let Some(other) = request.never_answered()
            && matches!(app.store.schedule(&id).await?, Stored::Nothing)
        {
            withdraw(app, request, &set, &other).await?;
        }
    }
    Ok(gone(request))
}

async fn declare(
    app: &App,
    caller: &Caller,
    set: &SetName,
    id: &ScheduleId,
    body: &Value,
) -> Result<Saving, Refusal> {
    let mut turns = 0;
    loop {
        match declare::declare(app, caller, set, id, body, None).await {
            Err(Refusal::TooMany { wait, .. }) if wait <= MAX_WAIT && turns < MAX_WAITS => {
                turns += 1;
                app.time.sleep_until(app.time.now() + wait).await;
            }
            saved => return saved,
        }
    }
}

/// Deletes a schedule if it belongs to this set, whichever owner the properties name.
async fn withdraw(
    app: &App,
    request: &Request,
    set: &SetName,
    id: &ScheduleId,
) -> Result<(), Refusal> {
    let owner = match app.store.schedule(id).await? {
        Stored::Schedule(found) if found.spec.set.as_ref() == Some(set) => found.clock.owner,
        _ => {
            info!(schedule_id = %id, %set, "schedule not deleted: it does not belong to this resource");
            return Ok(());
        }
    };
    match declare::withdraw(app, &acting_for(&owner, request), set, id, None).await {
        // Another delivery of this request deleted it first.
        Err(Refusal::NotFound(_)) => Ok(()),
        done => done,
    }
}

fn attributes(schedule: &Value) -> Map<String, Value> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let owner = ("Owner".to_owned(), schedule["user_id"].clone());
    let rest = ATTRIBUTES.iter().map(|field| (property(field), text(&schedule[*field]).into()));
    rest.chain([owner]).collect()
}
