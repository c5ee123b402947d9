//! Settling the fires that are on their way when a definition changes: fires that came due before
//! are recorded, unlaunched runs are confirmed or cancelled, and fires that are due soon are
//! emitted.

use belfry_core::fire::plan::Horizon;
use belfry_core::fire::verdict::{Verdict, judge};
use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::run::Run;
use belfry_core::schedule::{Catchup, Clock, Policies};
use chrono::Duration;
use futures::{StreamExt, stream};

use crate::app::App;
use crate::cloud::store::Stored;
use crate::fault::Fault;
use crate::fires::emit;

/// How far back unlaunched runs are looked for. Only recovery launches an older run, and recovery
/// decides anew. Two days, because a run that follows another has the launch time of that other
/// run, which may have taken long.
const MAX_UNLAUNCHED_AGE: Duration = Duration::days(2);
/// Confirmations and cancellations done concurrently.
const CONCURRENCY: usize = 16;
/// Rounds of catching up in one resume, of `MAX_CATCHUP_PER_TICK` fires each.
const MAX_ROUNDS: usize = 100;

/// Catches up the fires that a resumed clock has missed, and emits those that are due soon. A fire
/// that was held back by a pause is not merely late, so the only grace is the time since the pause
/// ended. After `MAX_ROUNDS` rounds the ticks continue, by the clock's own policy.
pub(crate) async fn catch_up(
    app: &App,
    clock: &Clock,
    policy: Catchup,
    grace: Duration,
    now: Instant,
) -> Result<(), Fault> {
    let horizon = Horizon { grace, ..app.settings.horizon.clone() };
    let policies = Policies { catchup_policy: policy, ..clock.policies.clone() };
    let mut clock = Clock { policies, ..clock.clone() };
    for _ in 0..MAX_ROUNDS {
        emit::emit(app, vec![clock.clone()], &horizon, now).await;
        let Stored::Schedule(now_is) = app.store.schedule(&clock.schedule_id).await? else { break };
        let next = now_is.clock.next_run_at;
        if now_is.clock.revision != clock.revision || next.is_none_or(|next| next > now) {
            break;
        }
        clock.next_run_at = next;
    }
    Ok(())
}

/// Records the fires that came due under the old definition, before it is replaced. Answers with
/// the instant after which the new definition begins: now, or the second before the first fire that
/// is still to be recorded.
pub(crate) async fn emit_overdue(app: &App, old: &Clock, now: Instant) -> Result<Instant, Fault> {
    let overdue = Horizon { lookahead: Duration::zero(), ..app.settings.horizon.clone() };
    let mut clock = old.clone();
    for _ in 0..MAX_ROUNDS {
        // The fires of an unreadable expression are unknown.
        let is_past = clock.next_run_at.is_some_and(|next| next <= now);
        if clock.paused || !is_past || clock.read().is_err() {
            return Ok(now);
        }
        if emit::emit(app, vec![clock.clone()], &overdue, now).await.failed > 0 {
            let problem = "the fires due before the change could not be recorded";
            let doing = format!("change {}", old.schedule_id);
            return Err(Fault { doing, source: problem.into() });
        }
        match app.store.schedule(&old.schedule_id).await? {
            Stored::Schedule(schedule) => clock = schedule.clock,
            _ => return Ok(now),
        }
    }
    Ok(clock.next_run_at.map_or(now, |next| now.min(next - Duration::seconds(1))))
}

/// Confirms or cancels every run that has not launched, by the present definition. A run that a
/// launcher holds may come back from the launcher; it is marked so that no launcher can claim it by
/// a definition that was read before.
pub(crate) async fn settle_unlaunched(
    app: &App,
    old: &Clock,
    clock: Option<&Clock>,
    revision: u64,
    now: Instant,
) -> Result<(), Fault> {
    let window = Duration::seconds(old.policies.catchup_window_s.unwrap_or(0).cast_signed());
    let from = now - MAX_UNLAUNCHED_AGE - window;
    let runs = app.store.unended_runs(&old.schedule_id, from).await?;
    let settle = |run: Run| async move {
        let id = run.id;
        let settled = match judge(clock, &id, run.revision) {
            Verdict::Launch => app.store.confirm_run(&id, revision).await?,
            Verdict::Cancel(reason) => app.store.cancel_run(&id, reason, revision, now).await?,
        };
        if !settled {
            app.store.settle_started_run(&id, revision).await?;
        }
        Ok::<_, Fault>(())
    };
    let answers: Vec<_> =
        stream::iter(runs.into_iter().map(settle)).buffer_unordered(CONCURRENCY).collect().await;
    answers.into_iter().collect()
}

/// Marks the runs of a schedule that is newly followed, so that launchers which read the schedule
/// ahead read it again. The mark is needed because a new follower does not raise the revision.
pub(crate) async fn invalidate_prereads(
    app: &App,
    id: &ScheduleId,
    now: Instant,
) -> Result<(), Fault> {
    let runs = app.store.unended_runs(id, now - MAX_UNLAUNCHED_AGE).await?;
    let mark = |run: Run| async move { app.store.invalidate_preread(&run.id).await };
    let answers = stream::iter(runs.into_iter().map(mark)).buffer_unordered(CONCURRENCY);
    answers.map(|marked| marked.map(|_| ())).collect::<Vec<_>>().await.into_iter().collect()
}

/// Emits the fires that are due before the next tick would see them. If that fails, the tick emits
/// them all the same.
pub(crate) async fn emit_soon(app: &App, clock: &Clock, now: Instant) {
    let horizon = &app.settings.horizon;
    if !clock.paused && clock.next_run_at.is_some_and(|next| next <= now + horizon.lookahead) {
        emit::emit(app, vec![clock.clone()], horizon, now).await;
    }
}
