//! Faults: what may go wrong with a call on the wire, how often, and until when.

use belfry_core::instant::Instant;
use chrono::Duration;

use crate::dice::Dice;

/// The probability of each fault, in ten thousand, and the storms in which many calls fail in a
/// row.
#[derive(Clone, Debug)]
pub(super) struct Faults {
    /// Whether faults happen at all.
    pub(super) on: bool,
    /// How many happened.
    pub(super) count: u64,
    error_before: u32,
    error_after: u32,
    throttle: u32,
    slow: u32,
    death: u32,
    storms: Vec<(Instant, Instant)>,
    /// Index answers that lag, and by how many milliseconds at most.
    pub(super) lagging_index: u32,
    pub(super) lag_ms: i64,
    /// Entries of a batch that fail alone.
    pub(super) failed_entry: u32,
    /// Messages delivered twice, late, or never.
    pub(super) duplicate: u32,
    pub(super) late: u32,
    pub(super) lost: u32,
    /// Messages delivered again while their receiver works on them, and deletions that do not
    /// arrive.
    pub(super) lost_visibility: u32,
    pub(super) lost_deletion: u32,
    /// Ticks and recovery calls that are dropped, late, or doubled.
    pub(super) missing_tick: u32,
    pub(super) late_tick: u32,
    pub(super) double_tick: u32,
    /// Executors that refuse for now, refuse for good, accept without their answer arriving, or do
    /// not answer for long.
    pub(super) refusal: u32,
    pub(super) final_refusal: u32,
    pub(super) slow_executor: u32,
    /// Executors that never report the end.
    pub(super) silence: u32,
}

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Fine,
    /// The call is not executed, and the caller gets an error.
    ErrorBefore,
    /// The call is executed, and the caller gets an error.
    ErrorAfter,
    /// The service throttles the call.
    Throttled,
    /// The caller dies before the call is executed.
    DeathBefore,
    /// The caller dies after the call is executed.
    DeathAfter,
}

impl Faults {
    /// Each kind of fault is on or off, so that lives differ in character.
    pub(super) fn draw(dice: &mut Dice, from: Instant, until: Instant) -> Faults {
        let mut rate = |of: &[u32]| if dice.chance(7000) { dice.pick(of) } else { 0 };
        let mut faults = Faults {
            on: true,
            count: 0,
            error_before: rate(&[20, 100, 300]),
            error_after: rate(&[20, 100, 300]),
            throttle: rate(&[50, 200]),
            slow: rate(&[20, 60]),
            death: rate(&[20, 40, 80]),
            storms: Vec::new(),
            lagging_index: rate(&[1000, 5000]),
            lag_ms: 0,
            failed_entry: rate(&[100, 1000]),
            duplicate: rate(&[300, 2000]),
            late: rate(&[300, 1000]),
            lost: rate(&[50, 300]),
            lost_visibility: rate(&[500, 3000]),
            lost_deletion: rate(&[200, 1000]),
            missing_tick: rate(&[500, 2000]),
            late_tick: rate(&[500, 2000]),
            double_tick: rate(&[1000, 4000]),
            refusal: rate(&[200, 1500]),
            final_refusal: rate(&[100, 500]),
            slow_executor: rate(&[200, 1000]),
            silence: rate(&[300, 1500]),
        };
        faults.lag_ms = dice.pick(&[500, 5_000, 30_000]);
        let seconds = (until - from).num_seconds();
        for _ in 0..dice.between(0, 2) {
            let start = from + Duration::seconds(dice.between(0, seconds));
            faults.storms.push((start, start + Duration::seconds(dice.between(2, 90))));
        }
        faults
    }

    /// Draws the fate of a call at `now`, and counts it.
    pub(super) fn fate(&mut self, dice: &mut Dice, now: Instant) -> Fate {
        if !self.on {
            return Fate::Fine;
        }
        let in_storm = self.storms.iter().any(|(from, to)| *from <= now && now <= *to);
        let more = if in_storm { 2000 } else { 0 };
        let fate = [
            (self.death / 2, Fate::DeathBefore),
            (self.death / 2, Fate::DeathAfter),
            (self.error_before + more, Fate::ErrorBefore),
            (self.error_after + more, Fate::ErrorAfter),
            (self.throttle + more, Fate::Throttled),
        ]
        .into_iter()
        .find(|(rate, _)| dice.chance(*rate))
        .map_or(Fate::Fine, |(_, fate)| fate);
        self.count += u64::from(fate != Fate::Fine);
        fate
    }

    /// Whether a fault of this rate happens now; counts it if it does.
    pub(super) fn strikes(&mut self, dice: &mut Dice, rate: u32) -> bool {
        let strikes = self.on && dice.chance(rate);
        self.count += u64::from(strikes);
        strikes
    }

    /// The latency of a call in milliseconds.
    pub(super) fn latency(&mut self, dice: &mut Dice) -> i64 {
        if self.strikes(dice, self.slow) { dice.between(500, 8_000) } else { dice.between(1, 6) }
    }
}
