//! The timetable: the instants at which a schedule fires, across clock changes.
//!
//! The expression determines which local times match, and the zone determines when the local clock
//! shows them. A gap is local time that the clock skips. A fold is local time that the clock shows
//! twice. Between two clock changes the local clock runs evenly. So the search goes from span to
//! span and asks the calendar for the matches within each span.

use crate::calendar::Calendar;
use crate::dst::{DstFold, DstGap};
use crate::expression::{Cron, Kind};
use crate::zone::{Span, Zone};
use chrono::{DateTime, Utc};

/// Computes when a schedule fires, from an expression, a zone, the rules for clock changes and the
/// start of a `rate()`.
///
/// All fires are whole seconds. No method panics or runs long, for any instant.
///
/// ```
/// use belfry_cron::{Cron, Timetable, Zone};
/// let table = Timetable::new(
///     Cron::parse("0 9 * * MON-FRI", "").unwrap(),
///     Zone::parse("Europe/Zurich").unwrap(),
/// );
/// let friday = "2026-11-13T08:00:00Z".parse().unwrap(); // 09:00 in Zurich; the next is Monday
/// assert_eq!(table.next_after(friday).unwrap().to_rfc3339(), "2026-11-16T08:00:00+00:00");
/// ```
#[derive(Clone, Debug)]
pub struct Timetable {
    cron: Cron,
    zone: Zone,
    gap: DstGap,
    fold: DstFold,
    anchor: Option<i64>,
}

/// The last possible fire of a `rate()`: the end of 2100, as in the calendar.
const LAST_RATE_FIRE: i64 = 4_133_980_799;

impl Timetable {
    /// A timetable of the expression in the zone, with the default rules for clock changes. The
    /// defaults depend on whether the expression is an interval.
    pub fn new(cron: Cron, zone: Zone) -> Timetable {
        let (gap, fold) = match cron.is_interval() {
            true => (DstGap::Skip, DstFold::Both),
            false => (DstGap::Shift, DstFold::First),
        };
        Timetable { cron, zone, gap, fold, anchor: None }
    }

    /// Sets the rules for clock changes. `None` keeps the default for the expression.
    pub fn with_dst(self, gap: Option<DstGap>, fold: Option<DstFold>) -> Timetable {
        Timetable { gap: gap.unwrap_or(self.gap), fold: fold.unwrap_or(self.fold), ..self }
    }

    /// Sets the instant from which `rate()` counts: it fires at `start` and after every interval.
    ///
    /// Without an anchor, `rate()` counts from the `after` of each call. Other expressions ignore
    /// it.
    pub fn with_anchor(self, start: DateTime<Utc>) -> Timetable {
        Timetable { anchor: Some(start.timestamp()), ..self }
    }

    /// The expression of this timetable.
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The zone whose local clock the expression is read on.
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// The rule for fires at a time that the clock skips.
    pub fn gap(&self) -> DstGap {
        self.gap
    }

    /// The rule for fires at a time that the clock shows twice.
    pub fn fold(&self) -> DstFold {
        self.fold
    }

