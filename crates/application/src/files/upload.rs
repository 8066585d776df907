//! Uploads: the content goes to the blob store, then the file to the store.

use domain::{
    BlobKey, ContentDigest, File, FileId, FileName, FileReference, FileRefusal, IdempotencyEntry,
    IdempotencyKey, Principal, Timestamp, UploadQuota, Uploads, file::UNUSED_LIFE,
};
use futures::future::join_all;
use ports::{BlobStream, Idempotent, write_store::FileRow};
use serde::{Serialize, de::DeserializeOwned};
use writes::{CreateFiles, CreateFilesOutcome};

use super::{
    FileError, FileService,
    intake::{Intake, Received},
    quota::over_quota,
};
use crate::idempotency::{self, Created, created, stored_result, with_result};

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

/// A content that is in the blob store, and belongs to no file yet.
struct PlacedContent {
    blob: BlobKey,
    name: Option<FileName>,
    declared_type: Option<String>,
    received: Received,
}

impl PlacedContent {
    fn described(&self) -> UploadedContent<'_> {
        UploadedContent {
            name: self.name.as_ref().map(FileName::as_str),
            declared_type: self.declared_type.as_deref(),
            sha256: self.received.sha256,
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
    /// Stores a file, which nothing uses yet. Nothing is left of one that is not accepted.
    pub async fn upload(
        &self,
        caller: &Principal,
        upload: FileUpload,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<File>, FileError> {
        let quota = upload.quota;
        if key.is_none() {
            // The smallest file.
            self.check_quota(caller, quota, Uploads::of([1])).await?;
        }
        let mut placed = self.place(upload).await?;
        if self.scanner.is_some() && placed.received.media_type.is_ok() {
            self.scan_placed(&mut placed).await?;
        }
        let now = self.ports.clock.now();
        let content = placed.described();
        let entry = idempotency::new_entry(caller, "files.create", key, &content, now);
        let gone = self.find_gone(caller, entry.as_ref(), now).await?;
        let (placed, key) = (vec![placed], (entry, gone));
        let created = self.create(caller, placed, (quota, now), key, |mut files| files.pop());
        let Created { value, is_replayed } = created.await?;
        let value = value.ok_or(FileError::NotFound)?;
        Ok(Created { value, is_replayed })
    }

    /// Returns the file of an earlier upload with a key if the caller cannot read it any more.
    async fn find_gone(
        &self,
        caller: &Principal,
        entry: Option<&IdempotencyEntry>,
        now: Timestamp,
    ) -> Result<Option<FileId>, FileError> {
        let Some(entry) = entry else {
            return Ok(None);
        };
        let record = self.ports.idempotency.find(&caller.tenant, entry).await?;
        let Some(record) = record.filter(|it| it.fingerprint == entry.fingerprint) else {
            return Ok(None);
        };
        let stored: Option<File> = stored_result(record)?;
        let Some(id) = stored.map(|file| file.reference.id) else {
            return Ok(None);
        };
        let found = self.ports.files.find(&caller.tenant, &[id]).await?;
        let is_readable = found.iter().any(|file| file.may_be_read_by(caller, now));
        Ok((!is_readable).then_some(id))
    }

    /// Stores the files of a message, all or none. A repetition with the key, which is derived from the files, returns
    /// those that are stored.
    pub(crate) async fn upload_all(
        &self,
        caller: &Principal,
        (uploads, quota): (Vec<FileUpload>, UploadQuota),
        key: Option<IdempotencyKey>,
    ) -> Result<Vec<File>, FileError> {
        let placing = uploads.into_iter().map(|upload| self.place(upload));
        let placed = join_all(placing).await;
        if placed.iter().any(Result::is_err) {
            self.remove(placed.iter().flatten().map(|it| it.blob)).await;
        }
        let placed = placed.into_iter().collect::<Result<Vec<_>, _>>()?;
        let now = self.ports.clock.now();
        // Without the contents: an address may return another one by now.
        let entry = idempotency::new_entry(caller, "chat.files", key, &(), now);
        let created = self.create(caller, placed, (quota, now), (entry, None), |files| files);
        Ok(created.await?.value)
    }

    /// Writes a content to the blob store.
    async fn place(&self, upload: FileUpload) -> Result<PlacedContent, FileError> {
        let blob = self.new_blob();
        let intake = Intake::new(upload.declared_type.as_deref(), upload.name.as_ref());
        let (content, received) = intake.read(upload.content);
        self.blobs()?.put(blob, content).await?;
        Ok(PlacedContent {
            blob,
            name: upload.name,
            declared_type: upload.declared_type,
            received: received.finish(&self.accepted),
        })
    }

    /// Scans a content in the blob store.
    async fn scan_placed(&self, placed: &mut PlacedContent) -> Result<(), FileError> {
        let size = placed.received.bytes;
        let scanned = match self.blobs()?.read(placed.blob, size, 0..size).await {
            Ok(content) => self.scan(content).await,
            Err(error) => Err(error.into()),
        };
        match scanned {
            Err(FileError::NotAccepted(refusal)) => placed.received.media_type = Err(refusal),
            Err(error) => {
                self.remove([placed.blob].into_iter()).await;
                return Err(error);
            }
            Ok(()) => {}
        }
        Ok(())
    }

    /// Removes contents. If this fails, the cleanup finds them.
    async fn remove(&self, blobs: impl Iterator<Item = BlobKey>) {
        if let Ok(store) = self.blobs() {
            let _ = join_all(blobs.map(|blob| store.delete(blob))).await;
        }
    }

    /// Stores files whose contents are placed. Their contents are removed if they certainly are not stored.
    async fn create<T: Serialize + DeserializeOwned>(
        &self,
        caller: &Principal,
        placed: Vec<PlacedContent>,
        (quota, now): (UploadQuota, Timestamp),
        (entry, gone): (Option<IdempotencyEntry>, Option<FileId>),
        result: impl FnOnce(Vec<File>) -> T,
    ) -> Result<Created<T>, FileError> {
        let blobs: Vec<_> = placed.iter().map(|content| content.blob).collect();
        let rows = placed.into_iter().map(|it| self.row(caller, it, now));
        let outcome = match rows.collect::<Result<Vec<_>, _>>() {
            Err(refusal) => Err(FileError::NotAccepted(refusal)),
            Ok(rows) => {
                let value = result(rows.iter().map(|row| row.file.clone()).collect());
                let create = CreateFiles {
                    tenant: caller.tenant.clone(),
                    creator: caller.id.clone(),
                    at: now,
                    rows,
                    quota,
                    idempotency: with_result(entry.as_ref(), &value),
                    gone,
                };
                self.write(create, value).await
            }
        };
        let records = &*self.ports.idempotency;
        let created = created(records, &caller.tenant, entry.as_ref(), outcome).await;
        let is_left = match &created {
            Ok(created) => created.is_replayed,
            Err(
                FileError::NotAccepted(_) | FileError::Idempotency(_) | FileError::OverQuota { .. },
            ) => true,
            // The files may be stored.
            Err(_) => false,
        };
        if is_left {
            self.remove(blobs.into_iter()).await;
        }
        created
    }

    fn row(
        &self,
        caller: &Principal,
        content: PlacedContent,
        now: Timestamp,
    ) -> Result<FileRow, FileRefusal> {
        let media_type = content.received.media_type?;
        let name = content.name;
        let name = name.unwrap_or_else(|| FileName::of_type(media_type));
        Ok(FileRow {
            tenant: caller.tenant.clone(),
            file: File {
                reference: FileReference {
                    id: FileId::new(self.ports.ids.next_id()),
                    name: name.as_str().to_owned(),
                    media_type,
                    bytes: content.received.bytes,
                },
                sha256: content.received.sha256,
                created_at: now,
                expires_at: Some(now + UNUSED_LIFE),
            },
            blob: content.blob,
            creator: caller.id.clone(),
        })
    }

    async fn write<T>(&self, create: CreateFiles, value: T) -> Result<Idempotent<T>, FileError> {
        let at = create.at;
        match self.ports.writes.of_uncached().write(create).await? {
            CreateFilesOutcome::Created => Ok(Idempotent::Applied(value)),
            CreateFilesOutcome::Replayed(record) => Ok(Idempotent::Replayed(record)),
            CreateFilesOutcome::OverQuota(policy) => Err(over_quota(policy, at)),
        }
    }

    fn new_blob(&self) -> BlobKey {
        let mut bytes = [0; 16];
        self.ports.ids.fill_random(&mut bytes);
        BlobKey::from_random(bytes)
    }
}
