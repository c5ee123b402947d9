//! Who asks for something.

use belfry_core::guard::access::{Scope, Scopes};
use belfry_core::schedule::change::Origin;

/// Who asks, as the gateway verified it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The token's subject: it owns what it creates.
    pub sub: String,
    /// What its token lets it do.
    pub scopes: Scopes,
    /// Where it asks from; nowhere if the system acts by itself.
    pub origin: Option<Origin>,
}

impl Caller {
    /// The system, acting in an owner's name.
    pub fn in_the_name_of(owner: &str) -> Caller {
        Caller { sub: owner.to_owned(), scopes: Scopes::default(), origin: None }
    }

    /// Whether it may see and change what is `owner`'s.
    pub fn acts_for(&self, owner: &str) -> bool {
        self.sub == owner || self.scopes.allow(Scope::Admin)
    }
}
