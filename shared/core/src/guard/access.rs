//! Access: what a token allows its bearer to do.

use std::fmt;

use crate::workflow::EVERYBODY;

/// A permission that a token may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Read schedules, runs, workflows and their history.
    SchedulesRead,
    /// Create, change and delete schedules, and publish workflow versions.
    SchedulesWrite,
    /// Request runs, and report how runs ended.
    RunsWrite,
    /// Do everything, for all users.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Scope; 4] =
        [Scope::SchedulesRead, Scope::SchedulesWrite, Scope::RunsWrite, Scope::Admin];

    /// The name of the scope in a token.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::SchedulesRead => "schedules:read",
            Scope::SchedulesWrite => "schedules:write",
            Scope::RunsWrite => "runs:write",
            Scope::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The longest user id. It is longer than the subjects that issuers use, and it fits in a key.
const MAX_USER: usize = 512;

/// Whether a text can be a user's id. `*`, which stands for all users, is not a user.
pub fn is_user(id: &str) -> bool {
    (1..=MAX_USER).contains(&id.len()) && id != EVERYBODY
}

/// The scopes of one token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Reads a `scope` claim. Issuers write `a b`, and a gateway turns a list into `[a b]`. Scopes
    /// of other services are ignored.
    ///
    /// ```
    /// use belfry_core::guard::access::{Scope, Scopes};
    /// let scopes = Scopes::parse("[openid schedules:read]");
    /// assert!(scopes.allow(Scope::SchedulesRead) && !scopes.allow(Scope::RunsWrite));
    /// ```
    pub fn parse(text: &str) -> Scopes {
        let words = text.split(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | ','));
        let known = |word: &str| Scope::ALL.into_iter().find(|scope| scope.as_str() == word);
        Scopes(words.filter_map(known).collect())
    }

    /// Whether the token has `scope`. The scope `admin` includes every scope.
    pub fn allow(&self, scope: Scope) -> bool {
        self.0.iter().any(|held| *held == scope || *held == Scope::Admin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(claim: &str, allowed: &[Scope]) {
        let scopes = Scopes::parse(claim);
        let held: Vec<_> = Scope::ALL.into_iter().filter(|scope| scopes.allow(*scope)).collect();
        assert_eq!(held, allowed, "{claim}");
    }

    #[test]
    fn a_claim_is_read_in_every_form_gateways_give_it() {
        check("", &[]);
        check("schedules:read runs:write", &[Scope::SchedulesRead, Scope::RunsWrite]);
        check("[schedules:write openid]", &[Scope::SchedulesWrite]);
        check("schedules:read,schedules:write", &[Scope::SchedulesRead, Scope::SchedulesWrite]);
    }

    #[test]
    fn an_admin_may_do_everything_and_a_name_like_it_nothing() {
        check("admin", &Scope::ALL);
        check("administrator Admin schedules:read:all", &[]);
    }
}
