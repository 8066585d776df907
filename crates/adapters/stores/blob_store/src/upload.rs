//! Uploads in pieces, with bounded memory.

use std::{path::PathBuf, sync::Arc};

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt as _, path::Path};
use ports::{BlobError, BlobStream, error::one_line};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, SemaphorePermit},
};
use tokio_util::task::TaskTracker;
use tracing::warn;

use crate::{
    error::unavailable,
    folder::path_of_upload,
    spool::{Spool, Spooled},
    writeback::Writeback,
};

/// The size of a write to a folder.
const WRITE_BYTES: usize = 64 * 1024;
/// The size of a part of a bucket's object: the smallest that all services allow.
const PART_BYTES: usize = 5 * 1024 * 1024;
/// The memory for parts of all uploads of this process, in units: 16 MiB.
const MEMORY_UNITS: usize = 256;
const UNIT_BYTES: u64 = 64 * 1024;

/// The way in which blobs reach the store.
#[derive(Debug)]
pub(crate) struct Uploads {
    objects: Arc<dyn ObjectStore>,
    tasks: TaskTracker,
    target: Target,
}

#[derive(Debug)]
enum Target {
    /// The folder of the blobs, which takes pieces of any size.
    Folder(PathBuf),
    /// A bucket, with the memory for parts.
    Bucket(Semaphore),
}

impl Uploads {
    pub(crate) fn to_folder(
        objects: Arc<dyn ObjectStore>,
        folder: PathBuf,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            objects,
            tasks,
            target: Target::Folder(folder),
        }
    }

    pub(crate) fn to_bucket(objects: Arc<dyn ObjectStore>, tasks: TaskTracker) -> Self {
        Self {
            objects,
            tasks,
            target: Target::Bucket(Semaphore::new(MEMORY_UNITS)),
        }
    }

    pub(crate) async fn put(&self, path: &Path, content: BlobStream) -> Result<(), BlobError> {
        match &self.target {
            Target::Folder(folder) => {
                let name = path.filename().unwrap_or_default();
                let writeback = Writeback::new(path_of_upload(folder, name));
                self.write(path, content, writeback).await
            }
            Target::Bucket(memory) => self.send(path, collect(content).await?, memory).await,
        }
    }

    /// Writes a content while it arrives: a file appears under its name when it is complete.
    async fn write(
        &self,
        path: &Path,
        mut content: BlobStream,
        mut writeback: Writeback,
    ) -> Result<(), BlobError> {
        let mut upload = self.begin(path).await?;
        let mut piece = BytesMut::with_capacity(WRITE_BYTES);
        while let Some(next) = content.next().await {
            let mut next = next?;
            while piece.len() + next.len() >= WRITE_BYTES {
                piece.extend_from_slice(&next.split_to(WRITE_BYTES - piece.len()));
                upload.put(piece.split().freeze()).await?;
                writeback.record(WRITE_BYTES).await;
            }
            piece.extend_from_slice(&next);
        }
        if !piece.is_empty() {
            upload.put(piece.freeze()).await?;
        }
        upload.complete().await
    }

    /// Sends a whole content, in parts if it is large.
    async fn send(
        &self,
        path: &Path,
        mut content: Spooled,
        memory: &Semaphore,
    ) -> Result<(), BlobError> {
        let is_small = content.remaining() <= PART_BYTES as u64;
        if is_small {
            let (whole, _permit) = next_part(&mut content, memory).await?;
            let stored = self.objects.put(path, whole.into()).await;
            return stored.map(drop).map_err(unavailable);
        }
        let mut upload = self.begin(path).await?;
        while content.remaining() > 0 {
            let (part, _permit) = next_part(&mut content, memory).await?;
            upload.put(part).await?;
        }
        upload.complete().await
    }

    async fn begin(&self, path: &Path) -> Result<Upload, BlobError> {
        let upload = self.objects.put_multipart(path).await;
        Ok(Upload {
            unfinished: Some(upload.map_err(unavailable)?),
            tasks: self.tasks.clone(),
        })
    }
}

async fn collect(mut content: BlobStream) -> Result<Spooled, BlobError> {
    let mut spool = Spool::default();
    while let Some(piece) = content.next().await {
        spool.push(piece?).await.map_err(unavailable)?;
    }
    spool.finish().await.map_err(unavailable)
}

/// Reads a part, once there is memory for it.
async fn next_part<'a>(
    content: &mut Spooled,
    memory: &'a Semaphore,
) -> Result<(Bytes, SemaphorePermit<'a>), BlobError> {
    let length = content.remaining().min(PART_BYTES as u64);
    let units = u32::try_from(length.div_ceil(UNIT_BYTES)).map_err(unavailable)?;
    let permit = memory.acquire_many(units).await.map_err(unavailable)?;
    let part = content.read(PART_BYTES).await.map_err(unavailable)?;
    Ok((part, permit))
}

/// An upload that is aborted unless it completes.
struct Upload {
    unfinished: Option<Box<dyn MultipartUpload>>,
    tasks: TaskTracker,
}

impl Upload {
    async fn put(&mut self, part: Bytes) -> Result<(), BlobError> {
        let Some(upload) = &mut self.unfinished else {
            return Ok(());
        };
        upload.put_part(part.into()).await.map_err(unavailable)
    }

    async fn complete(mut self) -> Result<(), BlobError> {
        if let Some(upload) = &mut self.unfinished {
            upload.complete().await.map_err(unavailable)?;
        }
        self.unfinished = None;
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Without a runtime, as when the process ends, folders clean up by themselves.
        if let (Some(mut upload), Ok(_)) = (self.unfinished.take(), Handle::try_current()) {
            self.tasks.spawn(async move {
                if let Err(error) = upload.abort().await {
                    warn!(error = %one_line(&error), "a broken-off upload was not cleaned up");
                }
            });
        }
    }
}
