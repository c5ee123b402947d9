//! Decides whether the launcher still launches a fire, after the schedule may have changed.

use crate::id::RunId;
use crate::run::Reason;
use crate::schedule::{Clock, Overlap};

/// The decision of the launcher about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Claim the run and call the target.
    Launch,
    /// Do not launch the run, and record the reason.
    Cancel(Reason),
}

/// Decides about a fire that was planned under `revision`, by the clock as it is now. If the
/// definition was edited and still has this fire, the fire launches: an edit must not lose it.
pub fn judge(clock: Option<&Clock>, id: &RunId, revision: u64) -> Verdict {
    let Some(clock) = clock else { return Verdict::Cancel(Reason::Deleted) };
    if id.is_asked_for() {
        return Verdict::Launch;
    }
    if clock.paused {
        Verdict::Cancel(Reason::Paused)
    } else if id.cause.is_some() || clock.revision == revision || clock.has_fire_at(id.run_at) {
        Verdict::Launch
    } else {
        Verdict::Cancel(Reason::Superseded)
    }
}

/// Whether a launcher may read the schedule before the fire's time and use that copy at the fire's
/// time, unless a change marked the run since. Under `queue` the answer is no, because the current
/// slots decide. If other schedules follow this one, the answer is no too: a schedule that stops
/// following changes only the list of followers and does not mark the runs.
pub fn can_be_read_ahead(clock: &Clock, id: &RunId) -> bool {
    let takes_turns = clock.policies.overlap_policy == Overlap::Queue;
    // A run with a cause may have its own overlap policy.
    id.cause.is_none() && !takes_turns && clock.then.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Cause;
    use crate::schedule::definition::tests::clock;

    #[track_caller]
    fn check(clock: Option<&Clock>, revision: u64, expected: Verdict) {
        let id: RunId = "nightly@2026-01-01T02:00:00Z".parse().unwrap();
        assert_eq!(judge(clock, &id, revision), expected);
    }

    #[test]
    fn a_fire_both_definitions_share_survives_the_edit() {
        let edited = Clock { revision: 2, ..clock("0 */2 * * *") };
        check(Some(&edited), 1, Verdict::Launch);
    }

    #[test]
    fn a_fire_only_the_old_definition_had_is_superseded() {
        let edited = Clock { revision: 2, ..clock("0 3 * * *") };
        check(Some(&edited), 1, Verdict::Cancel(Reason::Superseded));
    }

    #[test]
    fn a_paused_or_deleted_schedule_launches_nothing() {
        let paused = Clock { paused: true, ..clock("0 2 * * *") };
        check(Some(&paused), 1, Verdict::Cancel(Reason::Paused));
        check(None, 1, Verdict::Cancel(Reason::Deleted));
    }

    #[test]
    fn a_paused_schedule_can_be_run_by_hand() {
        let paused = Clock { paused: true, ..clock("0 2 * * *") };
        let id: RunId = "nightly@2026-01-01T02:00:00Z".parse().unwrap();
        let manual = RunId { cause: Some(Cause::manual("x")), ..id };
        assert_eq!(judge(Some(&paused), &manual, 1), Verdict::Launch);
    }

    #[test]
    fn only_what_a_change_of_the_definition_tells_is_read_ahead() {
        let fire: RunId = "nightly@2026-01-01T02:00:00Z".parse().unwrap();
        let mut plain = clock("0 2 * * *");
        assert!(can_be_read_ahead(&plain, &fire));
        let manual = RunId { cause: Some(Cause::manual("x")), ..fire.clone() };
        assert!(!can_be_read_ahead(&plain, &manual));
        let followed = Clock { then: ["report".parse().unwrap()].into(), ..plain.clone() };
        assert!(!can_be_read_ahead(&followed, &fire));
        plain.policies.overlap_policy = Overlap::Queue;
        assert!(!can_be_read_ahead(&plain, &fire));
    }
}
