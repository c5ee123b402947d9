//! Changes of a definition, and what they do to fires already on their way.
//!
//! An acknowledged change is obeyed: before it is acknowledged, every run that has not launched is
//! either confirmed under the new definition or cancelled by it. A launcher that judged by the old
//! definition then loses its claim, and one that reads the clock later sees the new one.

use belfry_core::change::differences;
use belfry_core::definition::{Definition, MAX_PAYLOAD};
use belfry_core::id::{ScheduleId, SetName, WorkflowId};
use belfry_core::instant::{self, Instant};
use belfry_core::invalid::Invalid;
use belfry_core::schedule::{Catchup, Clock, Spec};
use belfry_core::view;
use belfry_core::workflow::EVERYBODY;
use chrono::Duration;
use serde_json::{Value, json};
use tracing::info;

use super::backfill::cancel_all;
use super::declare::{Membership, check_member, membership, moved};
use super::follow::{links, newly_followed};
use super::make::{Birth, make};
use super::settle::{catch_up, emit_overdue, emit_soon, meet_unended, settle_unlaunched};
use super::{Caller, Refusal};
use crate::app::App;
use crate::events::Event;
use crate::store::{Change, Edit, Saved, Stored};

/// Writers without `If-Match` start over this often when they meet another.
pub(super) const TRIES: usize = 5;

/// What a change is for.
#[derive(Clone)]
pub(super) struct Intent {
    /// Its word in the change log.
    pub(super) verb: &'static str,
    /// Why the schedule is paused, if it is afterwards.
    pub(super) note: Option<String>,
    /// When that pause ends by itself.
    pub(super) until: Option<Instant>,
    /// When it counts from, if not from now.
    pub(super) since: Option<Instant>,
    /// How a resume catches up, if not by the schedule's own policy.
    pub(super) catchup: Option<Catchup>,
    /// What becomes of its membership in a set.
    pub(super) membership: Membership,
}

impl Intent {
    pub(super) fn new(verb: &'static str, note: Option<String>) -> Intent {
        Intent { verb, note, until: None, since: None, catchup: None, membership: Membership::Keep }
    }
}

/// The answer to a save.
pub struct Saving {
    /// Whether the schedule is new.
    pub created: bool,
    /// It, as the API shows it.
    pub schedule: Value,
    /// Its revision.
    pub revision: u64,
}

/// Makes a schedule or replaces its definition; the same call again changes nothing.
pub async fn put(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    body: &Value,
    if_match: Option<u64>,
) -> Result<Saving, Refusal> {
    let definition = read(app, body, id)?;
    for _ in 0..TRIES {
        let saved = match app.store.schedule(id).await? {
            Stored::Schedule(both) => {
                let (clock, spec) = owned(*both, caller)?;
                check_revision(&clock, if_match)?;
                let intent = Intent {
                    until: spec.pause_until,
                    ..Intent::new("updated", spec.pause_note.clone())
                };
                change(app, caller, clock, spec, definition.clone(), intent).await
            }
            _ if if_match.is_some() => return Err(Refusal::Stale { current: 0 }),
            free => make(app, caller, id, definition.clone(), Birth::under(free)).await,
        };
        match saved {
            Err(Refusal::Stale { .. }) if if_match.is_none() => {}
            saved => return saved,
        }
    }
    Err(crowded())
}

/// Merges a patch into a definition; `null` clears a field.
pub async fn patch(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    body: &Value,
    if_match: Option<u64>,
) -> Result<Saving, Refusal> {
    check_size(payload(body))?;
    let house = &app.settings.house;
    let edit = |old: &Definition| old.patched(body, id, house);
    alter(app, caller, id, if_match, Intent::new("updated", None), edit).await
}

/// Deletes a schedule: after this returns, nothing of it launches. Its history stays.
pub async fn delete(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    if_match: Option<u64>,
) -> Result<(), Refusal> {
    remove(app, caller, id, if_match, None).await
}

/// Deletes a schedule; for a set, only if it is its own.
pub(super) async fn remove(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    if_match: Option<u64>,
    by: Option<&SetName>,
) -> Result<(), Refusal> {
    for _ in 0..TRIES {
        let (clock, spec) = load(app, caller, id).await?;
        if let Some(set) = by {
            check_member(&clock, &spec, caller, set)?;
        }
        check_revision(&clock, if_match)?;
        let followed = spec.after_schedule_id.as_ref();
        let mut links = links(app, &clock.owner, id, followed, None).await?;
        links.extend(membership(&clock.owner, spec.set.as_ref(), None));
        let now = app.now();
        emit_overdue(app, &clock, now).await?;
        let revision = clock.revision + 1;
        let log = Change { revision, ..entry(&clock, caller, "deleted", now) };
        if app.store.delete_schedule(&clock, &log, &links).await? == Saved::Yes {
            settle_unlaunched(app, &clock, None, revision, now).await?;
            cancel_all(app, id, now).await?;
            info!(schedule_id = %id, by = caller.sub, "deleted");
            return Ok(());
        }
        if if_match.is_some() {
            return Err(Refusal::Stale { current: revision });
        }
    }
    Err(crowded())
}

