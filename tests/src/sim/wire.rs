//! The wire: replaces the SDK's HTTP client by one that calls the embedded services in this thread,
//! and injects every kind of fault.

use std::sync::Arc;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use chrono::Duration;
use serde_json::{Value, json};

use super::clock::pass;
use super::faults::Fate;
use super::invocation::{Function, INVOCATION, Invocation};
use super::mutation::{self, Mutation};
use super::{Sim, index, queue, trace};
use crate::embedded::{self, RUNS};
use crate::line::answer;

/// Shorter than Lambda's time limit, and longer than a message is invisible: by then another
/// launcher has the run.
const LONGEST_HOLD: Duration = Duration::seconds(110);
/// Shorter than a call to an executor usually takes.
const HOLD_STEP_MS: i64 = 5;

/// The HTTP client of every SDK client in a simulated life.
#[derive(Clone)]
pub(super) struct Wire(pub(super) Arc<Sim>);

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

impl HttpClient for Wire {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let wire = self.clone();
        HttpConnectorFuture::new(async move { wire.carry(&Asked::read(&request)).await })
    }
}

/// A request and the service it is for.
pub(super) struct Asked {
    pub(super) service: Service,
    pub(super) operation: String,
    pub(super) body: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    DynamoDb,
    Sqs,
    Executor,
}

/// A service's answer.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Asked {
    fn read(request: &HttpRequest) -> Asked {
        let target = request.headers().get("x-amz-target").unwrap_or("Lambda.Invoke");
        let (service, operation) = target.split_once('.').unwrap_or_default();
        let service = match service {
            "DynamoDB_20120810" => Service::DynamoDb,
            "AmazonSQS" => Service::Sqs,
            _ => Service::Executor,
        };
        let body = serde_json::from_slice(request.body().bytes().unwrap_or_default());
        Asked { service, operation: operation.to_owned(), body: body.unwrap_or_default() }
    }
}

impl Wire {
    async fn carry(&self, asked: &Asked) -> Result<HttpResponse, ConnectorError> {
        let sim = &self.0;
        let Ok(who) = INVOCATION.try_with(Clone::clone) else {
            return Ok(response(&sim.serve(asked, None, true).await));
        };
        let (fate, before, after) = {
            let mut dice = sim.dice();
            let mut faults = sim.faults();
            let fate = faults.fate(&mut dice, sim.now());
            (fate, faults.latency(&mut dice), faults.latency(&mut dice))
        };
        pass(before).await;
        if fate != Fate::Fine {
            sim.executor().trouble(&who, &asked.body);
        }
        match fate {
            Fate::ErrorBefore => {
                self.trace(&who, asked, "ERROR BEFORE");
                return Err(ConnectorError::io("connection reset".into()));
            }
            Fate::Throttled => {
                self.trace(&who, asked, "THROTTLED");
                return Ok(response(&throttled(asked)));
            }
            Fate::DeathBefore => {
                self.trace(&who, asked, "DEATH BEFORE");
                return who.die().await;
            }
            Fate::Fine | Fate::ErrorAfter | Fate::DeathAfter => {}
        }
        let reply = sim.serve(asked, Some(&who), fate == Fate::Fine).await;
        match fate {
            Fate::ErrorAfter => {
                self.trace(&who, asked, &format!("{} ERROR AFTER", reply.status));
                pass(after).await;
                Err(ConnectorError::timeout("no answer".into()))
            }
            Fate::DeathAfter => {
                self.trace(&who, asked, &format!("{} DEATH AFTER", reply.status));
                who.die().await
            }
            _ => {
                self.trace(&who, asked, &reply.status.to_string());
                pass(after).await;
                Ok(response(&reply))
            }
        }
    }

    fn trace(&self, who: &Invocation, asked: &Asked, what: &str) {
        let about = || trace::about(&asked.operation, &asked.body);
        self.0.trace(|| format!("{who} {} {} -> {what}", asked.operation, about()));
    }
}

impl Sim {
    /// Lets a service execute a request. `heard` says whether the answer will arrive.
    async fn serve(&self, asked: &Asked, who: Option<&Arc<Invocation>>, heard: bool) -> Reply {
        match (asked.service, who) {
            (Service::Executor, Some(who)) => self.execute(asked, who, heard).await,
            (Service::Executor, None) => panic!("only invocations launch"),
            (Service::Sqs, Some(who)) if asked.operation == "SendMessageBatch" => {
                let reply = queue::send(self, &asked.body).await;
                self.catch_up_on(who.all_puts(), who).await;
                reply
            }
            (Service::Sqs, _) => self.sqs(&asked.operation, &asked.body).await,
            (Service::DynamoDb, who) => self.dynamodb(asked, who).await,
        }
    }

