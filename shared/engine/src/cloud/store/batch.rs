//! Batches: the launches of one invocation share their calls of the tables.
//!
//! One invocation receives up to 250 runs whose launch time has come. Each launch still reads its
//! schedule, claims its run and records its outcome by itself, in that order, and gets its own
//! answer. Requests that several launches make at the same time go into one call.

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

/// How long an outcome waits for the outcomes of launches that are still calling their targets. The
/// invocation waits for those launches anyway.
const MAX_OUTCOME_WAIT: Duration = Duration::from_millis(10);

/// The store, as the launches of one invocation use it.
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

    /// Reads a schedule consistently, together with other reads.
    pub(crate) async fn schedule(&self, id: &ScheduleId) -> Result<Arc<Stored>, Fault> {
        match self.reads.ask(id.clone()).await {
            Some(answer) => answer,
            None => self.store.schedule(id).await.map(Arc::new),
        }
    }

    /// Claims a run as [`Store::claim_run`] does; together with other claims, if no launcher has
    /// claimed the run before.
    pub(crate) async fn claim_run(
        &self,
        claimant: &Claimant<'_>,
        lease: TimeDelta,
        now: Instant,
    ) -> Result<Claim, Fault> {
        // This condition is stricter than the one of a single claim. A run that only the single
        // claim may take is rare and not worth a statement.
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
        // If the statement took effect after all, the single claim recognises the call id and
        // succeeds.
        self.store.claim_run(claimant, lease, now).await
    }

    /// Ends a run as [`Store::finish_run`] does for its newest claim; together with other ends, if
    /// the run succeeded.
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

    /// Marks that a launch calls its target; the call is over when the guard is dropped.
    pub(crate) fn calling(&self) -> Calling<'_> {
        self.outcomes.answers.calls.begin()
    }
}

/// The number of launches that are calling their targets.
#[derive(Default)]
struct Calls(watch::Sender<usize>);

impl Calls {
    fn begin(&self) -> Calling<'_> {
        self.0.send_modify(|count| *count += 1);
        Calling(&self.0)
    }

    /// Returns when no launch is calling its target, or after `MAX_OUTCOME_WAIT`.
    async fn are_over(&self) {
        let mut calls = self.0.subscribe();
        let _ = tokio::time::timeout(MAX_OUTCOME_WAIT, calls.wait_for(|count| *count == 0)).await;
    }
}

/// The guard of [`Batch::calling`].
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
        assert_eq!(begin.elapsed(), later + MAX_OUTCOME_WAIT);
    }
}
