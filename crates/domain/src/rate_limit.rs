//! Rate limits of principals.

use std::num::NonZeroU32;

use serde::Serialize;

use crate::{LimitOverrides, Principal, PrincipalId, TenantId};

/// A kind of usage that is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RatePolicy {
    /// Every request and every command on a socket.
    Requests,
    /// Chats, which also count as requests.
    Chat,
    /// Tokens issued to users. A backend requests one for each visitor, who may arrive together; they
    /// do not count as requests of the backend.
    UserTokens,
    /// Bytes of events written to the log. Events of agents contain the whole agent, however small
    /// the request was; events of conversations and turns refer to data that is stored once.
    LogBytes,
}

impl RatePolicy {
    /// Its name in `RateLimit` and in `violatedPolicies`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Chat => "chat",
            Self::UserTokens => "user_tokens",
            Self::LogBytes => "log_bytes",
        }
    }
}

/// The owner of quotas. Principals with the same id in two tenants do not share quotas, because an
/// identity provider can assign a tenant to each of its users.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QuotaHolder {
    /// The tenant of the principal.
    pub tenant: TenantId,
    /// The principal's id.
    pub principal: PrincipalId,
}

impl From<&Principal> for QuotaHolder {
    fn from(principal: &Principal) -> Self {
        Self {
            tenant: principal.tenant.clone(),
            principal: principal.id.clone(),
        }
    }
}

/// A long-term rate per minute, and a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Quota {
    /// The number of units that are refilled each minute, evenly.
    #[cfg_attr(feature = "schema", schema(value_type = u32, minimum = 1))]
    pub per_minute: NonZeroU32,
    /// The maximum number of units that can be saved up and used at once.
    #[cfg_attr(feature = "schema", schema(value_type = u32, minimum = 1))]
    pub burst: NonZeroU32,
}

impl Quota {
    /// Creates a quota; a zero counts as one.
    pub fn new(per_minute: u32, burst: u32) -> Self {
        let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            per_minute: at_least_one(per_minute),
            burst: at_least_one(burst),
        }
    }

    fn overridden(self, per_minute: Option<u32>, burst: Option<u32>) -> Self {
        Self::new(
            per_minute.unwrap_or(self.per_minute.get()),
            burst.unwrap_or(self.burst.get()),
        )
    }
}

/// The rate limits of one principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RateLimits {
    /// Requests, and commands on sockets.
    pub requests: Quota,
    /// Chats.
    pub chat: Quota,
    /// Tokens issued to users.
    pub user_tokens: Quota,
    /// Bytes of events of agents.
    pub log_bytes: Quota,
    /// Open streams and sockets at once.
    pub streams: u32,
}

impl RateLimits {
    /// These limits, but for what a credential overrides.
    #[must_use]
    pub fn overridden(self, by: &LimitOverrides) -> Self {
        Self {
            requests: self
                .requests
                .overridden(by.requests_per_minute, by.requests_burst),
            chat: self.chat.overridden(by.chat_per_minute, by.chat_burst),
            user_tokens: self.user_tokens,
            log_bytes: self.log_bytes,
            streams: by.streams.unwrap_or(self.streams),
        }
    }

    /// Returns the quota of a policy.
    pub const fn quota(&self, policy: RatePolicy) -> Quota {
        match policy {
            RatePolicy::Requests => self.requests,
            RatePolicy::Chat => self.chat,
            RatePolicy::UserTokens => self.user_tokens,
            RatePolicy::LogBytes => self.log_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_overrides_only_the_limits_that_it_sets() {
        let limits = RateLimits {
            requests: Quota::new(600, 100),
            chat: Quota::new(120, 30),
            user_tokens: Quota::new(6_000, 1_000),
            log_bytes: Quota::new(1_000_000, 5_000_000),
            streams: 32,
        };
        let own = LimitOverrides {
            chat_per_minute: Some(6),
            streams: Some(0),
            ..LimitOverrides::default()
        };
        let expected = RateLimits {
            requests: Quota::new(600, 100),
            chat: Quota::new(6, 30),
            user_tokens: Quota::new(6_000, 1_000),
            log_bytes: Quota::new(1_000_000, 5_000_000),
            streams: 0,
        };
        assert_eq!(limits.overridden(&own), expected);
    }
}
