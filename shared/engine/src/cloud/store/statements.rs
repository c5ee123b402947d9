//! Statements: conditional writes in PartiQL, many to a call.
//!
//! DynamoDB bills and checks each statement like the single call that it replaces. Statements are
//! the fast way, never the only one. If it is not certain that a statement took effect, the single
//! call is made, which can read every answer. So a batch that fails, in part or as a whole, or is
//! not permitted, costs time and nothing else.

use std::mem;

use aws_sdk_dynamodb::types::{
    AttributeValue, BatchStatementErrorCodeEnum as Code, BatchStatementRequest,
    BatchStatementResponse,
};
use belfry_core::id::RunId;
use belfry_core::instant::{self, Instant};
use belfry_core::run::Run;
use belfry_core::schedule::Clock;
use futures::future::join_all;
use futures::{FutureExt, StreamExt, stream};
use tracing::debug;

use super::expression::Update;
use super::runs::Put;
use super::{Item, Store, conditions, number, part_key, run_key, text};
use crate::cloud::store::tables::CLOCK;
use crate::fault::{Fault, in_words};

/// BatchExecuteStatement takes no more statements.
pub(crate) const MAX_STATEMENTS: usize = 25;
/// Fewer statements are left to single calls.
const MIN_STATEMENTS: usize = 2;
/// Calls made concurrently: enough to hide the latency of DynamoDB.
const CONCURRENCY: usize = 8;

/// A write in PartiQL.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    text: String,
    parameters: Vec<AttributeValue>,
}

/// The answer to a statement.
#[derive(Debug)]
pub(crate) enum Said {
    /// The statement took effect; the item as it is now, if it was asked for.
    Done(Option<Item>),
    /// The condition did not hold.
    Refused,
    /// It is unknown whether the statement took effect.
    Nothing,
}

/// The move of a clock.
pub struct Advance<'a> {
    /// The clock as it was read.
    pub clock: &'a Clock,
    /// The next fire.
    pub next: Option<Instant>,
    /// The newest fire that was handled.
    pub newest: Option<&'a RunId>,
}

impl Store {
    /// Records fires, 25 to a call. A fire for which the call has no clear answer is recorded by a
    /// single call. Answers for each fire, in order.
    pub async fn put_runs(&self, runs: &[&Run]) -> Vec<Result<Put, Fault>> {
        let statement = |run: &&Run| {
            let item = self.run_item(run);
            item.map_or_else(|_| Statement::default(), |item| insert(&self.runs, item))
        };
        let said = self.execute_all(runs.iter().map(statement).collect()).await;
        let each = runs.iter().zip(said).map(|(run, said)| async move {
            match said {
                Said::Done(_) => Ok(Put::New),
                // The single call returns the stored record.
                Said::Refused | Said::Nothing => {
                    let _turn = self.writes.turn().await;
                    self.put_run(run).await
                }
            }
        });
        join_all(each).await
    }

