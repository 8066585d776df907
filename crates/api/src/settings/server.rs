//! Settings of the HTTP server.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    thread::available_parallelism,
    time::Duration,
};

use actix_web::http::header::HeaderName;
use domain::{allowed_origin, web_address::is_base_address};
use ipnet::IpNet;

use super::values::Values;

pub(super) const PORT: &str = "SERVER__PORT";

/// The maximum number of worker threads; more than any machine can use.
const MAX_WORKERS: usize = 1_024;
/// The maximum drain delay in seconds; longer than any load balancer needs.
const MAX_DRAIN_SECONDS: u64 = 300;

/// Settings of the HTTP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// `SERVER__HOST`: the address it listens on.
    pub host: IpAddr,
    /// `SERVER__PORT`: the port; 0 selects a free one.
    pub port: u16,
    /// `SERVER__PUBLIC_URL`, if set; see [`Self::public_url`].
    pub configured_public_url: Option<String>,
    /// `SERVER__ALLOWED_ORIGINS`: the origins whose pages may read responses.
    pub allowed_origins: Vec<String>,
    /// `SERVER__ALLOWED_HEADERS`: headers that these pages may send besides the usual ones.
    pub allowed_headers: Vec<HeaderName>,
    /// `SERVER__TRUSTED_PROXIES`: the proxies whose `Forwarded` and `X-Forwarded-For` are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// `SERVER__WORKERS`: the number of threads that handle requests; by default one for each core.
    pub workers: usize,
    /// `SERVER__DRAIN_SECONDS`, if set; see [`Self::drain_delay`].
    pub configured_drain_delay: Option<Duration>,
}

/// The default time for load balancers to notice that `/readyz` is 503.
const DRAIN_DELAY: Duration = Duration::from_secs(5);

impl ServerSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let address = "an IP address, such as 127.0.0.1, 0.0.0.0 or ::, or localhost";
        let url = "a URL such as https://agents.example.org: http or https, a host, an optional \
                   port and path, and no slash at the end";
        let origins = "comma-separated origins, each exactly as a browser sends it, such as \
                       https://app.example.org, tauri://localhost or null: no path, no default \
                       port, and no * (any page could use the tokens that it gets), except for one \
                       label, as in https://*.example.org";
        let headers = "comma-separated names of headers, such as X-Trace-Id";
        let proxies = "comma-separated addresses and networks, such as \
                       10.0.0.0/8,192.0.2.7";
        Self {
            host: values.read("SERVER__HOST", Ipv4Addr::LOCALHOST.into(), address, host),
            port: values.read_number(PORT, 8080, 0..=u16::MAX),
            configured_public_url: values.read_optional("SERVER__PUBLIC_URL", url, public_url),
            allowed_origins: values
                .read_optional("SERVER__ALLOWED_ORIGINS", origins, allowed_origins)
                .unwrap_or_default(),
            allowed_headers: values
                .read_optional("SERVER__ALLOWED_HEADERS", headers, header_names)
                .unwrap_or_default(),
            trusted_proxies: values
                .read_optional("SERVER__TRUSTED_PROXIES", proxies, networks)
                .unwrap_or_default(),
            workers: values
                .read_optional_number("SERVER__WORKERS", 1..=MAX_WORKERS)
                .unwrap_or_else(|| available_parallelism().map_or(1, usize::from)),
            configured_drain_delay: values
                .read_optional_number("SERVER__DRAIN_SECONDS", 0..=MAX_DRAIN_SECONDS)
                .map(Duration::from_secs),
        }
    }

    /// Returns the time for which requests are still accepted after the signal to end. A server
    /// that runs on a terminal is not behind a load balancer.
    pub fn drain_delay(&self, is_on_terminal: bool) -> Duration {
        let default = if is_on_terminal {
            Duration::ZERO
        } else {
            DRAIN_DELAY
        };
        self.configured_drain_delay.unwrap_or(default)
    }

    /// Returns the address to listen on.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }

    /// Returns the URL under which clients reach the service, without a slash at the end. `bound`
    /// is the address on which it actually listens, which differs from the setting if the port is
    /// 0.
    pub fn public_url(&self, bound: SocketAddr) -> String {
        if let Some(url) = &self.configured_public_url {
            return url.clone();
        }
        // Clients cannot connect to the unspecified address; on this machine loopback works.
        let host = match bound.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            other => other,
        };
        format!("http://{}", SocketAddr::new(host, bound.port()))
    }
}

