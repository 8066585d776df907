//! The credentials that this service issues: API keys, and OAuth clients, which fetch tokens. Both
//! are made with a set of scopes, listed, rotated with an overlap, and revoked.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{PrincipalId, Scopes, SecretDigest, TenantId, Timestamp, base62};

pub(crate) const PREFIX_LENGTH: usize = 4;
pub(crate) const ID_DIGITS: usize = 12;

/// The longest time for which a rotated secret stays valid beside the new one, in seconds.
pub const MOST_OVERLAP_SECONDS: u32 = 604_800;

/// What a credential is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CredentialKind {
    /// Sent with every request.
    Key,
    /// Exchanged for access tokens at the token endpoint.
    Client,
}

impl CredentialKind {
    /// What its secrets begin with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Key => "agk_",
            Self::Client => "ags_",
        }
    }

    /// Its name in stores and in principal ids.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Client => "client",
        }
    }

    /// The principal that acts with a credential of this kind.
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

/// The text names no kind of credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a kind of credential")]
pub struct UnknownCredentialKind;

/// The public part of a credential: 12 base62 digits. A client's is its `client_id`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct CredentialId(String);

/// The text is no credential's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a credential's id is 12 base62 digits")]
pub struct MalformedCredentialId;

impl CredentialId {
    pub(crate) fn of_digits(digits: &str) -> Self {
        Self(digits.to_owned())
    }

    /// The id as text.
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

/// Rate limits of one key or client in place of the server's; absent members keep the server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitOverrides {
    /// Requests a minute.
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
    /// Chats a minute.
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
}

/// What is stored of a credential's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSecret {
    /// Digest of the current secret.
    pub digest: SecretDigest,
    /// Last four characters of the current whole value.
    pub last4: String,
    /// The secret before the last rotation, and until when it is still good.
    pub previous: Option<(SecretDigest, Timestamp)>,
}

/// The public keys of a client that signs instead of sending a secret (`private_key_jwt`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKeys {
    /// A JWK set.
    Set(Value),
    /// Where the JWK set is published.
    At(String),
}

/// How a credential proves that it is what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// By a secret.
    Secret(StoredSecret),
    /// By signatures: clients alone.
    Keys(PublicKeys),
}

/// A credential as it is stored: everything but the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// What it is used for.
    pub kind: CredentialKind,
    /// Its public id.
    pub id: CredentialId,
    /// Whose data it opens.
    pub tenant: TenantId,
    /// What people call it.
    pub name: String,
    /// What it may do.
    pub scopes: Scopes,
    /// How it proves itself.
    pub proof: Proof,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was last seen, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// Since when it is refused.
    pub revoked_at: Option<Timestamp>,
    /// Browser origins that alone may use it; empty for any.
    pub allowed_origins: Vec<String>,
    /// Its own rate limits.
    pub limits: LimitOverrides,
}

impl Credential {
    /// The principal that acts with it.
    pub fn principal(&self) -> PrincipalId {
        self.kind.principal(&self.id)
    }

    /// The last four characters of its whole secret, by which people recognise it.
    pub fn last4(&self) -> Option<&str> {
        match &self.proof {
            Proof::Secret(secret) => Some(&secret.last4),
            Proof::Keys(_) => None,
        }
    }

    /// Whether it is neither revoked nor expired.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether a request with a secret of this digest is let in at `now`, and until when the
    /// answer can hold at the most.
    pub fn verify(&self, digest: &SecretDigest, now: Timestamp) -> Option<Verified> {
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
        Some(Verified {
            until: self.expires_at.into_iter().chain(overlap_end).min(),
        })
    }
}

/// A secret that was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// The end of the credential or of its rotation's overlap, whichever comes first.
    pub until: Option<Timestamp>,
}
