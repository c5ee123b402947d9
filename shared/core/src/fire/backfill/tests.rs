use super::*;
use crate::schedule::definition::tests::clock;

fn schedule() -> ScheduleId {
    "nightly".parse().unwrap()
}

fn at(hour: i64) -> Instant {
    let midnight: Instant = "2026-01-01T00:00:00Z".parse().unwrap();
    midnight + chrono::Duration::hours(hour)
}

/// A backfill of six hourly fires, two at a time.
fn backfill() -> Backfill {
    Backfill {
        backfill_id: "b".to_owned(),
        owner: "ann".to_owned(),
        created_by: "ann".to_owned(),
        created_at: at(48),
        from: at(0),
        to: at(5),
        order: Order::OldestFirst,
        max_concurrent: 2,
        rerun: false,
        payload: None,
        timing: clock("0 * * * *").timing,
        anchor: at(0),
        state: State::Running,
        total: 6,
        position: 0,
        already_ran: 0,
        ended: BTreeMap::new(),
        active: BTreeSet::new(),
        version: 1,
    }
}

fn hours(launch: &[RunId]) -> Vec<i64> {
    launch.iter().map(|id| (id.run_at - at(0)).num_hours()).collect()
}

#[test]
fn it_goes_through_its_fires_never_more_than_it_may_at_once() {
    for order in [Order::OldestFirst, Order::NewestFirst] {
        let mut backfill = Backfill { order, ..backfill() };
        let fires = backfill.fires(&schedule()).unwrap();
        let mut launched = Vec::new();
        while backfill.state == State::Running {
            assert!(backfill.active.len() <= 2);
            let ended = backfill.active.iter().cloned().map(|key| (key, Status::Success));
            let step = backfill.next_step(&schedule(), &fires, &ended.collect(), &BTreeSet::new());
            launched.extend(hours(&step.launch));
            backfill = step.after;
        }
        let expected: Vec<i64> = match order {
            Order::OldestFirst => (0..6).collect(),
            Order::NewestFirst => (0..6).rev().collect(),
        };
        assert_eq!(launched, expected);
        assert_eq!(backfill.ended["SUCCESS"], 6);
    }
}

#[test]
fn what_ran_by_itself_is_left_alone_unless_it_shall_run_again() {
    let ran = BTreeSet::from([at(0), at(2)]);
    let fires = backfill().fires(&schedule()).unwrap();
    let step = backfill().next_step(&schedule(), &fires, &BTreeMap::new(), &ran);
    assert_eq!((hours(&step.launch), step.after.already_ran), (vec![1, 3], 2));
    let again = Backfill { rerun: true, ..backfill() };
    let step = again.next_step(&schedule(), &fires, &BTreeMap::new(), &ran);
    assert_eq!((hours(&step.launch), step.after.already_ran), (vec![0, 1], 0));
}

#[test]
fn a_run_decided_on_and_never_made_is_made() {
    let fires = backfill().fires(&schedule()).unwrap();
    let first = backfill().next_step(&schedule(), &fires, &BTreeMap::new(), &BTreeSet::new());
    let one = BTreeMap::from([("2026-01-01T00:00:00Z".to_owned(), Status::Started)]);
    let step = first.after.next_step(&schedule(), &fires, &one, &BTreeSet::new());
    assert_eq!((hours(&step.launch), step.after.position), (vec![1], 2));
}

#[test]
fn a_cancelled_one_starts_nothing_and_counts_how_its_runs_end() {
    let fires = backfill().fires(&schedule()).unwrap();
    let first = backfill().next_step(&schedule(), &fires, &BTreeMap::new(), &BTreeSet::new());
    let cancelled = Backfill { state: State::Cancelled, ..first.after };
    let key = |hour| instant::text(at(hour));
    let states = BTreeMap::from([(key(0), Status::Success), (key(1), Status::Started)]);
    let step = cancelled.next_step(&schedule(), &fires, &states, &BTreeSet::new());
    assert_eq!((hours(&step.launch), step.after.state), (vec![], State::Cancelled));
    assert_eq!((step.after.active.len(), step.after.is_over()), (1, false));
    let states = BTreeMap::from([(key(1), Status::Failed)]);
    let step = step.after.next_step(&schedule(), &fires, &states, &BTreeSet::new());
    assert!(step.after.is_over());
    let view = step.after.view(&schedule());
    assert_eq!((view.succeeded, view.failed, view.remaining), (1, 1, 4));
    assert!(view.active.is_empty());
}

