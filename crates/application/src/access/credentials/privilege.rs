//! Nobody hands out, or takes away, more than it holds itself.

use domain::{Principal, PrincipalId, Scope, Scopes, TenantId};

use super::CredentialError;

/// With one of these a key or client reaches the conversations of every user in its tenant.
const REACHES_CONVERSATIONS: &[Scope] = &[
    Scope::ChatWrite,
    Scope::ConversationsRead,
    Scope::ConversationsWrite,
    Scope::EventsRead,
];

/// The operator at the command line, who may do everything in a tenant.
pub fn operator(tenant: TenantId) -> Principal {
    Principal {
        tenant,
        id: PrincipalId::system(),
        scopes: Scopes::all(),
        user_id: None,
    }
}

/// Refuses a caller who holds less than a credential of these scopes would. Keys and clients act
/// for the whole tenant: to a user who is confined to conversations of its own, one that reaches
/// any has `conversations:all` as well.
pub(super) fn check(caller: &Principal, scopes: Scopes) -> Result<(), CredentialError> {
    let reaches_all = REACHES_CONVERSATIONS.iter().any(|it| scopes.contains(*it));
    let implied = caller
        .confined_to()
        .filter(|_| reaches_all)
        .map(|_| Scope::ConversationsAll);
    let wanted: Scopes = scopes.iter().chain(implied).collect();
    let missing = wanted.without(caller.scopes);
    if missing == Scopes::NONE {
        return Ok(());
    }
    Err(CredentialError::Exceeds(missing))
}
