//! The privilege check: no caller can create, change, rotate or revoke a credential with more access
//! than its own.

use domain::{AgentReach, Principal, PrincipalId, Scope, Scopes, TenantId};

use super::CredentialError;

/// The scopes with which a key or client reaches the conversations of every user in its tenant.
const REACHES_CONVERSATIONS: &[Scope] = &[
    Scope::ChatWrite,
    Scope::ConversationsRead,
    Scope::ConversationsWrite,
    Scope::EventsRead,
    Scope::UserTokensIssue,
];

/// The operator at the command line, with all scopes in a tenant.
pub fn operator(tenant: TenantId) -> Principal {
    Principal {
        tenant,
        id: PrincipalId::system(),
        scopes: Scopes::all(),
        user_id: None,
        agents: AgentReach::ALL,
        names_user: false,
    }
}

/// Rejects a caller with less access than a credential of these scopes would have. Keys and clients
/// act for the whole tenant. For a user who is confined to their own conversations, a credential
/// that reaches conversations therefore counts as one with `conversations:all`.
pub(super) fn check(caller: &Principal, scopes: &Scopes) -> Result<(), CredentialError> {
    let reaches_all = REACHES_CONVERSATIONS.iter().any(|it| scopes.contains(*it));
    let implied = caller
        .confined_to()
        .filter(|_| reaches_all)
        .map(|_| Scope::ConversationsAll);
    let wanted = implied.into_iter().fold(scopes.clone(), Scopes::with);
    let missing = wanted.without(&caller.scopes);
    if missing == Scopes::NONE {
        return Ok(());
    }
    Err(CredentialError::MissingScopes(missing))
}
