//! Clock changes: what happens to fires at local times that the clock skips or shows twice.

use serde::{Deserialize, Serialize};

/// What happens to a fire at a time that the local clock skips (a gap).
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
    /// One fire at the first instant after the gap. This is the default for expressions with a
    /// fixed time, so that a nightly job runs every night.
    Shift,
    /// No fire. This is the default for interval expressions, because the clock never showed that
    /// time.
    Skip,
}

/// What happens to a fire at a time that the local clock shows twice (a fold).
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
    /// Fire the first time only. This is the default for expressions with a fixed time.
    First,
    /// Fire both times. This is the default for interval expressions, so that every 20 minutes
    /// stays every 20 minutes.
    Both,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_written_in_snake_case() {
        assert_eq!(serde_json::to_string(&DstGap::Shift).unwrap(), "\"shift\"");
        assert_eq!(serde_json::from_str::<DstFold>("\"both\"").unwrap(), DstFold::Both);
    }
}
