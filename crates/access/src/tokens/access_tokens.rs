//! Verification of access tokens, of this service and of external issuers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ports::RepositoryError;

use super::{ExternalIssuers, OwnTokens};
use crate::{
    AccessError, AuthContext,
    jwt::{MAX_TOKEN_BYTES, UnverifiedToken},
};

/// Access tokens of this service and of external issuers.
pub struct AccessTokens {
    own: Arc<OwnTokens>,
    external: ExternalIssuers,
    /// True once a token that is too long was reported.
    has_reported_length: AtomicBool,
}

impl AccessTokens {
    /// Combines the tokens of this service with those of external issuers.
    pub fn new(own: Arc<OwnTokens>, external: ExternalIssuers) -> Self {
        Self {
            own,
            external,
            has_reported_length: AtomicBool::new(false),
        }
    }

    /// Verifies a token with its issuer and returns the access of its principal.
    pub async fn authenticate(&self, text: &str) -> Result<AuthContext, AccessError> {
        let token = UnverifiedToken::parse(text).ok_or_else(|| self.reject(text))?;
        if token.issuer() == Some(self.own.issuer()) {
            self.own.authenticate(&token).await
        } else {
            self.external.authenticate(&token).await
        }
    }

    /// Returns the error of a text that is no token, and reports the first that is too long: some issuers
    /// list all groups of a user in a token, so that only some users cannot sign in.
    fn reject(&self, text: &str) -> AccessError {
        if text.len() > MAX_TOKEN_BYTES && !self.has_reported_length.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                bytes = text.len(),
                "an access token is longer than {MAX_TOKEN_BYTES} bytes, so it is rejected; have its \
                 issuer put fewer claims into it, such as groups (further ones are not reported)"
            );
        }
        AccessError::Invalid
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
