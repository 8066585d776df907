//! Access tokens, our own and those of others.

use std::sync::Arc;

use ports::RepositoryError;

use super::Issuers;
use crate::access::{AccessError, AuthContext, jwt::UnverifiedToken, server::OwnTokens};

/// Access tokens, our own and those of others.
pub struct AccessTokens {
    own: Arc<OwnTokens>,
    foreign: Issuers,
}

impl AccessTokens {
    /// Tokens of this service and of these issuers.
    pub fn new(own: Arc<OwnTokens>, foreign: Issuers) -> Self {
        Self { own, foreign }
    }

    /// Lets the bearer of a token in, or not.
    pub async fn verify(&self, text: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::read(text).ok_or(AccessError::Invalid)?;
        if token.issuer() == Some(self.own.issuer()) {
            self.own.verify(&token).await
        } else {
            self.foreign.verify(&token).await
        }
    }

    /// Our own, which alone can be taken back.
    pub(in crate::access) fn own(&self) -> &OwnTokens {
        &self.own
    }

    /// Reads our own signing keys again: what the store says of access has changed.
    pub async fn reload(&self) -> Result<(), RepositoryError> {
        self.own.reload().await
    }
}
