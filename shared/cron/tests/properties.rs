//! Properties that hold for every expression, zone and instant.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

mod oracle;

use belfry_cron::{Cron, DstFold, DstGap, Timetable, Zone};
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use oracle::{Expression, Item, List};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn plain_item(min: u32, max: u32) -> BoxedStrategy<Item> {
    let value = min..=max;
    let step = 1..=(max - min + 1);
    prop_oneof![
        2 => Just(Item::Star),
        2 => step.clone().prop_map(Item::StarStep),
        5 => value.clone().prop_map(Item::Value),
        1 => (value.clone(), step.clone()).prop_map(|(v, s)| Item::ValueStep(v, s)),
        2 => (value.clone(), value.clone()).prop_map(|(a, b)| Item::Range(a, b)),
        1 => (value.clone(), value, step).prop_map(|(a, b, s)| Item::RangeStep(a, b, s)),
    ]
    .boxed()
}

fn list(min: u32, max: u32) -> BoxedStrategy<List> {
    vec(plain_item(min, max), 1..=2).prop_map(move |items| List { min, max, items }).boxed()
}

fn mostly_star(list: BoxedStrategy<List>) -> BoxedStrategy<List> {
    (list, 0..3)
        .prop_map(|(list, n)| match n {
            0 => list,
            _ => List { items: vec![Item::Star], ..list },
        })
        .boxed()
}

fn day_of_month() -> BoxedStrategy<List> {
    let special = prop_oneof![
        (0..=30_u32).prop_map(Item::Last),
        Just(Item::LastWeekday),
        (1..=31_u32).prop_map(Item::Nearest),
    ];
    let item = prop_oneof![2 => plain_item(1, 31), 1 => special];
    vec(item, 1..=2).prop_map(|items| List { min: 1, max: 31, items }).boxed()
}

fn day_of_week() -> BoxedStrategy<List> {
    let special = prop_oneof![
        (0..=6_u32, 1..=5_u32).prop_map(|(d, k)| Item::Nth(d, k)),
        (0..=6_u32).prop_map(Item::LastOf),
    ];
    let item = prop_oneof![2 => plain_item(0, 6), 1 => special];
    vec(item, 1..=2).prop_map(|items| List { min: 0, max: 6, items }).boxed()
}

/// With `days`, the day fields and the month vary freely. Without it, most of them are `*`.
fn expression(days: bool, seconds: bool) -> BoxedStrategy<Expression> {
    let wild = |list| if days { list } else { mostly_star(list) };
    let second = match seconds {
        true => list(0, 59).prop_map(Some).boxed(),
        false => Just(None).boxed(),
    };
    let day_fields = (wild(day_of_month()), wild(list(1, 12)), wild(day_of_week()), any::<bool>());
    (second, list(0, 59), list(0, 23), day_fields)
        .prop_map(|(second, minute, hour, (day_of_month, month, day_of_week, plus))| Expression {
            second,
            minute,
            hour,
            day_of_month,
            month,
            day_of_week,
            plus,
        })
        .boxed()
}

fn zone() -> BoxedStrategy<Zone> {
    let names: Vec<&'static str> = Zone::all().collect();
    select(names).prop_map(|name| Zone::parse(name).unwrap()).boxed()
}

fn instant() -> BoxedStrategy<DateTime<Utc>> {
    (0_i64..4_133_980_800).prop_map(|at| DateTime::from_timestamp(at, 0).unwrap()).boxed()
}

/// An instant near the first clock change of the zone after `at`, or near `at` if there is none.
fn near_change(zone: Zone, at: DateTime<Utc>, shift_minutes: i64) -> DateTime<Utc> {
    // Before 1980 some zones had offsets that are no whole minutes, which a tick of one minute
    // would miss.
    let at = at.max("1980-01-01T00:00:00Z".parse().unwrap());
    let change = zone.changes_after(at).next().map_or(at, |(change, ..)| change);
    let minute = change.timestamp().div_euclid(60) * 60 + shift_minutes * 60;
    DateTime::from_timestamp(minute, 0).unwrap()
}

fn rules() -> BoxedStrategy<(Option<DstGap>, Option<DstFold>)> {
    (
        select(vec![None, None, Some(DstGap::Shift), Some(DstGap::Skip)]),
        select(vec![None, None, Some(DstFold::First), Some(DstFold::Both)]),
    )
        .boxed()
}

/// Parses the expression. If it is refused because it matches no date, checks with the oracle that
/// indeed no day matches.
fn parse(expression: &Expression) -> Option<Cron> {
    match Cron::parse(&expression.to_string(), "") {
        Ok(cron) => Some(cron),
        Err(refused) => {
            assert!(refused.to_string().starts_with("matches no date"), "{expression}: {refused}");
            let mut day: NaiveDateTime = "1970-01-01T00:00:00".parse().unwrap();
            while day < "2101-01-01T00:00:00".parse().unwrap() {
                assert!(!expression.matches_day(day), "{expression} fires on {day}");
                day += TimeDelta::days(1);
            }
            None
        }
    }
}

