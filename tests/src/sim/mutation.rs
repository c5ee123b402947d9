//! Mutations: the protocol broken on purpose, on the wire, to show that the checker notices.

use serde_json::Value;

/// A way to break the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The tick advances its clock first and records the fires afterwards.
    AdvanceBeforePut,
    /// A fire's record overwrites an existing one.
    PutWithoutCondition,
    /// The launcher claims a run even if another holds it.
    LaunchWithoutClaim,
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
}

impl Mutation {
    /// All mutations.
    pub const ALL: [Mutation; 8] = [
        Mutation::AdvanceBeforePut,
        Mutation::PutWithoutCondition,
        Mutation::LaunchWithoutClaim,
        Mutation::SlotWithoutFence,
        Mutation::ReleaseForgotten,
        Mutation::EditWithoutSettling,
        Mutation::KeyOfTheAttempt,
        Mutation::RecoveryOff,
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
            Mutation::SlotWithoutFence => "size(active) < :max",
            _ => return,
        };
        if condition.contains(about) {
            // Every name and value stays in use, or DynamoDB would refuse the expression.
            let always = format!("({condition}) OR attribute_exists(schedule_id)");
            body["ConditionExpression"] = always.into();
        }
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
