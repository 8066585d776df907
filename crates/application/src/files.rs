//! The use cases of files.

mod blob_cleanup;
mod intake;
mod links;
mod quota;
mod references;
mod upload;

use std::{ops::Range, sync::Arc, time::Duration};

use domain::{
    AcceptedTypes, File, FileId, FileName, FileReference, FileRefusal, Principal, StoredFile,
    TypeJudge, UploadPolicy, UploadQuota,
};
use ports::{
    BlobError, BlobStore, BlobStream, BoxError, DocumentError, FileScanner, RepositoryError,
    WebFile, WebFileSource,
};
use writes::{DeleteFile, DeleteFileOutcome};

pub(crate) use self::references::find_references;
pub use self::{
    blob_cleanup::BlobCleanup,
    links::{FileLinks, TenantLinks},
    quota::UploadAllowance,
    upload::FileUpload,
};
use crate::{
    FileMemory, IdempotencyConflict, TakenMemory, cache::CachedPorts, idempotency::IdempotentError,
};

/// The use cases of files.
pub struct FileService {
    ports: CachedPorts,
    accepted: AcceptedTypes,
    /// The quota of the uploads of a user.
    quota_of_users: UploadQuota,
    links: FileLinks,
    scanner: Option<Arc<dyn FileScanner>>,
    web: Option<Arc<dyn WebFileSource>>,
    /// The memory for files that are fetched.
    memory: FileMemory,
}

/// The error of a use case of files.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file does not exist, or the caller may not know of it.
    #[error("no such file")]
    NotFound,
    /// A message or a note uses the file.
    #[error("a message or a note uses the file")]
    InUse,
    /// The content is not accepted.
    #[error("the file is not accepted: {0}")]
    NotAccepted(FileRefusal),
    /// The content did not arrive; the cause is that of its source.
    #[error("the content did not arrive")]
    Interrupted(#[source] BoxError),
    /// There is no blob store, or it does not respond.
    #[error("files are unavailable")]
    Unavailable(#[source] BoxError),
    /// The scanner does not respond.
    #[error("the scanner of files is unavailable")]
    ScannerUnavailable(#[source] BoxError),
    /// It is more than the caller may upload on this day.
    #[error("the quota of uploads is used up")]
    OverQuota {
        /// The limit.
        policy: UploadPolicy,
        /// The time until the next day.
        wait: Duration,
    },
    /// The idempotency key was used before.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyConflict),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] RepositoryError),
}

impl IdempotentError for FileError {
    fn is_rejection(&self) -> bool {
        matches!(self, Self::NotAccepted(_))
    }
}

impl From<BlobError> for FileError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Interrupted(cause) => Self::Interrupted(cause),
            other => Self::Unavailable(other.into()),
        }
    }
}

impl FileService {
    /// Creates a service that accepts files of these types.
    pub fn new(
        ports: CachedPorts,
        accepted: AcceptedTypes,
        quota_of_users: UploadQuota,
        links: FileLinks,
    ) -> Self {
        Self {
            ports,
            accepted,
            quota_of_users,
            links,
            scanner: None,
            web: None,
            memory: FileMemory::default(),
        }
    }

    /// Has all contents scanned before they are accepted.
    #[must_use]
    pub fn with_scanner(self, scanner: Option<Arc<dyn FileScanner>>) -> Self {
        Self { scanner, ..self }
    }

    /// Rejects a content in which the scanner finds something.
    pub(crate) async fn scan(&self, content: BlobStream) -> Result<(), FileError> {
        let Some(scanner) = &self.scanner else {
            return Ok(());
        };
        let is_clean = scanner.is_clean(content).await;
        if is_clean.map_err(FileError::ScannerUnavailable)? {
            Ok(())
        } else {
            Err(FileError::NotAccepted(FileRefusal::Rejected))
        }
    }

    /// Lets messages name files on the web, which are in `memory` until they are stored.
    #[must_use]
    pub fn with_web(self, web: Arc<dyn WebFileSource>, memory: FileMemory) -> Self {
        Self {
            web: Some(web),
            memory,
            ..self
        }
    }

    /// Fetches a file for a tenant.
    pub(crate) async fn fetch(&self, url: &str, max: usize) -> Result<WebFile, DocumentError> {
        match &self.web {
            Some(web) => web.fetch_file(url, max).await,
            None => Err(DocumentError::Forbidden),
        }
    }

    /// Returns memory for the files that are fetched for a caller.
    pub(crate) fn memory_of(&self, caller: &Principal) -> TakenMemory {
        self.memory.of(caller)
    }

    fn blobs(&self) -> Result<&dyn BlobStore, FileError> {
        let blobs = self.ports.blobs.as_deref();
        blobs.ok_or_else(|| FileError::Unavailable("no blob store is configured".into()))
    }

    /// Judges a whole content that is not stored. Returns how a message would show it.
    pub(crate) fn judge(
        &self,
        id: FileId,
        (declared_type, name): (Option<&str>, Option<&FileName>),
        content: &[u8],
    ) -> Result<FileReference, FileRefusal> {
        let mut judge = TypeJudge::new(declared_type, name);
        judge.push(content);
        let media_type = judge.finish(&self.accepted)?;
        let of_type = FileName::of_type(media_type);
        Ok(FileReference {
            id,
            name: name.unwrap_or(&of_type).as_str().to_owned(),
            media_type,
            bytes: content.len() as u64,
        })
    }

    /// Finds a file that the caller may read.
    pub async fn find(&self, caller: &Principal, id: FileId) -> Result<File, FileError> {
        Ok(self.find_stored(caller, id).await?.file)
    }

    /// Finds a file that the caller may read, with the place of its content.
    pub async fn find_stored(
        &self,
        caller: &Principal,
        id: FileId,
    ) -> Result<StoredFile, FileError> {
        let found = self.ports.files.find(&caller.tenant, &[id]).await?.pop();
        let now = self.ports.clock.now();
        // Reading a used file needs the right to read messages.
        found
            .filter(|file| file.is_unused() || caller.may_read_conversations())
            .filter(|file| file.may_be_read_by(caller, now))
            .ok_or(FileError::NotFound)
    }

    /// Reads a range of the content of a file.
    pub async fn read(
        &self,
        found: &StoredFile,
        range: Range<u64>,
    ) -> Result<BlobStream, FileError> {
        let size = found.file.reference.bytes;
        Ok(self.blobs()?.read(found.blob, size, range).await?)
    }

    /// Deletes a file that nothing uses.
    pub async fn delete(&self, caller: &Principal, id: FileId) -> Result<(), FileError> {
        let found = self.find_stored(caller, id).await?;
        let delete = DeleteFile {
            tenant: caller.tenant.clone(),
            id: found.file.reference.id,
        };
        match self.ports.writes.of_uncached().write(delete).await? {
            DeleteFileOutcome::Deleted => Ok(()),
            DeleteFileOutcome::InUse => Err(FileError::InUse),
        }
    }
}
