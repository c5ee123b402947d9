//! Cron: how fast the next fire is found, compared with other crates, on the same expressions.

use std::hint::black_box;
use std::str::FromStr;
use std::time::{Duration, Instant};

use belfry_cron::{Cron, Timetable, Zone};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::report::{Goal, Report, version};

/// Expressions with the same meaning in every crate: never are both day fields restricted.
const SETS: [(&str, &str, &[&str]); 3] = [
    (
        "typical",
        "UTC",
        &[
            "* * * * *",
            "*/5 * * * *",
            "0 * * * *",
            "30 9 * * *",
            "*/15 9-17 * * MON-FRI",
            "0 0 * * SUN",
            "0 0 1 * *",
            "15,45 8-18 * * *",
        ],
    ),
    ("sparse", "UTC", &["0 0 29 2 *", "0 0 1 1 *", "0 0 31 * *", "30 4 1 */6 *", "59 23 31 12 *"]),
    (
        "DST-heavy",
        "America/New_York",
        &["30 2 * * *", "*/10 1-3 * 3,11 *", "0 * * * *", "30 1 * 11 SUN", "*/5 * * * *"],
    ),
];
/// The start of the search, and where it starts over.
const YEARS: (i64, i64) = (1_767_225_600, 2_082_758_400);
/// Rounds of which the fastest counts, because disturbances only make a round slower.
const ROUNDS: usize = 5;

type Next = Box<dyn Fn(DateTime<Utc>) -> Option<DateTime<Utc>>>;
type Engine = (&'static str, fn(&str, &str) -> Option<Next>);

/// Our crate, and those it is compared with.
const OURS: Engine = ("belfry-cron", ours);
const PEERS: [Engine; 3] = [("croner", croner), ("cronexpr", cronexpr), ("cron", raw)];
/// The peer that ours must be at least as fast as.
const GOAL: &str = "croner";

/// Measures every set with every crate.
pub fn measure(report: &mut Report, is_quick: bool) {
    let round = Duration::from_millis(if is_quick { 5 } else { 25 });
    for (set, zone, expressions) in SETS {
        let rate = |(_, engine): &Engine| rate(*engine, expressions, zone, round);
        let ours = rate(&OURS).expect("ours parses every expression");
        let group = format!("{}, {set}", OURS.0);
        report.add(&group, "next", ours, "/s");
        for peer in &PEERS {
            let name = format!("{} {}", peer.0, version(peer.0));
            let Some(theirs) = rate(peer) else {
                report.note(&format!("{name} does not parse all of the {set} set"));
                continue;
            };
            report.add(&format!("{name}, {set}"), "next", theirs, "/s");
            let (of, ratio) = (format!("next, of {name}'s"), ours / theirs);
            match peer.0 == GOAL {
                true => report.goal(&group, &of, ratio, "x", Goal::AtLeast(1.0)),
                false => report.add(&group, &of, ratio, "x"),
            }
        }
    }
}

/// Fires found per second: the geometric mean over the expressions, so that slow ones do not count
/// more. `None` if the crate does not parse all of them.
fn rate(
    engine: fn(&str, &str) -> Option<Next>,
    expressions: &[&str],
    zone: &str,
    round: Duration,
) -> Option<f64> {
    let tables: Option<Vec<_>> =
        expressions.iter().map(|expression| engine(expression, zone)).collect();
    let each: Vec<f64> = tables?.iter().map(|next| nanoseconds(next, round)).collect();
    let mean = each.iter().map(|ns| ns.ln()).sum::<f64>() / each.len() as f64;
    Some(1e9 / mean.exp())
}

fn nanoseconds(next: &Next, round: Duration) -> f64 {
    let start = DateTime::from_timestamp(YEARS.0, 0).expect("a time");
    let end = DateTime::from_timestamp(YEARS.1, 0).expect("a time");
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let (mut at, mut count) = (start, 0u32);
        let begin = Instant::now();
        while begin.elapsed() < round {
            for _ in 0..16 {
                at = next(black_box(at)).filter(|at| *at < end).unwrap_or(start);
                count += 1;
            }
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / f64::from(count));
    }
    best
}

fn ours(expression: &str, zone: &str) -> Option<Next> {
    let table = Timetable::new(Cron::parse(expression, "").ok()?, Zone::parse(zone).ok()?);
    Some(Box::new(move |at| table.next_after(at)))
}

fn croner(expression: &str, zone: &str) -> Option<Next> {
    let cron = croner::Cron::from_str(expression).ok()?;
    let zone: Tz = zone.parse().ok()?;
    Some(Box::new(move |at| {
        cron.find_next_occurrence(&at.with_timezone(&zone), false).ok().map(|at| at.to_utc())
    }))
}

fn cronexpr(expression: &str, zone: &str) -> Option<Next> {
    let crontab = cronexpr::parse_crontab(&format!("{expression} {zone}")).ok()?;
    Some(Box::new(move |at| {
        let at = jiff::Timestamp::from_second(at.timestamp()).ok()?;
        let next = crontab.find_next(cronexpr::MakeTimestamp(at)).ok()?;
        DateTime::from_timestamp(next.timestamp().as_second(), 0)
    }))
}

fn raw(expression: &str, zone: &str) -> Option<Next> {
    let cron = cron::Schedule::from_str(&format!("0 {expression}")).ok()?;
    let zone: Tz = zone.parse().ok()?;
    Some(Box::new(move |at| cron.after(&at.with_timezone(&zone)).next().map(|at| at.to_utc())))
}
