//! Together: what launches of one batch ask of the tables at the same moment, they ask in one call.
//!
//! A batch of the queue is up to 250 runs whose second has come. Each still reads its schedule, claims
//! its run and records its outcome by itself, in that order, and hears its own answer.

use std::collections::HashMap;
use std::future::Future;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belfry_core::id::ScheduleId;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::sync::watch;

use crate::app::App;
use crate::cloud::bus::{Event, Events};
use crate::cloud::store::{MAX_STATEMENTS, Said, Statement, Store, Stored};
use crate::fault::Fault;

/// An outcome waits so long for those of the launches that are still at their targets. The invocation
/// waits for them anyway.
const A_MOMENT: Duration = Duration::from_millis(10);

/// What the launches of one batch share.
pub(crate) struct Together<'a> {
    store: &'a Store,
    reads: Gather<Reads<'a>>,
    claims: Gather<Claims<'a>>,
    outcomes: Gather<Outcomes<'a>>,
    news: Gather<News<'a>>,
}

impl<'a> Together<'a> {
    pub(crate) fn on(app: &'a App) -> Together<'a> {
        let store = &app.store;
        let (reads, claims) = (Gather::of(Reads(store)), Gather::of(Claims(store)));
        let outcomes = Gather::of(Outcomes { store, calls: Calls::default() });
        Together { store, reads, claims, outcomes, news: Gather::of(News(&app.events)) }
    }

    /// A schedule as it is at this moment.
    pub(crate) async fn schedule(&self, id: &ScheduleId) -> Result<Arc<Stored>, Fault> {
        match self.reads.ask(id.clone()).await {
            Some(answer) => answer,
            None => self.store.schedule(id).await.map(Arc::new),
        }
    }

    /// Claims a run. What was not heard of is [`Said::Nothing`].
    pub(crate) async fn claim(&self, statement: Statement) -> Said {
        self.claims.ask(statement).await.unwrap_or(Said::Nothing)
    }

    /// A launch is at its target until this is dropped.
    pub(crate) fn calling(&self) -> Calling<'_> {
        self.outcomes.answers.calls.begin()
    }

    /// Records an outcome. What was not heard of is [`Said::Nothing`].
    pub(crate) async fn end(&self, statement: Statement) -> Said {
        self.outcomes.ask(statement).await.unwrap_or(Said::Nothing)
    }

    /// Puts events on the bus.
    pub(crate) async fn tell(&self, events: Vec<Event>) {
        if !events.is_empty() {
            self.news.ask(events).await;
        }
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

/// See [`Together::calling`].
pub(crate) struct Calling<'a>(&'a watch::Sender<usize>);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Answers many questions with one call.
trait Answers {
    type Question: Send;
    type Answer: Send;

    /// An answer for each question, in their order.
    fn answer(
        &self,
        questions: Vec<Self::Question>,
    ) -> impl Future<Output = Vec<Self::Answer>> + Send;

    /// Lets the others of this moment ask, too.
    fn others(&self) -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

type Waiting<A> = Vec<(<A as Answers>::Question, oneshot::Sender<<A as Answers>::Answer>)>;

/// Questions that wait for their turn: some calls are under way, and the next take all that came
/// meanwhile.
struct Gather<A: Answers> {
    answers: A,
    waiting: Mutex<Waiting<A>>,
    turn: tokio::sync::Mutex<()>,
}

impl<A: Answers> Gather<A> {
    fn of(answers: A) -> Gather<A> {
        Gather { answers, waiting: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// `None`: whoever asked for us is gone.
    async fn ask(&self, question: A::Question) -> Option<A::Answer> {
        let (sender, mut answer) = oneshot::channel();
        self.waiting().push((question, sender));
        let _turn = self.turn.lock().await;
        loop {
            match answer.try_recv() {
                Ok(answer) => return Some(answer),
                Err(TryRecvError::Closed) => return None,
                Err(TryRecvError::Empty) => {}
            }
            self.answers.others().await;
            let mut waiting = mem::take(&mut *self.waiting());
            let calls = FuturesUnordered::new();
            while !waiting.is_empty() {
                let rest = waiting.split_off(waiting.len().min(MAX_STATEMENTS));
                calls.push(self.call(mem::replace(&mut waiting, rest)));
            }
            calls.collect::<()>().await;
        }
    }

    async fn call(&self, taken: Waiting<A>) {
        let (questions, askers): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
        let answers = self.answers.answer(questions).await;
        for (asker, answer) in askers.into_iter().zip(answers) {
            // Whoever asked may be gone.
            let _ = asker.send(answer);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<A>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Reads<'a>(&'a Store);

impl Answers for Reads<'_> {
    type Question = ScheduleId;
    type Answer = Result<Arc<Stored>, Fault>;

    async fn answer(&self, ids: Vec<ScheduleId>) -> Vec<Self::Answer> {
        let mut wanted = ids.clone();
        wanted.sort();
        wanted.dedup();
        let found: HashMap<_, _> = match self.0.stored(&wanted).await {
            Ok(found) => found.into_iter().map(|(id, stored)| (id, stored.map(Arc::new))).collect(),
            Err(fault) => return ids.iter().map(|_| Err(again(&fault))).collect(),
        };
        let nothing = Arc::new(Stored::Nothing);
        let answer = |id: &ScheduleId| match found.get(id) {
            None => Ok(nothing.clone()),
            Some(Ok(stored)) => Ok(stored.clone()),
            Some(Err(fault)) => Err(again(fault)),
        };
        ids.iter().map(answer).collect()
    }
}

struct Claims<'a>(&'a Store);

impl Answers for Claims<'_> {
    type Question = Statement;
    type Answer = Said;

    async fn answer(&self, statements: Vec<Statement>) -> Vec<Said> {
        self.0.execute(statements).await
    }
}

struct Outcomes<'a> {
    store: &'a Store,
    calls: Calls,
}

impl Answers for Outcomes<'_> {
    type Question = Statement;
    type Answer = Said;

    async fn answer(&self, statements: Vec<Statement>) -> Vec<Said> {
        self.store.execute(statements).await
    }

    async fn others(&self) {
        self.calls.are_over().await;
    }
}

struct News<'a>(&'a Events);

impl Answers for News<'_> {
    type Question = Vec<Event>;
    type Answer = ();

    async fn answer(&self, events: Vec<Vec<Event>>) -> Vec<()> {
        let told = vec![(); events.len()];
        self.0.tell(&events.concat()).await;
        told
    }
}

/// A fault, for everybody it strikes.
fn again(fault: &Fault) -> Fault {
    Fault { doing: fault.doing.clone(), source: fault.source.to_string().into() }
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
