//! What clients ask of the authorization server: a token, its end, and what it is worth.

use std::sync::Arc;

use domain::{Credential, QuotaHolder, RatePolicy, Scope, Scopes};
use ports::Clock;
use serde_json::Value;

use super::{
    ClientAuthentication, ClientCredentials, IssuedToken, OAuthError, OwnToken, OwnTokens,
    SigningKeys,
};
use crate::access::{AccessError, Authenticator, Count, Limits, jwt::UnverifiedToken};

/// The one grant: machines act for themselves.
pub const CLIENT_CREDENTIALS: &str = "client_credentials";

/// What is asked of the token endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenRequest {
    /// `grant_type`.
    pub grant_type: Option<String>,
    /// `scope`: all of the client's when absent.
    pub scope: Option<String>,
    /// `resource` (RFC 8707): the service that the token is for.
    pub resource: Option<String>,
}

/// The authorization server, for machines only.
pub struct AuthorizationServer {
    clients: ClientAuthentication,
    tokens: Arc<OwnTokens>,
    keys: Arc<SigningKeys>,
    authenticator: Arc<Authenticator>,
    limits: Arc<Limits>,
    clock: Arc<dyn Clock>,
}

impl AuthorizationServer {
    /// A server that issues these tokens to these clients, beside what lets them in. What a client
    /// asks of it counts as its requests to the service do.
    pub fn new(
        clients: ClientAuthentication,
        tokens: Arc<OwnTokens>,
        keys: Arc<SigningKeys>,
        authenticator: Arc<Authenticator>,
        limits: Arc<Limits>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            clients,
            tokens,
            keys,
            authenticator,
            limits,
            clock,
        }
    }

    /// Its name: the service's public URL.
    pub fn issuer(&self) -> &str {
        self.tokens.issuer()
    }

    /// The keys that prove its tokens, as a JWK set has them.
    pub fn published_keys(&self) -> Vec<Value> {
        self.keys.published()
    }

    /// Issues an access token (RFC 6749, 4.4).
    pub async fn token(
        &self,
        shown: &ClientCredentials,
        request: &TokenRequest,
    ) -> Result<IssuedToken, OAuthError> {
        match request.grant_type.as_deref() {
            Some(CLIENT_CREDENTIALS) => {}
            Some(_) => return Err(OAuthError::UnsupportedGrantType),
            None => return Err(OAuthError::InvalidRequest("grant_type is missing")),
        }
        let client = self.client(shown).await?;
        let is_for_us = |resource: &String| resource == self.issuer();
        if !request.resource.as_ref().is_none_or(is_for_us) {
            return Err(OAuthError::InvalidTarget);
        }
        let scopes = asked_scopes(&client, request.scope.as_deref())?;
        let issued = self.tokens.issue(&client, scopes)?;
        issued.ok_or(OAuthError::InvalidClient)
    }

    /// Refuses a token of the client from now on (RFC 7009). What is no good token is none to
    /// revoke.
    pub async fn revoke(
        &self,
        shown: &ClientCredentials,
        token: Option<&str>,
    ) -> Result<(), OAuthError> {
        let (client, token) = self.asked_about(shown, token).await?;
        let Some(token) = token else {
            return Ok(());
        };
        if token.client.id != client.id {
            return Err(OAuthError::InvalidGrant);
        }
        self.tokens.revoke(&token).await?;
        self.authenticator.watch_after_change().await;
        Ok(())
    }

    /// What a token is worth (RFC 7662): nothing, unless it is good now and of the same tenant as
    /// the client that asks.
    pub async fn introspect(
        &self,
        shown: &ClientCredentials,
        token: Option<&str>,
    ) -> Result<Option<OwnToken>, OAuthError> {
        let (_, token) = self.asked_about(shown, token).await?;
        let now = self.clock.now();
        // The leeway is for clocks that differ; here there is one.
        Ok(token.filter(|token| now < token.ends_at))
    }

    /// The client that asks, unless it has asked too often. A token that is revoked has every
    /// process forget whom it knows, so that no client is to do so without end.
    async fn client(&self, shown: &ClientCredentials) -> Result<Credential, OAuthError> {
        let client = self.clients.authenticate(shown).await?;
        let holder = QuotaHolder {
            tenant: client.tenant.clone(),
            principal: client.principal(),
        };
        let (limits, policies) = (&client.limits, [RatePolicy::Requests]);
        let counts = self.limits.take_from(&holder, limits, &policies).await;
        match counts.iter().find_map(Count::refused_for) {
            Some(wait) => Err(OAuthError::RateLimited { wait }),
            None => Ok(client),
        }
    }

    /// The client that asks, and the good token that it asks about. Nobody learns anything of the
    /// tokens of another tenant, not even that there are some.
    async fn asked_about(
        &self,
        shown: &ClientCredentials,
        token: Option<&str>,
    ) -> Result<(Credential, Option<OwnToken>), OAuthError> {
        let token = token.ok_or(OAuthError::InvalidRequest("token is missing"))?;
        let client = self.client(shown).await?;
        let Some(token) = UnverifiedToken::read(token) else {
            return Ok((client, None));
        };
        match self.tokens.examine(&token).await {
            Ok(token) => {
                let is_own = token.client.tenant == client.tenant;
                Ok((client, is_own.then_some(token)))
            }
            Err(
                AccessError::Invalid
                | AccessError::Expired
                | AccessError::InvalidTicket
                | AccessError::IssuerUnavailable(_),
            ) => Ok((client, None)),
            Err(AccessError::Store(error)) => Err(error.into()),
        }
    }
}

/// The scopes of a new token: those asked for, all of which the client must hold, or all of its.
fn asked_scopes(client: &Credential, asked: Option<&str>) -> Result<Scopes, OAuthError> {
    let Some(asked) = asked else {
        return Ok(client.scopes);
    };
    let scopes: Result<Scopes, _> = asked.split(' ').map(str::parse::<Scope>).collect();
    let scopes = scopes.map_err(|_unknown| OAuthError::InvalidScope)?;
    if client.scopes.includes(scopes) {
        Ok(scopes)
    } else {
        Err(OAuthError::InvalidScope)
    }
}
