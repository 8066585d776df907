//! The access tokens of this service (RFC 9068): issue, verify and revoke.

use std::sync::Arc;

use domain::{Credential, CredentialKind, CredentialSource, LimitOverrides, Principal, Scopes};
use ports::{Clock, CredentialRepository, IdSource, RepositoryError, TokenRepository};

use super::{
    ReservedUserIds,
    own_token::{OwnToken, OwnTokenClaims, TokenUser, UserClaims},
};
use crate::{
    AccessError, AuthContext,
    jwt::{ACCESS_TOKEN, Claims, SignatureAlgorithm, UnverifiedToken},
    signing_keys::SigningKeys,
};

mod issue;
mod issue_for_tool;
mod status;

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
            agents: token.agents().clone(),
            scopes: token.scopes,
            user_id: token.user.as_ref().map(|user| user.id.clone()),
            names_user: false,
        };
        let credential = token.credential;
        // The credential may end earlier than when it issued the token.
        let ends = [Some(token.ends_at), credential.expires_at];
        let ends_at = ends.into_iter().flatten().min();
        Ok(match token.user {
            Some(user) => AuthContext {
                principal,
                credential: None,
                source: Arc::new(CredentialSource::UserToken {
                    id: token.id,
                    issuer_kind: credential.kind,
                    issuer: credential.id,
                    signing_key: token.signing_key,
                    generation: user.generation,
                }),
                allowed_origins: user.allowed_origins,
                limits: LimitOverrides::default(),
                ends_at,
            },
            None => AuthContext {
                principal,
                credential: Some(credential.id.clone()),
                source: Arc::new(CredentialSource::OwnToken {
                    id: token.id,
                    client: credential.id,
                    signing_key: token.signing_key,
                }),
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
        let mut scopes = content.scopes.intersection(&credential.scopes);
        let user = match content.user {
            Some((id, claims)) => {
                scopes = scopes.intersection(&Scopes::of_user_tokens());
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
            agents: issuer.agents.intersection(&claims.agent_ids),
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
}
