//! A batch: the launches of one invocation ask the tables together.
//!
//! A batch of the queue is up to 250 runs whose second has come. Each still reads its schedule, claims
//! its run and records its outcome by itself, in that order, and hears its own answer; what several
//! of them ask at the same moment goes in one call.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::run::{Run, Status};
use chrono::TimeDelta;
use tokio::sync::watch;

use super::runs::{Claim, Claimant, Outcome, claiming, read_run};
use super::schedules::Stored;
use super::statements::{MAX_STATEMENTS, Said, Statement};
use super::{Store, conditions, number, text};
use crate::cloud::gather::{Answers, Gather};
use crate::fault::Fault;

/// An outcome waits this long for those of the launches that are still at their targets. The
/// invocation waits for them anyway.
const A_MOMENT: Duration = Duration::from_millis(10);

/// The tables, as the launches of one invocation use them.
pub(crate) struct Batch {
    store: Store,
    reads: Gather<Reads>,
    claims: Gather<Claims>,
    outcomes: Gather<Outcomes>,
}

impl Batch {
    pub(super) fn on(store: &Store) -> Batch {
        let store = || store.clone();
        Batch {
            reads: Gather::of(Reads(store())),
            claims: Gather::of(Claims(store())),
            outcomes: Gather::of(Outcomes { store: store(), calls: Calls::default() }),
            store: store(),
        }
    }

    /// A schedule as it is at this moment.
    pub(crate) async fn schedule(&self, id: &ScheduleId) -> Result<Arc<Stored>, Fault> {
        match self.reads.ask(id.clone()).await {
            Some(answer) => answer,
            None => self.store.schedule(id).await.map(Arc::new),
        }
    }

    /// Claims a run as [`Store::claim_run`] does, together with others if no launcher has had it.
    pub(crate) async fn claim_run(
        &self,
        claimant: &Claimant<'_>,
        lease: TimeDelta,
        now: Instant,
    ) -> Result<Claim, Fault> {
        // Stricter than need be: whatever else may be claimed is not worth a statement.
        let update = claiming(claimant, lease, now).set("attempt", number(1));
        let given = [text(Status::Enqueued.as_str()), number(claimant.revision)];
        let condition = conditions::RUN_IS_UNTOUCHED;
        let statement = self.store.update_of_run(claimant.run, update, condition, given);
        let said = self.claims.ask(statement.returning_all()).await;
        if let Some(Said::Done(Some(item))) = said
            && let Ok(run) = read_run(item)
        {
            return Ok(Claim::Won(run));
        }
        // If the statement was done all the same, this call knows its own claim again.
        self.store.claim_run(claimant, lease, now).await
    }

    /// Ends a run as [`Store::finish_run`] does for its newest claim, together with others if it
    /// ended well.
    pub(crate) async fn finish_run(
        &self,
        run: &Run,
        outcome: &Outcome,
        now: Instant,
    ) -> Result<bool, Fault> {
        if outcome.status == Status::Success && outcome.error.is_none() {
            let given = [text(Status::Started.as_str()), number(run.attempt)];
            let update = self.store.ending(outcome, now);
            let condition = conditions::CLAIM_STANDS;
            let statement = self.store.update_of_run(&run.id, update, condition, given);
            if let Some(Said::Done(_)) = self.outcomes.ask(statement).await {
                return Ok(true);
            }
        }
        self.store.finish_run(&run.id, Some(run.attempt), outcome, now).await
    }

    /// A launch is at its target until this is dropped.
    pub(crate) fn calling(&self) -> Calling<'_> {
        self.outcomes.answers.calls.begin()
    }
}

/// How many launches are at their targets.
#[derive(Default)]
struct Calls(watch::Sender<usize>);

impl Calls {
    fn begin(&self) -> Calling<'_> {
        self.0.send_modify(|count| *count += 1);
        Calling(&self.0)
    }

    /// Returns when none is, or after a moment.
    async fn are_over(&self) {
        let mut calls = self.0.subscribe();
        let _ = tokio::time::timeout(A_MOMENT, calls.wait_for(|count| *count == 0)).await;
    }
}

/// See [`Batch::calling`].
pub(crate) struct Calling<'a>(&'a watch::Sender<usize>);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

struct Reads(Store);

impl Answers for Reads {
    type Question = ScheduleId;
    type Answer = Result<Arc<Stored>, Fault>;
    const MAX: usize = MAX_STATEMENTS;

    async fn answer(&self, ids: Vec<ScheduleId>) -> Vec<Self::Answer> {
        let mut wanted = ids.clone();
        wanted.sort();
        wanted.dedup();
        let found: HashMap<_, _> = match self.0.stored(&wanted).await {
            Ok(found) => found.into_iter().map(|(id, stored)| (id, stored.map(Arc::new))).collect(),
            Err(fault) => return ids.iter().map(|_| Err(fault.copy())).collect(),
        };
        let nothing = Arc::new(Stored::Nothing);
        let answer = |id: &ScheduleId| match found.get(id) {
            None => Ok(nothing.clone()),
            Some(Ok(stored)) => Ok(stored.clone()),
            Some(Err(fault)) => Err(fault.copy()),
        };
        ids.iter().map(answer).collect()
    }
}

struct Claims(Store);

impl Answers for Claims {
    type Question = Statement;
    type Answer = Said;
    const MAX: usize = MAX_STATEMENTS;

    async fn answer(&self, statements: Vec<Statement>) -> Vec<Said> {
        self.0.execute(statements).await
    }
}

struct Outcomes {
    store: Store,
    calls: Calls,
}

impl Answers for Outcomes {
    type Question = Statement;
    type Answer = Said;
    const MAX: usize = MAX_STATEMENTS;

    async fn answer(&self, statements: Vec<Statement>) -> Vec<Said> {
        self.store.execute(statements).await
    }

    async fn wait_for_others(&self) {
        self.calls.are_over().await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outcome_waits_for_the_last_call_but_not_for_long() {
        let (calls, begin) = (Calls::default(), Instant::now());
        calls.are_over().await;
        assert_eq!(begin.elapsed(), Duration::ZERO);

        let ends = |calling, after| async move {
            tokio::time::sleep(after).await;
            drop(calling);
        };
        let (soon, later) = (Duration::from_millis(2), Duration::from_millis(4));
        let both = futures::future::join(ends(calls.begin(), soon), ends(calls.begin(), later));
        futures::future::join(both, calls.are_over()).await;
        assert_eq!(begin.elapsed(), later);

        let _slow = calls.begin();
        calls.are_over().await;
        assert_eq!(begin.elapsed(), later + A_MOMENT);
    }
}
