//! An access token of this service (RFC 9068).

use std::fmt;

use domain::{Credential, CredentialId, Scope, Scopes, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use crate::jwt::Claims;

/// The claims of an access token (RFC 9068).
#[derive(Serialize)]
pub(super) struct AccessTokenClaims<'a> {
    pub(super) iss: &'a str,
    pub(super) aud: &'a str,
    pub(super) sub: &'a CredentialId,
    pub(super) client_id: &'a CredentialId,
    pub(super) iat: i64,
    pub(super) exp: i64,
    pub(super) jti: Uuid,
    pub(super) scope: &'a str,
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

/// The claims that only tokens of this service contain.
pub(super) struct OwnTokenClaims {
    pub(super) id: Uuid,
    pub(super) client: CredentialId,
    pub(super) scopes: Scopes,
    pub(super) issued_at: i64,
}

impl OwnTokenClaims {
    pub(super) fn read(claims: &Claims) -> Option<Self> {
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
pub fn unix_seconds(time: Timestamp) -> i64 {
    time.milliseconds().div_euclid(1_000)
}
