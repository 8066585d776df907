//! The credentials that this service issues: API keys, and OAuth clients, which obtain access
//! tokens. Both have scopes, and can be listed, rotated with an overlap, and revoked.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AgentReach, PrincipalId, Scopes, SecretDigest, TenantId, Timestamp, UnknownMembers, base62,
};

pub(crate) const PREFIX_LENGTH: usize = 4;
pub(crate) const ID_DIGITS: usize = 12;

/// The maximum time for which the previous secret stays valid after a rotation, in seconds.
pub const MAX_OVERLAP_SECONDS: u32 = 604_800;

/// The kind of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    /// An API key, sent with every request.
    Key,
    /// An OAuth client, whose secret is exchanged for access tokens at the token endpoint.
    Client,
}

impl CredentialKind {
    /// Returns the prefix of its secrets.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Key => "agk_",
            Self::Client => "ags_",
        }
    }

    /// Returns its name in stores and in principal ids.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Client => "client",
        }
    }

    /// Returns the principal that uses a credential of this kind.
    pub fn principal(self, id: &CredentialId) -> PrincipalId {
        PrincipalId::new(format!("{}:{id}", self.as_str()))
    }
}

impl FromStr for CredentialKind {
    type Err = UnknownCredentialKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Key, Self::Client]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or(UnknownCredentialKind)
    }
}

/// The error for a text that names no kind of credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a kind of credential")]
pub struct UnknownCredentialKind;

/// The public part of a credential: 12 base62 digits. For an OAuth client, this is its `client_id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CredentialId(String);

/// The error for a text that is not the id of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a credential's id is 12 base62 digits")]
pub struct MalformedCredentialId;

impl CredentialId {
    pub(crate) fn from_digits(digits: &str) -> Self {
        Self(digits.to_owned())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CredentialId {
    type Err = MalformedCredentialId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != ID_DIGITS || !base62::is_base62(text) {
            return Err(MalformedCredentialId);
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for CredentialId {
    type Error = MalformedCredentialId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for CredentialId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Rate limits of one key or client, in place of the server's. Absent members keep the server's
/// limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct LimitOverrides {
    /// Requests per minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 1, maximum = 1_000_000, nullable = false)
    )]
    pub requests_per_minute: Option<u32>,
    /// Requests at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 1, maximum = 1_000_000, nullable = false)
    )]
    pub requests_burst: Option<u32>,
    /// Chats per minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 1, maximum = 1_000_000, nullable = false)
    )]
    pub chat_per_minute: Option<u32>,
    /// Chats at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 1, maximum = 1_000_000, nullable = false)
    )]
    pub chat_burst: Option<u32>,
    /// Open streams and sockets at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 0, maximum = 1_000_000, nullable = false)
    )]
    pub streams: Option<u32>,
    /// Uploaded files on a day of UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 0, maximum = 1_000_000, nullable = false)
    )]
    pub files_per_day: Option<u32>,
    /// Bytes of uploaded files on a day of UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schema(minimum = 0, maximum = 1_000_000_000_000_u64, nullable = false)
    )]
    pub file_bytes_per_day: Option<u64>,
    /// The members that only a newer version knows.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub unknown: UnknownMembers,
}

/// The stored data of a credential's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// The digest of the current secret.
    pub digest: SecretDigest,
    /// The last four characters of the current secret.
    pub last4: String,
    /// The digest of the secret before the last rotation, and the time until which it is valid.
    pub previous: Option<(SecretDigest, Timestamp)>,
}

/// The public keys of a client that authenticates with signatures (`private_key_jwt`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKeys {
    /// A JWK set.
    Set(Value),
    /// The URL of a published JWK set.
    At(String),
}

/// The proof by which a credential is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// A secret.
    Secret(StoredSecret),
    /// Signatures; OAuth clients only.
    Keys(PublicKeys),
}

/// A credential as it is stored: everything except the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// The kind of the credential.
    pub kind: CredentialKind,
    /// The public id.
    pub id: CredentialId,
    /// The tenant whose data it can reach.
    pub tenant: TenantId,
    /// The name, for people.
    pub name: String,
    /// The permissions.
    pub scopes: Scopes,
    /// The agents that it can reach.
    pub agents: AgentReach,
    /// The proof by which it is verified.
    pub proof: Proof,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time from which it is rejected; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// The time of the last use, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// The time of its revocation.
    pub revoked_at: Option<Timestamp>,
    /// The only browser origins that may use it; empty for any.
    pub allowed_origins: Vec<String>,
    /// The credential's own rate limits.
    pub limits: LimitOverrides,
}

impl Credential {
    /// Returns the principal that uses this credential.
    pub fn principal(&self) -> PrincipalId {
        self.kind.principal(&self.id)
    }

    /// Returns the last four characters of the secret, by which people recognise it; `None` for
    /// public keys.
    pub fn last4(&self) -> Option<&str> {
        match &self.proof {
            Proof::Secret(secret) => Some(&secret.last4),
            Proof::Keys(_) => None,
        }
    }

    /// Returns `true` if the credential is neither revoked nor expired.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Verifies a secret by its digest at the time `now`. Returns `None` if the secret is wrong, or
    /// the credential is revoked or expired.
    pub fn verify(&self, digest: &SecretDigest, now: Timestamp) -> Option<VerifiedSecret> {
        let Proof::Secret(secret) = &self.proof else {
            return None;
        };
        let current = secret.digest.matches(digest);
        let previous = secret
            .previous
            .filter(|(previous, until)| previous.matches(digest) && now < *until)
            .map(|(_, until)| until);
        if !self.is_alive(now) || !(current || previous.is_some()) {
            return None;
        }
        let overlap_end = if current { None } else { previous };
        Some(VerifiedSecret {
            until: self.expires_at.into_iter().chain(overlap_end).min(),
        })
    }
}

/// The result of a successful verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedSecret {
    /// The maximum time until which the result is valid: the expiry of the credential or the end of
    /// the rotation overlap, whichever is earlier.
    pub until: Option<Timestamp>,
}
