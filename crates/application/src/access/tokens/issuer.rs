//! Identity providers that are trusted, as the operator describes them.

use std::{collections::BTreeMap, fmt, str::FromStr};

use domain::{Scopes, TenantId};

use super::{ClaimPath, KeyLocation};
use crate::access::jwt::SignatureAlgorithm;

/// What the operator calls an issuer: 1 to 64 of `a-z`, `0-9`, `-` and `_`. Names of its users
/// begin with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssuerId(String);

/// The text is no issuer's id.
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

/// What the `typ` of an issuer's access tokens must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenType {
    /// `at+jwt` (RFC 9068).
    AccessToken,
    /// `at+jwt`, or nothing, or `JWT`, since many say no more. The claims must tell an access
    /// token from one of another kind then.
    Any,
}

/// In which tenant an issuer's users are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantOfUsers {
    /// In this one.
    Fixed(TenantId),
    /// In the one that a claim names.
    Claim(ClaimPath),
}

/// An identity provider that is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// What the operator calls it.
    pub id: IssuerId,
    /// What it calls itself in `iss`, to the letter.
    pub name: String,
    /// Whom its tokens must be for: one of these.
    pub audiences: Vec<String>,
    /// Where its keys are.
    pub keys: KeyLocation,
    /// What it may sign with.
    pub algorithms: Vec<SignatureAlgorithm>,
    /// What its tokens must be.
    pub token_type: TokenType,
    /// Where its users are.
    pub tenant: TenantOfUsers,
    /// The claims that tell what a user may do: names of scopes, or of roles.
    pub scope_claims: Vec<ClaimPath>,
    /// What its roles may do.
    pub role_scopes: BTreeMap<String, Scopes>,
}