    /// The first fire strictly later than `after`. `None` if there are no more fires.
    pub fn next_after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        // The timestamp rounds down, so the next whole second is the first one later than `after`.
        instant(self.next_from(after.timestamp().saturating_add(1)))
    }

    /// The last fire strictly earlier than `before`. `None` if there was none.
    pub fn prev_before(&self, before: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let part_of_a_second = before.timestamp_subsec_nanos() > 0;
        let last = before.timestamp().saturating_sub(i64::from(!part_of_a_second));
        instant(self.prev_from(last))
    }

    /// Whether there is a fire at exactly this instant.
    ///
    /// A `rate()` without an anchor contains every whole second.
    pub fn contains(&self, instant: DateTime<Utc>) -> bool {
        let at = instant.timestamp();
        instant.timestamp_subsec_nanos() == 0
            && match (self.cron.kind(), self.anchor) {
                (Kind::Every { .. }, None) => (0..=LAST_RATE_FIRE).contains(&at),
                _ => self.next_from(at) == Some(at),
            }
    }

    /// The fires strictly later than `after`, in order. The iterator computes each fire on demand.
    pub fn fires_after(&self, after: DateTime<Utc>) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        std::iter::successors(self.next_after(after), |last| self.next_after(*last))
    }

    /// The fires from `from` to `to`, both included, in order. The iterator computes each fire on
    /// demand.
    ///
    /// Here a `rate()` without an anchor counts from `from`.
    pub fn fires_between(
        &self,
        from: DateTime<Utc>,
        to: DateTime<Utc>,
    ) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        let first = match self.contains(from) {
            true => Some(from),
            false => self.next_after(from),
        };
        std::iter::successors(first, |last| self.next_after(*last)).take_while(move |at| *at <= to)
    }

    /// The first fire at or after an instant.
    fn next_from(&self, from: i64) -> Option<i64> {
        match *self.cron.kind() {
            Kind::Calendar { ref calendar, .. } => self.next_match(calendar, from),
            Kind::Once { local } => self.next_match(&Single(local), from),
            Kind::Every { seconds } => {
                let next = match self.anchor {
                    None => from.checked_sub(1)?.checked_add(seconds)?,
                    Some(anchor) if from <= anchor => anchor,
                    // Round up to the next multiple of the interval.
                    Some(anchor) => {
                        let steps = from.checked_sub(anchor)?.checked_add(seconds - 1)? / seconds;
                        anchor.checked_add(steps.checked_mul(seconds)?)?
                    }
                };
                (next <= LAST_RATE_FIRE).then_some(next)
            }
        }
    }

    /// The last fire at or before an instant.
    fn prev_from(&self, from: i64) -> Option<i64> {
        match *self.cron.kind() {
            Kind::Calendar { ref calendar, .. } => self.prev_match(calendar, from),
            Kind::Once { local } => self.prev_match(&Single(local), from),
            Kind::Every { seconds } => match self.anchor {
                None => from.checked_add(1)?.checked_sub(seconds).filter(|at| *at >= 0),
                Some(anchor) => {
                    let from = from.min(LAST_RATE_FIRE);
                    let elapsed = from.checked_sub(anchor).filter(|elapsed| *elapsed >= 0)?;
                    anchor.checked_add(elapsed / seconds * seconds)
                }
            },
        }
    }

    fn next_match(&self, times: &impl LocalTimes, from: i64) -> Option<i64> {
        let spans = self.zone.spans();
        // A cache of the last answer: the next match after `asked` is `found`. Every search that
        // starts between the two has the same answer. So a sparse expression needs one search of
        // the calendar, even if its next match is many spans away.
        let mut known: Option<(i64, Option<i64>)> = None;
        let mut next = |after: i64| match known {
            Some((asked, found)) if asked <= after && found.is_none_or(|at| after < at) => found,
            _ => {
                let found = times.next(after);
                known = Some((after, found));
                found
            }
        };
        for index in spans.index_at(from)..spans.len() {
            let span = spans.get(index);
            if from <= span.start
                && self.shifts_into(&span)
                && next(span.reached - 1).is_some_and(|local| local < span.local_start())
            {
                return Some(span.start);
            }
            let first = span.start.max(from) + i64::from(span.offset);
            if let Some(local) = next(self.not_repeated(&span, first) - 1)
                && local < span.local_end()
            {
                return Some(local - i64::from(span.offset));
            }
        }
        None
    }

    fn prev_match(&self, times: &impl LocalTimes, from: i64) -> Option<i64> {
        let spans = self.zone.spans();
        let mut known: Option<(i64, Option<i64>)> = None;
        let mut prev = |before: i64| match known {
            Some((asked, found)) if before <= asked && found.is_none_or(|at| at < before) => found,
            _ => {
                let found = times.prev(before);
                known = Some((before, found));
                found
            }
        };
        for index in (0..=spans.index_at(from)).rev() {
            let span = spans.get(index);
            let last = from.min(span.end - 1) + i64::from(span.offset);
            if let Some(local) = prev(last + 1)
                && local >= self.not_repeated(&span, span.local_start())
            {
                return Some(local - i64::from(span.offset));
            }
            if self.shifts_into(&span)
                && prev(span.local_start()).is_some_and(|local| local >= span.reached)
            {
                return Some(span.start);
            }
        }
        None
    }

    /// Whether times that the gap before the span skipped fire at the start of the span.
    fn shifts_into(&self, span: &Span) -> bool {
        self.gap == DstGap::Shift && span.follows_gap()
    }

    /// The first local time of the span, at or after `local`, that may fire. Under `DstFold::First`
    /// the repeated times at the start of the span do not fire again.
    fn not_repeated(&self, span: &Span, local: i64) -> i64 {
        match self.fold {
            DstFold::First => local.max(span.reached),
            DstFold::Both => local,
        }
    }
}

/// A sequence of local times that can be searched: a calendar or a single time.
pub(crate) trait LocalTimes {
    fn next(&self, after: i64) -> Option<i64>;
    fn prev(&self, before: i64) -> Option<i64>;
}

impl LocalTimes for Calendar {
    fn next(&self, after: i64) -> Option<i64> {
        Calendar::next(self, after)
    }

    fn prev(&self, before: i64) -> Option<i64> {
        Calendar::prev(self, before)
    }
}

/// The single local time of an `at(...)`.
pub(crate) struct Single(pub(crate) i64);

impl LocalTimes for Single {
    fn next(&self, after: i64) -> Option<i64> {
        (self.0 > after).then_some(self.0)
    }

    fn prev(&self, before: i64) -> Option<i64> {
        (self.0 < before).then_some(self.0)
    }
}

