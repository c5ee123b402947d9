//! Gathering: questions that several tasks ask at the same time are sent in one call.
//!
//! Each task still waits for its own answer. Questions that come while a call is under way wait,
//! and the next call takes all of them.

use std::future::Future;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::oneshot::{self, error::TryRecvError};

/// A service that answers many questions with one call.
pub(crate) trait Answers {
    /// The question of one task.
    type Question: Send;
    /// The answer to one question.
    type Answer: Send;

    /// The most questions of one call.
    const MAX: usize;

    /// Answers each question, in their order.
    fn answer(
        &self,
        questions: Vec<Self::Question>,
    ) -> impl Future<Output = Vec<Self::Answer>> + Send;

    /// Gives other tasks the chance to ask before the call is made.
    fn wait_for_others(&self) -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

type Waiting<A> = Vec<(<A as Answers>::Question, oneshot::Sender<<A as Answers>::Answer>)>;

/// Collects questions for the next call.
pub(crate) struct Gather<A: Answers> {
    pub(crate) answers: A,
    waiting: Mutex<Waiting<A>>,
    turn: tokio::sync::Mutex<()>,
}

impl<A: Answers> Gather<A> {
    pub(crate) fn of(answers: A) -> Gather<A> {
        Gather { answers, waiting: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Asks a question, together with the other tasks that ask now. `None`: the task that made the
    /// call was dropped, and it is unknown whether the call was made.
    pub(crate) async fn ask(&self, question: A::Question) -> Option<A::Answer> {
        let (sender, mut answer) = oneshot::channel();
        self.waiting().push((question, sender));
        let _turn = self.turn.lock().await;
        loop {
            match answer.try_recv() {
                Ok(answer) => return Some(answer),
                Err(TryRecvError::Closed) => return None,
                Err(TryRecvError::Empty) => {}
            }
            self.answers.wait_for_others().await;
            let mut waiting = mem::take(&mut *self.waiting());
            let calls = FuturesUnordered::new();
            while !waiting.is_empty() {
                let rest = waiting.split_off(waiting.len().min(A::MAX));
                calls.push(self.call(mem::replace(&mut waiting, rest)));
            }
            calls.collect::<()>().await;
        }
    }

    async fn call(&self, taken: Waiting<A>) {
        let (questions, askers): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
        let answers = self.answers.answer(questions).await;
        for (asker, answer) in askers.into_iter().zip(answers) {
            // The task that asked may have been dropped.
            let _ = asker.send(answer);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<A>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
