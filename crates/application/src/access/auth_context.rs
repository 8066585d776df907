//! Who was let in.

use domain::{CredentialId, CredentialSource, LimitOverrides, Principal, Timestamp};
use ports::RepositoryError;

/// Why a credential was not let in.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It is mistyped, unknown, expired or revoked, or not for this service; which of them is not
    /// told.
    #[error("the credential is not valid")]
    Invalid,
    /// It is a token that was valid until it ended.
    #[error("the token has expired")]
    Expired,
    /// The issuer's keys were never to be had, so nothing can be said about its tokens.
    #[error("the issuer '{0}' cannot be reached")]
    IssuerUnavailable(String),
    /// It is no ticket, or one that was used, has ended, or is another page's; which of them is not
    /// told.
    #[error("the ticket is not valid")]
    InvalidTicket,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// A principal that was let in, with what holds for its credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthContext {
    /// Who it is.
    pub principal: Principal,
    /// The credential of ours that it came with, or whose token it came with; none for users of
    /// foreign issuers.
    pub credential: Option<CredentialId>,
    /// What its standing rests on beyond time.
    pub standing: CredentialSource,
    /// Browser origins that alone may use the credential; empty for any.
    pub allowed_origins: Vec<String>,
    /// Its own rate limits.
    pub limits: LimitOverrides,
    /// When the very secret or token it came with ends, if it does.
    pub ends_at: Option<Timestamp>,
}

impl AuthContext {
    /// Whether another credential is of the same principal, so that whoever came with the one may
    /// go on with the other.
    pub fn may_go_on_as(&self, other: &Self) -> bool {
        let (before, after) = (&self.principal, &other.principal);
        before.tenant == after.tenant && before.id == after.id
    }
}
