//! Following: which schedules may run after which, and the links that record it.

use belfry_core::id::ScheduleId;
use belfry_core::schedule::Schedule;
use belfry_core::schedule::definition::Definition;

use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::store::{Link, Stored};

/// The longest chain of schedules that follow each other.
const MAX_CHAIN: usize = 20;
/// The most followers of one schedule: their ids are part of its clock item, which must stay small.
const MAX_FOLLOWERS: usize = 10;

/// The writes that make schedule `id` follow the schedule that `definition` names. The other
/// schedule must belong to `owner` too, and the chain must not lead back to `id`.
pub(crate) async fn links(
    app: &App,
    owner: &str,
    id: &ScheduleId,
    before: Option<&ScheduleId>,
    definition: Option<&Definition>,
) -> Result<Vec<Link>, Refusal> {
    let wanted = definition.and_then(|definition| definition.options.after_schedule_id.as_ref());
    if wanted == before {
        return Ok(Vec::new());
    }
    let mut links = Vec::new();
    if let Some(other) = wanted {
        check(app, owner, id, other).await?;
        links.push(Link::Follow(other.clone()));
    }
    if let Some(other) = before
        && !matches!(app.store.schedule(other).await?, Stored::Nothing)
    {
        links.push(Link::Leave(other.clone()));
    }
    Ok(links)
}

/// The schedule that is followed after `links` are written, and was not followed before.
pub(crate) fn newly_followed(links: &[Link]) -> Option<&ScheduleId> {
    links.iter().find_map(|link| match link {
        Link::Follow(other) => Some(other),
        _ => None,
    })
}

async fn check(app: &App, owner: &str, id: &ScheduleId, other: &ScheduleId) -> Result<(), Refusal> {
    let refuse = |problem: String| Err(Refusal::invalid("after_schedule_id", problem));
    let mut next = Some(other.clone());
    for hop in 0..MAX_CHAIN {
        let Some(current) = next else { return Ok(()) };
        if current == *id {
            return refuse(format!("leads back to this schedule: {other} already follows {id}"));
        }
        let found = match app.store.schedule(&current).await? {
            Stored::Schedule(found) if found.clock.owner == owner => Some(*found),
            _ => None,
        };
        match found {
            None if hop == 0 => {
                let problem = format!("schedule {other} does not exist");
                return Err(Refusal::unknown("after_schedule_id", problem));
            }
            None => return Ok(()),
            Some(Schedule { clock, .. })
                if hop == 0 && clock.then.len() >= MAX_FOLLOWERS && !clock.then.contains(id) =>
            {
                return refuse(format!(
                    "{MAX_FOLLOWERS} schedules follow {other} already, which is the limit"
                ));
            }
            Some(Schedule { spec, .. }) => next = spec.options.after_schedule_id,
        }
    }
    refuse(format!("makes a chain of more than {MAX_CHAIN} schedules"))
}
