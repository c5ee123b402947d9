//! Spans: the stretches of time between clock changes, in which the local clock of a zone runs
//! evenly.

use super::patch::Change;

/// One span. From `start` to `end` (exclusive) the local clock is `offset` seconds ahead of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first instant of the span, in seconds since 1970. The first span starts at `BEGINNING`.
    pub(crate) start: i64,
    /// The first instant after the span. The last span ends at `END`.
    pub(crate) end: i64,
    pub(crate) offset: i32,
    /// The latest local time that the clock had reached before the span began. If the span begins
    /// earlier than that, the clock repeats the times between (a fold). If the span begins later,
    /// the clock skipped the times between (a gap).
    pub(crate) reached: i64,
}

impl Span {
    pub(crate) fn local_start(&self) -> i64 {
        self.start + i64::from(self.offset)
    }

    pub(crate) fn local_end(&self) -> i64 {
        self.end + i64::from(self.offset)
    }

    /// Whether the clock skipped local times right before the span.
    pub(crate) fn follows_gap(&self) -> bool {
        self.local_start() > self.reached
    }
}

/// Far outside the instants of chrono, but not so far that adding an offset overflows.
pub(crate) const BEGINNING: i64 = i64::MIN / 2;
pub(crate) const END: i64 = i64::MAX / 2;

/// All spans of a zone, in order of time and without gaps between them.
#[derive(Debug)]
pub(crate) struct Spans {
    spans: std::borrow::Cow<'static, [Span]>,
}

pub(crate) static UTC_SPANS: Spans = Spans {
    spans: std::borrow::Cow::Borrowed(&[Span {
        start: BEGINNING,
        end: END,
        offset: 0,
        reached: BEGINNING,
    }]),
};

impl Spans {
    /// Builds the spans from clock changes in order of time. The offset of the first change also
    /// applies to the time before it.
    pub(crate) fn new(changes: &[Change]) -> Spans {
        let mut spans: Vec<Span> = Vec::with_capacity(changes.len());
        let mut reached = BEGINNING;
        for (index, &(at, offset)) in changes.iter().enumerate() {
            let end = changes.get(index + 1).map_or(END, |next| next.0);
            let start = if index == 0 { BEGINNING } else { at };
            let span = Span { start, end, offset, reached };
            // No span comes before the first one, so nothing can be skipped or repeated there.
            let reached_before = if index == 0 { span.local_start() } else { reached };
            spans.push(Span { reached: reached_before, ..span });
            reached = reached_before.max(span.local_end());
        }
        Spans { spans: spans.into() }
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// The span with this index, or the last span if the index is too large.
    pub(crate) fn get(&self, index: usize) -> Span {
        self.spans[index.min(self.spans.len() - 1)]
    }

    /// The index of the span that contains an instant.
    pub(crate) fn index_at(&self, instant: i64) -> usize {
        self.spans.partition_point(|span| span.start <= instant).saturating_sub(1)
    }

    pub(crate) fn at(&self, instant: i64) -> Span {
        self.get(self.index_at(instant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_clock_has_reached_outlasts_a_short_span() {
        // Back by an hour, back by another ten minutes later, then forward by two hours.
        let spans = Spans::new(&[(0, 7_200), (1_000, 3_600), (1_600, 0), (9_000, 7_200)]);
        let reached: Vec<i64> = (1..4).map(|index| spans.get(index).reached).collect();
        assert_eq!(reached, [8_200, 8_200, 9_000]);
        let gaps: Vec<bool> = (1..4).map(|index| spans.get(index).follows_gap()).collect();
        assert_eq!(gaps, [false, false, true]);
    }

    #[test]
    fn an_instant_belongs_to_the_span_that_begins_with_it() {
        let spans = Spans::new(&[(0, 60), (1_000, 0)]);
        assert_eq!([i64::MIN, 999, 1_000, i64::MAX].map(|at| spans.at(at).offset), [60, 60, 0, 0]);
    }
}
