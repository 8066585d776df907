//! A scanner of contents of files.

use async_trait::async_trait;

use crate::{BlobStream, BoxError};

/// Searches contents of files for malware.
#[async_trait]
pub trait FileScanner: Send + Sync {
    /// Returns whether nothing was found in the content. MUST NOT hold more than a piece in memory, and MUST return
    /// an error unless the whole content was scanned.
    async fn is_clean(&self, content: BlobStream) -> Result<bool, BoxError>;
}
