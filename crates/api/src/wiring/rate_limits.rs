//! Builds the rate limits.

use std::sync::Arc;

use application::{node::Node, principal_limits::PrincipalLimits};
use ports::Clock;

use super::Parts;
#[cfg(feature = "address-guard")]
use crate::auth::{AddressGuard, TrustedProxies};

/// Builds the rate limits of principals.
pub(super) fn principal_limits(
    parts: &Parts<'_>,
    node: &Node,
    clock: Arc<dyn Clock>,
) -> PrincipalLimits {
    let limiter = parts.links.limiter.clone().unwrap_or_else(|| {
        let membership = node.watch_membership();
        parts
            .store
            .rate_limiter(membership, &parts.tasks, &parts.stop)
    });
    PrincipalLimits::new(limiter, parts.settings.limits.rates, clock)
}

/// Builds the guard that counts requests by client address.
#[cfg(feature = "address-guard")]
pub(super) fn address_guard(parts: &Parts<'_>) -> AddressGuard {
    let proxies = TrustedProxies::new(parts.settings.server.trusted_proxies.clone());
    let guard = AddressGuard::new(parts.settings.limits.address, proxies);
    parts.tasks.spawn(guard.clone().run(parts.stop.clone()));
    guard
}
