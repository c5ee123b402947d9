//! Cron expressions: crontab fields with `L`, `W`, `#` and `H`, and the forms of AWS, in every time
//! zone and across every clock change.
//!
//! [`Cron::parse`] reads an expression and [`Zone::parse`] finds a time zone. A [`Timetable`]
//! combines the two and computes when the expression fires. The crate is pure: it reads no clock,
//! no environment variable and no file.
//!
//! ```
//! use belfry_cron::{Cron, Timetable, Zone};
//! let cron = Cron::parse("30 2 * * *", "").unwrap();
//! let table = Timetable::new(cron, Zone::parse("Europe/Berlin").unwrap());
//! // On 29 March 2026 the clock in Berlin skips 02:30, so the schedule fires right after the gap.
//! let saturday_noon = "2026-03-28T12:00:00Z".parse().unwrap();
//! assert_eq!(table.next_after(saturday_noon).unwrap().to_rfc3339(), "2026-03-29T01:00:00+00:00");
//! ```

mod aws;
mod calendar;
mod compile;
mod days;
mod describe;
mod dst;
mod error;
mod expression;
mod field;
mod hash;
mod parse;
mod set;
mod timetable;
mod warnings;
mod words;
mod zone;

pub use dst::{DstFold, DstGap};
pub use error::{CronError, Field};
pub use expression::Cron;
pub use timetable::Timetable;
pub use warnings::{Warning, WarningCode};
pub use zone::{UnknownZone, Zone, tzdb_version};
