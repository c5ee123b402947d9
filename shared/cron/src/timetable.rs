//! The timetable: when a schedule fires, clock changes included.
//!
//! The expression says which local times match; the zone says when the local clock shows them. A gap
//! is local time the clock skips, a fold is local time it shows twice. Between two clock changes the
//! local clock runs evenly, so the search goes from span to span and asks the calendar within each.

use crate::calendar::Calendar;
use crate::expression::{Cron, Kind};
use crate::zone::{Span, Zone};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What becomes of a time the local clock skips.
///
/// ```
/// use belfry_cron::{Cron, DstGap, Timetable, Zone};
/// // In New York, 2025-03-09 has no 02:30: at 07:00 UTC the clock jumps from 02:00 to 03:00.
/// let nightly = Timetable::new(
///     Cron::parse("30 2 * * *", "").unwrap(),
///     Zone::parse("America/New_York").unwrap(),
/// );
/// let saturday = "2025-03-08T12:00:00Z".parse().unwrap();
/// let next = |gap| nightly.clone().with_dst(Some(gap), None).next_after(saturday).unwrap();
/// assert_eq!(next(DstGap::Shift).to_rfc3339(), "2025-03-09T07:00:00+00:00");
/// assert_eq!(next(DstGap::Skip).to_rfc3339(), "2025-03-10T06:30:00+00:00");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstGap {
    /// One fire at the first instant after the gap. The default of expressions with a fixed time:
    /// a nightly job runs every night.
    Shift,
    /// No fire. The default of interval expressions: the clock never showed that time.
    Skip,
}

/// What becomes of a time the local clock shows twice.
///
/// ```
/// use belfry_cron::{Cron, DstFold, Timetable, Zone};
/// // In New York, 2025-11-02 has 01:30 twice: at 05:30 and at 06:30 UTC.
/// let nightly = Timetable::new(
///     Cron::parse("30 1 * * *", "").unwrap(),
///     Zone::parse("America/New_York").unwrap(),
/// );
/// let first = "2025-11-02T05:30:00Z".parse().unwrap();
/// let next = |fold| nightly.clone().with_dst(None, Some(fold)).next_after(first).unwrap();
/// assert_eq!(next(DstFold::First).to_rfc3339(), "2025-11-03T06:30:00+00:00");
/// assert_eq!(next(DstFold::Both).to_rfc3339(), "2025-11-02T06:30:00+00:00");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DstFold {
    /// Only the first time. The default of expressions with a fixed time.
    First,
    /// Both times. The default of interval expressions: every 20 minutes stays every 20 minutes.
    Both,
}

/// When a schedule fires: an expression, a zone, the rules for clock changes and where `rate()` starts.
///
/// All fires are whole seconds. No method panics or runs long, whatever instant it is given.
///
/// ```
/// use belfry_cron::{Cron, Timetable, Zone};
/// let table = Timetable::new(
///     Cron::parse("0 9 * * MON-FRI", "").unwrap(),
///     Zone::parse("Europe/Zurich").unwrap(),
/// );
/// let friday = "2026-11-13T08:00:00Z".parse().unwrap(); // 09:00 in Zurich: strictly later is Monday
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

/// The last fire of a `rate()`: the end of 2100, like the calendar's.
const LAST_RATE_FIRE: i64 = 4_133_980_799;

impl Timetable {
    /// The expression in the zone, with the clock change rules that suit the expression.
    pub fn new(cron: Cron, zone: Zone) -> Timetable {
        let (gap, fold) = match cron.is_interval() {
            true => (DstGap::Skip, DstFold::Both),
            false => (DstGap::Shift, DstFold::First),
        };
        Timetable { cron, zone, gap, fold, anchor: None }
    }

    /// Sets the rules for clock changes; `None` keeps what suits the expression.
    pub fn with_dst(self, gap: Option<DstGap>, fold: Option<DstFold>) -> Timetable {
        Timetable { gap: gap.unwrap_or(self.gap), fold: fold.unwrap_or(self.fold), ..self }
    }

    /// Sets where `rate()` counts from: it fires at the start and then every interval.
    ///
    /// Without it `rate()` counts from the `after` of each question. Other expressions ignore it.
    pub fn with_anchor(self, start: DateTime<Utc>) -> Timetable {
        Timetable { anchor: Some(start.timestamp()), ..self }
    }

    /// The expression.
    pub fn cron(&self) -> &Cron {
        &self.cron
    }

    /// The zone.
    pub fn zone(&self) -> Zone {
        self.zone
    }

    /// The first fire strictly later than `after`; none when there are no more.
    pub fn next_after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        // The timestamp rounds down, so that the next whole second is the first that is later.
        instant(self.next_from(after.timestamp().saturating_add(1)))
    }

    /// The last fire strictly earlier than `before`; none when there was none.
    pub fn prev_before(&self, before: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let part_of_a_second = before.timestamp_subsec_nanos() > 0;
        let last = before.timestamp().saturating_sub(i64::from(!part_of_a_second));
        instant(self.prev_from(last))
    }

    /// Whether there is a fire at exactly this instant.
    ///
    /// For a `rate()` without an anchor this is true of every whole second.
    pub fn contains(&self, instant: DateTime<Utc>) -> bool {
        let at = instant.timestamp();
        instant.timestamp_subsec_nanos() == 0
            && match (self.cron.kind(), self.anchor) {
                (Kind::Every { .. }, None) => (0..=LAST_RATE_FIRE).contains(&at),
                _ => self.next_from(at) == Some(at),
            }
    }

    /// The fires strictly later than `after`, in order, worked out as they are asked for.
    pub fn fires_after(&self, after: DateTime<Utc>) -> impl Iterator<Item = DateTime<Utc>> + '_ {
        std::iter::successors(self.next_after(after), |last| self.next_after(*last))
    }

    /// The fires from `from` to `to`, both included, in order, worked out as they are asked for.
    ///
    /// A `rate()` without an anchor counts from `from` here.
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
                    // Rounded up to the grid.
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
        // The next match after `asked` is `found`: a question within that stretch has the same answer,
        // so that a sparse expression costs one question however many spans it crosses.
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

    /// Whether what the gap before the span skipped fires at its start.
    fn shifts_into(&self, span: &Span) -> bool {
        self.gap == DstGap::Shift && span.follows_gap()
    }

    /// The local time from which the span's matches count, no earlier than `local`.
    fn not_repeated(&self, span: &Span, local: i64) -> i64 {
        match self.fold {
            DstFold::First => local.max(span.reached),
            DstFold::Both => local,
        }
    }
}

/// Local times in order: a calendar, or a single time.
trait LocalTimes {
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

/// The local time of an `at(...)`.
struct Single(i64);

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