/// The schedule `id` of this caller.
pub(super) async fn load(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
) -> Result<(Clock, Spec), Refusal> {
    match app.store.schedule(id).await? {
        Stored::Schedule(both) => owned(*both, caller),
        _ => Err(Refusal::NotFound("schedule")),
    }
}

pub(super) fn owned(both: (Clock, Spec), caller: &Caller) -> Result<(Clock, Spec), Refusal> {
    if caller.acts_for(&both.0.owner) { Ok(both) } else { Err(Refusal::NotFound("schedule")) }
}

pub(super) fn crowded() -> Refusal {
    Refusal::Conflict("others keep changing this schedule".to_owned())
}

pub(super) fn check_revision(clock: &Clock, if_match: Option<u64>) -> Result<(), Refusal> {
    match if_match {
        Some(seen) if seen != clock.revision => Err(Refusal::Stale { current: clock.revision }),
        _ => Ok(()),
    }
}

pub(super) fn payload(body: &Value) -> Option<&Value> {
    body.get("payload").or_else(|| body.get("test_payload"))
}

/// A payload must fit the messages and items it travels in.
pub(super) fn check_size(payload: Option<&Value>) -> Result<(), Refusal> {
    match payload {
        Some(payload) if payload.to_string().len() > MAX_PAYLOAD => {
            let message = format!("must be at most {MAX_PAYLOAD} bytes");
            Err(Refusal::TooLarge(Invalid::new("payload", message)))
        }
        _ => Ok(()),
    }
}

pub(super) fn read(app: &App, body: &Value, id: &ScheduleId) -> Result<Definition, Refusal> {
    check_size(payload(body))?;
    Definition::parse(body, id, &app.settings.house).map_err(Refusal::Invalid)
}

/// The version a definition means. A schedule without something to execute it is refused.
/// So is a workflow that is neither the schedule's owner's nor everybody's, unless an admin binds
/// it or it was bound before.
pub(super) async fn resolve_version(
    app: &App,
    caller: &Caller,
    owner: &str,
    definition: &Definition,
    bound: Option<&WorkflowId>,
) -> Result<u32, Refusal> {
    let id = &definition.workflow_id;
    if bound != Some(id) {
        let found = app.store.workflow_owner(id).await?;
        let usable = |has: &String| has == owner || has == EVERYBODY || caller.acts_for(has);
        if !found.as_ref().is_some_and(usable) {
            return Err(Refusal::invalid("workflow_id", format!("workflow {id} does not exist")));
        }
    }
    match definition.version {
        Some(version) => match app.workflow(id, version).await? {
            Some(_) => Ok(version),
            None => {
                Err(Refusal::invalid("version", format!("workflow {id} has no version {version}")))
            }
        },
        None => match app.store.newest_workflow(id).await? {
            Some((version, _)) => Ok(version),
            None => Err(Refusal::invalid("workflow_id", format!("workflow {id} does not exist"))),
        },
    }
}

/// Reads, edits and writes a schedule, again if another writer came between.
pub(super) async fn alter(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    if_match: Option<u64>,
    intent: Intent,
    edit: impl Fn(&Definition) -> Result<Definition, Vec<Invalid>>,
) -> Result<Saving, Refusal> {
    for _ in 0..TRIES {
        let (clock, spec) = load(app, caller, id).await?;
        check_revision(&clock, if_match)?;
        let definition = edit(&Definition::of(&clock, &spec)).map_err(Refusal::Invalid)?;
        // A pause told anew is told whole; any other change leaves the pause as it is.
        let intent = match intent.verb {
            "paused" => intent.clone(),
            _ => {
                Intent { note: spec.pause_note.clone(), until: spec.pause_until, ..intent.clone() }
            }
        };
        match change(app, caller, clock, spec, definition, intent).await {
            Err(Refusal::Stale { .. }) if if_match.is_none() => {}
            saved => return saved,
        }
    }
    Err(crowded())
}

