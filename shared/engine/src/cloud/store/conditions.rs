//! Every condition a write stands under, named for what it guarantees.

/// One run per fire. A record that an older definition cancelled before it launched gives way to a
/// newer definition that has the fire again.
pub(super) const FIRE_IS_UNCLAIMED: &str =
    "attribute_not_exists(run_at) OR cancelled_by < :revision";

/// A clock is advanced by the tick that read it last, and never past an edit.
pub(super) const CLOCK_IS_AS_READ: &str = "next_run_at = :seen AND revision = :revision";

/// A clock gets a next run only while it has none.
pub(super) const CLOCK_HAS_NO_NEXT: &str =
    "attribute_not_exists(next_run_at) AND revision = :revision";

/// One launcher per run: nobody has it, or the delivery that had it is this very message and its
/// lease is over. A launcher that judged by an older clock than the run was confirmed under, or than
/// the change that met it in a launcher's hands, must look again.
pub(super) const RUN_IS_FREE: &str = "(#status IN (:enqueued, :queued) \
     OR (#status = :started AND holder = :holder AND lease_until < :now)) AND revision <= :revision \
     AND (attribute_not_exists(settled_by) OR settled_by <= :revision)";

/// What was read ahead of a run's time decides only if no change met the run since, not even one that
/// leaves the definition as it is.
pub(super) const NO_CHANGE_MET_IT: &str = "attribute_not_exists(settled_by)";

/// Only the claim with the newest fence may write.
pub(super) const CLAIM_IS_NEWEST: &str = "#status = :started AND attempt = :fence";

/// The executor may end what was started, whoever claimed it.
pub(super) const RUN_IS_STARTED: &str = "#status = :started";

/// Nothing that launched can be cancelled or confirmed.
pub(super) const RUN_IS_UNLAUNCHED: &str = "#status IN (:enqueued, :queued)";

/// What has not ended may be claimed again, some day.
pub(super) const RUN_IS_UNENDED: &str = "#status IN (:enqueued, :queued, :started)";

/// Recovery acts on a run as it saw it: nobody claimed, ended or recovered it since.
pub(super) const RUN_IS_AS_READ: &str = "#status = :seen AND attempt = :fence";

/// Only a run that nobody has begins to wait.
pub(super) const RUN_IS_ENQUEUED: &str = "#status = :enqueued";

/// There is something to look at.
pub(super) const RUN_EXISTS: &str = "attribute_exists(run_at)";

/// Under an unchanged definition there is room, or this run has its place already.
pub(super) const SLOT_IS_FREE: &str = "revision = :revision \
     AND (attribute_not_exists(active) OR size(active) < :max OR contains(active, :run))";

/// An edit builds on the definition its maker saw.
pub(super) const DEFINITION_IS_AS_READ: &str =
    "revision = :revision AND attribute_not_exists(deleted_at)";

/// A name is used once; a deleted schedule's name is free again.
pub(super) const NAME_IS_FREE: &str =
    "attribute_not_exists(schedule_id) OR attribute_exists(deleted_at)";

/// A pause that begins anew has its end in the future.
pub(super) const WAKE_IS_PAST: &str = "next_run_at <= :now";

/// A backfill is made once.
pub(super) const BACKFILL_IS_NEW: &str = "attribute_not_exists(schedule_id)";

/// Of two who go on with a backfill at once, one wins.
pub(super) const BACKFILL_IS_AS_READ: &str = "#version = :version";

/// A slot is given back to a clock that is still there.
pub(super) const CLOCK_EXISTS: &str = "attribute_exists(schedule_id)";

/// A version never changes.
pub(super) const VERSION_IS_NEW: &str = "attribute_not_exists(workflow_id)";

/// Nobody took a token for as long as the bucket takes to fill.
pub(super) const BUCKET_IS_FULL: &str = "attribute_not_exists(full_at) OR full_at < :now";

/// Somebody did, and there is one left.
pub(super) const BUCKET_HAS_A_TOKEN: &str = "full_at >= :now AND full_at <= :latest";

/// An owner has no more schedules than it may have.
pub(super) const OWNER_HAS_ROOM: &str = "attribute_not_exists(schedules) OR schedules < :most";

/// A caller's key stands for one run until it is forgotten.
pub(super) const KEY_IS_NEW: &str = "attribute_not_exists(run_id) OR expires_at < :now";

/// [`CLOCK_IS_AS_READ`] as a statement says it.
pub(super) const CLOCK_STANDS: &str = "\"next_run_at\" = ? AND \"revision\" = ?";

/// What most claims find of [`RUN_IS_FREE`]: nobody has had the run, and no change met it.
pub(super) const RUN_IS_UNTOUCHED: &str =
    "\"status\" = ? AND \"revision\" <= ? AND \"attempt\" = 0 AND \"settled_by\" IS MISSING";

/// [`CLAIM_IS_NEWEST`] as a statement says it.
pub(super) const CLAIM_STANDS: &str = "\"status\" = ? AND \"attempt\" = ?";
