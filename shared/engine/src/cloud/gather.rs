//! Gathering: what several tasks ask for at the same moment is asked in one call.
//!
//! Each task still waits for its own answer. While a call is under way, the questions that come wait,
//! and the next call takes all of them.

use std::future::Future;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::oneshot::{self, error::TryRecvError};

/// Answers many questions with one call.
pub(crate) trait Answers {
    /// What one task asks.
    type Question: Send;
    /// What it is told.
    type Answer: Send;

    /// The most questions of one call.
    const MAX: usize;

    /// An answer for each question, in their order.
    fn answer(
        &self,
        questions: Vec<Self::Question>,
    ) -> impl Future<Output = Vec<Self::Answer>> + Send;

    /// Lets the other tasks of this moment ask, too, before the call is made.
    fn wait_for_others(&self) -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

type Waiting<A> = Vec<(<A as Answers>::Question, oneshot::Sender<<A as Answers>::Answer>)>;

/// The questions that wait for the next call.
pub(crate) struct Gather<A: Answers> {
    pub(crate) answers: A,
    waiting: Mutex<Waiting<A>>,
    turn: tokio::sync::Mutex<()>,
}

impl<A: Answers> Gather<A> {
    pub(crate) fn of(answers: A) -> Gather<A> {
        Gather { answers, waiting: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Asks, together with the others of this moment. `None`: the task that asked for all of them
    /// is gone, and the call may have been made or not.
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
            // The task that asked may be gone.
            let _ = asker.send(answer);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<A>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
