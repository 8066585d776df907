//! Where the contents of files are stored.

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use domain::{BlobKey, BlobStoreId, Timestamp};
use futures::stream::BoxStream;

use crate::BoxError;

/// The content of a blob in pieces of any size, which may be empty. It ends after an error.
pub type BlobStream = BoxStream<'static, Result<Bytes, BlobError>>;

/// Keys, in any order, while they are read. It ends after an error.
pub type BlobKeys = BoxStream<'static, Result<BlobKey, BlobError>>;

/// The errors of a blob store.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// There is no blob with this key.
    #[error("the blob does not exist")]
    NotFound,
    /// The content to store ended before its end; the cause is the caller's.
    #[error("the content broke off")]
    Interrupted(#[source] BoxError),
    /// The store has no id although it had one, or has blobs: it is that of another database, or has lost a part.
    #[error("the store has no id")]
    IdMissing,
    /// The store is unreachable, full, or did not respond. It is unknown if a write took effect.
    #[error("the blob store is unavailable")]
    Unavailable(#[source] BoxError),
}

/// A store of immutable blobs. It does not know to what they belong.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Stores a blob under a key that was never used before. MUST store the whole content, durably,
    /// before it returns, and MUST NOT hold it in memory. MUST return the error of `content`, and
    /// MUST store nothing then, or if the future is dropped. A future that is dropped at the very end may
    /// leave the whole blob, never a part. MUST return [`BlobError::IdMissing`] in place of making a store that was
    /// there before and is not any more.
    async fn put(&self, key: BlobKey, content: BlobStream) -> Result<(), BlobError>;

    /// Returns these bytes of a blob that has `size` bytes. If it has another size, it MUST be
    /// [`BlobError::NotFound`], since its content is lost. MUST NOT hold more than a piece in memory.
    async fn read(
        &self,
        key: BlobKey,
        size: u64,
        range: Range<u64>,
    ) -> Result<BlobStream, BlobError>;

    /// Deletes a blob, and what an upload with this key left. MUST succeed if there is none.
    async fn delete(&self, key: BlobKey) -> Result<(), BlobError>;

    /// Returns the keys of the blobs that were stored before a time by the store's clock, for the sweep
    /// of blobs that belong to nothing. It MAY include keys of uploads that a process left at its end.
    fn list(&self, before: Timestamp) -> BlobKeys;

    /// Returns the id of the store, if it has one.
    async fn id(&self) -> Result<Option<BlobStoreId>, BlobError>;

    /// Gives an empty store its id, and returns the id that it has then. Of several callers at once, also
    /// in other processes, MUST return the same id to all. MUST return [`BlobError::IdMissing`]
    /// for a store that has blobs but no id: the sweep of another database would delete them.
    async fn claim(&self, proposed: BlobStoreId) -> Result<BlobStoreId, BlobError>;
}
