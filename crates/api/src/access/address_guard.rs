//! A coarse guard against floods and guessed keys: it counts, by the address of their client,
//! requests of which nobody knows yet whose they are.
//!
//! The only module that names `actix-governor`, which is GPL-3.0-or-later: it is left out of a
//! build without the feature `address-guard`. The library here only counts: it lets everything
//! through and leaves its verdict with the request, where [`verdict`] finds it, because its own
//! answer is plain text, forgets the request, and tells a time that may be too short.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use actix_governor::{
    Governor, GovernorConfig, GovernorConfigBuilder, GovernorResult, KeyExtractor,
    governor::middleware::NoOpMiddleware,
};
use actix_web::{HttpMessage as _, ResponseError, dev::ServiceRequest};
use application::access::Entrant;
use domain::{ProblemCode, Quota};
use tokio_util::sync::CancellationToken;

use super::address::TrustedProxies;
use crate::problem::ApiError;

/// Its name in `violatedPolicies`.
const POLICY: &str = "address";
/// How often addresses that have rested are forgotten. The library keeps each for ever.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Whoever asks for a sign of life must get one also when a flood comes from the same address.
const EXEMPT_PATHS: [&str; 2] = ["/livez", "/readyz"];

/// Counts requests by address, for all workers together.
#[derive(Clone)]
pub struct AddressGuard {
    config: GovernorConfig<ByAddress, NoOpMiddleware>,
}

impl AddressGuard {
    /// A guard that lets this many in from each address.
    pub fn new(quota: Quota, proxies: TrustedProxies) -> Self {
        let mut builder = GovernorConfigBuilder::default();
        let config = builder
            .period(Duration::from_mins(1) / quota.per_minute.get())
            .burst_size(quota.burst.get())
            .permissive(true)
            .key_extractor(ByAddress(Arc::new(proxies)))
            .finish()
            .expect("a quota has neither a burst nor a period of zero");
        Self { config }
    }

    /// The layer that counts, for one worker.
    pub fn layer(&self) -> Governor<ByAddress, NoOpMiddleware> {
        Governor::new(&self.config)
    }

    /// Sweeps every second until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(SWEEP_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let guard = self.clone();
            // It does not panic, so an error says that the runtime is shutting down.
            if tokio::task::spawn_blocking(move || guard.sweep())
                .await
                .is_err()
            {
                return;
            }
        }
    }

    /// Forgets the addresses that have rested.
    fn sweep(&self) {
        let limiter = self.config.limiter();
        limiter.retain_recent();
        limiter.shrink_to_fit();
    }
}

/// What the guard says about a request that passed its layer.
pub(super) fn verdict(request: &ServiceRequest) -> Result<(), ApiError> {
    let extensions = request.extensions();
    let Some(GovernorResult::Wait { wait, .. }) = extensions.get::<GovernorResult<Exempt>>() else {
        return Ok(());
    };
    Err(ApiError {
        // The library cuts off what is less than a second.
        retry_after: Some(u32::try_from(*wait).unwrap_or(u32::MAX).saturating_add(1)),
        violated_policies: vec![POLICY],
        ..ApiError::new(ProblemCode::RateLimited)
    })
}

/// Counts by the client's address, but not who is known already.
#[derive(Clone)]
pub struct ByAddress(Arc<TrustedProxies>);

/// Those who share a count: an IPv4 address, or an IPv6 network of the size that a customer gets
/// and can choose addresses in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// One address.
    V4(u32),
    /// A network of 64 bits.
    V6(u64),
}

impl From<IpAddr> for Source {
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

/// The request is not counted. In the library's words an error, since that costs least.
#[derive(Debug, Clone, Copy)]
pub struct Exempt;

impl fmt::Display for Exempt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not counted by address")
    }
}

impl ResponseError for Exempt {}

impl KeyExtractor for ByAddress {
    type Key = Source;
    type KeyExtractionError = Exempt;

    fn extract(&self, request: &ServiceRequest) -> Result<Source, Exempt> {
        let is_known = request.extensions().contains::<Arc<Entrant>>();
        if is_known || EXEMPT_PATHS.contains(&request.path()) {
            return Err(Exempt);
        }
        let peer = request.peer_addr().ok_or(Exempt)?.ip();
        Ok(self.0.client_address(peer, request.headers()).into())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn guard(quota: Quota) -> AddressGuard {
        AddressGuard::new(quota, TrustedProxies::default())
    }

    fn source(address: &str) -> Source {
        address.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn ipv6_counts_by_network_and_ipv4_by_address() {
        assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:ffff::9"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
        assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
        // The addresses of other kinds that begin with as many zeros are not IPv4.
        assert_ne!(source("::"), source("0.0.0.0"));
    }

    #[test]
    fn a_million_addresses_are_forgotten_as_they_rest() {
        // 6,000 a minute: an address that asked once has rested after 10 ms.
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
        while !limiter.is_empty() {
            guard.sweep();
        }
        assert!(most <= 100_000, "{most} of a million were kept");
    }

    #[test]
    fn who_has_not_rested_is_not_forgotten() {
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
