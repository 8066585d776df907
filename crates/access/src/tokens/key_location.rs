//! Discovery of the keys that an issuer or a client publishes.

use domain::web_address::{host, is_https_address, is_loopback_address, origin_of, path_of};
use ports::{DocumentError, DocumentSource, UrlTrust};
use serde_json::Value;

use crate::jwt::VerifyingKeys;

/// The location of the keys that an issuer or a client publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLocation {
    /// A key set at this URL.
    Url(String),
    /// The key set that the metadata of this issuer point to.
    MetadataOf(String),
}

/// The reason why no keys were read. The texts contain only the host of a URL, because the rest may
/// hold secrets.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyFetchError {
    #[error("a document at '{host}' cannot be read")]
    Document {
        host: String,
        #[source]
        source: DocumentError,
    },
    #[error("the document at '{0}' is not a key set")]
    NoKeySet(String),
    #[error("the document at '{0}' is not the metadata of this issuer")]
    NoMetadata(String),
    #[error("the `jwks_uri` in the metadata of '{0}' is not https")]
    NotSecure(String),
}

impl KeyLocation {
    /// Fetches the keys.
    pub(super) async fn fetch(
        &self,
        documents: &dyn DocumentSource,
        url_trust: UrlTrust,
    ) -> Result<VerifyingKeys, KeyFetchError> {
        let url = match self {
            Self::Url(url) => url.clone(),
            Self::MetadataOf(issuer) => key_address(issuer, documents, url_trust).await?,
        };
        let set = read(documents, &url, url_trust).await?;
        VerifyingKeys::from_jwk_set(&set, url_trust.into())
            .ok_or_else(|| KeyFetchError::NoKeySet(host(&url).to_owned()))
    }
}

/// Reads the address of the keys from the issuer's metadata: `OpenID` Connect Discovery first, then
/// RFC 8414.
async fn key_address(
    issuer: &str,
    documents: &dyn DocumentSource,
    url_trust: UrlTrust,
) -> Result<String, KeyFetchError> {
    let url = openid_metadata(issuer);
    let first_error = match key_address_in(&url, issuer, documents, url_trust).await {
        Ok(address) => return Ok(address),
        Err(first_error) => first_error,
    };
    if let Some(url) = oauth_metadata(issuer)
        && let Ok(address) = key_address_in(&url, issuer, documents, url_trust).await
    {
        return Ok(address);
    }
    // Few issuers publish only the RFC 8414 metadata, so the first error is more useful.
    Err(first_error)
}

async fn key_address_in(
    url: &str,
    issuer: &str,
    documents: &dyn DocumentSource,
    url_trust: UrlTrust,
) -> Result<String, KeyFetchError> {
    let metadata = read(documents, url, url_trust).await?;
    let is_of_issuer = metadata.get("issuer").and_then(Value::as_str) == Some(issuer);
    match metadata.get("jwks_uri").and_then(Value::as_str) {
        Some(address) if is_of_issuer => {
            let is_allowed = is_allowed_key_address(issuer, address, documents, url_trust);
            let allowed = is_allowed.then(|| address.to_owned());
            allowed.ok_or_else(|| KeyFetchError::NotSecure(host(issuer).to_owned()))
        }
        _ => Err(KeyFetchError::NoMetadata(host(url).to_owned())),
    }
}

/// Returns true if an issuer may publish its keys at this address. Plain HTTP is allowed on this
/// machine for an issuer on this machine, and at the operator's insecure hosts for an issuer with
/// plain HTTP, which is at one of them. Any other issuer could make the service read local addresses.
fn is_allowed_key_address(
    issuer: &str,
    address: &str,
    documents: &dyn DocumentSource,
    url_trust: UrlTrust,
) -> bool {
    let is_local = is_loopback_address(address);
    is_https_address(address)
        || (is_local && is_loopback_address(issuer))
        || (!is_local && issuer.starts_with("http://") && documents.is_allowed(address, url_trust))
}

async fn read(
    documents: &dyn DocumentSource,
    url: &str,
    url_trust: UrlTrust,
) -> Result<Value, KeyFetchError> {
    let document = documents.fetch(url, url_trust).await;
    document.map_err(|source| KeyFetchError::Document {
        host: host(url).to_owned(),
        source,
    })
}