    /// One call of the embedded SQS.
    pub(super) async fn sqs(&self, action: &str, body: &Value) -> Reply {
        let bytes = body.to_string().into_bytes();
        let reply = self.queues.handle(action, &bytes, "http://sim").await;
        let body = serde_json::from_slice(&reply.body).unwrap_or_default();
        Reply { status: reply.status, body }
    }

    async fn dynamodb(&self, asked: &Asked, who: Option<&Arc<Invocation>>) -> Reply {
        let mut body = asked.body.clone();
        let Some(who) = who else { return self.write(&asked.operation, &body) };
        let by_api = who.function == Function::Api;
        match self.mutation {
            None if asked.operation == "BatchExecuteStatement" => {
                return self.statements(&body, who);
            }
            Some(mutation)
                if asked.operation == "BatchExecuteStatement" && mutation.is_of_statements() =>
            {
                return self.weakened(&body, mutation, who).await;
            }
            // The other mutations are defined for calls, so each statement is shown to them as its
            // call.
            Some(_) if asked.operation == "BatchExecuteStatement" => {
                let code = "com.amazonaws.dynamodb.v20120810#AccessDeniedException";
                return Reply { status: 400, body: json!({"__type": code, "message": "no"}) };
            }
            Some(mutation) if mutation.swallows(by_api, &body) => {
                return Reply { status: 200, body: json!({}) };
            }
            Some(Mutation::SendBeforePut)
                if who.function == Function::Tick && body["Item"]["status"]["S"] == "ENQUEUED" =>
            {
                who.put_off(body);
                return Reply { status: 200, body: json!({}) };
            }
            Some(Mutation::AdvanceBeforePut) if who.function == Function::Tick => {
                if asked.operation == "PutItem" && body["Item"]["status"]["S"] == "ENQUEUED" {
                    who.put_off(body);
                    return Reply { status: 200, body: json!({}) };
                }
                let reply = self.write(&asked.operation, &body);
                if mutation::is_advance(&body) && reply.status == 200 {
                    let schedule = body["Key"]["schedule_id"]["S"].as_str().unwrap_or_default();
                    self.catch_up_on(who.puts_of(schedule), who).await;
                }
                return reply;
            }
            Some(Mutation::EditWithoutSettling)
                if who.function == Function::Launcher && asked.operation == "BatchGetItem" =>
            {
                return self.remembered(&body);
            }
            Some(mutation) => {
                self.be_late(mutation.delays(&body), who, &body).await;
                mutation.weaken(&mut body);
            }
            None => {}
        }
        self.write(&asked.operation, &body)
    }

    /// Executes puts that were kept. Each is a call like any other, at which the function may die.
    async fn catch_up_on(&self, puts: Vec<Value>, who: &Invocation) {
        for put in puts {
            pass(2).await;
            let fate = {
                let mut dice = self.dice();
                self.faults().fate(&mut dice, self.now())
            };
            if fate == Fate::DeathBefore {
                return who.die().await;
            }
            self.write("PutItem", &put);
        }
    }

    /// Waits for up to `most` milliseconds, which is no fault of the function.
    async fn be_late(&self, most: i64, who: &Invocation, body: &Value) {
        if most > 0 {
            self.executor().trouble(who, body);
            let late = self.dice().between(0, most);
            pass(late).await;
        }
    }

    /// A batch of statements without their conditions.
    async fn weakened(&self, body: &Value, mutation: Mutation, who: &Invocation) -> Reply {
        let mut body = body.clone();
        let keys = embedded::statements(&body);
        self.be_overtaken(mutation, &body, &keys, who).await;
        let statements = body["Statements"].as_array_mut().into_iter().flatten();
        statements.for_each(|statement| mutation.weaken_statement(statement));
        if mutation == Mutation::PutStatementWithoutCondition {
            // PartiQL's INSERT has its condition built in: what it would find is taken away.
            for (table, key) in keys.iter().filter(|_| is_insert(&body)) {
                let delete = json!({"TableName": table, "Key": key});
                let deleted = embedded::dynamodb(&self.database, "DeleteItem", &delete);
                assert!(deleted.is_ok(), "{deleted:?}");
            }
        }
        self.write("BatchExecuteStatement", &body)
    }