    /// Advances clocks, 25 to a call. A clock for which the call has no clear answer is advanced by
    /// a single call. Answers for each clock, in order; `false`: another tick or an edit changed it
    /// first.
    pub async fn advance_all(&self, advances: &[Advance<'_>]) -> Vec<Result<bool, Fault>> {
        let statements = advances.iter().map(|advance| self.advance_statement(advance));
        let said = self.execute_all(statements.collect()).await;
        let each = advances.iter().zip(said).map(|(to, said)| async move {
            match said {
                Said::Done(_) => Ok(true),
                Said::Refused => Ok(false),
                Said::Nothing => {
                    let _turn = self.writes.turn().await;
                    self.advance(to.clock, to.next, to.newest).await
                }
            }
        });
        join_all(each).await
    }

    /// Executes statements, 25 to a call; the gate limits how many calls are made at once. Answers
    /// for each statement, in order.
    async fn execute_all(&self, mut statements: Vec<Statement>) -> Vec<Said> {
        let mut calls = Vec::new();
        while !statements.is_empty() {
            let rest = statements.split_off(statements.len().min(MAX_STATEMENTS));
            let some = mem::replace(&mut statements, rest);
            calls.push(async {
                let _turn = self.writes.turn().await;
                self.execute(some).await
            });
        }
        let answers: Vec<_> = stream::iter(calls).buffered(CONCURRENCY).collect().await;
        answers.into_iter().flatten().collect()
    }

    fn advance_statement(&self, advance: &Advance<'_>) -> Statement {
        let Some(seen) = advance.clock.next_run_at else { return Statement::default() };
        let update = self.moving(advance.clock, advance.next, advance.newest);
        let key = part_key(&advance.clock.schedule_id, CLOCK);
        let given = [text(instant::text(seen)), number(advance.clock.revision)];
        update_where(&self.schedules, update, key, conditions::CLOCK_STANDS, given)
    }

    pub(super) fn update_of_run(
        &self,
        id: &RunId,
        update: Update,
        condition: &str,
        given: [AttributeValue; 2],
    ) -> Statement {
        update_where(&self.runs, update, run_key(id), condition, given)
    }

    /// Executes up to 25 statements, in no particular order. A batch of fewer than `MIN_STATEMENTS`
    /// is not executed.
    pub(super) async fn execute(&self, statements: Vec<Statement>) -> Vec<Said> {
        let count = statements.len();
        let nothing = || (0..count).map(|_| Said::Nothing).collect();
        if count < MIN_STATEMENTS {
            return nothing();
        }
        let mut request = self.client.batch_execute_statement();
        for statement in statements {
            let Statement { text, parameters } = statement;
            let parameters = (!parameters.is_empty()).then_some(parameters);
            let one = BatchStatementRequest::builder().statement(text).set_parameters(parameters);
            match one.build() {
                Ok(one) => request = request.statements(one),
                Err(_) => return nothing(),
            }
        }
        match request.send().boxed().await {
            Ok(answer) => {
                let mut said: Vec<Said> =
                    answer.responses.unwrap_or_default().into_iter().map(read).collect();
                said.resize_with(count, || Said::Nothing);
                said
            }
            Err(error) => {
                let problem = in_words(&error);
                debug!(%problem, "statement batch failed: falling back to single calls");
                nothing()
            }
        }
    }
}

fn read(response: BatchStatementResponse) -> Said {
    match response.error.as_ref().map(|error| error.code()) {
        None => Said::Done(response.item),
        Some(Some(Code::ConditionalCheckFailed | Code::DuplicateItem)) => Said::Refused,
        Some(_) => Said::Nothing,
    }
}

impl Statement {
    /// Asks for the whole item as it is after the write.
    pub(super) fn returning_all(mut self) -> Statement {
        self.text.push_str(" RETURNING ALL NEW *");
        self
    }
}

impl Default for Statement {
    /// An invalid statement, which DynamoDB refuses without affecting the others of its batch.
    fn default() -> Statement {
        Statement { text: "nothing".to_owned(), parameters: Vec::new() }
    }
}

/// The attributes in a fixed order, so that the same item always makes the same statement text.
fn sorted(item: Item) -> Vec<(String, AttributeValue)> {
    let mut attributes: Vec<_> = item.into_iter().collect();
    attributes.sort_by(|a, b| a.0.cmp(&b.0));
    attributes
}

/// Inserts an item, if there is none with its key.
fn insert(table: &str, item: Item) -> Statement {
    let attributes = sorted(item);
    let names: Vec<_> = attributes.iter().map(|(name, _)| format!("'{name}': ?")).collect();
    Statement {
        text: format!("INSERT INTO \"{table}\" VALUE {{{}}}", names.join(", ")),
        parameters: attributes.into_iter().map(|(_, value)| value).collect(),
    }
}

/// Updates the item with this key, if the condition holds; `given` are the parameters of the
/// condition.
fn update_where(
    table: &str,
    update: Update,
    key: Item,
    condition: &str,
    given: [AttributeValue; 2],
) -> Statement {
    let Some((writes, mut parameters)) = update.stated() else { return Statement::default() };
    let mut text = format!("UPDATE \"{table}\"{writes} WHERE ");
    for (attribute, value) in sorted(key) {
        text.push_str(&format!("\"{attribute}\" = ? AND "));
        parameters.push(value);
    }
    text.push_str(condition);
    parameters.extend(given);
    Statement { text, parameters }
}