fn check_window(
    expression: &Expression,
    zone: Zone,
    rules: (Option<DstGap>, Option<DstFold>),
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    tick: TimeDelta,
) {
    let Some(cron) = parse(expression) else { return };
    assert_eq!(cron.is_interval(), expression.is_interval(), "{expression}");
    let class = match expression.is_interval() {
        true => (DstGap::Skip, DstFold::Both),
        false => (DstGap::Shift, DstFold::First),
    };
    let meant = (rules.0.unwrap_or(class.0), rules.1.unwrap_or(class.1));
    let table = Timetable::new(cron, zone).with_dst(rules.0, rules.1);
    let expected = expression.fires(zone, meant, (from, to), tick);
    let found: Vec<_> = table.fires_between(from, to).collect();
    assert_eq!(found, expected, "{expression} in {zone} with {rules:?} from {from} to {to}");
    let mut back = Vec::new();
    let mut at = to + TimeDelta::seconds(1);
    while let Some(fire) = table.prev_before(at).filter(|fire| *fire >= from) {
        back.push(fire);
        at = fire;
    }
    back.reverse();
    assert_eq!(back, expected, "backwards: {expression} in {zone} with {rules:?} from {from}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn around_a_clock_change_fires_are_those_of_a_watched_clock(
        expression in expression(false, false),
        zone in zone(),
        at in instant(),
        rules in rules(),
    ) {
        let middle = near_change(zone, at, 0);
        let window = (middle - TimeDelta::hours(26), middle + TimeDelta::hours(26));
        check_window(&expression, zone, rules, window, TimeDelta::minutes(1));
    }

    #[test]
    fn starting_inside_a_clock_change_makes_no_difference(
        expression in expression(false, false),
        zone in zone(),
        at in instant(),
        shift in -70_i64..70,
        rules in rules(),
    ) {
        let from = near_change(zone, at, shift);
        check_window(&expression, zone, rules, (from, from + TimeDelta::hours(5)), TimeDelta::minutes(1));
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sparse_expressions_fire_on_the_days_a_calendar_shows(
        expression in expression(true, false),
        after in instant(),
    ) {
        let Some(cron) = parse(&expression) else { return Ok(()) };
        let table = Timetable::new(cron, Zone::UTC);
        let first_of_day = |day: NaiveDateTime| {
            (0..1440).map(|n| day + TimeDelta::minutes(n)).find(|at| expression.matches_time(*at))
        };
        // Start at the next midnight: with whole days, the first matching time of a day decides.
        let mut day = after.date_naive().and_hms_opt(0, 0, 0).unwrap() + TimeDelta::days(1);
        let mut at = day.and_utc() - TimeDelta::seconds(1);
        let horizon: NaiveDateTime = "2101-01-01T00:00:00".parse().unwrap();
        for _ in 0..4 {
            while day < horizon && !expression.matches_day(day) {
                day += TimeDelta::days(1);
            }
            let expected = (day < horizon).then(|| first_of_day(day).unwrap().and_utc());
            prop_assert_eq!(table.next_after(at), expected, "{} after {}", expression, at);
            day += TimeDelta::days(1);
            at = day.and_utc() - TimeDelta::seconds(1);
        }
    }

    #[test]
    fn next_previous_and_contains_agree(
        expression in expression(true, true),
        zone in zone(),
        after in instant(),
        nanos in 0_u32..1_000_000_000,
        rules in rules(),
    ) {
        let Some(cron) = parse(&expression) else { return Ok(()) };
        let table = Timetable::new(cron, zone).with_dst(rules.0, rules.1);
        let after = after + TimeDelta::nanoseconds(nanos.into());
        let mut last = after;
        for fire in table.fires_after(after).take(6) {
            prop_assert!(fire > last);
            prop_assert!(table.contains(fire));
            prop_assert_eq!(fire.timestamp_subsec_nanos(), 0);
            prop_assert!(table.prev_before(fire).is_none_or(|previous| previous < fire));
            let previous = table.prev_before(fire + TimeDelta::nanoseconds(1));
            prop_assert_eq!(previous, Some(fire));
            if last != after {
                prop_assert_eq!(table.prev_before(fire), Some(last));
            }
            last = fire;
        }
    }

    #[test]
    fn an_anchored_rate_is_a_grid(
        count in 1_u32..5000,
        unit in select(vec![("minutes", 60_i64), ("hours", 3600), ("days", 86400)]),
        anchor in instant(),
        after in instant(),
    ) {
        let cron = Cron::parse(&format!("rate({count} {})", unit.0), "").unwrap();
        let table = Timetable::new(cron, Zone::UTC).with_anchor(anchor);
        let step = i64::from(count) * unit.1;
        if let Some(next) = table.next_after(after) {
            prop_assert!(next > after && next >= anchor);
            prop_assert_eq!((next - anchor).num_seconds() % step, 0);
            prop_assert!(next == anchor || (next - after).num_seconds() <= step);
            prop_assert!(table.contains(next));
            prop_assert_eq!(table.prev_before(next + TimeDelta::seconds(1)), Some(next));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn seconds_fire_as_a_watched_clock_too(
        expression in expression(false, true),
        zone in zone(),
        at in instant(),
        shift in -70_i64..70,
        rules in rules(),
    ) {
        let from = near_change(zone, at, shift);
        check_window(&expression, zone, rules, (from, from + TimeDelta::hours(1)), TimeDelta::seconds(1));
    }
}

/// Calls every method at the first and last instants of chrono and around the ends of the calendar.
fn ask_everything(text: &str, zone: Zone) {
    let Ok(cron) = Cron::parse(text, "seed") else { return };
    assert!(cron.text().len() <= 256);
    assert!(cron.describe(&zone).is_ascii());
    let times = [
        DateTime::<Utc>::MIN_UTC,
        DateTime::<Utc>::MAX_UTC,
        DateTime::from_timestamp(-1, 999_999_999).unwrap(),
        DateTime::from_timestamp(0, 0).unwrap(),
        "2026-11-16T04:00:00.5Z".parse().unwrap(),
        "2100-12-31T23:59:59Z".parse().unwrap(),
        "2101-01-02T00:00:00Z".parse().unwrap(),
        "9999-12-31T23:59:59Z".parse().unwrap(),
    ];
    for anchor in times {
        let table = Timetable::new(cron.clone(), zone).with_anchor(anchor);
        for at in times {
            assert!(table.next_after(at).is_none_or(|next| next > at), "{text} after {at}");
            assert!(table.prev_before(at).is_none_or(|previous| previous < at), "{text} at {at}");
            table.contains(at);
            table.warnings(at);
            assert!(table.fires_after(at).take(3).count() <= 3);
            assert!(table.fires_between(DateTime::<Utc>::MIN_UTC, at).take(3).count() <= 3);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), zone in zone()) {
        ask_everything(&text, zone);
        let _ = Zone::parse(&text);
    }

    #[test]
    fn any_soup_of_tokens_is_read_or_refused(
        tokens in vec(
            select(vec![
                "*", "*", "*", "0", "5", "7", "31", "59", "60", "?", "L", "W", "LW", "#", "-", "/", ",", "+", "H",
                "H(", "(", ")", "MON", "FRI", "JAN", "@daily", "cron(", "rate(", "at(", " ", " ", " ", " ", "\t", "\n",
                "2024", "2099", "minutes", "\u{e9}", "18446744073709551616", "2026-01-01T00:00:00",
            ]),
            0..24,
        ),
        zone in zone(),
    ) {
        ask_everything(&tokens.concat(), zone);
    }

    #[test]
    fn a_refusal_is_short_and_printable(text in any::<String>()) {
        if let Err(refused) = Cron::parse(&text, "") {
            let message = refused.to_string();
            prop_assert!(message.len() < 300, "{}", message);
            prop_assert!(message.chars().all(|c| c == ' ' || c.is_ascii_graphic()), "{}", message);
            prop_assert!(refused.span().is_none_or(|span| text.get(span).is_some()));
        }
    }
}

#[test]
fn a_megabyte_of_text_is_refused_by_its_length() {
    for text in ["*,", "* ", "\u{1f570}", "9", "(", "H(0-1),"] {
        let refused = Cron::parse(&text.repeat(1 << 20), "").unwrap_err().to_string();
        assert!(refused.starts_with("an expression has at most 256 bytes"), "{refused}");
    }
}

#[test]
fn ends_of_time_are_answered_for_every_kind_of_expression() {
    for text in [
        "* * * * * *",
        "0 0 29 2 +MON",
        "0 0 L 12 * ",
        "59 59 23 31 12 * 2100",
        "0 0 0 1 1 * 1970",
        "rate(36525 days)",
        "rate(1 minute)",
        "at(1970-01-01T00:00:00)",
        "at(2199-12-31T23:59:59)",
        "H H H H H",
        "cron(0 0 ? * L 2100)",
    ] {
        for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "America/New_York"] {
            assert!(Cron::parse(text, "").is_ok(), "{text}");
            ask_everything(text, Zone::parse(zone).unwrap());
        }
    }
}
