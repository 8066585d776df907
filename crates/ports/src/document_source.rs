//! Small JSON documents from the web: key sets and the metadata of issuers.

use async_trait::async_trait;
use serde_json::Value;

use crate::BoxError;

/// The largest document that is read.
pub const LARGEST_DOCUMENT: usize = 512 * 1024;

/// Who named the address of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedBy {
    /// The operator, in the configuration: any https address, and plain http on loopback.
    Operator,
    /// A tenant, over the interface: https addresses in the public internet alone, but for hosts
    /// that the operator allowed. Else a tenant could look around in the operator's network.
    Tenant,
}

/// Why a document could not be had.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The address may not be asked.
    #[error("this address is not allowed")]
    Forbidden,
    /// The server cannot be reached, or did not answer in time.
    #[error("the server does not answer")]
    Unavailable(#[source] BoxError),
    /// What it answered is no such document: another status, a redirect, too large, not JSON.
    #[error("the server's answer is not usable: {0}")]
    BadAnswer(String),
}

/// Small JSON documents from the web.
#[async_trait]
pub trait DocumentSource: Send + Sync {
    /// Fetches a document. MUST follow no redirect, MUST read no more than [`LARGEST_DOCUMENT`],
    /// and MUST answer within ten seconds.
    async fn fetch(&self, url: &str, named_by: NamedBy) -> Result<Value, DocumentError>;
}
