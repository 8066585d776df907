//! The status of a credential while its socket or stream is open.

use std::time::Duration;

use domain::{Credential, CredentialSource, SecretDigest, Timestamp};

use super::{AuthContext, jwt::LEEWAY};

/// The status of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStatus {
    /// The secret or token is still valid.
    Stands {
        /// The end of the secret or token, if it has one. Earlier than before if the secret was
        /// replaced meanwhile.
        ends_at: Option<Timestamp>,
    },
    /// The key, the token or the token's client was revoked.
    Revoked,
    /// The credential has expired, or its secret was replaced.
    Ended,
}

impl CredentialStatus {
    /// The status of a key's secret in the store.
    pub(super) fn of_key(key: Option<&Credential>, digest: &SecretDigest, now: Timestamp) -> Self {
        let Some(key) = key.filter(|key| key.revoked_at.is_none()) else {
            return Self::Revoked;
        };
        match key.verify(digest, now) {
            Some(verified) => Self::Stands {
                ends_at: verified.until,
            },
            None => Self::Ended,
        }
    }

    /// The status at `now`: a valid credential becomes `Ended` after its end and the leeway.
    pub(super) fn at(self, now: Timestamp, entrant: &AuthContext) -> Self {
        match self {
            Self::Stands {
                ends_at: Some(ends_at),
            } if ends_at + most_leeway(&entrant.standing) <= now => Self::Ended,
            other => other,
        }
    }
}

/// The maximum leeway after the end of a credential. Only tokens have one, because another clock
/// has set their end.
const fn most_leeway(standing: &CredentialSource) -> Duration {
    match standing {
        CredentialSource::Key { .. } => Duration::ZERO,
        CredentialSource::OwnToken { .. } | CredentialSource::ForeignToken => LEEWAY,
    }
}

impl AuthContext {
    /// The leeway for a connection that opens at `now`. It applies only to a credential that has
    /// already ended then. A connection that is open at the end of its credential gets none.
    pub(super) fn leeway(&self, now: Timestamp) -> Duration {
        if self.ends_at.is_some_and(|end| end <= now) {
            most_leeway(&self.standing)
        } else {
            Duration::ZERO
        }
    }
}
