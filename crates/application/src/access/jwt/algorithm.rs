//! The signatures that are accepted.

use std::{fmt, str::FromStr};

use jsonwebtoken::Algorithm;

/// The newer name of [`SignatureAlgorithm::EdDsa`] (RFC 9864), which other curves do not share.
const ED25519: &str = "Ed25519";

/// A signature that is accepted. `none` and the symmetric ones are not among them, so that no
/// configuration can let them in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignatureAlgorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// Ed25519, also by the name that RFC 9864 gave it.
    EdDsa,
}

/// The text names no accepted algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no accepted signature algorithm")]
pub struct UnknownAlgorithm;

impl SignatureAlgorithm {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Es256,
        Self::Es384,
        Self::Rs256,
        Self::Ps256,
        Self::EdDsa,
    ];

    /// Its registered name, as in `alg`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(super) const fn implementation(self) -> Algorithm {
        match self {
            Self::Es256 => Algorithm::ES256,
            Self::Es384 => Algorithm::ES384,
            Self::Rs256 => Algorithm::RS256,
            Self::Ps256 => Algorithm::PS256,
            Self::EdDsa => Algorithm::EdDSA,
        }
    }
}

impl FromStr for SignatureAlgorithm {
    type Err = UnknownAlgorithm;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == ED25519 {
            return Ok(Self::EdDsa);
        }
        let mut all = Self::ALL.iter().copied();
        all.find(|algorithm| algorithm.as_str() == text)
            .ok_or(UnknownAlgorithm)
    }
}

impl fmt::Display for SignatureAlgorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
