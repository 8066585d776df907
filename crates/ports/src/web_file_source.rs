//! Files on the web that users name.

use async_trait::async_trait;
use domain::FileName;

use crate::DocumentError;

/// A file as its server returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebFile {
    /// The content.
    pub content: Vec<u8>,
    /// The media type, if the server declares one.
    pub media_type: Option<String>,
    /// The name, if the server or the address has one.
    pub name: Option<FileName>,
}

/// A source of files on the web.
#[async_trait]
pub trait WebFileSource: Send + Sync {
    /// Fetches the file at an address of a tenant ([`crate::UrlTrust::Tenant`]). MUST NOT follow redirects, MUST
    /// NOT read more than `max_bytes`, and MUST return within 20 seconds.
    async fn fetch_file(&self, url: &str, max_bytes: usize) -> Result<WebFile, DocumentError>;
}
