//! Issues and revokes access tokens of this service.

use std::time::Duration;

use domain::{AgentReach, Credential, PrincipalId, Scopes};
use ports::RepositoryError;

use super::{
    super::own_token::{AccessTokenClaims, IssuedToken, OwnToken, UserClaims, unix_seconds},
    OwnTokens,
};
use crate::{
    jwt::{ACCESS_TOKEN, AGENT_IDS, LEEWAY},
    signing_keys::SigningKeyError,
};

/// The lifetime of an access token of a client.
const LIFETIME: Duration = Duration::from_mins(10);

impl OwnTokens {
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
        agents: AgentReach,
        scopes: Scopes,
        lifetime: Duration,
    ) -> Result<Option<IssuedToken>, SigningKeyError> {
        let claims = UserClaims {
            client_kind: issuer.kind,
            generation: self.tokens.user_generation(&issuer.tenant, user_id).await?,
            allowed_origins,
            agent_ids: agents,
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
        let is_confined = claims
            .user
            .as_ref()
            .is_some_and(|user| !user.agent_ids.is_all());
        let critical = is_confined.then_some(AGENT_IDS);
        let life = lifetime + LEEWAY;
        let text = self.keys.sign(ACCESS_TOKEN, &claims, critical, life)?;
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
