//! The port on top of an object store.

use std::{
    ops::Range,
    path::{Path as FilePath, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use domain::{BlobKey, BlobStoreId, Timestamp};
use futures::{StreamExt as _, TryStreamExt as _, future, stream};
use object_store::{
    Error, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    local::LocalFileSystem, path::Path,
};
use ports::{BlobError, BlobKeys, BlobStore, BlobStream};
use tokio_util::task::TaskTracker;

use crate::{
    error::{of_blob, unavailable},
    folder,
    upload::Uploads,
};

const BLOBS: &str = "blobs";
const ID: &str = "store-id";

/// The time after which all that tried to give a bucket its id read it. Some servers check first
/// and write later, so that two can succeed; the last one counts.
const SETTLING_TIME: Duration = Duration::from_secs(1);

/// Blobs in a folder or a bucket.
#[derive(Debug)]
pub struct ObjectBlobStore {
    objects: Arc<dyn ObjectStore>,
    /// The folder of the blobs, if the store is a folder.
    folder: Option<PathBuf>,
    uploads: Uploads,
    /// True once the store is known to have an id.
    has_id: AtomicBool,
}

impl ObjectBlobStore {
    pub(crate) fn folder(objects: LocalFileSystem, path: &FilePath, tasks: TaskTracker) -> Self {
        let objects: Arc<dyn ObjectStore> = Arc::new(objects);
        let folder = path.join(BLOBS);
        Self {
            uploads: Uploads::to_folder(Arc::clone(&objects), folder.clone(), tasks),
            folder: Some(folder),
            objects,
            has_id: AtomicBool::new(false),
        }
    }

    pub(crate) fn bucket(objects: Arc<dyn ObjectStore>, tasks: TaskTracker) -> Self {
        Self {
            uploads: Uploads::to_bucket(Arc::clone(&objects), tasks),
            folder: None,
            objects,
            has_id: AtomicBool::new(false),
        }
    }

    /// Fails if there is no blob of this size.
    async fn require(&self, path: &Path, size: u64) -> Result<(), BlobError> {
        let found = self.objects.head(path).await.map_err(of_blob)?;
        check_size(&found, size)
    }
}

fn path_of(key: BlobKey) -> Path {
    Path::from_iter([BLOBS.to_owned(), key.to_string()])
}

/// Returns the key of a blob; others may have objects in the same place.
fn key_of(object: &ObjectMeta) -> Option<BlobKey> {
    object.location.filename()?.parse().ok()
}

/// Fails if a blob has another size.
const fn check_size(found: &ObjectMeta, size: u64) -> Result<(), BlobError> {
    if found.size == size {
        Ok(())
    } else {
        Err(BlobError::NotFound)
    }
}

#[async_trait]
impl BlobStore for ObjectBlobStore {
    async fn put(&self, key: BlobKey, content: BlobStream) -> Result<(), BlobError> {
        if let Some(folder) = &self.folder
            && self.has_id.load(Ordering::Relaxed)
        {
            folder::check(folder.clone(), folder.with_file_name(ID)).await?;
        }
        self.uploads.put(&path_of(key), content).await
    }

    async fn read(
        &self,
        key: BlobKey,
        size: u64,
        range: Range<u64>,
    ) -> Result<BlobStream, BlobError> {
        let path = path_of(key);
        // Object stores reject empty ranges.
        if range.is_empty() {
            self.require(&path, size).await?;
            return Ok(stream::empty().boxed());
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        match self.objects.get_opts(&path, options).await {
            Ok(found) => {
                check_size(&found.meta, size)?;
                Ok(found.into_stream().map_err(of_blob).boxed())
            }
            Err(error @ Error::NotFound { .. }) => Err(of_blob(error)),
            Err(error) => {
                // Also fails if the range begins after the end of what is left.
                self.require(&path, size).await?;
                Err(unavailable(error))
            }
        }
    }

    async fn delete(&self, key: BlobKey) -> Result<(), BlobError> {
        if let Some(folder) = &self.folder {
            folder::delete_upload(folder.clone(), key).await?;
        }
        match self.objects.delete(&path_of(key)).await {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(unavailable(error)),
        }
    }

    fn list(&self, before: Timestamp) -> BlobKeys {
        if let Some(folder) = &self.folder {
            return folder::list(folder.clone(), before).boxed();
        }
        let objects = self.objects.list(Some(&Path::from(BLOBS)));
        let is_older = move |object: &ObjectMeta| {
            object.last_modified.timestamp_millis() < before.milliseconds()
        };
        let keys = objects.map_err(unavailable).try_filter_map(move |object| {
            future::ok(key_of(&object).filter(|_| is_older(&object)))
        });
        keys.boxed()
    }

    async fn id(&self) -> Result<Option<BlobStoreId>, BlobError> {
        let content = match self.objects.get(&Path::from(ID)).await {
            Ok(found) => found.bytes().await.map_err(unavailable)?,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(unavailable(error)),
        };
        let id = std::str::from_utf8(&content)
            .ok()
            .and_then(|it| it.parse().ok());
        self.has_id.store(id.is_some(), Ordering::Relaxed);
        id.map(Some)
            .ok_or_else(|| unavailable(format!("the object {ID} is no id of a blob store")))
    }

    async fn claim(&self, proposed: BlobStoreId) -> Result<BlobStoreId, BlobError> {
        if let Some(id) = self.id().await? {
            return Ok(id);
        }
        let later = Timestamp::from_milliseconds(i64::MAX);
        if self.list(later).next().await.transpose()?.is_some() {
            // Another process may have given it an id and stored a blob meanwhile.
            return self.id().await?.ok_or(BlobError::IdMissing);
        }
        let content = proposed.to_string().into();
        let path = Path::from(ID);
        let created = self
            .objects
            .put_opts(&path, content, PutMode::Create.into());
        match created.await {
            Ok(_) | Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
            Err(error) => return Err(unavailable(error)),
        }
        if self.folder.is_none() {
            tokio::time::sleep(SETTLING_TIME).await;
        }
        self.id().await?.ok_or(BlobError::IdMissing)
    }
}
