//! Opening a store.

use std::{
    ffi::OsString,
    fs::DirBuilder,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use object_store::{ObjectStore, local::LocalFileSystem, prefix::PrefixStore};
use tokio_util::task::TaskTracker;

use crate::{address::BlobStoreAddress, bucket, store::ObjectBlobStore};

/// The reasons why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be made or used.
    #[error("cannot use the folder {0}")]
    Folder(PathBuf, #[source] ports::BoxError),
    /// The settings of the service in the environment are unusable.
    #[error("cannot use the settings of the bucket `{0}` in the environment")]
    Bucket(String, #[source] object_store::Error),
}

/// Creates a folder that only its owner can enter, unless it exists.
fn create_for_owner(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a store. A folder is made; a bucket must exist, and is not contacted yet. Its settings are those
/// variables of the environment that begin with `AWS_`, `GOOGLE_` or `AZURE_`. Tasks of the tracker clean
/// up uploads that broke off.
pub fn open(
    address: &BlobStoreAddress,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    tasks: &TaskTracker,
) -> Result<ObjectBlobStore, OpenError> {
    match address {
        BlobStoreAddress::Folder(path) => {
            let failed = |error| OpenError::Folder(path.clone(), error);
            if !path.is_absolute() {
                return Err(failed(io::Error::other("the path is not absolute").into()));
            }
            create_for_owner(path).map_err(|error| failed(error.into()))?;
            let folder = LocalFileSystem::new_with_prefix(path).map_err(|it| failed(it.into()))?;
            let folder = folder.with_fsync(true);
            Ok(ObjectBlobStore::folder(folder, path, tasks.clone()))
        }
        BlobStoreAddress::Bucket {
            service,
            name,
            prefix,
        } => {
            let bucket = bucket::of(*service, name, environment);
            let bucket = bucket.map_err(|error| OpenError::Bucket(name.clone(), error))?;
            let objects: Arc<dyn ObjectStore> = if prefix.is_root() {
                bucket
            } else {
                Arc::new(PrefixStore::new(bucket, prefix.clone()))
            };
            Ok(ObjectBlobStore::bucket(objects, tasks.clone()))
        }
    }
}
