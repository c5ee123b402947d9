//! Statements: conditional writes, many to a call.
//!
//! DynamoDB bills and judges each as the call it stands for. They are the fast way, never the only
//! one: what a statement did not clearly do is asked again by the call that knows every answer, so
//! that a batch which failed, in part or as a whole, or may not be sent, costs time and nothing else.

use aws_sdk_dynamodb::types::{
    AttributeValue, BatchStatementErrorCodeEnum as Code, BatchStatementRequest,
    BatchStatementResponse,
};
use belfry_core::fire::plan::Fire;
use belfry_core::id::RunId;
use belfry_core::instant::{self, Instant};
use belfry_core::run::{Run, Status};
use belfry_core::schedule::Clock;
use chrono::Duration;
use futures::FutureExt;
use tracing::debug;

use super::expression::Update;
use super::runs::{Claim, Claimant, Outcome, Put, claiming, read_run};
use super::{Item, Store, conditions, number, part_key, run_key, text};
use crate::cloud::store::tables::CLOCK;
use crate::cloud::together::Together;
use crate::fault::Fault;

/// BatchExecuteStatement takes no more.
pub(crate) const MAX_STATEMENTS: usize = 25;
/// Fewer are not worth another way.
const MIN_STATEMENTS: usize = 2;

/// A write in PartiQL.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    text: String,
    parameters: Vec<AttributeValue>,
}

/// What came of a statement.
#[derive(Debug)]
pub(crate) enum Said {
    /// It is done, and this is the item now, if it was asked for.
    Done(Option<Item>),
    /// Its condition does not hold.
    Refused,
    /// It may be done or not.
    Nothing,
}

/// Where a clock shall stand.
pub struct Advance<'a> {
    /// As it was read.
    pub clock: &'a Clock,
    /// Its next fire.
    pub next: Option<Instant>,
    /// The newest fire that was dealt with.
    pub newest: Option<&'a RunId>,
}

impl Store {
    /// Records up to 25 fires that nobody has. `None`: [`Store::put_run`] tells whose it is.
    pub async fn put_runs(&self, fires: &[&Fire]) -> Vec<Option<Put>> {
        let statements = fires.iter().map(|fire| {
            let item = self.run_item(fire);
            item.map_or_else(|_| Statement::default(), |item| insert(&self.runs, item))
        });
        let said = self.execute(statements.collect()).await.into_iter();
        said.map(|said| matches!(said, Said::Done(_)).then_some(Put::New)).collect()
    }

    /// Moves up to 25 clocks, each as [`Store::advance`] does. `None`: it shall.
    pub async fn advance_all(&self, advances: &[Advance<'_>]) -> Vec<Option<bool>> {
        let statements = advances.iter().map(|advance| self.advance_statement(advance));
        let moved = |said| match said {
            Said::Done(_) => Some(true),
            Said::Refused => Some(false),
            Said::Nothing => None,
        };
        self.execute(statements.collect()).await.into_iter().map(moved).collect()
    }

    /// Claims a run as [`Store::claim_run`] does, together with others if it is nobody's.
    pub(crate) async fn claim_run_together(
        &self,
        together: &Together<'_>,
        id: &RunId,
        revision: u64,
        claimant: &Claimant<'_>,
        lease: Duration,
        now: Instant,
    ) -> Result<Claim, Fault> {
        // Stricter than need be: whatever else may be claimed is not worth a statement.
        let update = claiming(claimant, lease, now).set("attempt", number(1));
        let given = [text(Status::Enqueued.as_str()), number(revision)];
        let mut statement = self.update_of_run(id, update, conditions::RUN_IS_UNTOUCHED, given);
        statement.text.push_str(" RETURNING ALL NEW *");
        if let Said::Done(Some(item)) = together.claim(statement).await
            && let Ok((_, run)) = read_run(item)
        {
            return Ok(Claim::Won(run));
        }
        // If the statement was done all the same, this call knows its own claim again.
        self.claim_run(id, revision, claimant, lease, now).await
    }

    /// Ends a run as [`Store::finish_run`] does, together with others if it ended well.
    pub(crate) async fn finish_run_together(
        &self,
        together: &Together<'_>,
        id: &RunId,
        run: &Run,
        outcome: &Outcome,
        now: Instant,
    ) -> Result<bool, Fault> {
        if outcome.status == Status::Success && outcome.error.is_none() {
            let given = [text(Status::Started.as_str()), number(run.attempt)];
            let update = self.ending(outcome, now);
            let statement = self.update_of_run(id, update, conditions::CLAIM_STANDS, given);
            if let Said::Done(_) = together.end(statement).await {
                return Ok(true);
            }
        }
        self.finish_run(id, Some(run.attempt), outcome, now).await
    }

    fn advance_statement(&self, advance: &Advance<'_>) -> Statement {
        let Some(seen) = advance.clock.next_run_at else { return Statement::default() };
        let update = self.moving(advance.clock, advance.next, advance.newest);
        let key = part_key(&advance.clock.schedule_id, CLOCK);
        let given = [text(instant::text(seen)), number(advance.clock.revision)];
        update_where(&self.schedules, update, key, conditions::CLOCK_STANDS, given)
    }

    fn update_of_run(
        &self,
        id: &RunId,
        update: Update,
        condition: &str,
        given: [AttributeValue; 2],
    ) -> Statement {
        update_where(&self.runs, update, run_key(id), condition, given)
    }

    /// Executes up to 25 statements, in no order. Too few of them are not executed at all.
    pub(crate) async fn execute(&self, statements: Vec<Statement>) -> Vec<Said> {
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
                let problem = aws_sdk_dynamodb::error::DisplayErrorContext(error);
                debug!(%problem, "statements not executed");
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

impl Default for Statement {
    /// One that DynamoDB refuses by itself.
    fn default() -> Statement {
        Statement { text: "nothing".to_owned(), parameters: Vec::new() }
    }
}

/// The same item is the same text, each time.
fn sorted(item: Item) -> Vec<(String, AttributeValue)> {
    let mut attributes: Vec<_> = item.into_iter().collect();
    attributes.sort_by(|a, b| a.0.cmp(&b.0));
    attributes
}

/// Puts an item where there is none.
fn insert(table: &str, item: Item) -> Statement {
    let attributes = sorted(item);
    let names: Vec<_> = attributes.iter().map(|(name, _)| format!("'{name}': ?")).collect();
    Statement {
        text: format!("INSERT INTO \"{table}\" VALUE {{{}}}", names.join(", ")),
        parameters: attributes.into_iter().map(|(_, value)| value).collect(),
    }
}

/// Updates an item of this key where the condition, with what is given for it, holds.
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