#[test]
fn its_options_are_compared_one_by_one() {
    let one = backfill();
    let check = |other: Backfill, expected: &[&str]| {
        assert_eq!(one.differences(&other, &schedule()), expected);
    };
    check(Backfill { position: 3, version: 9, created_at: at(60), ..one.clone() }, &[]);
    check(Backfill { rerun: true, ..one.clone() }, &["`rerun` is false"]);
    let newest = Backfill { order: Order::NewestFirst, ..one.clone() };
    check(newest, &["`order` is \"oldest_first\""]);
    check(Backfill { max_concurrent: 3, ..one.clone() }, &["`max_concurrent` is 2"]);
    let paid = Backfill { payload: Some(Value::Null), ..one.clone() };
    check(paid, &["`payload` is the schedule's"]);
    let hourly = Backfill { timing: clock("30 * * * *").timing, ..one.clone() };
    check(hourly, &["the schedule had other fires in the range then"]);
}

#[test]
fn a_fire_that_the_clock_is_about_to_run_is_the_clocks() {
    let grace = Duration::minutes(2);
    let check = |next: Option<i64>, paused: bool, late_s: i64, expected: bool| {
        let mut clock = clock("0 * * * *");
        (clock.next_run_at, clock.paused) = (next.map(at), paused);
        let now = at(5) + Duration::seconds(late_s);
        let left = left_to_the_clock(&clock, &[at(5)], grace, now);
        assert_eq!(left.contains(&at(5)), expected, "{next:?} {late_s}");
    };
    check(Some(5), false, 0, true);
    check(Some(4), false, 120, true);
    check(Some(5), false, 121, false);
    check(Some(6), false, 0, false);
    check(Some(5), true, 0, false);
    check(None, false, 0, false);
}

#[test]
fn fires_that_the_clock_will_catch_up_are_the_clocks() {
    let fires: Vec<_> = (0..6).map(at).collect();
    let check = |policy: Catchup, window_h: Option<u64>, paused: bool, expected: &[i64]| {
        let mut clock = clock("0 * * * *");
        (clock.next_run_at, clock.paused) = (Some(at(2)), paused);
        clock.policies.catchup_policy = policy;
        clock.policies.catchup_window_s = window_h.map(|hours| hours * 3600);
        let now = at(5) + Duration::minutes(1);
        let left = left_to_the_clock(&clock, &fires, Duration::minutes(2), now);
        let left: Vec<_> = left.into_iter().map(|left| (left - at(0)).num_hours()).collect();
        assert_eq!(left, expected, "{policy:?} {window_h:?} {paused}");
    };
    // The fire of five o'clock is within the grace; a resume knows no grace.
    check(Catchup::None, None, false, &[5]);
    check(Catchup::None, None, true, &[]);
    check(Catchup::Once, None, false, &[4, 5]);
    check(Catchup::Once, None, true, &[5]);
    for policy in [Catchup::FireImmediately, Catchup::Spread] {
        for paused in [false, true] {
            check(policy, None, paused, &[2, 3, 4, 5]);
            check(policy, Some(2), paused, &[4, 5]);
        }
    }
    let others = [at(3) + Duration::minutes(30)];
    let mut clock = clock("0 * * * *");
    (clock.next_run_at, clock.policies.catchup_policy) = (Some(at(2)), Catchup::Spread);
    let left = left_to_the_clock(&clock, &others, Duration::minutes(2), at(5));
    assert!(left.is_empty(), "an edit has dropped them");
}

#[test]
fn the_rest_of_a_backfill_that_was_asked_for_before_is_left_to_it() {
    let first = Backfill { position: 4, ..backfill() };
    let second = Backfill { backfill_id: "c".into(), created_at: at(49), ..backfill() };
    let left = |mine: &Backfill, other: &Backfill| mine.leaves_to(other, &schedule()).len();
    assert_eq!((left(&second, &first), left(&first, &second)), (2, 0));
    let over = Backfill { state: State::Cancelled, ..first };
    assert_eq!(left(&second, &over), 0);
}

#[test]
fn too_many_fires_are_several_backfills() {
    let long = Backfill { timing: clock("* * * * * *").timing, ..backfill() };
    assert_eq!(long.fires(&schedule()), None);
}

#[test]
fn the_same_again_is_the_same_one() {
    let anns = clock("0 * * * *");
    let name = |clock: &Clock, called| Backfill::name(clock, at(0), at(5), called);
    assert_eq!(name(&anns, ""), name(&anns, ""));
    assert_ne!(name(&anns, ""), name(&anns, "again"));
    let bobs = Clock { owner: "bob".into(), ..anns.clone() };
    assert_ne!(name(&anns, ""), name(&bobs, ""));
    let again = Clock { created_at: anns.created_at + Duration::hours(1), ..anns.clone() };
    assert_ne!(name(&anns, ""), name(&again, ""));
}
