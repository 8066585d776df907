//! The accepted signature algorithms.

use std::{fmt, str::FromStr};

use jsonwebtoken::Algorithm;

/// The newer name of [`SignatureAlgorithm::EdDsa`] (RFC 9864). It stands for this curve only.
const ED25519: &str = "Ed25519";

/// An accepted signature algorithm. `none` and the symmetric algorithms are missing, so that no
/// configuration can allow them.
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
    /// Ed25519, also under its name in RFC 9864.
    EdDsa,
}

/// The error for a text that is not the name of an accepted algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no accepted signature algorithm")]
pub struct UnknownAlgorithm;

impl SignatureAlgorithm {
    /// All accepted algorithms.
    pub const ALL: &'static [Self] = &[
        Self::Es256,
        Self::Es384,
        Self::Rs256,
        Self::Ps256,
        Self::EdDsa,
    ];

    /// The registered name, as in `alg`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::EdDsa => "EdDSA",
        }
    }

    pub(super) const fn library_algorithm(self) -> Algorithm {
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
