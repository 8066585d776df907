//! Verification of access tokens, of this service and of external issuers.

use std::sync::Arc;

use ports::RepositoryError;

use super::Issuers;
use crate::{AccessError, AuthContext, jwt::UnverifiedToken, server::OwnTokens};

/// Access tokens of this service and of external issuers.
pub struct AccessTokens {
    own: Arc<OwnTokens>,
    foreign: Issuers,
}

impl AccessTokens {
    /// Combines the tokens of this service with those of external issuers.
    pub fn new(own: Arc<OwnTokens>, foreign: Issuers) -> Self {
        Self { own, foreign }
    }

    /// Verifies a token with its issuer and returns the access of its principal.
    pub async fn verify(&self, text: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::read(text).ok_or(AccessError::Invalid)?;
        if token.issuer() == Some(self.own.issuer()) {
            self.own.verify(&token).await
        } else {
            self.foreign.verify(&token).await
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
