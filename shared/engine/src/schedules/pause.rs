//! Pauses: how they begin, how they end (by hand or by themselves), and what an end would catch up.

use belfry_core::fire::catchup::{self, ResumePreview};
use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::schedule::change::Verb;
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::{Catchup, Clock, Policies, Schedule};
use chrono::Duration;

use super::caller::Caller;
use super::change::{Intent, Saving, change};
use super::lookup::load;
use super::refusal::Refusal;
use super::save::alter;
use crate::app::App;
use crate::cloud::store::Stored;

/// Pauses a schedule. After this returns, no fire of it launches until it is resumed or until the
/// time `until`.
pub(crate) async fn pause(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    note: Option<String>,
    until: Option<Instant>,
    if_match: Option<u64>,
) -> Result<Saving, Refusal> {
    if until.is_some_and(|until| until <= app.now()) {
        return Err(Refusal::invalid("until", "must be in the future"));
    }
    let edit = |_: &Clock, old: &Definition| Ok(Definition { paused: true, ..old.clone() });
    let intent = Intent { note, until, ..Intent::new(Verb::Paused) };
    alter(app, caller, id, if_match, intent, edit).await
}

/// Ends the pause of a schedule whose `pause_until` has come. The schedule's fires count from that
/// time, though the tick that ends the pause comes a little later. `None`: the pause does not end
/// now.
pub(crate) async fn end_pause(
    app: &App,
    id: &ScheduleId,
    now: Instant,
) -> Result<Option<Saving>, Refusal> {
    let Stored::Schedule(schedule) = app.store.schedule(id).await? else { return Ok(None) };
    let Schedule { clock, spec } = &*schedule;
    let Some(until) = spec.pause_until.filter(|until| clock.paused && *until <= now) else {
        return Ok(None);
    };
    // In the owner's name; the time of the log entry shows that no person asked for it.
    let owner = Caller::in_the_name_of(&clock.owner);
    let definition = Definition { paused: false, ..Definition::of(clock, spec) };
    // One millisecond earlier, so that a fire at the very end of the pause launches.
    let since = Some(until - Duration::milliseconds(1));
    let intent = Intent { since, ..Intent::new(Verb::Resumed) };
    change(app, &owner, *schedule, definition, intent).await.map(Some)
}

/// Resumes a paused schedule. The fires that it missed are caught up by the policy `catchup`, or by
/// the schedule's own policy.
pub(crate) async fn resume(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    catchup: Option<Catchup>,
    if_match: Option<u64>,
) -> Result<Saving, Refusal> {
    let edit = |_: &Clock, old: &Definition| Ok(Definition { paused: false, ..old.clone() });
    let intent = Intent { catchup, ..Intent::new(Verb::Resumed) };
    alter(app, caller, id, if_match, intent, edit).await
}

/// What a resume would catch up, without resuming.
pub(crate) async fn preview_resume(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    catchup: Option<Catchup>,
) -> Result<ResumePreview, Refusal> {
    let Schedule { clock, .. } = load(app, caller, id).await?;
    let now = app.now();
    let policy = catchup.unwrap_or(clock.policies.catchup_policy);
    let clock = Clock {
        next_run_at: clock.next_run_at.filter(|_| clock.paused),
        policies: Policies { catchup_policy: policy, ..clock.policies.clone() },
        ..clock
    };
    let missed = match clock.read() {
        Ok(readable) => catchup::preview(&clock, &readable.timetable, now),
        Err(_) => None,
    };
    Ok(ResumePreview::of(policy, missed))
}
