//! Builds the rate limits.

use std::sync::Arc;

use application::node::Node;
#[cfg(feature = "address-guard")]
use kit::auth::{AddressGuard, TrustedProxies};
use kit::readiness::Check;
use ports::RateLimiter;
use postgres_nodes::PostgresRateLimiter;
use single_node::LocalRateLimiter;

use super::{Parts, Store};
#[cfg(feature = "redis")]
use crate::settings::LimitsWhenDown;

/// Starts the rate limiter of principals: that of Redis if it is configured, or that of the store.
/// Returns it with the check of its own connection, which is not required.
pub(super) fn start_limiter(
    parts: &Parts<'_>,
    node: &Node,
) -> (Arc<dyn RateLimiter>, Option<Check>) {
    #[cfg(feature = "redis")]
    if let Some((server, store)) = &parts.peers.links.redis {
        let limiter = start_redis_limiter(parts, node, server.clone(), *store);
        let check = Check::new("redis_limits", limiter.connectivity());
        return (Arc::new(limiter), Some(check));
    }
    let limiter: Arc<dyn RateLimiter> = match parts.store {
        Store::Postgres(store) if parts.peers.home.is_none() => {
            Arc::new(PostgresRateLimiter::start(
                &store.connect_options(),
                node.watch_membership(),
                &parts.tasks,
                &parts.stop,
            ))
        }
        // One process serves a file, and a replica cannot count.
        _ => start_local_limiter(parts),
    };
    (limiter, None)
}

#[cfg(feature = "redis")]
fn start_redis_limiter(
    parts: &Parts<'_>,
    node: &Node,
    server: redis_nodes::RedisServer,
    store: uuid::Uuid,
) -> redis_nodes::RedisLimiter {
    let fallback: Option<Arc<dyn RateLimiter>> = match parts.settings.bus.limits_when_down {
        LimitsWhenDown::Local => Some(start_local_limiter(parts)),
        LimitsWhenDown::Refuse => None,
    };
    let process = node.watch_membership().borrow().node.uuid();
    let (tasks, stop) = (&parts.tasks, &parts.stop);
    redis_nodes::RedisLimiter::start(server, store, process, fallback, tasks, stop)
}

fn start_local_limiter(parts: &Parts<'_>) -> Arc<LocalRateLimiter> {
    let limiter = Arc::new(LocalRateLimiter::new());
    let run = Arc::clone(&limiter).run(parts.stop.clone());
    parts.tasks.spawn(run);
    limiter
}

/// Builds the guard that counts requests by client address.
#[cfg(feature = "address-guard")]
pub(super) fn address_guard(parts: &Parts<'_>) -> AddressGuard {
    let proxies = TrustedProxies::new(parts.settings.server.trusted_proxies.clone());
    let guard = AddressGuard::new(parts.settings.limits.address, proxies);
    parts.tasks.spawn(guard.clone().run(parts.stop.clone()));
    guard
}