fn host(text: &str) -> Option<IpAddr> {
    if text == "localhost" {
        return Some(Ipv4Addr::LOCALHOST.into());
    }
    text.parse().ok()
}

fn allowed_origins(text: &str) -> Option<Vec<String>> {
    items(text)
        .map(|origin| allowed_origin::is_entry(origin).then(|| origin.to_owned()))
        .collect()
}

fn header_names(text: &str) -> Option<Vec<HeaderName>> {
    items(text).map(|name| name.parse().ok()).collect()
}

/// Returns the items of a list.
fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty())
}

fn networks(text: &str) -> Option<Vec<IpNet>> {
    let networks = text.split(',').map(str::trim).map(|text| {
        let host = || text.parse::<IpAddr>().map(IpNet::from);
        text.parse().or_else(|_no_network| host()).ok()
    });
    networks.collect()
}

fn public_url(text: &str) -> Option<String> {
    is_base_address(text).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_has_a_host_and_no_other_parts() {
        for good in [
            "https://agents.example.org",
            "http://localhost:3000",
            "https://example.org/agents",
            "http://[::1]:8080",
        ] {
            assert_eq!(public_url(good).as_deref(), Some(good));
        }
        for bad in [
            "agents.example.org",
            "ftp://agents.example.org",
            "https://",
            "https://:80",
            "https://agents.example.org/",
            "https://agents.example.org/a/../b",
            "https://agents.example.org?a=b",
            "https://agents.example.org#top",
            "https://ada:secret@agents.example.org",
            "https://agents.example.org:99999",
            "https://agents example.org",
        ] {
            assert_eq!(public_url(bad), None, "{bad}");
        }
    }

    #[test]
    fn origins_are_listed_as_browsers_send_them() {
        let listed = "https://app.example.org, tauri://localhost,https://*.example.org, null";
        let origins = allowed_origins(listed).unwrap();
        assert_eq!(origins.join(", "), listed.replace(",h", ", h"));
        assert_eq!(allowed_origins(""), Some(Vec::new()));
        for bad in ["*", "https://*", "app.example.org", "https://a.example/"] {
            assert_eq!(allowed_origins(bad), None, "{bad}");
        }
    }

    #[test]
    fn headers_are_listed_by_name() {
        let names = header_names("X-Trace-Id, tenant-hint").unwrap();
        assert_eq!(names, ["x-trace-id", "tenant-hint"]);
        for bad in ["X Trace", "X-Trace:1", "X-Träce"] {
            assert_eq!(header_names(bad), None, "{bad}");
        }
    }

    #[test]
    fn proxies_are_addresses_and_networks() {
        let shown = |text| {
            let networks = networks(text)?;
            Some(networks.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(
            shown("10.0.0.0/8, 192.0.2.7,fd00::/8,::1").unwrap(),
            ["10.0.0.0/8", "192.0.2.7/32", "fd00::/8", "::1/128"]
        );
        for bad in [
            "proxy",
            "10.0.0.0/33",
            "10.0.0.0/8,",
            "10.0.0.0/8 192.0.2.7",
            "*",
        ] {
            assert_eq!(networks(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_default_public_url_is_the_bound_address() {
        let mut settings = ServerSettings::read(&mut Values::default());
        let url =
            |settings: &ServerSettings, bound: &str| settings.public_url(bound.parse().unwrap());
        assert_eq!(url(&settings, "127.0.0.1:4711"), "http://127.0.0.1:4711");
        assert_eq!(url(&settings, "0.0.0.0:8080"), "http://127.0.0.1:8080");
        assert_eq!(url(&settings, "[::]:8080"), "http://[::1]:8080");
        settings.configured_public_url = Some("https://agents.example.org".to_owned());
        assert_eq!(url(&settings, "0.0.0.0:8080"), "https://agents.example.org");
    }
}