fn instant(timestamp: Option<i64>) -> Option<DateTime<Utc>> {
    timestamp.and_then(|timestamp| DateTime::from_timestamp(timestamp, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, zone: &str) -> Timetable {
        Timetable::new(Cron::parse(text, "").unwrap(), Zone::parse(zone).unwrap())
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(table: &Timetable, after: &str, expected: &[&str]) {
        let found: Vec<_> = table.fires_after(at(after)).take(expected.len()).collect();
        let expected: Vec<_> = expected.iter().map(|text| at(text)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn next_is_strictly_later_even_by_a_fraction_of_a_second() {
        let table = table("0 10 * * *", "UTC");
        check(&table, "2026-01-01T09:59:59.5Z", &["2026-01-01T10:00:00Z"]);
        check(&table, "2026-01-01T10:00:00Z", &["2026-01-02T10:00:00Z"]);
        check(&table, "2026-01-01T10:00:00.000000001Z", &["2026-01-02T10:00:00Z"]);
        let prev = |before| table.prev_before(at(before)).unwrap();
        assert_eq!(prev("2026-01-01T10:00:00Z"), at("2025-12-31T10:00:00Z"));
        assert_eq!(prev("2026-01-01T10:00:00.5Z"), at("2026-01-01T10:00:00Z"));
        assert!(table.contains(at("2026-01-01T10:00:00Z")));
        assert!(!table.contains(at("2026-01-01T10:00:00.5Z")));
    }

    #[test]
    fn a_time_the_clocks_skip_fires_right_after_the_gap() {
        let berlin = table("30 2 * * *", "Europe/Berlin");
        check(&berlin, "2026-03-28T12:00:00Z", &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]);
        // Several skipped times, together with the time at the end of the gap, give one fire.
        let list = table("0,30 2,3 * * *", "Europe/Berlin");
        check(&list, "2026-03-28T12:00:00Z", &["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]);
        // Samoa skipped all of 30 December 2011.
        let apia = table("0 6 30 12 *", "Pacific/Apia");
        check(&apia, "2011-12-29T00:00:00Z", &["2011-12-30T10:00:00Z", "2012-12-29T16:00:00Z"]);
    }

    #[test]
    fn a_time_the_clocks_repeat_fires_once_and_an_interval_both_times() {
        let fixed = table("30 1 * * *", "America/New_York");
        check(&fixed, "2026-11-01T05:00:00Z", &["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]);
        // `after` is in the repeated hour, when the first 01:30 is over.
        check(&fixed, "2026-11-01T06:10:00Z", &["2026-11-02T06:30:00Z"]);
        let interval = table("*/30 1 * * *", "America/New_York");
        check(
            &interval,
            "2026-11-01T05:10:00Z",
            &["2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z"],
        );
    }

    #[test]
    fn the_rules_for_clock_changes_can_be_set() {
        let interval = table("*/30 2 * * *", "Europe/Berlin");
        let shifted = interval.clone().with_dst(Some(DstGap::Shift), None);
        check(&interval, "2026-03-28T12:00:00Z", &["2026-03-30T00:00:00Z"]);
        check(&shifted, "2026-03-28T12:00:00Z", &["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]);
        let once = interval.with_dst(None, Some(DstFold::First));
        check(
            &once,
            "2026-10-24T22:00:00Z",
            &["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:00:00Z"],
        );
    }

    #[test]
    fn a_rate_counts_elapsed_time_from_its_start() {
        let free = table("rate(90 minutes)", "Europe/Berlin");
        check(&free, "2026-03-29T00:00:00Z", &["2026-03-29T01:30:00Z", "2026-03-29T03:00:00Z"]);
        let anchored = free.with_anchor(at("2026-03-29T00:10:00.7Z"));
        check(&anchored, "2020-01-01T00:00:00Z", &["2026-03-29T00:10:00Z", "2026-03-29T01:40:00Z"]);
        check(&anchored, "2026-03-29T02:00:00Z", &["2026-03-29T03:10:00Z"]);
        assert_eq!(anchored.prev_before(at("2026-03-29T00:10:00Z")), None);
        assert_eq!(anchored.next_after(at("2100-12-31T23:59:00Z")), None);
    }

    #[test]
    fn a_single_time_fires_once() {
        let once = table("at(2026-03-29T02:30:00)", "Europe/Berlin");
        check(&once, "2020-01-01T00:00:00Z", &["2026-03-29T01:00:00Z"]);
        assert_eq!(once.next_after(at("2026-03-29T01:00:00Z")), None);
        let skipped = once.with_dst(Some(DstGap::Skip), None);
        assert_eq!(skipped.next_after(at("2020-01-01T00:00:00Z")), None);
        let far = table("at(2150-07-01T12:00:00)", "Europe/Berlin");
        check(&far, "2026-01-01T00:00:00Z", &["2150-07-01T10:00:00Z"]);
    }

    #[test]
    fn a_stretch_of_time_includes_both_its_ends() {
        let hourly = table("0 * * * *", "UTC");
        let fires = hourly.fires_between(at("2026-01-01T10:00:00Z"), at("2026-01-01T12:00:00Z"));
        assert_eq!(fires.count(), 3);
        assert_eq!(
            hourly.fires_between(at("2026-01-02T00:00:00Z"), at("2026-01-01T00:00:00Z")).count(),
            0
        );
    }
}
