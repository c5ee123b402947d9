//! The metrics there are. No other can be counted, and the deploy template's alarms and dashboard
//! name these; a test compares them.

/// The name of a metric. Only this table makes some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(&'static str);

impl Name {
    /// As CloudWatch knows it.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

macro_rules! metrics {
    ($($constant:ident $name:literal $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $constant: Name = Name($name);)*
        /// Every metric.
        pub const METRICS: &[Name] = &[$($constant),*];
    };
}

// Of the tick, at every call.
metrics! {
    SCHEDULES_DUE "schedules_due" "Clocks that were due.";
    RUNS_EMITTED "runs_emitted" "Fires recorded and sent.";
    RUNS_RESENT "runs_resent" "Fires that were recorded before and had not launched, sent again.";
    RUNS_SKIPPED "runs_skipped" "Fires recorded as missed.";
    CLOCKS_FAILED "clocks_failed" "Clocks, shards and duties that did not get through.";
    RACES_LOST "races_lost" "Clocks that somebody else moved meanwhile.";
    SCHEDULES_BROKEN "schedules_broken" "Clocks that cannot be read.";
    ZONES_LOST "zones_lost" "Schedules that run on UTC because their zone is unknown.";
    SHARES_HANDED_OVER "shares_handed_over" "Shares of what was due that ticks handed over to others.";
    DUE_LEFT "due_left" "Clocks, duties and shards left to the next tick for want of time.";
    EMIT_DRIFT "emit_drift" "How late a fire was when it was sent.";

    // Of the launcher, at every batch.
    RUNS_LAUNCHED "runs_launched" "Runs whose target accepted them.";
    RUNS_SKIPPED_OVERLAP "runs_skipped_overlap" "Runs skipped because another was in the way.";
    RUNS_CANCELLED "runs_cancelled" "Runs that were not to be launched any more.";
    RUNS_FAILED_LAUNCH "runs_failed_launch" "Runs that no target would take.";
    MESSAGES_IGNORED "messages_ignored" "Messages with nothing to do.";
    MESSAGES_AGAIN "messages_again" "Messages handed back.";
    LAUNCHER_FAULTS "launcher_faults" "Messages that met a fault.";
    LAUNCH_DRIFT "launch_drift" "How far from its time a run was claimed.";

    // Of recovery, at every call.
    RUNS_LOOKED_AT "runs_looked_at" "Runs swept.";
    RUNS_RECOVERED "runs_recovered" "Lost runs sent again.";
    RUNS_TIMED_OUT "runs_timed_out" "Runs that took too long.";
    RUNS_ABANDONED "runs_abandoned" "Runs given up on.";
    DEAD_LETTERS "dead_letters" "Dead letters opened.";
    POISON_MESSAGES "poison_messages" "Dead letters nobody understands.";
    RECOVERY_FAILED "recovery_failed" "Runs, minutes and letters that did not get through.";
    SCHEDULES_CHECKED "schedules_checked" "Schedules looked at by the daily self-check.";
    UNEXPLAINED "unexplained" "Fires that nobody can explain.";
    CLOCKS_REPAIRED "clocks_repaired" "Clocks that were put back into the due index.";

    // Of whoever sees it happen.
    SCHEDULES_FAILING "schedules_failing" "Schedules paused after failures in a row.";
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
