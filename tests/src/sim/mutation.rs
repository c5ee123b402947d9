//! Mutations: the protocol broken on purpose, on the wire, to see that the checker notices.

use serde_json::Value;

/// A way to break the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// The tick moves its clock first and records the fires afterwards.
    AdvanceBeforePut,
    /// A fire's record is put over one that is there.
    PutWithoutCondition,
    /// The launcher takes a run whoever has it.
    LaunchWithoutClaim,
    /// A run takes a slot though there is none.
    SlotWithoutFence,
    /// Nobody gives a slot back.
    ReleaseForgotten,
    /// An edit leaves the fires on their way as they are, and the launcher judges by a clock it
    /// read a minute ago. Either alone is made good by the other.
    EditWithoutSettling,
    /// The target is called under a new key each time.
    KeyOfTheAttempt,
    /// Recovery never comes.
    RecoveryOff,
}

impl Mutation {
    /// All of them.
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

    /// Weakens the condition of a write if it is the one this mutation is about.
    pub(super) fn weaken(self, body: &mut Value) {
        let Some(condition) = body["ConditionExpression"].as_str() else { return };
        let about = match self {
            Mutation::PutWithoutCondition => "cancelled_by < :revision",
            Mutation::LaunchWithoutClaim => "holder = :holder",
            Mutation::SlotWithoutFence => "size(active) < :max",
            _ => return,
        };
        if condition.contains(about) {
            // Every name and value stays in use, or DynamoDB refuses the expression.
            let always = format!("({condition}) OR attribute_exists(schedule_id)");
            body["ConditionExpression"] = always.into();
        }
    }

    /// Whether a write is left undone though its caller hears that it is done.
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

/// Whether a write moves a clock past its fires.
pub(super) fn is_advance(body: &Value) -> bool {
    body["ConditionExpression"].as_str().is_some_and(|text| text.starts_with("next_run_at = :seen"))
}
