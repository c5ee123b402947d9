//! Together: what launches of one batch ask of the tables at the same moment, they ask in one call.
//!
//! A batch of the queue is ten runs whose second has come. Each still reads its schedule, claims its
//! run and records its outcome by itself, in that order, and hears its own answer.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use belfry_core::id::ScheduleId;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::app::App;
use crate::events::{Event, Events};
use crate::fault::Fault;
use crate::store::{MAX_STATEMENTS, Said, Statement, Store, Stored};

/// What the launches of one batch share.
pub(crate) struct Together<'a> {
    store: &'a Store,
    reads: Gather<Reads<'a>>,
    writes: Gather<Writes<'a>>,
    news: Gather<News<'a>>,
}

impl<'a> Together<'a> {
    pub(crate) fn on(app: &'a App) -> Together<'a> {
        let store = &app.store;
        let (reads, writes) = (Gather::of(Reads(store)), Gather::of(Writes(store)));
        Together { store, reads, writes, news: Gather::of(News(&app.events)) }
    }

    /// A schedule as it is at this moment.
    pub(crate) async fn schedule(&self, id: &ScheduleId) -> Result<Arc<Stored>, Fault> {
        match self.reads.ask(id.clone()).await {
            Some(answer) => answer,
            None => self.store.schedule(id).await.map(Arc::new),
        }
    }

    /// Executes a statement. What was not heard of is [`Said::Nothing`].
    pub(crate) async fn execute(&self, statement: Statement) -> Said {
        self.writes.ask(statement).await.unwrap_or(Said::Nothing)
    }

    /// Puts events on the bus.
    pub(crate) async fn tell(&self, events: Vec<Event>) {
        if !events.is_empty() {
            self.news.ask(events).await;
        }
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
}

type Waiting<A> = Vec<(<A as Answers>::Question, oneshot::Sender<<A as Answers>::Answer>)>;

/// Questions that wait for their turn: one call is under way, and the next takes all that came
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
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((question, sender));
        let _turn = self.turn.lock().await;
        loop {
            match answer.try_recv() {
                Ok(answer) => return Some(answer),
                Err(TryRecvError::Closed) => return None,
                Err(TryRecvError::Empty) => {}
            }
            // The others of this moment get to ask, too.
            tokio::task::yield_now().await;
            let taken: Waiting<A> = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let count = waiting.len().min(MAX_STATEMENTS);
                waiting.drain(..count).collect()
            };
            let (questions, askers): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
            let answers = self.answers.answer(questions).await;
            for (asker, answer) in askers.into_iter().zip(answers) {
                // Whoever asked may be gone.
                let _ = asker.send(answer);
            }
        }
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

struct Writes<'a>(&'a Store);

impl Answers for Writes<'_> {
    type Question = Statement;
    type Answer = Said;

    async fn answer(&self, statements: Vec<Statement>) -> Vec<Said> {
        self.0.execute(statements).await
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
