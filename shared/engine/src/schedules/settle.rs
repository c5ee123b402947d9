//! Fires on their way when a definition changes: each is confirmed under the new one or cancelled by
//! it, what was due before is recorded, and what is due soon is emitted.

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

/// A run older than this launches only by recovery, which judges it anew. A run that follows another
/// is named by the other's time, which may have taken long.
const OLDEST_ON_ITS_WAY: Duration = Duration::days(2);
/// Confirmations and cancellations under way at once.
const CONCURRENCY: usize = 16;
/// Rounds of catching up in one resume, `MAX_CATCHUP_PER_TICK` fires each.
const MAX_ROUNDS: usize = 100;

/// Catches up what a resumed clock has missed, and emits what is due soon. What a pause kept back is
/// not simply late, so that the only grace is the time since the pause ended. Beyond many rounds the
/// ticks go on, by the clock's own policy.
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

/// Records under the old definition what came due under it, before it is replaced. Answers with
/// the instant behind which the new definition begins: now, or before what is still to be recorded.
pub(crate) async fn emit_overdue(app: &App, old: &Clock, now: Instant) -> Result<Instant, Fault> {
    let overdue = Horizon { lookahead: Duration::zero(), ..app.settings.horizon.clone() };
    let mut clock = old.clone();
    for _ in 0..MAX_ROUNDS {
        // Nobody knows the fires of an expression that is not understood.
        let is_past = clock.next_run_at.is_some_and(|next| next <= now);
        if clock.paused || !is_past || clock.read().is_err() {
            return Ok(now);
        }
        if emit::emit(app, vec![clock.clone()], &overdue, now).await.failed > 0 {
            let problem = "what came due before the change could not be recorded";
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

/// Confirms or cancels every run that has not launched, by the definition as it is now. One that a
/// launcher has may come back from it: then nobody may claim it by what was read before.
pub(crate) async fn settle_unlaunched(
    app: &App,
    old: &Clock,
    clock: Option<&Clock>,
    revision: u64,
    now: Instant,
) -> Result<(), Fault> {
    let window = Duration::seconds(old.policies.catchup_window_s.unwrap_or(0).cast_signed());
    let from = now - OLDEST_ON_ITS_WAY - window;
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

/// Marks the runs of a schedule that another follows from now on, so that launchers which read the
/// schedule ahead read it again: a new follower raises no revision.
pub(crate) async fn invalidate_prereads(
    app: &App,
    id: &ScheduleId,
    now: Instant,
) -> Result<(), Fault> {
    let runs = app.store.unended_runs(id, now - OLDEST_ON_ITS_WAY).await?;
    let meet = |run: Run| async move { app.store.invalidate_preread(&run.id).await };
    let answers = stream::iter(runs.into_iter().map(meet)).buffer_unordered(CONCURRENCY);
    answers.map(|met| met.map(|_| ())).collect::<Vec<_>>().await.into_iter().collect()
}

/// Emits what is due before the next tick would see it. If that fails, the tick comes all the same.
pub(crate) async fn emit_soon(app: &App, clock: &Clock, now: Instant) {
    let horizon = &app.settings.horizon;
    if !clock.paused && clock.next_run_at.is_some_and(|next| next <= now + horizon.lookahead) {
        emit::emit(app, vec![clock.clone()], horizon, now).await;
    }
}
