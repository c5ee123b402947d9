//! The caller of a use case.

use belfry_core::guard::access::{Scope, Scopes};
use belfry_core::schedule::change::Origin;

/// The caller, as the gateway verified the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The subject of the token: the caller owns what it creates.
    pub sub: String,
    /// The scopes of the token.
    pub scopes: Scopes,
    /// The address and client of the request; `None` if the system acts by itself.
    pub origin: Option<Origin>,
}

impl Caller {
    /// The system, acting in the name of an owner.
    pub fn in_the_name_of(owner: &str) -> Caller {
        Caller { sub: owner.to_owned(), scopes: Scopes::default(), origin: None }
    }

    /// Whether the caller may see and change what belongs to `owner`.
    pub fn acts_for(&self, owner: &str) -> bool {
        self.sub == owner || self.scopes.allow(Scope::Admin)
    }
}
