//! An access token of this service (RFC 9068).

use std::fmt;

use domain::{
    AgentReach, Credential, CredentialId, CredentialKind, PrincipalId, Scope, Scopes, Timestamp,
    principal::USER_PREFIX,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::jwt::Claims;

/// The claims of an access token (RFC 9068).
#[derive(Serialize)]
pub(super) struct AccessTokenClaims<'a> {
    pub(super) iss: &'a str,
    pub(super) aud: &'a str,
    pub(super) sub: &'a str,
    pub(super) client_id: &'a CredentialId,
    pub(super) iat: i64,
    pub(super) exp: i64,
    pub(super) jti: Uuid,
    pub(super) scope: &'a str,
    #[serde(flatten)]
    pub(super) user: Option<UserClaims>,
}

/// The claims that only tokens for users contain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UserClaims {
    /// The kind of the credential in `client_id`.
    pub(super) client_kind: CredentialKind,
    /// The generation of the user's tokens.
    pub(super) generation: i64,
    /// The only browser origins that may use the token, if they are not those of its issuer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) allowed_origins: Vec<String>,
    /// The agents that the token can reach.
    #[serde(default, skip_serializing_if = "AgentReach::is_all")]
    pub(super) agent_ids: AgentReach,
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

/// A valid token of this service: correctly signed, neither expired, revoked nor withdrawn, of an
/// active credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnToken {
    /// The `jti`.
    pub id: Uuid,
    /// The id of the key that signed it.
    pub signing_key: String,
    /// The client that it was issued to, or the key or client that issued it to a user.
    pub credential: Credential,
    /// The user, unless it was issued to a client.
    pub user: Option<TokenUser>,
    /// The scopes that it grants now: the scopes at issue that the credential still holds.
    pub scopes: Scopes,
    /// The time of issue, in seconds since 1970.
    pub issued_at: i64,
    /// The time at which it expires.
    pub ends_at: Timestamp,
}

/// The user of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenUser {
    /// The user's id.
    pub id: String,
    /// The generation of the user's tokens to which the token belongs.
    pub generation: i64,
    /// The only browser origins that may use the token; empty if all may.
    pub allowed_origins: Vec<String>,
    /// The agents that it can reach: those of the token that its issuer still reaches.
    pub agents: AgentReach,
}

impl OwnToken {
    /// The principal of the token.
    pub fn principal(&self) -> PrincipalId {
        match &self.user {
            Some(user) => PrincipalId::user(&user.id),
            None => self.credential.principal(),
        }
    }

    /// The agents that it can reach.
    pub const fn agents(&self) -> &AgentReach {
        match &self.user {
            Some(user) => &user.agents,
            None => &self.credential.agents,
        }
    }
}

/// The claims that only tokens of this service contain.
pub(super) struct OwnTokenClaims {
    pub(super) id: Uuid,
    pub(super) credential: CredentialId,
    /// The id of the user, and the claims of a token for users.
    pub(super) user: Option<(String, UserClaims)>,
    pub(super) scopes: Scopes,
    pub(super) issued_at: i64,
}

impl OwnTokenClaims {
    pub(super) fn read(claims: &Claims) -> Option<Self> {
        let credential = claims.text("client_id")?;
        let subject = claims.text("sub")?;
        let user = match subject.strip_prefix(USER_PREFIX) {
            Some(id) => Some((id.to_owned(), UserClaims::read(claims)?)),
            None if subject == credential => None,
            None => return None,
        };
        Some(Self {
            id: Uuid::parse_str(claims.text("jti")?).ok()?,
            credential: credential.parse().ok()?,
            user,
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

impl UserClaims {
    fn read(claims: &Claims) -> Option<Self> {
        Self::deserialize(claims.members()).ok()
    }
}

/// Converts a time to whole seconds since 1970.
pub fn unix_seconds(time: Timestamp) -> i64 {
    time.milliseconds().div_euclid(1_000)
}
