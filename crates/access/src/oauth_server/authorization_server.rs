//! The OAuth endpoints of the authorization server: issue, revoke and introspect tokens.

use std::sync::Arc;

use application::principal_limits::{PolicyResult, PrincipalLimits};
use domain::{Credential, QuotaHolder, RatePolicy, Scope, Scopes};
use ports::Clock;
use serde_json::Value;

use super::{ClientAuthenticator, ClientCredentials, OAuthError};
use crate::{
    AccessError, Authenticator,
    jwt::UnverifiedToken,
    signing_keys::SigningKeys,
    tokens::{IssuedToken, OwnToken, OwnTokens},
};

/// The only supported grant: a client acts for itself.
pub const CLIENT_CREDENTIALS: &str = "client_credentials";

/// The parameters of a request to the token endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenRequest {
    /// `grant_type`.
    pub grant_type: Option<String>,
    /// `scope`: if absent, all scopes of the client.
    pub scope: Option<String>,
    /// `resource` (RFC 8707): the service that will receive the token.
    pub resource: Option<String>,
}

/// The authorization server. It issues tokens to clients only. [`crate::UserTokens`] issues those of
/// users.
pub struct AuthorizationServer {
    clients: ClientAuthenticator,
    tokens: Arc<OwnTokens>,
    keys: Arc<SigningKeys>,
    authenticator: Arc<Authenticator>,
    limits: Arc<PrincipalLimits>,
    clock: Arc<dyn Clock>,
}

impl AuthorizationServer {
    /// Creates the authorization server. Requests of a client to this server and to the rest of the
    /// API count against the same rate limits.
    pub fn new(
        clients: ClientAuthenticator,
        tokens: Arc<OwnTokens>,
        keys: Arc<SigningKeys>,
        authenticator: Arc<Authenticator>,
        limits: Arc<PrincipalLimits>,
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

    /// The issuer name: the public URL of the service.
    pub fn issuer(&self) -> &str {
        self.tokens.issuer()
    }

    /// The public keys that verify its tokens, in the form of a JWK set.
    pub fn published_keys(&self) -> Vec<Value> {
        self.keys.published()
    }

    /// Issues an access token (RFC 6749, 4.4).
    pub async fn token(
        &self,
        credentials: &ClientCredentials,
        request: &TokenRequest,
    ) -> Result<IssuedToken, OAuthError> {
        match request.grant_type.as_deref() {
            Some(CLIENT_CREDENTIALS) => {}
            Some(_) => return Err(OAuthError::UnsupportedGrantType),
            None => return Err(OAuthError::InvalidRequest("grant_type is missing")),
        }
        let client = self.client(credentials).await?;
        let is_this_service = |resource: &String| resource == self.issuer();
        if !request.resource.as_ref().is_none_or(is_this_service) {
            return Err(OAuthError::InvalidTarget);
        }
        let scopes = requested_scopes(&client, request.scope.as_deref())?;
        let issued = self.tokens.issue(&client, scopes)?;
        issued.ok_or(OAuthError::InvalidClient)
    }

    /// Revokes a token of the client (RFC 7009). A token that is not valid needs no revocation and
    /// causes no error.
    pub async fn revoke(
        &self,
        credentials: &ClientCredentials,
        token: Option<&str>,
    ) -> Result<(), OAuthError> {
        let (client, token) = self.authorized_token(credentials, token).await?;
        let Some(token) = token else {
            return Ok(());
        };
        if token.credential.id != client.id {
            return Err(OAuthError::InvalidGrant);
        }
        self.tokens.revoke(&token).await?;
        self.authenticator.refresh_after_change().await;
        Ok(())
    }

    /// Returns the content of a token (RFC 7662). Returns `None` unless the token is valid now and
    /// belongs to the tenant of the calling client.
    pub async fn introspect(
        &self,
        credentials: &ClientCredentials,
        token: Option<&str>,
    ) -> Result<Option<OwnToken>, OAuthError> {
        let (_, token) = self.authorized_token(credentials, token).await?;
        let now = self.clock.now();
        // The leeway is for differences between two clocks. Here only one clock is involved.
        Ok(token.filter(|token| now < token.ends_at))
    }

    /// Authenticates the client and applies its rate limit. The limit also covers revocation,
    /// because each revocation clears the credential cache of every process.
    async fn client(&self, credentials: &ClientCredentials) -> Result<Credential, OAuthError> {
        let client = self.clients.authenticate(credentials).await?;
        let holder = QuotaHolder {
            tenant: client.tenant.clone(),
            principal: client.principal(),
        };
        let (limits, policies) = (&client.limits, [RatePolicy::Requests]);
        let results = self.limits.take(&holder, limits, &policies).await;
        match results.iter().find_map(PolicyResult::retry_after) {
            Some(wait) => Err(OAuthError::RateLimited { wait }),
            None => Ok(client),
        }
    }

    /// Returns the calling client and the token of its request, if the token is valid. A token of
    /// another tenant is reported like an invalid one, so that a client cannot detect that it
    /// exists.
    async fn authorized_token(
        &self,
        credentials: &ClientCredentials,
        token: Option<&str>,
    ) -> Result<(Credential, Option<OwnToken>), OAuthError> {
        let token = token.ok_or(OAuthError::InvalidRequest("token is missing"))?;
        let client = self.client(credentials).await?;
        let Some(token) = UnverifiedToken::parse(token) else {
            return Ok((client, None));
        };
        match self.tokens.verify(&token).await {
            Ok(token) => {
                let is_own = token.credential.tenant == client.tenant;
                Ok((client, is_own.then_some(token)))
            }
            Err(
                AccessError::Invalid
                | AccessError::Expired
                | AccessError::InvalidTicket
                | AccessError::IssuerUnavailable(_)
                | AccessError::HomeUnavailable(_),
            ) => Ok((client, None)),
            Err(AccessError::Store(error)) => Err(error.into()),
        }
    }
}

/// The scopes of a new token: the requested scopes, all of which the client must hold, or by
/// default all scopes of the client.
fn requested_scopes(client: &Credential, requested: Option<&str>) -> Result<Scopes, OAuthError> {
    let Some(requested) = requested else {
        return Ok(client.scopes.clone());
    };
    let parse = |name: &str| {
        name.parse::<Scope>()
            .map_err(|_unknown| unknown_scope(name))
    };
    let scopes: Scopes = requested.split(' ').map(parse).collect::<Result<_, _>>()?;
    if client.scopes.includes(&scopes) {
        return Ok(scopes);
    }
    let missing = scopes.without(&client.scopes).joined(" and ");
    Err(OAuthError::InvalidScope(format!(
        "the client does not hold {missing}"
    )))
}

/// Creates the error for a name that is no scope. It repeats the name only if RFC 6749 allows its
/// characters in an error description.
fn unknown_scope(name: &str) -> OAuthError {
    let is_allowed = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    let can_repeat = (1..=64).contains(&name.len()) && name.bytes().all(is_allowed);
    OAuthError::InvalidScope(if can_repeat {
        format!("the scope {name} is unknown")
    } else {
        "scope must be names of scopes, separated by single spaces".to_owned()
    })
}
