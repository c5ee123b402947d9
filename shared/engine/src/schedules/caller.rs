//! The caller of a use case.

use belfry_core::guard::access::{Scope, Scopes, is_user};
use belfry_core::invalid::{Code, Invalid};
use belfry_core::schedule::change::Origin;
use serde_json::Value;

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

    /// The owner that the field `user_id` of a request names, if it names one. Only an admin may name
    /// another owner than itself.
    pub fn named_owner<'a>(&self, body: &'a Value) -> Result<Option<&'a str>, Invalid> {
        let problem = |message: &str| Err(Invalid::new("user_id", message));
        match body.get("user_id") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(owner)) if !is_user(owner) => problem("is not a user's id"),
            Some(Value::String(owner)) if self.acts_for(owner) => Ok(Some(owner)),
            Some(Value::String(_)) => {
                let message = "names another user, which only the scope admin allows";
                Err(Invalid::new("user_id", message).coded(Code::NotAllowed))
            }
            Some(_) => problem("must be a text"),
        }
    }
}
