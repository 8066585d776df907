//! The configuration of trusted identity providers.

use std::{collections::BTreeMap, fmt, str::FromStr};

use domain::{AgentReach, Scopes, TenantId};

use super::{ClaimPath, KeyLocation};
use crate::jwt::SignatureAlgorithm;

/// The operator's id of an issuer: 1 to 64 of `a-z`, `0-9`, `-` and `_`. The ids of its users start
/// with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssuerId(String);

/// The error for a text that is not an issuer id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an issuer's id is 1 to 64 of a-z, 0-9, '-' and '_'")]
pub struct MalformedIssuerId;

impl IssuerId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IssuerId {
    type Err = MalformedIssuerId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if text.is_empty() || text.len() > 64 || !text.bytes().all(allowed) {
            return Err(MalformedIssuerId);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for IssuerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The required `typ` of an issuer's access tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenType {
    /// `at+jwt` (RFC 9068).
    AccessToken,
    /// `at+jwt`, `JWT` or absent, because many issuers set no specific type. The claims must then
    /// distinguish access tokens from other tokens.
    Any,
}

/// The tenant of an issuer's users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantSource {
    /// All users are in this tenant.
    Fixed(TenantId),
    /// This claim contains the id of the user's tenant.
    Claim(ClaimPath),
}

/// A trusted identity provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerConfig {
    /// The operator's id of the issuer.
    pub id: IssuerId,
    /// The exact value of `iss` in its tokens.
    pub name: String,
    /// The accepted audiences. A token must have at least one of them.
    pub audiences: Vec<String>,
    /// The claim that names the audience in tokens without `aud`.
    pub audience_claim: Option<ClaimPath>,
    /// The location of its keys.
    pub keys: KeyLocation,
    /// The algorithms that it may sign with.
    pub algorithms: Vec<SignatureAlgorithm>,
    /// The required type of its tokens.
    pub token_type: TokenType,
    /// The tenant of its users.
    pub tenant: TenantSource,
    /// The claims that contain a user's permissions: names of scopes or of roles.
    pub scope_claims: Vec<ClaimPath>,
    /// The scopes of each role.
    pub role_scopes: BTreeMap<String, Scopes>,
    /// The agents that its users can reach.
    pub agents: AgentReach,
}
