//! The status of a credential while its socket or stream is open.

use std::time::Duration;

use domain::{AgentReach, Credential, CredentialSource, SecretDigest, Timestamp};

use crate::{AuthContext, jwt::LEEWAY};

/// The status of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStatus {
    /// The secret or token is still valid.
    Valid {
        /// The end of the secret or token, if it has one. Earlier than before if the secret was
        /// replaced meanwhile.
        ends_at: Option<Timestamp>,
    },
    /// The key, the token or the token's client was revoked.
    Revoked,
    /// The credential has expired, its secret was replaced, or it reaches fewer agents than before.
    Expired,
}

impl CredentialStatus {
    /// Returns the status of a key's secret that has reached these agents, from the stored key.
    pub(crate) fn of_key(
        key: Option<&Credential>,
        digest: &SecretDigest,
        reached: &AgentReach,
        now: Timestamp,
    ) -> Self {
        let Some(key) = key.filter(|key| key.revoked_at.is_none()) else {
            return Self::Revoked;
        };
        match key.verify(digest, now) {
            Some(verified) if key.agents.includes(reached) => Self::Valid {
                ends_at: verified.until,
            },
            _ => Self::Expired,
        }
    }

    /// Returns the status at `now`: a valid credential becomes `Expired` after its end and the
    /// leeway.
    pub(crate) fn at(self, now: Timestamp, auth_context: &AuthContext) -> Self {
        match self {
            Self::Valid {
                ends_at: Some(ends_at),
            } if ends_at + max_leeway(&auth_context.source) <= now => Self::Expired,
            other => other,
        }
    }
}

/// The maximum leeway after the end of a credential. Only tokens have one, because another clock
/// has set their end.
const fn max_leeway(source: &CredentialSource) -> Duration {
    match source {
        CredentialSource::Key { .. } => Duration::ZERO,
        CredentialSource::OwnToken { .. }
        | CredentialSource::UserToken { .. }
        | CredentialSource::ExternalToken => LEEWAY,
    }
}

impl AuthContext {
    /// The leeway for a connection that opens at `now`. It applies only to a credential that has
    /// already ended then. A connection that is open at the end of its credential gets none.
    pub(crate) fn leeway(&self, now: Timestamp) -> Duration {
        if self.ends_at.is_some_and(|end| end <= now) {
            max_leeway(&self.source)
        } else {
            Duration::ZERO
        }
    }
}
