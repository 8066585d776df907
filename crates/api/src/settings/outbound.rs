//! Settings of requests to addresses that tenants name.

use domain::web_address::is_origin;

use super::values::Values;

const HOSTS_FORM: &str = "comma-separated hosts in lower case with their ports, such as \
                          media.internal:8443,10.0.0.7:8080";

/// Settings of requests to addresses that tenants name.
#[derive(Debug, Clone, Default)]
pub struct OutboundSettings {
    /// `OUTBOUND__ALLOWED_HOSTS`: hosts that may be outside the public internet, and without TLS.
    pub allowed_hosts: Vec<String>,
}

impl OutboundSettings {
    pub(super) fn read(values: &mut Values) -> Self {
        let hosts = values.read_optional("OUTBOUND__ALLOWED_HOSTS", HOSTS_FORM, hosts);
        Self {
            allowed_hosts: hosts.unwrap_or_default(),
        }
    }
}

fn hosts(text: &str) -> Option<Vec<String>> {
    let hosts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    // The default port of one scheme is not written in its origins.
    let is_host = |host: &str| {
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| {
            !port.is_empty() && port.bytes().all(|it| it.is_ascii_digit())
        });
        has_port
            && ["https", "http"]
                .iter()
                .any(|it| is_origin(&format!("{it}://{host}")))
    };
    hosts
        .map(|host| is_host(host).then(|| host.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_ports() {
        let listed = hosts("media.internal:443, 10.0.0.7:80,[fd00::1]:8080").unwrap();
        assert_eq!(
            listed,
            ["media.internal:443", "10.0.0.7:80", "[fd00::1]:8080"]
        );
        for bad in [
            "*",
            "media.internal",
            "https://a:1",
            "a:1/b",
            "a:x",
            "[fd00::1]",
            "A:1",
        ] {
            assert_eq!(hosts(bad), None, "{bad}");
        }
    }
}
