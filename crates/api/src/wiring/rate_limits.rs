//! Builds the rate limits, which are counted per process.

use std::sync::Arc;

use application::principal_limits::PrincipalLimits;
use local_limiter::LocalRateLimiter;
use ports::Clock;

use super::Parts;
#[cfg(feature = "address-guard")]
use crate::auth::{AddressGuard, TrustedProxies};

/// Builds the rate limits of principals.
pub(super) fn principal_limits(parts: &Parts<'_>, clock: Arc<dyn Clock>) -> PrincipalLimits {
    let limiter = Arc::new(LocalRateLimiter::new());
    parts
        .tasks
        .spawn(Arc::clone(&limiter).run(parts.stop.clone()));
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
