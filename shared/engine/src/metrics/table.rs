//! The table of all metrics. Nothing else can be counted. The alarms and the dashboard of the
//! deploy template use these names, and a test compares the two.

/// The name of a metric. Only this table can make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(&'static str);

impl Name {
    /// The name as CloudWatch shows it.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

macro_rules! metrics {
    ($($constant:ident $name:literal $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $constant: Name = Name($name);)*
        /// All metrics.
        pub const METRICS: &[Name] = &[$($constant),*];
    };
}

// The tick counts these at every call.
metrics! {
    SCHEDULES_DUE "schedules_due" "Clocks that were due when the tick looked.";
    RUNS_EMITTED "runs_emitted" "Fires recorded and sent.";
    RUNS_RESENT "runs_resent" "Fires that were recorded earlier and had not launched, sent again.";
    RUNS_SKIPPED "runs_skipped" "Fires recorded as missed; a summary of many fires counts once.";
    CLOCKS_FAILED "clocks_failed" "Clocks, shards and duties that failed; the next tick tries them again.";
    RACES_LOST "races_lost" "Clocks that another tick or an edit changed meanwhile.";
    SCHEDULES_BROKEN "schedules_broken" "Clocks whose expression or item cannot be read.";
    ZONES_LOST "zones_lost" "Schedules that run on UTC because their zone is unknown.";
    SHARES_HANDED_OVER "shares_handed_over" "Shares of the due clocks that ticks handed over to other ticks.";
    DUE_LEFT "due_left" "Clocks, duties and shards left to the rule's next tick for lack of time.";
    EMIT_DRIFT "emit_drift" "Milliseconds a fire was late when it was sent; 0 if it was sent ahead.";

    // The launcher counts these at every batch.
    RUNS_LAUNCHED "runs_launched" "Runs whose target accepted them.";
    RUNS_SKIPPED_OVERLAP "runs_skipped_overlap" "Runs skipped because another run held the slot or the queue was full.";
    RUNS_CANCELLED "runs_cancelled" "Runs cancelled before their launch.";
    RUNS_FAILED_LAUNCH "runs_failed_launch" "Runs that failed because their launch failed or their workflow is missing.";
    MESSAGES_IGNORED "messages_ignored" "Fires and messages with nothing to do.";
    MESSAGES_AGAIN "messages_again" "Fires that come again.";
    LAUNCHER_FAULTS "launcher_faults" "Messages that met a fault or cannot be read; the queue delivers them again.";
    LAUNCH_DRIFT "launch_drift" "Milliseconds between a run's launch time and its claim.";

    // Recovery counts these at every call.
    RUNS_LOOKED_AT "runs_looked_at" "Runs that the sweep looked at.";
    RUNS_LOST "runs_lost" "Runs that recovery found without a handoff; each counts once.";
    RUNS_RECOVERED "runs_recovered" "Lost runs sent again; each time counts.";
    RUNS_TIMED_OUT "runs_timed_out" "Runs that took longer than `max_runtime_s`.";
    RUNS_ABANDONED "runs_abandoned" "Runs that recovery abandoned.";
    DEAD_LETTERS "dead_letters" "Dead letters opened.";
    POISON_MESSAGES "poison_messages" "Dead letters that cannot be read.";
    RECOVERY_FAILED "recovery_failed" "Runs, minutes and dead letters that failed; the next call tries them again.";
    SCHEDULES_CHECKED "schedules_checked" "Schedules checked by the daily self-check.";
    UNEXPLAINED "unexplained" "Fires of the day before without an explanation.";
    CLOCKS_REPAIRED "clocks_repaired" "Clocks that were missing from the due index and were put back.";

    // The function that ends the run counts these: launcher, recovery or api.
    RUNS_SUCCEEDED "runs_succeeded" "Runs that ended with SUCCESS.";
    RUNS_FAILED "runs_failed" "Runs that ended with FAILED, whatever the reason.";
    SCHEDULES_FAILING "schedules_failing" "Schedules paused after failures in a row.";
    ALERTS_SENT "alerts_sent" "Alerts about failures in a row that their destination accepted.";
    ALERTS_FAILED "alerts_failed" "Alerts about failures in a row that their destination did not accept.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_operators_explains_every_metric() {
        let page = include_str!("../../../../docs/operations.md");
        for metric in METRICS {
            let row = format!("\n| `{}` | ", metric.as_str());
            assert!(page.contains(&row), "docs/operations.md lacks {}", metric.as_str());
        }
    }
}
