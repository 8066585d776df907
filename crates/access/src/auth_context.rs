//! The result of authentication.

use std::sync::Arc;

use application::chat::ChatCaller;
use domain::{
    CallerClaims, Credential, CredentialId, CredentialSource, LimitOverrides, Principal,
    QuotaHolder, SecretDigest, Timestamp,
};
use ports::{BoxError, RepositoryError};

/// The reason why a credential was rejected.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It is malformed, unknown, expired, revoked, or for another service. The error does not
    /// reveal which.
    #[error("the credential is not valid")]
    Invalid,
    /// It is a token that was valid until it expired.
    #[error("the token has expired")]
    Expired,
    /// The keys of the issuer are unavailable, so its tokens cannot be verified.
    #[error("the issuer '{0}' cannot be reached")]
    IssuerUnavailable(String),
    /// The home region is unavailable, without which this far region cannot decide.
    #[error("the home region cannot be reached")]
    HomeUnavailable(#[source] BoxError),
    /// The ticket is malformed, unknown, used, expired, or for another origin. The error does not
    /// reveal which.
    #[error("the ticket is not valid")]
    InvalidTicket,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

/// An authenticated principal, with the properties of its credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthContext {
    /// The authenticated principal.
    pub principal: Principal,
    /// The key, or the client of the token. `None` for users of external issuers.
    pub credential: Option<CredentialId>,
    /// The credential itself, by which its status is checked again.
    pub source: Arc<CredentialSource>,
    /// The browser origins that may use the credential. Empty if all may.
    pub allowed_origins: Vec<String>,
    /// The rate limits of the credential, which override the defaults.
    pub limits: LimitOverrides,
    /// The end of the secret or token in use, if it has one.
    pub ends_at: Option<Timestamp>,
}

impl AuthContext {
    /// The access of an API key whose secret has this digest and ends at `ends_at`.
    pub(crate) fn of_key(
        key: Credential,
        digest: SecretDigest,
        ends_at: Option<Timestamp>,
    ) -> Self {
        Self {
            principal: Principal {
                id: key.principal(),
                tenant: key.tenant,
                scopes: key.scopes,
                user_id: None,
                agents: key.agents,
                names_user: false,
            },
            credential: Some(key.id.clone()),
            source: Arc::new(CredentialSource::Key { id: key.id, digest }),
            allowed_origins: key.allowed_origins,
            limits: key.limits,
            ends_at,
        }
    }

    /// Returns the access for a request that names a user. The user of a credential is never replaced.
    pub fn naming_user(self: &Arc<Self>) -> Arc<Self> {
        if self.principal.user_id.is_some() || self.principal.names_user {
            return Arc::clone(self);
        }
        let mut naming = Self::clone(self);
        naming.principal.names_user = true;
        Arc::new(naming)
    }

    /// Returns the same access in a form that can be sent and stored.
    pub fn to_claims(&self) -> CallerClaims {
        CallerClaims {
            principal: self.principal.clone(),
            credential: self.credential.clone(),
            allowed_origins: self.allowed_origins.clone(),
            limits: self.limits.clone(),
            source: (*self.source).clone(),
            credential_ends_at: self.ends_at,
            origin: None,
        }
    }

    /// Returns the caller of a chat.
    pub fn chat_caller(&self) -> ChatCaller<'_> {
        ChatCaller {
            principal: &self.principal,
            credential: &self.source,
            limits: &self.limits,
        }
    }

    /// The holder of the principal's quotas.
    pub fn quota_holder(&self) -> QuotaHolder {
        QuotaHolder::from(&self.principal)
    }

    /// Returns true if both are of the same principal, so that `other` may replace this credential
    /// on an open connection.
    pub fn is_same_principal(&self, other: &Self) -> bool {
        let (before, after) = (&self.principal, &other.principal);
        before.tenant == after.tenant && before.id == after.id
    }
}
