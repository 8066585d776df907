//! Verification of access tokens, of this service and of external issuers.

use std::sync::Arc;

use ports::RepositoryError;

use super::{ExternalIssuers, OwnTokens};
use crate::{AccessError, AuthContext, jwt::UnverifiedToken};

/// Access tokens of this service and of external issuers.
pub struct AccessTokens {
    own: Arc<OwnTokens>,
    external: ExternalIssuers,
}

impl AccessTokens {
    /// Combines the tokens of this service with those of external issuers.
    pub fn new(own: Arc<OwnTokens>, external: ExternalIssuers) -> Self {
        Self { own, external }
    }

    /// Verifies a token with its issuer and returns the access of its principal.
    pub async fn authenticate(&self, text: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::parse(text).ok_or(AccessError::Invalid)?;
        if token.issuer() == Some(self.own.issuer()) {
            self.own.authenticate(&token).await
        } else {
            self.external.authenticate(&token).await
        }
    }

    /// The tokens of this service. Only these can be revoked.
    pub(crate) fn own(&self) -> &OwnTokens {
        &self.own
    }

    /// Reads the signing keys of this service again, after a change of the access version.
    pub async fn reload(&self) -> Result<(), RepositoryError> {
        self.own.reload().await
    }
}