    /// Holds statements back until another function has written what one of them overwrites, but
    /// not for so long that the function is stopped. A condition matters only then.
    async fn be_overtaken(
        &self,
        mutation: Mutation,
        batch: &Value,
        keys: &[(String, Value)],
        who: &Invocation,
    ) {
        let all = batch["Statements"].as_array().into_iter().flatten().zip(keys);
        let held: Vec<_> =
            all.filter_map(|(it, key)| Some((mutation.overwrites(it)?, key))).collect();
        if held.is_empty() {
            return;
        }
        self.executor().trouble(who, batch);
        let latest = self.now() + LONGEST_HOLD;
        let is_overtaken = |((name, seen), (table, key)): &((&str, &Value), &(String, Value))| {
            embedded::item(&self.database, table, key)[*name] != **seen
        };
        while self.now() < latest && !held.iter().any(is_overtaken) {
            pass(HOLD_STEP_MS).await;
        }
    }

    /// A batch of statements, of which some fail alone: before they are executed, or after.
    fn statements(&self, body: &Value, who: &Invocation) -> Reply {
        let fate = |_: &Value| {
            let (mut dice, mut faults) = (self.dice(), self.faults());
            let rate = faults.failed_entry;
            (faults.strikes(&mut dice, rate), dice.chance(5000))
        };
        let all = body["Statements"].as_array().into_iter().flatten();
        let all: Vec<_> = all.map(|statement| (statement, fate(statement))).collect();
        let done = |(fails, late): (bool, bool)| !fails || late;
        let to_do: Vec<_> = all.iter().filter(|(_, fate)| done(*fate)).map(|(s, _)| s).collect();
        let mut answers = Vec::new();
        if !to_do.is_empty() {
            let reply = self.write("BatchExecuteStatement", &json!({"Statements": to_do}));
            if reply.status != 200 {
                return reply;
            }
            answers = reply.body["Responses"].as_array().cloned().unwrap_or_default();
        }
        let mut answers = answers.into_iter();
        let answer = |(statement, (fails, late)): &(&Value, (bool, bool))| {
            let answer = done((*fails, *late)).then(|| answers.next()).flatten();
            if !fails {
                return answer.unwrap_or_default();
            }
            self.executor().trouble(who, statement);
            let code = if *late { "InternalServerError" } else { "ThrottlingError" };
            json!({"Error": {"Code": code, "Message": "this statement failed"}})
        };
        Reply {
            status: 200,
            body: json!({"Responses": all.iter().map(answer).collect::<Vec<_>>()}),
        }
    }

    /// An operation of the embedded DynamoDB; records what it does to runs and indexes.
    fn write(&self, operation: &str, body: &Value) -> Reply {
        let answer = embedded::dynamodb(&self.database, operation, body);
        let now = self.now();
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                let body = serde_json::from_str(&error.to_json()).unwrap_or_default();
                return Reply { status: error.status_code(), body };
            }
        };
        for (place, (table, key)) in index::written(operation, body).into_iter().enumerate() {
            if answer["Responses"][place]["Error"].is_object() {
                continue;
            }
            let item = embedded::item(&self.database, &table, &key);
            self.lag().note(&key, &item, now);
            if table == RUNS {
                self.note_record(&item, now);
            }
        }
        if operation == "Query" && body["IndexName"].is_string() {
            let mut dice = self.dice();
            let mut faults = self.faults();
            let rate = faults.lagging_index;
            if faults.strikes(&mut dice, rate) {
                let lag = dice.between(1, faults.lag_ms);
                self.lag().age(body, &mut answer, now - Duration::milliseconds(lag));
            }
        }
        Reply { status: 200, body: answer }
    }

    /// An answer to the same request from up to a minute ago.
    fn remembered(&self, body: &Value) -> Reply {
        let now = self.now();
        let mut known = self.known();
        if let Some((at, answer)) = known.get(&body.to_string())
            && now - *at < Duration::minutes(1)
        {
            return Reply { status: 200, body: answer.clone() };
        }
        let reply = self.write("BatchGetItem", body);
        known.insert(body.to_string(), (now, reply.body.clone()));
        reply
    }
}

fn is_insert(batch: &Value) -> bool {
    batch["Statements"][0]["Statement"].as_str().is_some_and(|text| text.starts_with("INSERT "))
}

fn throttled(asked: &Asked) -> Reply {
    let code = match asked.service {
        Service::DynamoDb => {
            "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
        }
        Service::Sqs => "com.amazonaws.sqs#RequestThrottled",
        Service::Executor => "ThrottlingException",
    };
    Reply { status: 400, body: json!({"__type": code, "message": "slow down"}) }
}

fn response(reply: &Reply) -> HttpResponse {
    answer(reply.status, &reply.body)
}
