//! All conditions of conditional writes, each named after what it guarantees.

/// There is one run per fire. A record that an older definition cancelled before its launch may be
/// replaced by a newer definition that has the fire again.
pub(super) const FIRE_IS_UNCLAIMED: &str =
    "attribute_not_exists(run_at) OR cancelled_by < :revision";

/// A clock is advanced only from the position at which it was read, and never past an edit.
pub(super) const CLOCK_IS_AS_READ: &str = "next_run_at = :seen AND revision = :revision";

/// A clock is given a next run only if it has none.
pub(super) const CLOCK_HAS_NO_NEXT: &str =
    "attribute_not_exists(next_run_at) AND revision = :revision";

/// A run has one launcher: no launcher holds it, or this very message held it before and the lease
/// is over. A run that waits for its next attempt cannot be claimed until then. A launcher that decided by an older revision than the one that confirmed the run, or
/// that marked the run while a launcher held it, must read the schedule again.
pub(super) const RUN_IS_FREE: &str = "(#status IN (:enqueued, :queued) \
     OR (#status = :started AND holder = :holder AND lease_until < :now)) AND revision <= :revision \
     AND (attribute_not_exists(settled_by) OR settled_by <= :revision) \
     AND (attribute_not_exists(retry_at) OR retry_at <= :now)";

/// A schedule that was read ahead of the launch time is used only if no change has marked the run
/// since, not even a change that leaves the definition as it is.
pub(super) const NO_CHANGE_MET_IT: &str = "attribute_not_exists(settled_by)";

/// Only the newest claim of a run may write.
pub(super) const CLAIM_IS_NEWEST: &str = "#status = :started AND attempt = :fence";

/// The executor may end a started run, whichever launcher claimed it.
pub(super) const RUN_IS_STARTED: &str = "#status = :started";

/// An executor may have the run: a launcher called it, and may have given it back for want of an
/// answer.
pub(super) const EXECUTOR_HAS_RUN: &str =
    "#status = :started OR (#status = :enqueued AND attempt = :fence)";

/// A run that has launched cannot be cancelled or confirmed.
pub(super) const RUN_IS_UNLAUNCHED: &str = "#status IN (:enqueued, :queued)";

/// A run that has not ended may be claimed again later.
pub(super) const RUN_IS_UNENDED: &str = "#status IN (:enqueued, :queued, :started)";

/// Recovery acts on a run only if it was not claimed, ended or recovered since recovery read it.
pub(super) const RUN_IS_AS_READ: &str = "#status = :seen AND attempt = :fence";

/// Only a run that no launcher holds can become QUEUED.
pub(super) const RUN_IS_ENQUEUED: &str = "#status = :enqueued";

/// The run has a record.
pub(super) const RUN_EXISTS: &str = "attribute_exists(run_at)";

/// The definition is unchanged, and a slot is free or this run holds one already.
pub(super) const SLOT_IS_FREE: &str = "revision = :revision \
     AND (attribute_not_exists(active) OR size(active) < :max OR contains(active, :run))";

/// An edit builds on the revision that its caller saw.
pub(super) const DEFINITION_IS_AS_READ: &str =
    "revision = :revision AND attribute_not_exists(deleted_at)";

/// An id has one schedule; the id of a deleted schedule is free again.
pub(super) const NAME_IS_FREE: &str =
    "attribute_not_exists(schedule_id) OR attribute_exists(deleted_at)";

/// The end of the pause has come; a new pause has its end in the future, and its entry stays.
pub(super) const WAKE_IS_PAST: &str = "next_run_at <= :now";

/// A backfill is created once.
pub(super) const BACKFILL_IS_NEW: &str = "attribute_not_exists(schedule_id)";

/// If two functions continue a backfill at the same time, one of them wins.
pub(super) const BACKFILL_IS_AS_READ: &str = "#version = :version";

/// A streak of failures has one alert: of two functions that see the streak, one sends it.
pub(super) const ALERT_IS_NEW: &str = "attribute_not_exists(claim)";

/// The same, if there was an alert before.
pub(super) const ALERT_IS_AS_READ: &str = "claim = :seen";

/// A slot is released only on a clock that still exists.
pub(super) const CLOCK_EXISTS: &str = "attribute_exists(schedule_id)";

/// The schedule is this owner's, and is not deleted.
pub(super) const CLOCK_IS_ALIVE: &str =
    "attribute_exists(schedule_id) AND attribute_not_exists(deleted_at) AND #owner = :owner";

/// A schedule gets its first sums once.
pub(super) const SUMS_ARE_NEW: &str = "attribute_not_exists(schedule_id)";

/// Runs are added to the sums once: the sums are those that were read before the runs. Sums of an older
/// release have no number.
pub(super) const SUMS_ARE_AS_READ: &str = "written = :written OR attribute_not_exists(written)";

/// A published version never changes.
pub(super) const VERSION_IS_NEW: &str = "attribute_not_exists(workflow_id)";

/// A version is deleted once.
pub(super) const VERSION_IS_THERE: &str =
    "attribute_exists(workflow_id) AND attribute_not_exists(deleted_at)";

/// No token was taken for as long as the bucket needs to fill up.
pub(super) const BUCKET_IS_FULL: &str = "attribute_not_exists(full_at) OR full_at < :now";

/// Tokens were taken, and at least one is left.
pub(super) const BUCKET_HAS_A_TOKEN: &str = "full_at >= :now AND full_at <= :latest";

/// The owner has fewer schedules than the limit.
pub(super) const OWNER_HAS_ROOM: &str = "attribute_not_exists(schedules) OR schedules < :most";

/// An idempotency key names one run until the key expires.
pub(super) const KEY_IS_NEW: &str = "attribute_not_exists(run_id) OR expires_at < :now";

/// [`CLOCK_IS_AS_READ`] in PartiQL.
pub(super) const CLOCK_STANDS: &str = "\"next_run_at\" = ? AND \"revision\" = ?";

/// The usual case of [`RUN_IS_FREE`]: no launcher has claimed the run, and no change has marked it.
pub(super) const RUN_IS_UNTOUCHED: &str =
    "\"status\" = ? AND \"revision\" <= ? AND \"attempt\" = 0 AND \"settled_by\" IS MISSING";

/// [`CLAIM_IS_NEWEST`] in PartiQL.
pub(super) const CLAIM_STANDS: &str = "\"status\" = ? AND \"attempt\" = ?";
