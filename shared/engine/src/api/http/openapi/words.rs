//! The words that requests and parameters may hold.

use super::kind::Kind::{self, Notation, Word};

pub(super) const OVERLAPS: Kind = Word(&["skip", "allow", "queue"]);
pub(super) const CATCHUPS: Kind = Word(&["none", "once", "fire_immediately", "spread"]);
pub(super) const ORDERS: Kind = Word(&["oldest_first", "newest_first"]);
pub(super) const WORKFLOW: Kind = Notation("workflow-name");
pub(super) const USER: Kind = Notation("user-id");

pub(super) const RUN_STATUSES: &[&str] =
    &["ENQUEUED", "QUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED", "ABANDONED"];
pub(super) const STATUSES: &[&str] = &["active", "paused", "pending", "expired", "invalid"];

#[cfg(test)]
mod tests {
    use super::*;
    use belfry_core::run;
    use belfry_core::schedule::{self, Catchup, Overlap};
    use belfry_core::words::variants;
    use serde_json::json;

    #[test]
    fn the_words_of_enums_are_those_of_their_variants() {
        let check = |kind: Kind, words: &[&str]| assert_eq!(kind.schema()["enum"], json!(words));
        check(OVERLAPS, variants::<Overlap>());
        check(CATCHUPS, variants::<Catchup>());
        check(Word(RUN_STATUSES), variants::<run::Status>());
        check(Word(STATUSES), variants::<schedule::Status>());
    }
}
