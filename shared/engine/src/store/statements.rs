//! Statements: conditional writes, many to a call.
//!
//! DynamoDB bills and judges each as the call it stands for. They are the fast way, never the only
//! one: what a statement did not clearly do is asked again by the call that knows every answer, so
//! that a batch which failed, in part or as a whole, or may not be sent, costs time and nothing else.

use aws_sdk_dynamodb::types::{
    AttributeValue, BatchStatementErrorCodeEnum as Code, BatchStatementRequest,
    BatchStatementResponse,
};
use belfry_core::id::RunId;
use belfry_core::instant::{self, Instant};
use belfry_core::plan::Fire;
use belfry_core::run::{Run, Status};
use belfry_core::schedule::Clock;
use chrono::Duration;
use tracing::debug;

use super::runs::{Claim, Claimant, Outcome, Put, read_run, time};
use super::{Item, Store, conditions, number, text};
use crate::fault::Fault;
use crate::tables::{CLOCK, DUE_SHARD, EXPIRES_AT, NEXT_RUN_AT, PART, RUN_AT, SCHEDULE_ID};
use crate::together::Together;

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
        let statement = Update::of(&self.runs)
            .set("status", text(Status::Started.as_str()))
            .set("holder", text(claimant.message))
            .set("claim", text(claimant.call))
            .set("lease_until", number((now + lease).timestamp_millis()))
            .set("started_at", time(now))
            .set("attempt", number(1))
            .run(id)
            .when(conditions::RUN_IS_UNTOUCHED, text(Status::Enqueued.as_str()), number(revision))
            .returning();
        if let Said::Done(Some(item)) = together.execute(statement).await
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
            let mut update = Update::of(&self.runs)
                .set("status", text(outcome.status.as_str()))
                .set("finished_at", time(now))
                .set(EXPIRES_AT, self.expires_at(now));
            if let Some(result) = &outcome.result {
                update = update.set("result", text(result.to_string()));
            }
            if let Some(external) = &outcome.external_run_id {
                update = update.set("external_run_id", text(external));
            }
            for attribute in ["lease_until", "holder", "claim"] {
                update = update.remove(attribute);
            }
            if run.error.is_some() {
                update = update.remove("error");
            }
            let statement = update
                .run(id)
                .when(conditions::CLAIM_STANDS, text(Status::Started.as_str()), number(run.attempt))
                .done();
            if let Said::Done(_) = together.execute(statement).await {
                return Ok(true);
            }
        }
        self.finish_run(id, Some(run.attempt), outcome, now).await
    }

    fn advance_statement(&self, advance: &Advance<'_>) -> Statement {
        let Some(seen) = advance.clock.next_run_at else { return Statement::default() };
        let mut update = Update::of(&self.schedules);
        update = match advance.next {
            Some(next) => update
                .set(NEXT_RUN_AT, text(instant::text(next)))
                .set(DUE_SHARD, self.due_shard(&advance.clock.schedule_id)),
            None => update.remove(NEXT_RUN_AT).remove(DUE_SHARD),
        };
        if let Some(newest) = advance.newest {
            update = update
                .set("last_run_at", text(instant::text(newest.run_at)))
                .set("last_run_id", text(newest.to_string()));
        }
        let id = advance.clock.schedule_id.as_str();
        update
            .key((SCHEDULE_ID, text(id)), (PART, text(CLOCK)))
            .when(
                conditions::CLOCK_STANDS,
                text(instant::text(seen)),
                number(advance.clock.revision),
            )
            .done()
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
        match request.send().await {
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

/// Puts an item where there is none.
fn insert(table: &str, item: Item) -> Statement {
    let mut attributes: Vec<_> = item.into_iter().collect();
    attributes.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<_> = attributes.iter().map(|(name, _)| format!("'{name}': ?")).collect();
    Statement {
        text: format!("INSERT INTO \"{table}\" VALUE {{{}}}", names.join(", ")),
        parameters: attributes.into_iter().map(|(_, value)| value).collect(),
    }
}

/// An update on its way to a statement: first what it writes, then of which item, then when.
struct Update {
    text: String,
    parameters: Vec<AttributeValue>,
}

impl Update {
    fn of(table: &str) -> Update {
        Update { text: format!("UPDATE \"{table}\""), parameters: Vec::new() }
    }

    fn set(mut self, attribute: &str, value: AttributeValue) -> Update {
        self.text.push_str(&format!(" SET \"{attribute}\" = ?"));
        self.parameters.push(value);
        self
    }

    fn remove(mut self, attribute: &str) -> Update {
        self.text.push_str(&format!(" REMOVE \"{attribute}\""));
        self
    }

    fn run(self, id: &RunId) -> Update {
        let schedule = text(id.schedule_id.as_str());
        self.key((SCHEDULE_ID, schedule), (RUN_AT, text(id.sort_key())))
    }

    fn key(mut self, one: (&str, AttributeValue), other: (&str, AttributeValue)) -> Update {
        self.text.push_str(&format!(" WHERE \"{}\" = ? AND \"{}\" = ?", one.0, other.0));
        self.parameters.extend([one.1, other.1]);
        self
    }

    fn when(mut self, condition: &str, one: AttributeValue, other: AttributeValue) -> Update {
        self.text.push_str(&format!(" AND {condition}"));
        self.parameters.extend([one, other]);
        self
    }

    fn returning(mut self) -> Statement {
        self.text.push_str(" RETURNING ALL NEW *");
        self.done()
    }

    fn done(self) -> Statement {
        Statement { text: self.text, parameters: self.parameters }
    }
}
