//! Where a party publishes its keys.

use domain::public_key_set::MOST_KEYS;
use ports::{DocumentError, DocumentSource, NamedBy};
use serde_json::Value;

use crate::access::jwt::VerifyingKeys;

/// Keys of a set that the operator named.
const MOST_KEYS_OF_OPERATORS: usize = 100;

/// Where a party publishes its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyLocation {
    /// Under this address.
    Url(String),
    /// Where the metadata of this issuer say.
    MetadataOf(String),
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoKeys {
    #[error("'{url}' cannot be read")]
    Document {
        url: String,
        #[source]
        source: DocumentError,
    },
    #[error("'{0}' is no key set")]
    NoKeySet(String),
    #[error("'{0}' is no metadata of this issuer")]
    NoMetadata(String),
}

impl KeyLocation {
    /// Fetches the keys.
    pub(super) async fn fetch(
        &self,
        documents: &dyn DocumentSource,
        named_by: NamedBy,
    ) -> Result<VerifyingKeys, NoKeys> {
        let url = match self {
            Self::Url(url) => url.clone(),
            Self::MetadataOf(issuer) => key_address(issuer, documents, named_by).await?,
        };
        let set = read(documents, &url, named_by).await?;
        VerifyingKeys::read(&set, most_keys(named_by)).ok_or(NoKeys::NoKeySet(url))
    }
}

/// Keys of a set that are read. Many tenants may name sets, and all are kept in memory.
const fn most_keys(named_by: NamedBy) -> usize {
    match named_by {
        NamedBy::Operator => MOST_KEYS_OF_OPERATORS,
        NamedBy::Tenant => MOST_KEYS,
    }
}

/// Asks an issuer where its keys are: as `OpenID` Connect Discovery says, else as RFC 8414 does.
async fn key_address(
    issuer: &str,
    documents: &dyn DocumentSource,
    named_by: NamedBy,
) -> Result<String, NoKeys> {
    let url = openid_metadata(issuer);
    let refused = match key_address_in(&url, issuer, documents, named_by).await {
        Ok(address) => return Ok(address),
        Err(refused) => refused,
    };
    let url = oauth_metadata(issuer);
    let second = key_address_in(&url, issuer, documents, named_by).await;
    // Hardly anybody publishes the second alone: what is wrong with the first is worth telling.
    second.map_err(|_beside_the_point| refused)
}

async fn key_address_in(
    url: &str,
    issuer: &str,
    documents: &dyn DocumentSource,
    named_by: NamedBy,
) -> Result<String, NoKeys> {
    let metadata = read(documents, url, named_by).await?;
    let is_of_issuer = metadata.get("issuer").and_then(Value::as_str) == Some(issuer);
    match metadata.get("jwks_uri").and_then(Value::as_str) {
        Some(address) if is_of_issuer => Ok(address.to_owned()),
        _ => Err(NoKeys::NoMetadata(url.to_owned())),
    }
}

async fn read(
    documents: &dyn DocumentSource,
    url: &str,
    named_by: NamedBy,
) -> Result<Value, NoKeys> {
    let document = documents.fetch(url, named_by).await;
    document.map_err(|source| NoKeys::Document {
        url: url.to_owned(),
        source,
    })
}

/// `OpenID` Connect Discovery: behind the issuer's path.
fn openid_metadata(issuer: &str) -> String {
    let issuer = issuer.trim_end_matches('/');
    format!("{issuer}/.well-known/openid-configuration")
}

/// RFC 8414: between the issuer's host and its path.
fn oauth_metadata(issuer: &str) -> String {
    let authority = issuer.find("://").map_or(0, |at| at + "://".len());
    let path = issuer[authority..]
        .find('/')
        .map_or(issuer.len(), |at| authority + at);
    let (origin, path) = issuer.split_at(path);
    let path = path.trim_end_matches('/');
    format!("{origin}/.well-known/oauth-authorization-server{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_stand_behind_the_path_or_before_it() {
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
            assert_eq!(oauth_metadata(issuer), oauth);
        }
    }
}
