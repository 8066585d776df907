//! A coarse guard against floods and guessed keys: it counts requests without a known credential by
//! client address.
//!
//! This is the only module that uses `actix-governor`, which is GPL-3.0-or-later: a build without
//! the feature `address-guard` does not contain it. It uses the library's limiter, quota and keys,
//! but not its middleware. For each rejection that middleware creates a clock, which queries the
//! capabilities of the processor: on virtual machines this costs ten times as much as all the rest,
//! so that rejecting a flood would cost more than serving it. Its response is plain text, drops the
//! request, and rounds the wait down to whole seconds.

use std::{net::IpAddr, sync::Arc, time::Duration};

use actix_governor::{
    GovernorConfig, GovernorConfigBuilder, KeyExtractor, SimpleKeyExtractionError,
    governor::{clock::Clock as _, middleware::NoOpMiddleware},
};
use actix_web::dev::ServiceRequest;
use domain::{ProblemCode, Quota};
use tokio_util::sync::CancellationToken;

use super::address::TrustedProxies;
use crate::{
    problem::{ApiError, LimitPolicy, seconds_to_wait},
    request::routed_path,
};

/// The interval between sweeps of idle addresses, which the library itself keeps forever.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Health checks must succeed also during a flood from the same address.
const EXEMPT_PATHS: [&str; 2] = ["/livez", "/readyz"];

/// A request counter by client address, shared by all workers.
#[derive(Clone)]
pub struct AddressGuard {
    by_network: ByClientNetwork,
    config: GovernorConfig<ByClientNetwork, NoOpMiddleware>,
}

impl AddressGuard {
    /// Creates a guard that admits `quota` requests from each address.
    pub fn new(quota: Quota, proxies: TrustedProxies) -> Self {
        let by_network = ByClientNetwork(Arc::new(proxies));
        let config = GovernorConfigBuilder::default()
            .period(Duration::from_mins(1) / quota.per_minute.get())
            .burst_size(quota.burst.get())
            .key_extractor(by_network.clone())
            .finish()
            .expect("a quota has neither a burst nor a period of zero");
        Self { by_network, config }
    }

    /// Counts a request without a known credential, and rejects it if there were too many.
    pub fn admit(&self, request: &ServiceRequest) -> Result<(), ApiError> {
        if EXEMPT_PATHS.contains(&routed_path(request.request())) {
            return Ok(());
        }
        // A connection without an address is already closed.
        let Ok(source) = self.by_network.extract(request) else {
            return Ok(());
        };
        let limiter = self.config.limiter();
        let Err(until) = limiter.check_key(&source) else {
            return Ok(());
        };
        let wait = until.wait_time_from(limiter.clock().now());
        Err(ApiError {
            retry_after: Some(seconds_to_wait(wait)),
            violated_policy: Some(LimitPolicy::Address),
            ..ApiError::new(ProblemCode::RateLimited)
        })
    }

    /// Removes idle addresses every second until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let guard = self.clone();
            let swept = tokio::task::spawn_blocking(move || guard.sweep()).await;
            // The sweep does not panic, so the runtime is shutting down.
            if swept.is_err() {
                return;
            }
        }
    }

    /// Removes addresses whose quota is full again.
    fn sweep(&self) {
        let limiter = self.config.limiter();
        limiter.retain_recent();
        limiter.shrink_to_fit();
    }
}

/// Extracts the client network of a request.
#[derive(Clone)]
struct ByClientNetwork(Arc<TrustedProxies>);

/// Clients that share a count: an IPv4 address, or an IPv6 network of the size that one customer is
/// assigned and can choose addresses in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ClientNetwork {
    /// One address.
    V4(u32),
    /// A network of 64 bits.
    V6(u64),
}

impl From<IpAddr> for ClientNetwork {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => {
                let [high @ .., _, _, _, _, _, _, _, _] = address.octets();
                Self::V6(u64::from_be_bytes(high))
            }
        }
    }
}

impl KeyExtractor for ByClientNetwork {
    type Key = ClientNetwork;
    type KeyExtractionError = SimpleKeyExtractionError<&'static str>;

    fn extract(&self, request: &ServiceRequest) -> Result<ClientNetwork, Self::KeyExtractionError> {
        let peer = request
            .peer_addr()
            .ok_or_else(|| SimpleKeyExtractionError::new("the connection has no address"))?;
        let client = self.0.client_address(peer.ip(), request.headers());
        Ok(client.into())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn guard(quota: Quota) -> AddressGuard {
        AddressGuard::new(quota, TrustedProxies::default())
    }

    fn source(address: &str) -> ClientNetwork {
        address.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn ipv6_counts_by_network_and_ipv4_by_address() {
        assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:ffff::9"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
        // IPv6 addresses that begin with as many zeros are not IPv4.
        assert_ne!(source("::"), source("0.0.0.0"));
    }

    #[test]
    fn a_million_idle_addresses_are_removed() {
        // With 6,000 a minute, the quota of an address with one request is full again after 10 ms.
        let guard = guard(Quota::new(6_000, 1_000));
        let limiter = guard.config.limiter();
        let mut most = 0;
        for block in 0..20_u32 {
            for number in 0..50_000 {
                let number = block * 50_000 + number;
                let address = match number % 2 {
                    0 => IpAddr::V4(Ipv4Addr::from_bits(number)),
                    _ => IpAddr::V6(Ipv6Addr::from_bits(u128::from(number) << 64)),
                };
                limiter.check_key(&address.into()).unwrap();
            }
            guard.sweep();
            most = most.max(limiter.len());
        }
        let began = std::time::Instant::now();
        while !limiter.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(20), "some stay");
            guard.sweep();
        }
        assert!(most <= 100_000, "{most} of a million were kept");
    }

    #[test]
    fn an_address_with_a_used_quota_is_not_removed() {
        let guard = guard(Quota::new(1, 2));
        let limiter = guard.config.limiter();
        let source = source("192.0.2.1");
        limiter.check_key(&source).unwrap();
        guard.sweep();
        limiter.check_key(&source).unwrap();
        guard.sweep();
        assert!(limiter.check_key(&source).is_err());
        assert_eq!(limiter.len(), 1);
    }
}
