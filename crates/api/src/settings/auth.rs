//! Settings of authentication.

use std::time::Duration;

use access::{FirstKey, signing_keys::EncryptionKey, tokens::IssuerConfig};
use domain::{
    CredentialKind, CredentialSecret,
    web_address::{is_base_address, is_origin},
};

use super::{ServerSettings, issuers, values::Values};

/// Settings of authentication.
#[derive(Debug, Clone)]
pub struct AuthSettings {
    /// `AUTH__BOOTSTRAP_KEY`: the first key of a store that has never held one.
    pub first_key: Option<FirstKey>,
    /// `AUTH__ISSUER_URL`: the issuer and the audience of the tokens of this service, the same in all
    /// regions; by default the public URL.
    pub issuer_url: Option<String>,
    /// `AUTH__ENCRYPTION_KEY`: encrypts the private signing keys in the store.
    pub encryption_key: Option<EncryptionKey>,
    /// `AUTH__SIGNING_KEY_DAYS`: the age at which a signing key is replaced.
    pub signing_key_age: Duration,
    /// `AUTH__CLIENT_KEY_HOSTS`: hosts that are not public, where clients may publish their keys.
    pub client_key_hosts: Vec<String>,
    /// `AUTH__INSECURE_HOSTS`: hosts at which issuers and their keys may have http addresses.
    pub insecure_hosts: Vec<String>,
    /// `AUTH__ISSUERS__…`: identity providers whose users have access.
    pub issuers: Vec<IssuerConfig>,
}

impl AuthSettings {
    pub(super) fn read(values: &mut Values, server: &ServerSettings) -> Self {
        let expected = "the word mint, or an API key as `agent-service keys generate` prints it";
        let hosts = "comma-separated hosts in lower case, each with its port unless it is the \
                     default one, such as keys.internal,10.0.0.7:8443";
        let url = "a URL such as https://agents.example.org: http or https, a host, an optional \
                   port and path, and no slash at the end";
        let mut settings = Self {
            first_key: values.read_optional("AUTH__BOOTSTRAP_KEY", expected, first_key),
            issuer_url: values.read_optional("AUTH__ISSUER_URL", url, |text| {
                is_base_address(text).then(|| text.to_owned())
            }),
            encryption_key: values.read_optional(
                "AUTH__ENCRYPTION_KEY",
                "32 bytes in base64 or base64url, as `openssl rand -base64 32` prints them",
                EncryptionKey::parse,
            ),
            signing_key_age: Duration::from_hours(
                24 * values.read_number("AUTH__SIGNING_KEY_DAYS", 30, 1..=3_650),
            ),
            client_key_hosts: values
                .read_optional("AUTH__CLIENT_KEY_HOSTS", hosts, |text| {
                    host_list("https", text)
                })
                .unwrap_or_default(),
            insecure_hosts: values
                .read_optional("AUTH__INSECURE_HOSTS", hosts, |text| {
                    host_list("http", text)
                })
                .unwrap_or_default(),
            issuers: Vec::new(),
        };
        let own_url = server.public_url(server.address());
        settings.issuers = issuers::read(values, &own_url, &settings.insecure_hosts);
        settings
    }
}

fn first_key(text: &str) -> Option<FirstKey> {
    if text == "mint" {
        return Some(FirstKey::Generated);
    }
    CredentialSecret::parse(CredentialKind::Key, text)
        .ok()
        .map(FirstKey::Configured)
}

/// Parses comma-separated hosts, each with its port unless it is the default one of the scheme.
fn host_list(scheme: &str, text: &str) -> Option<Vec<String>> {
    let hosts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    // The part of an origin after the scheme is a host with an optional port.
    hosts
        .map(|host| is_origin(&format!("{scheme}://{host}")).then(|| host.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_keys_are_listed_without_wildcards() {
        let two = host_list("https", "keys.internal, 10.0.0.7:8443").unwrap();
        assert_eq!(two, ["keys.internal", "10.0.0.7:8443"]);
        assert_eq!(
            host_list("http", "backend:443"),
            Some(vec!["backend:443".to_owned()])
        );
        assert_eq!(host_list("http", "backend:80"), None);
        for bad in [
            "*",
            "https://keys.internal",
            "Keys.internal",
            "a.example/b",
            "a b",
        ] {
            assert_eq!(host_list("https", bad), None, "{bad}");
            assert_eq!(host_list("http", bad), None, "{bad}");
        }
    }
}
