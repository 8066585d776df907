//! The access of an authenticated caller, in the form that is stored and sent.

use serde::{Deserialize, Serialize};

use crate::{CredentialId, CredentialSource, LimitOverrides, Principal, Timestamp};

/// The access of an authenticated caller: its principal, and the conditions of its use. A ticket
/// stands for it, and a far region sends it with the request of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallerClaims {
    /// The principal; a ticket may have fewer scopes than the credential of its caller.
    pub principal: Principal,
    /// The credential of this service that authenticated the caller; `None` for users of external
    /// issuers.
    pub credential: Option<CredentialId>,
    /// The only browser origins that may use that credential; empty for any.
    pub allowed_origins: Vec<String>,
    /// The credential's own rate limits.
    pub limits: LimitOverrides,
    /// The credential that keeps a connection of the caller open.
    // The stored name is older than the field's.
    #[serde(rename = "standing")]
    pub source: CredentialSource,
    /// The expiry of the secret or token that authenticated the caller, if it expires.
    pub credential_ends_at: Option<Timestamp>,
    /// The origin of the page that requested the ticket; `None` if no page has requested one.
    pub origin: Option<String>,
}
