//! The address of the home region.

use std::net::IpAddr;

use url::{Host, Url};

/// The base URL of the home region: https, or http at a loopback address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeAddress {
    /// The host, as a name or an address.
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
    /// The beginning of the URL of a request, without a slash at the end.
    pub(crate) base_url: String,
}

impl HomeAddress {
    /// Parses a base URL. `None` if requests to it could be read or changed by others.
    pub fn parse(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let host = url.host()?;
        let is_tls = match url.scheme() {
            "https" => true,
            "http" if is_loopback(&host) => false,
            _ => return None,
        };
        let has_more = !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some();
        if has_more {
            return None;
        }
        Some(Self {
            host: match &host {
                Host::Domain(name) => (*name).to_owned(),
                Host::Ipv4(address) => address.to_string(),
                Host::Ipv6(address) => address.to_string(),
            },
            port: url.port_or_known_default()?,
            is_tls,
            base_url: url.origin().ascii_serialization() + url.path().trim_end_matches('/'),
        })
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => IpAddr::from(*address).is_loopback(),
        Host::Ipv6(address) => IpAddr::from(*address).is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_tls_are_accepted_at_loopback_only() {
        let address = HomeAddress::parse("https://agents.example.org/base/").unwrap();
        assert_eq!((address.port, address.is_tls), (443, true));
        assert_eq!(address.base_url, "https://agents.example.org/base");
        let address = HomeAddress::parse("http://[::1]:8080").unwrap();
        assert_eq!((address.host.as_str(), address.port), ("::1", 8080));
        assert_eq!(address.base_url, "http://[::1]:8080");
        assert!(HomeAddress::parse("http://127.0.0.1:8080").is_some());
        for bad in [
            "http://agents.example.org",
            "http://10.0.0.7",
            "https://ada:secret@agents.example.org",
            "https://agents.example.org/?a",
            "agents.example.org",
            "ws://127.0.0.1",
        ] {
            assert_eq!(HomeAddress::parse(bad), None, "{bad}");
        }
    }
}
