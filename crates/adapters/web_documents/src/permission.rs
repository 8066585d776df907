//! The URLs that may be fetched.

use std::{collections::HashSet, net::IpAddr};

use ports::UrlTrust;
use url::{Host, Url};

use crate::public::is_public;

/// The addresses that a permitted request may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReachableAddresses {
    /// Any address.
    All,
    /// Only public addresses; a host name must resolve to nothing else.
    PublicOnly,
}

/// A list of hosts: `host`, with the default port of the scheme, or `host:port`.
pub(crate) struct AllowedHosts(HashSet<String>);

/// The hosts with special permissions.
pub(crate) struct Permissions {
    /// Hosts that tenants may use although they are not public.
    pub(crate) of_tenants: AllowedHosts,
    /// Hosts that the operator may use over http.
    pub(crate) insecure: AllowedHosts,
}

impl AllowedHosts {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase());
        Self(hosts.collect())
    }

    fn contains_host_of(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return false;
        };
        // The parser removes the default port of the scheme.
        let is_default_port = url.port().is_none();
        self.0.contains(&format!("{host}:{port}")) || (is_default_port && self.0.contains(host))
    }
}

impl Permissions {
    /// Returns the reach of a request to this URL; `None` if it is forbidden.
    pub(crate) fn permit(&self, url: &Url, trust: UrlTrust) -> Option<ReachableAddresses> {
        match trust {
            UrlTrust::Operator => self.permit_operator(url),
            UrlTrust::Tenant => self.permit_tenant(url),
        }
    }

    fn permit_tenant(&self, url: &Url) -> Option<ReachableAddresses> {
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        match url.scheme() {
            "http" | "https" if self.of_tenants.contains_host_of(url) => {
                Some(ReachableAddresses::All)
            }
            "https" => match ip_address(url) {
                Some(address) if !is_public(address) => None,
                _ => Some(ReachableAddresses::PublicOnly),
            },
            _ => None,
        }
    }

    fn permit_operator(&self, url: &Url) -> Option<ReachableAddresses> {
        let is_loopback = match url.host()? {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.is_loopback(),
        };
        match url.scheme() {
            "https" => Some(ReachableAddresses::All),
            "http" if is_loopback || self.insecure.contains_host_of(url) => {
                Some(ReachableAddresses::All)
            }
            _ => None,
        }
    }
}

