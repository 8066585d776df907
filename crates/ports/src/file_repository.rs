//! Files in a store, without their contents.

use async_trait::async_trait;
use domain::{
    BlobKey, BlobStoreId, FileId, LinkSecret, PrincipalId, StoredFile, TenantId, Timestamp, Uploads,
};

use crate::RepositoryError;

/// The files that messages contain, without their contents.
#[async_trait]
pub trait FileRepository: Send + Sync {
    /// Finds files, in any order. Those that do not exist are missing.
    async fn find(
        &self,
        tenant: &TenantId,
        ids: &[FileId],
    ) -> Result<Vec<StoredFile>, RepositoryError>;

    /// Returns the keys of contents whose files are deleted, at most `limit`.
    async fn deleted_blobs(&self, limit: usize) -> Result<Vec<BlobKey>, RepositoryError>;

    /// Forgets contents that the blob store has deleted.
    async fn forget_blobs(&self, blobs: &[BlobKey]) -> Result<(), RepositoryError>;

    /// Returns whether there are files, of any tenant.
    async fn has_any(&self) -> Result<bool, RepositoryError>;

    /// Records the blob store of this database, unless one is recorded. Returns the recorded one.
    async fn record_blob_store(&self, id: BlobStoreId) -> Result<BlobStoreId, RepositoryError>;

    /// Records the secret of links to files of this database, unless one is recorded. Without a recorded blob
    /// store, nothing happens.
    async fn record_link_secret(&self, secret: &LinkSecret) -> Result<(), RepositoryError>;

    /// Returns the recorded secret of links to files.
    async fn link_secret(&self) -> Result<Option<LinkSecret>, RepositoryError>;

    /// Returns what a principal has uploaded on the day of UTC that ends at `ends_at`.
    async fn uploads(
        &self,
        tenant: &TenantId,
        principal: &PrincipalId,
        ends_at: Timestamp,
    ) -> Result<Uploads, RepositoryError>;

    /// Returns those of the keys that belong to files of any tenant.
    async fn known_blobs(&self, blobs: &[BlobKey]) -> Result<Vec<BlobKey>, RepositoryError>;
}