/// The address of the `OpenID` Connect metadata: the well-known path follows the issuer's path.
fn openid_metadata(issuer: &str) -> String {
    let issuer = issuer.trim_end_matches('/');
    format!("{issuer}/.well-known/openid-configuration")
}

/// The address of the RFC 8414 metadata: the well-known path stands between the issuer's host and
/// its path.
fn oauth_metadata(issuer: &str) -> Option<String> {
    let (origin, path) = (origin_of(issuer)?, path_of(issuer));
    Some(format!(
        "{origin}/.well-known/oauth-authorization-server{path}"
    ))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_at_https_addresses_unless_the_issuer_is_on_this_machine() {
        let remote = "https://id.example";
        for (issuer, address, expected) in [
            (remote, "https://keys.example/a?b=c", true),
            (remote, "http://keys.example/a", false),
            (remote, "http://127.0.0.1:8080/keys", false),
            (remote, "http://localhost/keys", false),
            (remote, "http://[::1]/keys", false),
            (remote, "file:///etc/passwd", false),
            ("http://127.0.0.1:8080", "http://localhost:9/keys", true),
            ("https://localhost:8080", "http://127.0.0.1:9/keys", true),
            ("http://127.0.0.1:8080", "https://keys.example/a", true),
            ("http://127.0.0.1:8080", "http://keys.example/a", false),
            ("http://backend", "http://backend/keys", true),
            ("http://backend", "https://keys.example/a", true),
            ("http://backend", "http://keys.example/a", false),
            ("http://backend", "http://127.0.0.1:8080/keys", false),
            (remote, "http://backend/keys", false),
        ] {
            assert_eq!(
                is_allowed_key_address(issuer, address, &OnBackend, UrlTrust::Operator),
                expected,
                "{issuer} {address}"
            );
        }
    }

    /// A source that may read loopback and the insecure host `backend`.
    struct OnBackend;

    #[async_trait]
    impl DocumentSource for OnBackend {
        fn is_allowed(&self, url: &str, _: UrlTrust) -> bool {
            url.starts_with("http://backend/") || url.starts_with("http://127.0.0.1:")
        }

        async fn fetch(&self, _: &str, _: UrlTrust) -> Result<Value, DocumentError> {
            Err(DocumentError::Forbidden)
        }
    }

    /// A source that returns the same document for every URL.
    struct Everywhere(Value);

    #[async_trait]
    impl DocumentSource for Everywhere {
        fn is_allowed(&self, _: &str, _: UrlTrust) -> bool {
            !self.0.is_null()
        }

        async fn fetch(&self, _: &str, _: UrlTrust) -> Result<Value, DocumentError> {
            match &self.0 {
                Value::Null => Err(DocumentError::Forbidden),
                document => Ok(document.clone()),
            }
        }
    }

    #[tokio::test]
    async fn errors_contain_only_the_host_of_an_address() {
        let secret = "https://ada:secret@id.example/secret?key=secret";
        let url = KeyLocation::Url(secret.to_owned());
        let metadata = KeyLocation::MetadataOf(secret.to_owned());
        let insecure = json!({"issuer": secret, "jwks_uri": "http://id.example/secret"});
        for (location, answer) in [
            (&url, Value::Null),
            (&url, json!({})),
            (&metadata, Value::Null),
            (&metadata, json!({})),
            (&metadata, insecure),
        ] {
            let documents = Everywhere(answer);
            let fetched = location.fetch(&documents, UrlTrust::Operator).await;
            let error = fetched.err().expect("no keys");
            let text = ports::error::one_line(&error);
            assert!(text.contains("'id.example'"), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn the_well_known_path_follows_or_precedes_the_path_of_the_issuer() {
        for (issuer, openid, oauth) in [
            (
                "https://id.example",
                "https://id.example/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server",
            ),
            (
                "https://id.example/",
                "https://id.example/.well-known/openid-configuration",
                "https://id.example/.well-known/oauth-authorization-server",
            ),
            (
                "https://id.example:8443/realms/a",
                "https://id.example:8443/realms/a/.well-known/openid-configuration",
                "https://id.example:8443/.well-known/oauth-authorization-server/realms/a",
            ),
        ] {
            assert_eq!(openid_metadata(issuer), openid);
            assert_eq!(oauth_metadata(issuer).as_deref(), Some(oauth));
        }
    }
}
