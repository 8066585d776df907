//! Which addresses may be asked at all.

use std::{collections::HashSet, net::IpAddr};

use ports::NamedBy;
use reqwest::Url;

use crate::public::is_public;

/// How far a permitted request may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Whatever the name of the host stands for.
    Anywhere,
    /// Only if the name of the host stands for public addresses.
    PublicOnly,
}

/// Hosts that tenants may name although they are not public: `host`, which means the scheme's own
/// port, or `host:port`.
pub(crate) struct AllowedHosts(HashSet<String>);

impl AllowedHosts {
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase());
        Self(hosts.collect())
    }

    /// How far a request to this address may reach; `None` when it may not be made.
    pub(crate) fn permit(&self, url: &Url, named_by: NamedBy) -> Option<Reach> {
        match named_by {
            NamedBy::Operator => permit_operator(url),
            NamedBy::Tenant => self.permit_tenant(url),
        }
    }

    fn permit_tenant(&self, url: &Url) -> Option<Reach> {
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        match url.scheme() {
            "http" | "https" if self.contains_host_of(url) => Some(Reach::Anywhere),
            "https" => match literal(url) {
                Some(address) if !is_public(address) => None,
                _ => Some(Reach::PublicOnly),
            },
            _ => None,
        }
    }

    fn contains_host_of(&self, url: &Url) -> bool {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return false;
        };
        // The scheme's own port is left out of what was parsed.
        let is_own_port = url.port().is_none();
        self.0.contains(&format!("{host}:{port}")) || (is_own_port && self.0.contains(host))
    }
}

fn permit_operator(url: &Url) -> Option<Reach> {
    let is_loopback = literal(url).map_or_else(|| url.host_str() == Some("localhost"), is_loopback);
    match url.scheme() {
        "https" => Some(Reach::Anywhere),
        "http" if is_loopback => Some(Reach::Anywhere),
        _ => None,
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}

/// The host, if it is an address and not a name. Every way to write one, such as a single decimal
/// number, has become the usual one by parsing.
fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let v6 = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    v6.unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ANYWHERE: Option<Reach> = Some(Reach::Anywhere);
    const PUBLIC_ONLY: Option<Reach> = Some(Reach::PublicOnly);

    #[track_caller]
    fn permitted(url: &str, named_by: NamedBy) -> Option<Reach> {
        let allowed = ["Keys.internal", "issuer.internal:8443", "[fd00::1]:80"];
        let allowed = AllowedHosts::new(allowed.map(str::to_owned).into());
        allowed.permit(&url.parse().expect("a URL"), named_by)
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
    #[case("file:///etc/passwd", None)]
    #[case("ftp://localhost/keys", None)]
    #[case("data:application/json,1", None)]
    fn an_operator_names_https_addresses_and_loopback(
        #[case] url: &str,
        #[case] expected: Option<Reach>,
    ) {
        assert_eq!(permitted(url, NamedBy::Operator), expected);
    }

    #[rstest]
    #[case("https://client.example/keys", PUBLIC_ONLY)]
    #[case("https://client.example:8443/keys", PUBLIC_ONLY)]
    #[case("https://8.8.8.8/keys", PUBLIC_ONLY)]
    #[case("https://[2606:4700:4700::1111]/keys", PUBLIC_ONLY)]
    // What a name stands for is for the resolver to say.
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
    fn a_tenant_names_public_https_addresses_alone(
        #[case] url: &str,
        #[case] expected: Option<Reach>,
    ) {
        assert_eq!(permitted(url, NamedBy::Tenant), expected);
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
    fn a_tenant_may_name_just_the_hosts_that_the_operator_allowed(
        #[case] url: &str,
        #[case] expected: Option<Reach>,
    ) {
        assert_eq!(permitted(url, NamedBy::Tenant), expected);
    }
}