pub(super) async fn change(
    app: &App,
    caller: &Caller,
    old: Clock,
    old_spec: Spec,
    definition: Definition,
    intent: Intent,
) -> Result<Saving, Refusal> {
    let now = app.now();
    let bound = Some(&old.workflow_id);
    let version = resolve_version(app, caller, &old.owner, &definition, bound).await?;
    let definition = Definition { version: Some(version), ..definition };
    let note = intent.note.filter(|_| definition.paused);
    let until = intent.until.filter(|_| definition.paused);
    let since = intent.since.unwrap_or(now);
    let before = Definition::of(&old, &old_spec);
    let same_pause = note == old_spec.pause_note && until == old_spec.pause_until;
    let set = match intent.membership {
        Membership::Keep => old_spec.set.clone(),
        Membership::Of(set) => Some(set),
        Membership::None => None,
    };
    if definition == before && same_pause && set == old_spec.set {
        // It may be a second try of a change that stood, and whose first try ended before this.
        settle_unlaunched(app, &old, Some(&old), old.revision, now).await?;
        if let Some(followed) = &old_spec.after_schedule_id {
            meet_unended(app, followed, now).await?;
        }
        return Ok(saving(false, &old, &old_spec, now));
    }
    let followed = old_spec.after_schedule_id.as_ref();
    let mut links = links(app, &old.owner, &old.schedule_id, followed, Some(&definition)).await?;
    links.extend(membership(&old.owner, old_spec.set.as_ref(), set.as_ref()));
    let moves = definition.timing != old.timing || definition.paused != old.paused;
    let policy = intent.catchup.unwrap_or(definition.policies.catchup_policy);
    let resumes = old.paused && !definition.paused && definition.timing == old.timing;
    let position = match old.next_run_at {
        // A paused clock stands at the first fire it has missed.
        Some(first) if resumes && policy != Catchup::None => {
            since.min(first - Duration::seconds(1))
        }
        _ if moves => emit_overdue(app, &old, now).await?.min(since),
        _ => now,
    };
    let id = old.schedule_id.clone();
    let revision = old.revision + 1;
    let clock = Clock {
        revision,
        next_run_at: match moves {
            true => first_fire(&definition, &id, old.created_at, position),
            false => old.next_run_at,
        },
        timing: definition.timing.clone(),
        policies: definition.policies.clone(),
        workflow_id: definition.workflow_id.clone(),
        version,
        paused: definition.paused,
        // The tick says so again, if it is so.
        zone_lost: old.zone_lost && definition.timing.timezone == old.timing.timezone,
        ..old.clone()
    };
    let spec = Spec { set, pause_until: until, ..spec(definition, revision, note, now) };
    let mut changes = differences(Some(&before), &Definition::of(&clock, &spec));
    changes.extend(moved(old_spec.set.as_ref(), spec.set.as_ref()));
    let log = Change { changes, ..entry(&clock, caller, intent.verb, since) };
    let edit = if moves { Edit::MovePosition } else { Edit::KeepPosition };
    match app.store.edit_schedule(old.revision, &clock, &spec, &log, edit, &links).await? {
        Saved::Stale => Err(Refusal::Stale { current: revision }),
        Saved::Yes => {
            settle_unlaunched(app, &clock, Some(&clock), revision, now).await?;
            if let Some(followed) = newly_followed(&links) {
                meet_unended(app, followed, now).await?;
            }
            info!(schedule_id = %id, by = caller.sub, verb = intent.verb, revision, "changed");
            if clock.paused && !old.paused {
                let detail = json!({
                    "schedule_id": id, "by": caller.sub, "note": spec.pause_note,
                    "until": spec.pause_until.map(instant::text),
                });
                app.events.tell(&[Event { kind: "schedule.paused", detail }]).await;
            }
            if resumes && policy != Catchup::None {
                catch_up(app, &clock, policy, now - since, now).await?;
            } else if moves {
                emit_soon(app, &clock, now).await;
            }
            Ok(saving(false, &clock, &spec, now))
        }
    }
}

pub(super) fn first_fire(
    definition: &Definition,
    id: &ScheduleId,
    created_at: Instant,
    now: Instant,
) -> Option<Instant> {
    let readable = definition.timing.read(id, created_at).ok()?;
    definition.timing.next_after(&readable.timetable, now)
}

pub(super) fn spec(
    definition: Definition,
    revision: u64,
    pause_note: Option<String>,
    now: Instant,
) -> Spec {
    Spec {
        name: definition.name,
        description: definition.description,
        tags: definition.tags,
        payload: definition.payload,
        inject_metadata: definition.inject_metadata,
        max_runtime_s: definition.max_runtime_s,
        pause_after_failures: definition.pause_after_failures,
        after_schedule_id: definition.after_schedule_id,
        set: None,
        pause_note,
        pause_until: None,
        revision,
        updated_at: now,
    }
}

pub(super) fn entry(clock: &Clock, caller: &Caller, verb: &str, now: Instant) -> Change {
    Change {
        by: caller.sub.clone(),
        owner: Some(clock.owner.clone()),
        at: now,
        origin: caller.origin.clone(),
        verb: verb.to_owned(),
        run_id: None,
        revision: clock.revision,
        timing: clock.timing.clone(),
        paused: clock.paused,
        changes: Vec::new(),
    }
}

pub(super) fn saving(created: bool, clock: &Clock, spec: &Spec, now: Instant) -> Saving {
    Saving { created, schedule: view::schedule(clock, spec, now), revision: clock.revision }
}
