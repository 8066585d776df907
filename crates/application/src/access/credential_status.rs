//! What becomes of a principal's standing while a socket or stream of its is open.

use std::time::Duration;

use domain::{Credential, CredentialSource, SecretDigest, Timestamp};

use super::{AuthContext, jwt::LEEWAY};

/// What is left of a principal's standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStatus {
    /// The very secret or token is good.
    Stands {
        /// When it ends, if it does: earlier than before when the secret was replaced meanwhile.
        ends_at: Option<Timestamp>,
    },
    /// The key, the token or the token's client was taken back.
    Revoked,
    /// It came to its end, or another secret has taken the place of this one.
    Ended,
}

impl CredentialStatus {
    /// What is left of the secret of a key, as far as its end does not come into it.
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

    /// The same for an entrant with this leeway at `now`: nothing stands beyond its end.
    pub(super) fn at(self, now: Timestamp, entrant: &AuthContext) -> Self {
        match self {
            Self::Stands {
                ends_at: Some(ends_at),
            } if ends_at + most_leeway(&entrant.standing) <= now => Self::Ended,
            other => other,
        }
    }
}

/// How long beyond its end something may be let in, since clocks differ: tokens alone, whose end
/// another clock has set.
const fn most_leeway(standing: &CredentialSource) -> Duration {
    match standing {
        CredentialSource::Key { .. } => Duration::ZERO,
        CredentialSource::OwnToken { .. } | CredentialSource::ForeignToken => LEEWAY,
    }
}

impl AuthContext {
    /// How long beyond its end an entrant stays that comes at `now`. The leeway is for who comes
    /// after the end, never for who is here when it comes.
    pub(super) fn leeway(&self, now: Timestamp) -> Duration {
        if self.ends_at.is_some_and(|end| end <= now) {
            most_leeway(&self.standing)
        } else {
            Duration::ZERO
        }
    }
}
