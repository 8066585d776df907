//! The access tokens of this service (RFC 9068): issue, verify and revoke.

use std::{fmt, sync::Arc, time::Duration};

use domain::{
    Credential, CredentialId, CredentialKind, CredentialSource, Principal, Scope, Scopes, Timestamp,
};
use futures::future::try_join;
use ports::{Clock, CredentialRepository, IdSource, RepositoryError, TokenRepository};
use serde::Serialize;
use uuid::Uuid;

use super::{SigningKeyError, SigningKeys};
use crate::{
    AccessError, AuthContext, CredentialStatus,
    jwt::{ACCESS_TOKEN, Claims, LEEWAY, SignatureAlgorithm, UnverifiedToken},
};

/// The lifetime of an access token.
pub(super) const LIFE: Duration = Duration::from_mins(10);
/// The algorithms that this service signs with.
const ALGORITHMS: &[SignatureAlgorithm] = &[SignatureAlgorithm::Es256];

/// The claims of an access token (RFC 9068).
#[derive(Serialize)]
struct AccessTokenClaims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: &'a CredentialId,
    client_id: &'a CredentialId,
    iat: i64,
    exp: i64,
    jti: Uuid,
    scope: &'a str,
}

/// A newly issued token. `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct IssuedToken {
    /// The token.
    pub text: String,
    /// The lifetime of the token, in whole seconds.
    pub expires_in: i64,
    /// The scopes that the token grants.
    pub scopes: Scopes,
}

impl fmt::Debug for IssuedToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("IssuedToken")
            .field("expires_in", &self.expires_in)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// A valid token of this service: correctly signed, neither expired nor revoked, of an active
/// client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnToken {
    /// The `jti`.
    pub id: Uuid,
    /// The id of the key that signed it.
    pub signing_key: String,
    /// The client that it was issued to.
    pub client: Credential,
    /// The scopes that it grants now: the scopes at issue that the client still holds.
    pub scopes: Scopes,
    /// The time of issue, in seconds since 1970.
    pub issued_at: i64,
    /// The time at which it expires.
    pub ends_at: Timestamp,
}

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
    pub async fn verify(&self, token: &UnverifiedToken<'_>) -> Result<AuthContext, AccessError> {
        let token = self.examine(token).await?;
        Ok(AuthContext {
            principal: Principal {
                id: token.client.principal(),
                tenant: token.client.tenant,
                scopes: token.scopes,
                user_id: None,
            },
            credential: Some(token.client.id.clone()),
            standing: CredentialSource::OwnToken {
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
    pub(super) async fn examine(
        &self,
        token: &UnverifiedToken<'_>,
    ) -> Result<OwnToken, AccessError> {
        let now = self.clock.now();
        let signing_key = token.key_id().ok_or(AccessError::Invalid)?;
        let claims = self.signed_claims(token, signing_key).await?;
        let is_ours = token.is_of_type(ACCESS_TOKEN)
            && claims.text("iss") == Some(&*self.issuer)
            && claims.audiences() == [&*self.issuer];
        let claims = Some(claims).filter(|_| is_ours);
        let claims = claims.ok_or(AccessError::Invalid)?;
        let ends_at = claims.check_time(now)?;
        let content = Content::read(&claims).ok_or(AccessError::Invalid)?;
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
    pub(crate) async fn look_again(
        &self,
        id: Uuid,
        client: &CredentialId,
        signing_key: &str,
        ends_at: Option<Timestamp>,
    ) -> Result<CredentialStatus, AccessError> {
        let found = self.credentials.find(CredentialKind::Client, client);
        let is_revoked = self.tokens.is_revoked(id);
        let (found, is_revoked) = try_join(found, is_revoked).await?;
        let signature_counts = self.keys.verifying(signing_key).await?.is_some();
        let client = found.filter(|client| client.revoked_at.is_none());
        Ok(match client {
            Some(client) if signature_counts && !is_revoked => {
                if client.is_alive(self.clock.now()) {
                    CredentialStatus::Stands { ends_at }
                } else {
                    CredentialStatus::Ended
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
        let key = self.keys.verifying(signing_key).await?;
        key.and_then(|key| token.verify(&key, ALGORITHMS))
            .ok_or(AccessError::Invalid)
    }

    /// Issues a token to a client. Returns `None` if the client expires within this second.
    pub(super) fn issue(
        &self,
        client: &Credential,
        scopes: Scopes,
    ) -> Result<Option<IssuedToken>, SigningKeyError> {
        let issued_at = seconds(self.clock.now());
        let longest = issued_at + i64::try_from(LIFE.as_secs()).unwrap_or(i64::MAX);
        let ends_at = client
            .expires_at
            .map_or(longest, |end| seconds(end).min(longest));
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
        let text = self.keys.sign(ACCESS_TOKEN, &claims, LIFE + LEEWAY)?;
        Ok(Some(IssuedToken {
            text,
            expires_in: ends_at - issued_at,
            scopes,
        }))
    }

    /// Revokes a token.
    pub(super) async fn revoke(&self, token: &OwnToken) -> Result<(), RepositoryError> {
        // Without the entry, the token would be accepted until this time.
        self.tokens.revoke(token.id, token.ends_at + LEEWAY).await
    }
}

/// The claims that only tokens of this service contain.
struct Content {
    id: Uuid,
    client: CredentialId,
    scopes: Scopes,
    issued_at: i64,
}

impl Content {
    fn read(claims: &Claims) -> Option<Self> {
        let client = claims.text("client_id")?;
        if claims.text("sub") != Some(client) {
            return None;
        }
        Some(Self {
            id: Uuid::parse_str(claims.text("jti")?).ok()?,
            client: client.parse().ok()?,
            // A scope that only a newer version of the service defines grants nothing here.
            scopes: claims
                .text("scope")?
                .split(' ')
                .filter_map(|scope| scope.parse::<Scope>().ok())
                .collect(),
            issued_at: claims.members().get("iat")?.as_i64()?,
        })
    }
}

/// Converts a time to whole seconds since 1970.
pub fn seconds(time: Timestamp) -> i64 {
    time.milliseconds().div_euclid(1_000)
}
