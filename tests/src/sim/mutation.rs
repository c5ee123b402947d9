//! Mutations: the protocol broken on purpose, on the wire, to show that the checker notices.

use serde_json::Value;

/// The conditions of statements. Each has the last two parameters of its statement.
const CLAIM: &str =
    r#" AND "status" = ? AND "revision" <= ? AND "attempt" = 0 AND "settled_by" IS MISSING"#;
const ADVANCE: &str = r#" AND "next_run_at" = ? AND "revision" = ?"#;
const OUTCOME: &str = r#" AND "status" = ? AND "attempt" = ?"#;

/// A way to break the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The tick advances its clock first and records the fires afterwards.
    AdvanceBeforePut,
    /// A fire's record overwrites an existing one.
    PutWithoutCondition,
    /// A fire's record overwrites an existing one, in a batch of statements.
    PutStatementWithoutCondition,
    /// The tick sends the messages of its fires before it records them.
    SendBeforePut,
    /// The launcher claims a run even if another holds it.
    LaunchWithoutClaim,
    /// The launcher claims a run even if another holds it, in a batch of statements.
    ClaimStatementWithoutCondition,
    /// A tick advances a clock even if an edit has changed it, in a batch of statements.
    AdvanceStatementWithoutCondition,
    /// A launcher writes what came of its claim even if another has taken the run over.
    OutcomeWithoutFence,
    /// A launcher writes what came of its claim even if another has taken the run over, in a batch
    /// of statements.
    OutcomeStatementWithoutFence,
    /// A run takes a slot although none is free.
    SlotWithoutFence,
    /// Slots are never released.
    ReleaseForgotten,
    /// An edit does not cancel the fires that are already sent, and the launcher judges by a clock
    /// it read a minute ago. Either alone is corrected by the other.
    EditWithoutSettling,
    /// Each call to the target has a new key.
    KeyOfTheAttempt,
    /// Recovery is never called.
    RecoveryOff,
    /// A tracked run of a schedule without `max_runtime_s` may take a year.
    NoDefaultRuntime,
}

impl Mutation {
    /// All mutations.
    pub const ALL: [Mutation; 15] = [
        Mutation::AdvanceBeforePut,
        Mutation::PutWithoutCondition,
        Mutation::PutStatementWithoutCondition,
        Mutation::SendBeforePut,
        Mutation::LaunchWithoutClaim,
        Mutation::ClaimStatementWithoutCondition,
        Mutation::AdvanceStatementWithoutCondition,
        Mutation::OutcomeWithoutFence,
        Mutation::OutcomeStatementWithoutFence,
        Mutation::SlotWithoutFence,
        Mutation::ReleaseForgotten,
        Mutation::EditWithoutSettling,
        Mutation::KeyOfTheAttempt,
        Mutation::RecoveryOff,
        Mutation::NoDefaultRuntime,
    ];

    /// Its name on the command line.
    pub fn name(self) -> String {
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name
    }

    /// The mutation of this name.
    pub fn named(name: &str) -> Option<Mutation> {
        Mutation::ALL.into_iter().find(|mutation| mutation.name() == name)
    }

    /// Weakens the condition of a write if this mutation concerns it.
    pub(super) fn weaken(self, body: &mut Value) {
        let Some(condition) = body["ConditionExpression"].as_str() else { return };
        let about = match self {
            Mutation::PutWithoutCondition => "cancelled_by < :revision",
            Mutation::LaunchWithoutClaim => "holder = :holder",
            Mutation::OutcomeWithoutFence => "attempt = :fence",
            Mutation::SlotWithoutFence => "size(active) < :max",
            _ => return,
        };
        if condition.contains(about) {
            // Every name and value stays in use, or DynamoDB would refuse the expression.
            let always = format!("({condition}) OR attribute_exists(schedule_id)");
            body["ConditionExpression"] = always.into();
        }
    }

    /// Whether this mutation breaks batches of statements. Under the others there are none: those
    /// mutations are defined for single calls.
    pub(super) fn is_of_statements(self) -> bool {
        self == Mutation::PutStatementWithoutCondition || self.condition().is_some()
    }

    /// The condition that this mutation takes from statements.
    fn condition(self) -> Option<&'static str> {
        match self {
            Mutation::ClaimStatementWithoutCondition => Some(CLAIM),
            Mutation::AdvanceStatementWithoutCondition => Some(ADVANCE),
            Mutation::OutcomeStatementWithoutFence => Some(OUTCOME),
            _ => None,
        }
    }

    /// Takes the condition from a statement if this mutation concerns it.
    pub(super) fn weaken_statement(self, statement: &mut Value) {
        let text = statement["Statement"].as_str().unwrap_or_default();
        let Some(condition) = self.condition().filter(|condition| text.contains(condition)) else {
            return;
        };
        statement["Statement"] = text.replace(condition, "").into();
        if let Some(parameters) = statement["Parameters"].as_array_mut() {
            parameters.truncate(parameters.len() - 2);
        }
    }

    /// What a statement without its condition overwrites: an attribute, and the value that its
    /// writer saw. The condition is there for the case that another function has changed it since.
    pub(super) fn overwrites(self, statement: &Value) -> Option<(&'static str, &Value)> {
        let attribute = match self {
            Mutation::AdvanceStatementWithoutCondition => "revision",
            Mutation::OutcomeStatementWithoutFence => "attempt",
            _ => return None,
        };
        let text = statement["Statement"].as_str().unwrap_or_default();
        let seen = statement["Parameters"].as_array().and_then(|all| all.last());
        seen.filter(|_| self.condition().is_some_and(|it| text.ends_with(it)))
            .map(|v| (attribute, v))
    }

    /// How late a call without its condition may arrive, in milliseconds: the condition is there for
    /// writes that others have overtaken.
    pub(super) fn delays(self, body: &Value) -> i64 {
        let condition = body["ConditionExpression"].as_str().unwrap_or_default();
        let is_outcome = condition.starts_with("#status = :started AND attempt = :fence");
        if self == Mutation::OutcomeWithoutFence && is_outcome { 110_000 } else { 0 }
    }

    /// Whether a write is dropped although its caller receives a success.
    pub(super) fn swallows(self, by_api: bool, body: &Value) -> bool {
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        match self {
            Mutation::ReleaseForgotten => text("UpdateExpression").starts_with("DELETE "),
            Mutation::EditWithoutSettling => {
                by_api && text("ConditionExpression") == "#status IN (:enqueued, :queued)"
            }
            _ => false,
        }
    }
}

/// Whether a write advances a clock past its fires.
pub(super) fn is_advance(body: &Value) -> bool {
    body["ConditionExpression"].as_str().is_some_and(|text| text.starts_with("next_run_at = :seen"))
}