/// Returns the host if it is an IP address. The parser has normalized all notations, such as a
/// single decimal number.
fn ip_address(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ANYWHERE: Option<ReachableAddresses> = Some(ReachableAddresses::All);
    const PUBLIC_ONLY: Option<ReachableAddresses> = Some(ReachableAddresses::PublicOnly);

    #[track_caller]
    fn permitted(url: &str, trust: UrlTrust) -> Option<ReachableAddresses> {
        let allowed = ["Keys.internal", "issuer.internal:8443", "[fd00::1]:80"];
        let permissions = Permissions {
            of_tenants: AllowedHosts::new(allowed.map(str::to_owned).into()),
            insecure: AllowedHosts::new(vec!["backend".to_owned(), "id.internal:8080".to_owned()]),
        };
        permissions.permit(&url.parse().expect("a URL"), trust)
    }

    #[rstest]
    #[case("https://issuer.example/keys", ANYWHERE)]
    #[case("https://10.0.0.1/keys", ANYWHERE)]
    #[case("https://issuer.internal:1234/keys", ANYWHERE)]
    #[case("http://localhost/keys", ANYWHERE)]
    #[case("http://LocalHost:8080/keys", ANYWHERE)]
    #[case("http://127.0.0.1:8080/keys", ANYWHERE)]
    #[case("http://127.9.9.9/keys", ANYWHERE)]
    #[case("http://[::1]:8080/keys", ANYWHERE)]
    #[case("http://issuer.example/keys", None)]
    #[case("http://10.0.0.1/keys", None)]
    #[case("http://localhost.example/keys", None)]
    #[case("http://127.0.0.1.example/keys", None)]
    #[case("http://0.0.0.0/keys", None)]
    #[case("http://[::2]/keys", None)]
    #[case("http://keys.internal/keys", None)]
    #[case("http://backend/keys", ANYWHERE)]
    #[case("http://backend:80/keys", ANYWHERE)]
    #[case("http://backend:81/keys", None)]
    #[case("http://backend.example/keys", None)]
    #[case("http://id.internal:8080/keys", ANYWHERE)]
    #[case("http://id.internal/keys", None)]
    #[case("ftp://backend/keys", None)]
    #[case("file:///etc/passwd", None)]
    #[case("ftp://localhost/keys", None)]
    #[case("data:application/json,1", None)]
    fn operators_may_use_https_loopback_and_insecure_hosts(
        #[case] url: &str,
        #[case] expected: Option<ReachableAddresses>,
    ) {
        assert_eq!(permitted(url, UrlTrust::Operator), expected);
    }

    #[rstest]
    #[case("https://client.example/keys", PUBLIC_ONLY)]
    #[case("https://client.example:8443/keys", PUBLIC_ONLY)]
    #[case("https://8.8.8.8/keys", PUBLIC_ONLY)]
    #[case("https://[2606:4700:4700::1111]/keys", PUBLIC_ONLY)]
    // The resolver checks the addresses of names.
    #[case("https://localhost/keys", PUBLIC_ONLY)]
    #[case("http://client.example/keys", None)]
    #[case("http://8.8.8.8/keys", None)]
    #[case("http://localhost/keys", None)]
    #[case("https://10.0.0.1/keys", None)]
    #[case("https://127.0.0.1/keys", None)]
    #[case("https://127.1/keys", None)]
    #[case("https://127.0.0.1./keys", None)]
    #[case("https://2130706433/keys", None)]
    #[case("https://0x7f000001/keys", None)]
    #[case("https://0177.0.0.1/keys", None)]
    #[case("https://%31%32%37.0.0.1/keys", None)]
    #[case("https://１２７.0.0.1/keys", None)]
    #[case("https://0/keys", None)]
    #[case("https://169.254.169.254/latest", None)]
    #[case("https://[::1]/keys", None)]
    #[case("https://[::ffff:127.0.0.1]/keys", None)]
    #[case("https://[::ffff:7f00:1]/keys", None)]
    #[case("https://user@client.example/keys", None)]
    #[case("https://user:word@client.example/keys", None)]
    #[case("https://:word@client.example/keys", None)]
    #[case("ftp://client.example/keys", None)]
    #[case("file:///etc/passwd", None)]
    fn tenants_may_use_only_public_https_addresses(
        #[case] url: &str,
        #[case] expected: Option<ReachableAddresses>,
    ) {
        assert_eq!(permitted(url, UrlTrust::Tenant), expected);
    }

    #[rstest]
    #[case("https://keys.internal/keys", ANYWHERE)]
    #[case("https://KEYS.internal:443/keys", ANYWHERE)]
    #[case("http://keys.internal/keys", ANYWHERE)]
    #[case("https://keys.internal:8443/keys", PUBLIC_ONLY)]
    #[case("http://keys.internal:8080/keys", None)]
    #[case("https://issuer.internal:8443/keys", ANYWHERE)]
    #[case("http://issuer.internal:8443/keys", ANYWHERE)]
    #[case("https://issuer.internal/keys", PUBLIC_ONLY)]
    #[case("https://sub.keys.internal/keys", PUBLIC_ONLY)]
    #[case("https://keys.internal.example/keys", PUBLIC_ONLY)]
    #[case("http://[fd00::1]/keys", ANYWHERE)]
    #[case("https://[fd00::1]/keys", None)]
    #[case("https://user@keys.internal/keys", None)]
    #[case("ftp://keys.internal/keys", None)]
    fn tenants_may_use_allowed_hosts(
        #[case] url: &str,
        #[case] expected: Option<ReachableAddresses>,
    ) {
        assert_eq!(permitted(url, UrlTrust::Tenant), expected);
    }
}
