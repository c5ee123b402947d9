//! Creating schedules.

use std::collections::BTreeSet;

use belfry_core::id::{ScheduleId, SetName};
use belfry_core::instant::{self, Instant};
use belfry_core::schedule::change::{Verb, differences};
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::{Clock, Schedule, Spec};
use chrono::Duration;
use serde_json::Value;
use tracing::info;

use super::caller::Caller;
use super::change::{Saving, entry, first_fire, saving, spec};
use super::follow::{links, newly_followed};
use super::input::{check_destination, read};
use super::lookup::resolve_version;
use super::membership::{membership, moved};
use super::refusal::Refusal;
use super::settle::{emit_soon, invalidate_prereads};
use crate::app::App;
use crate::cloud::store::{Change, Created, Spent, Stored};

/// The `Retry-After` of an owner at the limit: the owner may delete a schedule at any time, and
/// asking every minute does no harm.
const RETRY_WHEN_FULL: Duration = Duration::minutes(1);

/// Creates a schedule under an id that is free.
pub(crate) async fn create(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    body: &Value,
) -> Result<Saving, Refusal> {
    let (definition, owner) = read(app, caller, body, id)?;
    let owner = owner.unwrap_or(&caller.sub);
    let taken = || Refusal::Conflict(format!("schedule {id} already exists"));
    let free = match app.store.schedule(id).await? {
        Stored::Schedule(_) => return Err(taken()),
        free => free,
    };
    match make(app, caller, owner, id, definition, Birth::under(free)).await {
        Err(Refusal::Stale { .. }) => Err(taken()),
        made => made,
    }
}

/// What a new schedule takes over from a deleted one with its id, and the set it is created in.
pub(crate) struct Birth {
    /// The revision that the new schedule begins with.
    revision: u64,
    /// The schedules that follow the schedule of this id.
    then: BTreeSet<ScheduleId>,
    /// The set that the schedule belongs to.
    set: Option<SetName>,
}

impl Birth {
    /// Continues the revisions of a deleted schedule.
    pub(crate) fn under(free: Stored) -> Birth {
        let (revision, then) = match free {
            Stored::Deleted { revision, then } => (revision + 1, then),
            _ => (1, BTreeSet::new()),
        };
        Birth { revision, then, set: None }
    }

    pub(crate) fn of(self, set: &SetName) -> Birth {
        Birth { set: Some(set.clone()), ..self }
    }
}

/// Creates a schedule of `owner`.
pub(crate) async fn make(
    app: &App,
    caller: &Caller,
    owner: &str,
    id: &ScheduleId,
    definition: Definition,
    Birth { revision, then, set }: Birth,
) -> Result<Saving, Refusal> {
    let now = app.now();
    check_destination(app, None, &definition.options)?;
    let version = resolve_version(app, caller, owner, &definition, None).await?;
    let mut links = links(app, owner, id, None, Some(&definition)).await?;
    links.extend(membership(owner, None, set.as_ref()));
    let clock = Clock { revision, version, then, ..new_clock(id, owner, &definition, now) };
    let schedule = Schedule { clock, spec: Spec { set, ..spec(definition, revision, None, now) } };
    let Schedule { clock, spec } = &schedule;
    let mut changes = differences(None, &Definition::of(clock, spec));
    changes.extend(moved(None, spec.set.as_ref()));
    let log = Change { changes, ..entry(clock, caller, Verb::Created, now) };
    let quota = &app.settings.quota;
    if let Spent::Wait(wait) = app.store.spend_creation(owner, quota, now).await? {
        let why = format!("at most {} schedules can be created in a minute", quota.per_minute);
        return Err(Refusal::TooMany { why, wait });
    }
    match app.store.create_schedule(&schedule, &log, quota.schedules, &links).await? {
        Created::Taken => Err(Refusal::Stale { current: revision }),
        Created::Full => {
            let most = quota.schedules;
            let why =
                format!("{owner} has {most} schedules, the most there may be; delete one first");
            Err(Refusal::TooMany { why, wait: RETRY_WHEN_FULL })
        }
        Created::Yes => {
            info!(schedule_id = %id, owner, by = caller.sub, "schedule created");
            if let Some(followed) = newly_followed(&links) {
                invalidate_prereads(app, followed, now).await?;
            }
            emit_soon(app, clock, now).await;
            saving(app, true, &schedule, now).await
        }
    }
}

/// The clock of a new schedule, before anything has run.
fn new_clock(id: &ScheduleId, owner: &str, definition: &Definition, now: Instant) -> Clock {
    let created_at = instant::whole_second(now);
    Clock {
        schedule_id: id.clone(),
        owner: owner.to_owned(),
        revision: 1,
        next_run_at: first_fire(definition, id, created_at, now),
        timing: definition.timing.clone(),
        policies: definition.policies.clone(),
        workflow_id: definition.workflow_id.clone(),
        version: definition.version.unwrap_or_default(),
        paused: definition.paused,
        zone_lost: false,
        created_at,
        last_run_at: None,
        last_run_id: None,
        active: BTreeSet::new(),
        then: BTreeSet::new(),
        last_claimed: None,
        failing: false,
    }
}
