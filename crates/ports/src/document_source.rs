//! Small JSON documents from the web: key sets and the metadata of issuers.

use async_trait::async_trait;
use serde_json::Value;

use crate::BoxError;

/// The maximum size of a document, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 512 * 1024;

/// The origin of a document's address, which decides which addresses are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UrlTrust {
    /// The address comes from the operator's configuration: any https address, and plain http on
    /// loopback.
    Operator,
    /// The address comes from a tenant through the API: only https addresses on the public
    /// internet, and hosts that the operator allowed. Otherwise a tenant could scan the operator's
    /// network.
    Tenant,
}

/// The reasons why a document cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The address is not allowed.
    #[error("this address is not allowed")]
    Forbidden,
    /// The server cannot be reached, or did not respond in time.
    #[error("the server does not respond")]
    Unavailable(#[source] BoxError),
    /// The response is not a usable document: wrong status, a redirect, too large, or not JSON.
    #[error("the server's response is unusable: {0}")]
    InvalidResponse(String),
}

/// A source of small JSON documents on the web.
#[async_trait]
pub trait DocumentSource: Send + Sync {
    /// Returns whether [`fetch`](Self::fetch) may request this address. MUST answer from memory:
    /// only `fetch` looks up the addresses of a host name.
    fn is_allowed(&self, url: &str, trust: UrlTrust) -> bool;

    /// Fetches a document. MUST NOT follow redirects, MUST NOT read more than
    /// [`MAX_DOCUMENT_BYTES`], and MUST return within ten seconds.
    async fn fetch(&self, url: &str, trust: UrlTrust) -> Result<Value, DocumentError>;
}
