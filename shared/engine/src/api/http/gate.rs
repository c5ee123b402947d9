//! Gates: who may call an operation.

use belfry_core::guard::access::Scope;

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Anybody.
    Open,
    /// The executor of a run, by the token its run was launched with. The gateway lets everybody
    /// through and the function checks.
    RunToken,
    /// Bearers of a token that the gateway verified, with this scope.
    Token(Scope),
}
