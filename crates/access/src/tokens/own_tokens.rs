//! The access tokens of this service (RFC 9068): issue, verify and revoke.

use std::{sync::Arc, time::Duration};

use domain::{
    Credential, CredentialId, CredentialKind, CredentialSource, LimitOverrides, Principal,
    PrincipalId, Scopes, Timestamp,
};
use futures::future::try_join;
use ports::{Clock, CredentialRepository, IdSource, RepositoryError, TokenRepository};
use uuid::Uuid;

use super::{
    ReservedUserIds,
    own_token::{
        AccessTokenClaims, IssuedToken, OwnToken, OwnTokenClaims, TokenUser, UserClaims,
        unix_seconds,
    },
};
use crate::{
    AccessError, AuthContext, CredentialStatus,
    jwt::{ACCESS_TOKEN, Claims, LEEWAY, SignatureAlgorithm, UnverifiedToken},
    signing_keys::{SigningKeyError, SigningKeys},
};

/// The lifetime of an access token of a client.
const LIFETIME: Duration = Duration::from_mins(10);
/// The algorithms that this service signs with.
const ALGORITHMS: &[SignatureAlgorithm] = &[SignatureAlgorithm::Es256];

/// The access tokens of this service.
pub struct OwnTokens {
    issuer: String,
    keys: Arc<SigningKeys>,
    credentials: Arc<dyn CredentialRepository>,
    tokens: Arc<dyn TokenRepository>,
    reserved_user_ids: ReservedUserIds,
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
            reserved_user_ids: ReservedUserIds::default(),
            clock,
            ids,
        }
    }

    /// Rejects tokens for users with these ids.
    #[must_use]
    pub fn reserving(self, reserved_user_ids: ReservedUserIds) -> Self {
        Self {
            reserved_user_ids,
            ..self
        }
    }

    /// The user ids that no token of this service can have.
    pub(crate) fn reserved_user_ids(&self) -> &ReservedUserIds {
        &self.reserved_user_ids
    }

    /// The value of `iss` and `aud` in these tokens: the public URL of the service.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Reads the signing keys again, after a change of the access version.
    pub async fn reload(&self) -> Result<(), RepositoryError> {
        self.keys.reload().await
    }

    /// Verifies a token and returns the access of its client or user.
    pub async fn authenticate(
        &self,
        token: &UnverifiedToken<'_>,
    ) -> Result<AuthContext, AccessError> {
        let token = self.verify(token).await?;
        let principal = Principal {
            id: token.principal(),
            tenant: token.credential.tenant.clone(),
            scopes: token.scopes,
            user_id: token.user.as_ref().map(|user| user.id.clone()),
        };
        let ends_at = Some(token.ends_at);
        let credential = token.credential;
        Ok(match token.user {
            Some(user) => AuthContext {
                principal,
                credential: None,
                source: CredentialSource::UserToken {
                    id: token.id,
                    issuer_kind: credential.kind,
                    issuer: credential.id,
                    signing_key: token.signing_key,
                    generation: user.generation,
                },
                allowed_origins: user.allowed_origins,
                limits: LimitOverrides::default(),
                ends_at,
            },
            None => AuthContext {
                principal,
                credential: Some(credential.id.clone()),
                source: CredentialSource::OwnToken {
                    id: token.id,
                    client: credential.id,
                    signing_key: token.signing_key,
                },
                allowed_origins: credential.allowed_origins,
                limits: credential.limits,
                ends_at,
            },
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
        let kind = content
            .user
            .as_ref()
            .map_or(CredentialKind::Client, |(_, claims)| claims.client_kind);
        let found = self.credentials.find(kind, &content.credential).await?;
        let credential = found
            .filter(|credential| credential.is_alive(now))
            .ok_or(AccessError::Invalid)?;
        if self.tokens.is_revoked(content.id).await? {
            return Err(AccessError::Invalid);
        }
        let mut scopes = content.scopes.intersection(credential.scopes);
        let user = match content.user {
            Some((id, claims)) => {
                scopes = scopes.intersection(Scopes::of_user_tokens());
                Some(self.verify_user(id, claims, &credential).await?)
            }
            None => None,
        };
        Ok(OwnToken {
            id: content.id,
            signing_key: signing_key.to_owned(),
            scopes,
            credential,
            user,
            issued_at: content.issued_at,
            ends_at,
        })
    }

    /// Rejects the token of a user whose id is reserved or whose tokens were withdrawn.
    async fn verify_user(
        &self,
        id: String,
        claims: UserClaims,
        issuer: &Credential,
    ) -> Result<TokenUser, AccessError> {
        let current = self.tokens.user_generation(&issuer.tenant, &id).await?;
        if self.reserved_user_ids.contains(&id) || claims.generation != current {
            return Err(AccessError::Invalid);
        }
        Ok(TokenUser {
            id,
            generation: claims.generation,
            allowed_origins: if claims.allowed_origins.is_empty() {
                issuer.allowed_origins.clone()
            } else {
                claims.allowed_origins
            },
        })
    }

    /// Checks the current status of the token of a user, as [`Self::check_status`] does.
    pub(crate) async fn check_user_status(
        &self,
        user: &Principal,
        generation: i64,
        status: impl Future<Output = Result<CredentialStatus, AccessError>>,
    ) -> Result<CredentialStatus, AccessError> {
        let user_id = user.user_id.as_deref().unwrap_or_default();
        if self.tokens.user_generation(&user.tenant, user_id).await? == generation {
            status.await
        } else {
            Ok(CredentialStatus::Revoked)
        }
    }

    /// Checks the current status of a token that was verified before. The arguments are its `jti`,
    /// its client or issuer, its signing key and its end.
    pub(crate) async fn check_status(
        &self,
        id: Uuid,
        (kind, credential): (CredentialKind, &CredentialId),
        signing_key: &str,
        ends_at: Option<Timestamp>,
    ) -> Result<CredentialStatus, AccessError> {
        let found = self.credentials.find(kind, credential);
        let is_revoked = self.tokens.is_revoked(id);
        let (found, is_revoked) = try_join(found, is_revoked).await?;
        let is_key_valid = self.keys.verifying_key(signing_key).await?.is_some();
        let credential = found.filter(|credential| credential.revoked_at.is_none());
        Ok(match credential {
            Some(credential) if is_key_valid && !is_revoked => {
                if credential.is_alive(self.clock.now()) {
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
        self.sign(client, client.id.as_str(), None, scopes, LIFETIME)
    }

    /// Issues a token of the current generation to a user. Returns `None` if the issuer expires
    /// within this second.
    pub(crate) async fn issue_to_user(
        &self,
        issuer: &Credential,
        user_id: &str,
        allowed_origins: Vec<String>,
        scopes: Scopes,
        lifetime: Duration,
    ) -> Result<Option<IssuedToken>, SigningKeyError> {
        let claims = UserClaims {
            client_kind: issuer.kind,
            generation: self.tokens.user_generation(&issuer.tenant, user_id).await?,
            allowed_origins,
        };
        let subject = PrincipalId::user(user_id);
        self.sign(issuer, subject.as_str(), Some(claims), scopes, lifetime)
    }

    fn sign(
        &self,
        credential: &Credential,
        subject: &str,
        user: Option<UserClaims>,
        scopes: Scopes,
        lifetime: Duration,
    ) -> Result<Option<IssuedToken>, SigningKeyError> {
        let issued_at = unix_seconds(self.clock.now());
        let longest = issued_at + i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
        let ends_at = credential
            .expires_at
            .map_or(longest, |end| unix_seconds(end).min(longest));
        if ends_at <= issued_at {
            return Ok(None);
        }
        let claims = AccessTokenClaims {
            iss: &self.issuer,
            aud: &self.issuer,
            sub: subject,
            client_id: &credential.id,
            iat: issued_at,
            exp: ends_at,
            jti: self.ids.next_id(),
            scope: &scopes.joined(" "),
            user,
        };
        let text = self.keys.sign(ACCESS_TOKEN, &claims, lifetime + LEEWAY)?;
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
