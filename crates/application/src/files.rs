//! The use cases of files.

mod blob_cleanup;
mod intake;
mod links;
mod quota;
mod references;

use std::{ops::Range, sync::Arc, time::Duration};

use domain::{
    AcceptedTypes, BlobKey, ContentDigest, File, FileId, FileName, FileReference, FileRefusal,
    IdempotencyEntry, IdempotencyKey, Principal, StoredFile, TypeJudge, UploadPolicy, UploadQuota,
    file::UNUSED_LIFE,
};
use ports::{
    BlobError, BlobStore, BlobStream, BoxError, DocumentError, Idempotent, RepositoryError,
    WebFile, WebFileSource, write_store::FileRow,
};
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use writes::{CreateFile, CreateFileOutcome, DeleteFile, DeleteFileOutcome};

pub(crate) use self::references::find_references;
pub use self::{
    blob_cleanup::BlobCleanup,
    links::{FileLinks, TenantLinks},
    quota::UploadAllowance,
};
use self::{
    intake::{Intake, Received},
    quota::over_quota,
};
use crate::{
    IdempotencyConflict,
    cache::CachedPorts,
    idempotency::{self, Created, IdempotentError, created, with_result},
};

/// The maximum number of messages whose files are fetched at a time.
const MAX_FETCHES: usize = 4;

/// The use cases of files.
pub struct FileService {
    ports: CachedPorts,
    accepted: AcceptedTypes,
    /// The quota of the uploads of a user.
    quota_of_users: UploadQuota,
    links: FileLinks,
    web: Option<Arc<dyn WebFileSource>>,
    /// The memory for files that are fetched: each permit is that of the files of one message.
    fetches: Arc<Semaphore>,
}

/// A file that a client sends.
pub struct FileUpload {
    /// Its name, if it has one.
    pub name: Option<FileName>,
    /// The media type that the client declares.
    pub declared_type: Option<String>,
    /// The quota of the caller's uploads.
    pub quota: UploadQuota,
    /// The content. Its error is returned as it is.
    pub content: BlobStream,
}

/// The error of a use case of files.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file does not exist, or the caller may not know of it.
    #[error("no such file")]
    NotFound,
    /// A message uses the file.
    #[error("a message uses the file")]
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

/// The part of an upload that a repetition with its idempotency key repeats.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UploadedContent<'a> {
    name: Option<&'a str>,
    declared_type: Option<&'a str>,
    sha256: ContentDigest,
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
            web: None,
            fetches: Arc::new(Semaphore::new(MAX_FETCHES)),
        }
    }

    /// Lets messages name files on the web.
    #[must_use]
    pub fn with_web(self, web: Arc<dyn WebFileSource>) -> Self {
        Self {
            web: Some(web),
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

    /// Waits for the memory for the fetched files of a message.
    pub(crate) async fn memory_to_fetch(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.fetches).acquire_owned().await.ok()
    }

    fn blobs(&self) -> Result<&dyn BlobStore, FileError> {
        let blobs = self.ports.blobs.as_deref();
        blobs.ok_or_else(|| FileError::Unavailable("no blob store is configured".into()))
    }

    /// Stores a file, which no message uses yet. Nothing is left of one that is not accepted.
    pub async fn upload(
        &self,
        caller: &Principal,
        upload: FileUpload,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<File>, FileError> {
        let blobs = self.blobs()?;
        let FileUpload {
            name,
            declared_type,
            quota,
            content,
        } = upload;
        if key.is_none() {
            self.check_quota(caller, quota).await?;
        }
        let blob = self.new_blob();
        let intake = Intake::new(declared_type.as_deref(), name.as_ref());
        let (content, received) = intake.read(content);
        blobs.put(blob, content).await?;
        let received = received.finish(&self.accepted);
        let created = self
            .create(caller, blob, (name, declared_type, quota), received, key)
            .await;
        let is_left = match &created {
            Ok(created) => created.is_replayed,
            Err(
                FileError::NotAccepted(_) | FileError::Idempotency(_) | FileError::OverQuota { .. },
            ) => true,
            // The file may be stored.
            Err(_) => false,
        };
        if is_left {
            // If this fails, the cleanup finds it.
            let _ = blobs.delete(blob).await;
        }
        created
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

    async fn create(
        &self,
        caller: &Principal,
        blob: BlobKey,
        (name, declared_type, quota): (Option<FileName>, Option<String>, UploadQuota),
        received: Received,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<File>, FileError> {
        let now = self.ports.clock.now();
        let content = UploadedContent {
            name: name.as_ref().map(FileName::as_str),
            declared_type: declared_type.as_deref(),
            sha256: received.sha256,
        };
        let entry = idempotency::new_entry(caller, "files.create", key, &content, now);
        let outcome = match received.media_type {
            Err(refusal) => Err(FileError::NotAccepted(refusal)),
            Ok(media_type) => {
                let name = name.unwrap_or_else(|| FileName::of_type(media_type));
                let file = File {
                    reference: FileReference {
                        id: FileId::new(self.ports.ids.next_id()),
                        name: name.as_str().to_owned(),
                        media_type,
                        bytes: received.bytes,
                    },
                    sha256: received.sha256,
                    created_at: now,
                    expires_at: Some(now + UNUSED_LIFE),
                };
                let row = FileRow {
                    tenant: caller.tenant.clone(),
                    file,
                    blob,
                    creator: caller.id.clone(),
                };
                self.write(row, quota, entry.as_ref()).await
            }
        };
        let records = &*self.ports.idempotency;
        created(records, &caller.tenant, entry.as_ref(), outcome).await
    }

    async fn write(
        &self,
        row: FileRow,
        quota: UploadQuota,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<File>, FileError> {
        let file = row.file.clone();
        let create = CreateFile {
            row,
            quota,
            idempotency: with_result(entry, &file),
        };
        match self.ports.writes.of_uncached().write(create).await? {
            CreateFileOutcome::Created => Ok(Idempotent::Applied(file)),
            CreateFileOutcome::Replayed(record) => Ok(Idempotent::Replayed(record)),
            CreateFileOutcome::OverQuota(policy) => Err(over_quota(policy, file.created_at)),
        }
    }

    fn new_blob(&self) -> BlobKey {
        let mut bytes = [0; 16];
        self.ports.ids.fill_random(&mut bytes);
        BlobKey::from_random(bytes)
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
        Ok(self.blobs()?.read(found.blob, range).await?)
    }

    /// Deletes a file that no message uses.
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
