//! The attempts to launch a run: what is kept of each, and how long a run waits for the next one.

use chrono::{Duration, NaiveDateTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoding::cut;
use crate::instant::{self, Instant};
use crate::run::{Run, Status};

/// The newest attempts of a run, of which its record keeps what came of them.
pub const MAX_KEPT: usize = 10;

/// What an attempt without a record came to.
const NO_RECORD: &str = "no record: its launcher stopped before it wrote one";

/// The longest delay between two attempts, if the target does not ask for more.
const MAX_BACKOFF_S: i64 = 300;

/// The dates that HTTP knows, besides that of RFC 2822: RFC 850's and that of C's `asctime`.
const OLD_DATES: [&str; 2] = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// One attempt to launch a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Attempt {
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// When a launcher claimed the run; `null` if the launcher left no record.
    #[serde(with = "instant::observed::optional")]
    #[schemars(with = "Option<Instant>")]
    pub started_at: Option<Instant>,
    /// When the attempt was over; `null` if it is not, or if that is unknown.
    #[serde(with = "instant::observed::optional")]
    #[schemars(with = "Option<Instant>")]
    pub finished_at: Option<Instant>,
    /// What went wrong.
    pub error: Option<String>,
    /// What the target answered, cut to 300 bytes: the body of a refusal, or the result.
    pub answer: Option<String>,
}

impl Run {
    /// What the record keeps of the attempts when the newest one ends without success.
    pub fn attempts_with(&self, error: &str, answer: Option<&str>, now: Instant) -> Vec<Attempt> {
        let newest = Attempt {
            attempt: self.attempt,
            started_at: self.started_at,
            finished_at: Some(now),
            error: Some(cut(error)),
            answer: answer.map(cut),
        };
        let kept = self.attempts.iter().filter(|kept| kept.attempt < self.attempt).cloned();
        let mut kept: Vec<_> = kept.chain([newest]).collect();
        kept.drain(..kept.len().saturating_sub(MAX_KEPT));
        kept
    }

    /// The newest attempts, oldest first. A successful one needs no record of its own: it is the
    /// run's last, and the run has its times and its result.
    pub fn attempts_shown(&self) -> Vec<Attempt> {
        let first = self.attempt.saturating_sub(MAX_KEPT as u32) + 1;
        (first..=self.attempt).map(|number| self.attempt_shown(number)).collect()
    }

    fn attempt_shown(&self, number: u32) -> Attempt {
        if let Some(kept) = self.attempts.iter().find(|kept| kept.attempt == number) {
            return kept.clone();
        }
        if number < self.attempt {
            let error = Some(NO_RECORD.to_owned());
            let (started_at, finished_at, answer) = (None, None, None);
            return Attempt { attempt: number, started_at, finished_at, error, answer };
        }
        Attempt {
            attempt: number,
            started_at: self.started_at,
            finished_at: self.finished_at,
            // Before the end, the error of the run is that of an earlier attempt.
            error: self.error.clone().filter(|_| self.status.is_terminal()),
            answer: self.result.as_ref().map(|result| cut(&result.to_string())),
        }
    }

    /// How often the target was called, as far as is known: a launcher that died after its claim may
    /// have called it.
    pub fn calls(&self) -> u32 {
        self.attempt.saturating_sub(self.not_called)
    }

    /// Whether the run waits for its next attempt after one that may have reached the target. The
    /// executor may then report its end.
    pub fn is_between_attempts(&self) -> bool {
        self.status == Status::Enqueued && self.calls() > 0
    }

    /// Until when the run waits for its next attempt.
    pub fn waits_until(&self) -> Option<Instant> {
        self.retry_at.filter(|_| self.status == Status::Enqueued)
    }
}

/// Reads a `Retry-After`, which is a number of seconds or a date. `None` if it is neither, or in
/// the past.
pub fn retry_after(text: &str, now: Instant) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are a very long time.
        true if !text.is_empty() => {
            Duration::seconds(text.parse::<u32>().unwrap_or(u32::MAX).into())
        }
        _ => date(text)? - now,
    };
    (wait > Duration::zero()).then_some(wait)
}

fn date(text: &str) -> Option<Instant> {
    if let Ok(date) = chrono::DateTime::parse_from_rfc2822(text) {
        return Some(date.to_utc());
    }
    let old = |format: &&str| NaiveDateTime::parse_from_str(text, format).ok();
    OLD_DATES.iter().find_map(old).map(|date| date.and_utc())
}

