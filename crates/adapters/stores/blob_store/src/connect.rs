//! Opening a store.

use std::{ffi::OsString, fs, io, path::PathBuf, sync::Arc, time::Duration};

use object_store::{
    BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig, local::LocalFileSystem,
    prefix::PrefixStore,
};
use tokio_util::task::TaskTracker;

use crate::{
    address::{BlobStoreAddress, Service},
    store::ObjectBlobStore,
};

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
            fs::create_dir_all(path).map_err(|error| failed(error.into()))?;
            let folder = LocalFileSystem::new_with_prefix(path).map_err(|it| failed(it.into()))?;
            let folder = folder.with_fsync(true);
            Ok(ObjectBlobStore::folder(folder, path.clone(), tasks.clone()))
        }
        BlobStoreAddress::Bucket {
            service,
            name,
            prefix,
        } => {
            let bucket = bucket(*service, name, environment);
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

/// Settings of the HTTP client. The timeout of a whole request would end downloads of slow clients, so
/// only pauses are limited.
const CLIENT_SETTINGS: [(ClientConfigKey, &str); 4] = [
    (ClientConfigKey::UserAgent, "agent-service"),
    (ClientConfigKey::ConnectTimeout, "5 seconds"),
    (ClientConfigKey::ReadTimeout, "30 seconds"),
    (ClientConfigKey::Timeout, "1 hour"),
];

/// Repeats requests that failed, for less time than callers wait.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 4,
        retry_timeout: Duration::from_secs(20),
    }
}

/// The bucket of a builder with its type of settings. Later settings replace earlier ones, and unknown
/// variables are those of other programs.
macro_rules! bucket_of {
    ($builder:expr, $key:ty, $prefix:literal, $environment:expr) => {{
        let ours = CLIENT_SETTINGS
            .into_iter()
            .map(|(key, value)| (<$key>::Client(key), value.to_owned()));
        let theirs = $environment.into_iter().filter_map(|(name, value)| {
            let name = name.to_str().filter(|it| it.starts_with($prefix))?;
            let key = name.to_ascii_lowercase().parse::<$key>().ok()?;
            Some((key, value.into_string().ok()?))
        });
        let builder = ours.chain(theirs).fold($builder, |builder, (key, value)| {
            builder.with_config(key, value)
        });
        Ok(Arc::new(builder.with_retry(retries()).build()?))
    }};
}

fn bucket(
    service: Service,
    name: &str,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    match service {
        #[cfg(feature = "s3")]
        Service::S3 => {
            use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
            let builder = AmazonS3Builder::new().with_bucket_name(name);
            bucket_of!(builder, AmazonS3ConfigKey, "AWS_", environment)
        }
        #[cfg(feature = "gs")]
        Service::Google => {
            use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
            let builder = GoogleCloudStorageBuilder::new().with_bucket_name(name);
            bucket_of!(builder, GoogleConfigKey, "GOOGLE_", environment)
        }
        #[cfg(feature = "az")]
        Service::Azure => {
            use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
            let builder = MicrosoftAzureBuilder::new().with_container_name(name);
            bucket_of!(builder, AzureConfigKey, "AZURE_", environment)
        }
    }
}
