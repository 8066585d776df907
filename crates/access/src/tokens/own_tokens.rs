//! The access tokens of this service (RFC 9068): issue, verify and revoke.

use std::{sync::Arc, time::Duration};

use domain::{
    Credential, CredentialId, CredentialKind, CredentialSource, Principal, Scopes, Timestamp,
};
use futures::future::try_join;
use ports::{Clock, CredentialRepository, IdSource, RepositoryError, TokenRepository};
use uuid::Uuid;

use super::own_token::{AccessTokenClaims, IssuedToken, OwnToken, OwnTokenClaims, unix_seconds};
use crate::{
    AccessError, AuthContext, CredentialStatus,
    jwt::{ACCESS_TOKEN, Claims, LEEWAY, SignatureAlgorithm, UnverifiedToken},
    signing_keys::{SigningKeyError, SigningKeys},
};

/// The lifetime of an access token.
const LIFETIME: Duration = Duration::from_mins(10);
/// The algorithms that this service signs with.
const ALGORITHMS: &[SignatureAlgorithm] = &[SignatureAlgorithm::Es256];

/// The access tokens of this service.
pub struct OwnTokens {
    issuer: String,
    keys: Arc<SigningKeys>,
    credentials: Arc<dyn CredentialRepository>,
    tokens: Arc<dyn TokenRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl OwnTokens {
    /// Creates the tokens of the service with the public URL `issuer`, which is their issuer and
    /// their audience.
    pub fn new(
        issuer: String,
        keys: Arc<SigningKeys>,
        credentials: Arc<dyn CredentialRepository>,
        tokens: Arc<dyn TokenRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        Self {
            issuer,
            keys,
            credentials,
            tokens,
            clock,
            ids,
        }
    }

    /// The value of `iss` and `aud` in these tokens: the public URL of the service.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Reads the signing keys again, after a change of the access version.
    pub async fn reload(&self) -> Result<(), RepositoryError> {
        self.keys.reload().await
    }

    /// Verifies a token and returns the access of its client.
    pub async fn authenticate(
        &self,
        token: &UnverifiedToken<'_>,
    ) -> Result<AuthContext, AccessError> {
        let token = self.verify(token).await?;
        Ok(AuthContext {
            principal: Principal {
                id: token.client.principal(),
                tenant: token.client.tenant,
                scopes: token.scopes,
                user_id: None,
            },
            credential: Some(token.client.id.clone()),
            source: CredentialSource::OwnToken {
                id: token.id,
                client: token.client.id,
                signing_key: token.signing_key,
            },
            allowed_origins: token.client.allowed_origins,
            limits: token.client.limits,
            ends_at: Some(token.ends_at),
        })
    }

    /// Verifies a token of this service.
    pub(crate) async fn verify(
        &self,
        token: &UnverifiedToken<'_>,
    ) -> Result<OwnToken, AccessError> {
        let now = self.clock.now();
        let signing_key = token.key_id().ok_or(AccessError::Invalid)?;
        let claims = self.signed_claims(token, signing_key).await?;
        let is_ours = token.has_media_type(ACCESS_TOKEN)
            && claims.text("iss") == Some(&*self.issuer)
            && claims.audiences() == [&*self.issuer];
        let claims = Some(claims).filter(|_| is_ours);
        let claims = claims.ok_or(AccessError::Invalid)?;
        let ends_at = claims.check_time(now)?;
        let content = OwnTokenClaims::read(&claims).ok_or(AccessError::Invalid)?;
        let found = self
            .credentials
            .find(CredentialKind::Client, &content.client)
            .await?;
        let client = found
            .filter(|client| client.is_alive(now))
            .ok_or(AccessError::Invalid)?;
        if self.tokens.is_revoked(content.id).await? {
            return Err(AccessError::Invalid);
        }
        let still_held = content
            .scopes
            .iter()
            .filter(|scope| client.scopes.contains(*scope));
        Ok(OwnToken {
            id: content.id,
            signing_key: signing_key.to_owned(),
            scopes: still_held.collect(),
            client,
            issued_at: content.issued_at,
            ends_at,
        })
    }

    /// Checks the current status of a token that was verified before. The arguments are its `jti`,
    /// client, signing key and end.
    pub(crate) async fn check_status(
        &self,
        id: Uuid,
        client: &CredentialId,
        signing_key: &str,
        ends_at: Option<Timestamp>,
    ) -> Result<CredentialStatus, AccessError> {
        let found = self.credentials.find(CredentialKind::Client, client);
        let is_revoked = self.tokens.is_revoked(id);
        let (found, is_revoked) = try_join(found, is_revoked).await?;
        let is_key_valid = self.keys.verifying_key(signing_key).await?.is_some();
        let client = found.filter(|client| client.revoked_at.is_none());
        Ok(match client {
            Some(client) if is_key_valid && !is_revoked => {
                if client.is_alive(self.clock.now()) {
                    CredentialStatus::Valid { ends_at }
                } else {
                    CredentialStatus::Expired
                }
            }
            _ => CredentialStatus::Revoked,
        })
    }

    async fn signed_claims(
        &self,
        token: &UnverifiedToken<'_>,
        signing_key: &str,
    ) -> Result<Claims, AccessError> {
        let key = self.keys.verifying_key(signing_key).await?;
        key.and_then(|key| token.verify(&key, ALGORITHMS))
            .ok_or(AccessError::Invalid)
    }

    /// Issues a token to a client. Returns `None` if the client expires within this second.
    pub(crate) fn issue(
        &self,
        client: &Credential,
        scopes: Scopes,
    ) -> Result<Option<IssuedToken>, SigningKeyError> {
        let issued_at = unix_seconds(self.clock.now());
        let longest = issued_at + i64::try_from(LIFETIME.as_secs()).unwrap_or(i64::MAX);
        let ends_at = client
            .expires_at
            .map_or(longest, |end| unix_seconds(end).min(longest));
        if ends_at <= issued_at {
            return Ok(None);
        }
        let claims = AccessTokenClaims {
            iss: &self.issuer,
            aud: &self.issuer,
            sub: &client.id,
            client_id: &client.id,
            iat: issued_at,
            exp: ends_at,
            jti: self.ids.next_id(),
            scope: &scopes.joined(" "),
        };
        let text = self.keys.sign(ACCESS_TOKEN, &claims, LIFETIME + LEEWAY)?;
        Ok(Some(IssuedToken {
            text,
            expires_in: ends_at - issued_at,
            scopes,
        }))
    }

    /// Revokes a token.
    pub(crate) async fn revoke(&self, token: &OwnToken) -> Result<(), RepositoryError> {
        // Without the entry, the token would be accepted until this time.
        self.tokens.revoke(token.id, token.ends_at + LEEWAY).await
    }
}