/// How long `run` waits for its next attempt, after an attempt at `now` at which the target asked
/// for a delay, or for none. The delay is kept as far as the limits of the run allow: a run does
/// not wait for longer than it may take, nor until recovery would find it too old.
pub fn wait(
    run: &Run,
    asked: Option<Duration>,
    max_runtime: Option<Duration>,
    max_age: Duration,
    now: Instant,
) -> Duration {
    let backoff = Duration::seconds((1i64 << run.calls().min(16)).min(MAX_BACKOFF_S));
    let too_old_at = run.id.run_at.max(run.enqueued_at) + max_age;
    let most = max_runtime.unwrap_or(max_age).min(too_old_at - now);
    backoff.max(asked.unwrap_or_default().min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Trigger;
    use serde_json::json;

    fn now() -> Instant {
        "2026-01-01T09:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_delay_is_seconds_or_a_date() {
        for (text, expected) in [
            ("120", Some(120)),
            (" 1 ", Some(1)),
            ("0", None),
            ("99999999999999999999", Some(i64::from(u32::MAX))),
            ("Thu, 01 Jan 2026 09:02:00 GMT", Some(120)),
            ("Thursday, 01-Jan-26 09:02:00 GMT", Some(120)),
            ("Thu Jan  1 09:02:00 2026", Some(120)),
            ("Thu, 01 Jan 2026 08:59:59 GMT", None),
            ("-5", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            let found = retry_after(text, now());
            assert_eq!(found, expected.map(Duration::seconds), "{text}");
        }
    }

    fn claimed(attempt: u32) -> Run {
        let id = "nightly@2026-01-01T09:00:00Z".parse().unwrap();
        let planned = Run::planned(id, Trigger::Manual, "ann", 1, now(), now());
        Run { attempt, status: Status::Started, started_at: Some(now()), ..planned }
    }

    #[test]
    fn each_attempt_has_a_record_or_says_that_it_has_none() {
        let later = now() + Duration::seconds(1);
        let kept = claimed(1).attempts_with("HTTP 503", Some("busy"), later);
        // The second launcher died.
        let third = Run { attempts: kept, error: Some("HTTP 503: busy".to_owned()), ..claimed(3) };
        let shown = serde_json::to_value(third.attempts_shown()).unwrap();
        let (start, end) = ("2026-01-01T09:00:00.000Z", "2026-01-01T09:00:01.000Z");
        let first = json!({
            "attempt": 1, "started_at": start, "finished_at": end, "error": "HTTP 503",
            "answer": "busy",
        });
        let second = json!({
            "attempt": 2, "started_at": null, "finished_at": null, "error": NO_RECORD,
            "answer": null,
        });
        let going = json!({
            "attempt": 3, "started_at": start, "finished_at": null, "error": null, "answer": null,
        });
        assert_eq!(shown, json!([first, second, going]));
        let (finished_at, result) = (Some(later), Some(json!({"rows": 7})));
        let done = Run { status: Status::Success, finished_at, result, error: None, ..third };
        let last = done.attempts_shown().pop().unwrap();
        assert_eq!((last.finished_at, last.error), (finished_at, None));
        assert_eq!(last.answer.as_deref(), Some(r#"{"rows":7}"#));
        assert_eq!(claimed(0).attempts_shown(), []);
    }

    #[test]
    fn a_claim_that_was_given_back_is_no_call() {
        let run = Run { not_called: 2, ..claimed(3) };
        assert_eq!(run.calls(), 1);
        let waiting = |run: &Run| Run { status: Status::Enqueued, ..run.clone() };
        assert!(waiting(&run).is_between_attempts());
        assert!(!run.is_between_attempts());
        assert!(!waiting(&Run { not_called: 3, ..run }).is_between_attempts());
    }

    #[test]
    fn a_record_keeps_a_bounded_part_of_its_attempts() {
        let mut run = claimed(0);
        for attempt in 1..=25 {
            run.attempt = attempt;
            run.attempts = run.attempts_with(&"e".repeat(999), Some(&"a".repeat(999)), now());
        }
        let numbers = |all: &[Attempt]| all.iter().map(|one| one.attempt).collect::<Vec<_>>();
        let newest: Vec<u32> = (16..=25).collect();
        assert_eq!(
            (numbers(&run.attempts), numbers(&run.attempts_shown())),
            (newest.clone(), newest)
        );
        assert!(serde_json::to_string(&run.attempts).unwrap().len() < 10_000);
        // The same attempt has one record, even if it is written twice.
        assert_eq!(run.attempts_with("again", None, now()).len(), MAX_KEPT);
    }

    /// The wait in seconds of a run that is `age_s` old.
    #[track_caller]
    fn check(attempt: u32, asked_s: Option<i64>, runtime_s: Option<i64>, age_s: i64, wait_s: i64) {
        let at = now() - Duration::seconds(age_s);
        let id = format!("nightly@{}", crate::instant::text(at)).parse().unwrap();
        let run = Run { attempt, ..Run::planned(id, Trigger::Manual, "ann", 1, at, at) };
        let max_age = Duration::hours(24);
        let seconds = |s: Option<i64>| s.map(Duration::seconds);
        let found = wait(&run, seconds(asked_s), seconds(runtime_s), max_age, now());
        assert_eq!(found.num_seconds(), wait_s);
    }

    #[test]
    fn a_run_waits_longer_after_each_attempt_and_as_long_as_its_target_asks() {
        const DAY: i64 = 86_400;
        //    attempt  asked       runtime    age        waits
        check(1, None, None, 0, 2);
        check(4, None, None, 0, 16);
        check(9, None, None, 0, 300);
        check(60, None, None, 0, 300);
        check(1, Some(1), None, 0, 2);
        check(1, Some(120), None, 0, 120);
        check(1, Some(3600), None, 0, 3600);
        check(1, Some(3600), Some(60), 0, 60);
        check(1, Some(3600), Some(7200), 0, 3600);
        check(1, Some(7 * DAY), None, 0, DAY);
        check(1, Some(600), None, DAY - 30, 30);
        check(3, Some(600), None, DAY + 30, 8);
    }
}
