//! Blobs in a bucket of `s3s-fs`, which is a server of its own with the protocol of S3.

use std::{ffi::OsString, fs, ops::Deref, time::Duration};

use blob_store::{BlobStoreAddress, ObjectBlobStore, open};
use bytes::Bytes;
use dev_tools::s3_server::{ACCESS_KEY, S3Process, SECRET_KEY};
use domain::{BlobKey, BlobStoreId, Timestamp};
use futures::{StreamExt as _, TryStreamExt as _, poll, stream};
use ports::{BlobError, BlobStore as _};
use tokio_util::task::TaskTracker;

mod promises {
    contract::blob_store_contract!(
        crate::heavy::bucket,
        ignore = "heavy: needs a server that is built from its source"
    );
}

struct Bucket {
    store: ObjectBlobStore,
    tasks: TaskTracker,
    server: S3Process,
}

impl Deref for Bucket {
    type Target = ObjectBlobStore;

    fn deref(&self) -> &ObjectBlobStore {
        &self.store
    }
}

async fn bucket() -> Bucket {
    let server = S3Process::start("files").unwrap();
    let tasks = TaskTracker::new();
    Bucket {
        store: open_bucket("s3://files/some/prefix", &server, SECRET_KEY, &tasks),
        tasks,
        server,
    }
}

fn open_bucket(
    address: &str,
    server: &S3Process,
    secret: &str,
    tasks: &TaskTracker,
) -> ObjectBlobStore {
    let address: BlobStoreAddress = address.parse().unwrap();
    let environment = [
        ("AWS_ENDPOINT", server.url()),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ("AWS_UNKNOWN", "ignored".to_owned()),
        ("PATH", "ignored".to_owned()),
    ];
    let environment = environment.map(|(name, value)| (name.into(), OsString::from(value)));
    open(&address, environment, tasks).unwrap()
}

fn key(number: u8) -> BlobKey {
    BlobKey::from_random([number; 16])
}

async fn put(store: &ObjectBlobStore) -> Result<(), BlobError> {
    let content = stream::iter([Ok(Bytes::from_static(b"content"))]);
    store.put(key(1), content.boxed()).await
}

#[tokio::test]
#[ignore = "heavy: needs a server that is built from its source"]
async fn objects_are_below_the_prefix() {
    let bucket = bucket().await;
    put(&bucket).await.unwrap();
    let path = format!("files/some/prefix/blobs/{}", key(1));
    assert_eq!(
        fs::read(bucket.server.folder().join(path)).unwrap(),
        b"content"
    );
}

/// Failures must not look like blobs that do not exist.
#[tokio::test]
#[ignore = "heavy: needs a server that is built from its source"]
async fn a_server_that_refuses_or_is_gone_is_unavailable() {
    let Bucket {
        store,
        tasks,
        server,
    } = bucket().await;
    let refused = open_bucket("s3://files", &server, "wrong", &tasks);
    assert_unavailable(&refused).await;
    drop(server);
    assert_unavailable(&store).await;
}

async fn assert_unavailable(store: &ObjectBlobStore) {
    let results = [
        put(store).await,
        store.read(key(1), 7, 0..1).await.map(drop),
        store.delete(key(1)).await,
        store
            .list(Timestamp::from_milliseconds(0))
            .try_for_each(|_| std::future::ready(Ok(())))
            .await,
        store.id().await.map(drop),
        store
            .claim(BlobStoreId::from_random([1; 16]))
            .await
            .map(drop),
    ];
    for result in results {
        assert!(
            matches!(result, Err(BlobError::Unavailable(_))),
            "{result:?}"
        );
    }
}

/// An upload that is dropped between its parts leaves none of them.
#[tokio::test]
#[ignore = "heavy: needs a server that is built from its source"]
async fn parts_of_a_dropped_upload_are_deleted() {
    let bucket = bucket().await;
    let pieces = (0..20).map(|_| Ok(vec![7; 1_000_000].into()));
    let mut upload = bucket.store.put(key(1), stream::iter(pieces).boxed());
    while part_count(&bucket.server) < 2 {
        assert!(
            poll!(&mut upload).is_pending(),
            "the upload is not in parts"
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(upload);
    bucket.tasks.close();
    bucket.tasks.wait().await;
    assert_eq!(part_count(&bucket.server), 0);
    let keys: Vec<_> = bucket
        .store
        .list(Timestamp::from_milliseconds(i64::MAX))
        .try_collect()
        .await
        .unwrap();
    assert_eq!(keys, []);
}

/// The server keeps parts beside its buckets.
fn part_count(server: &S3Process) -> usize {
    let entries = fs::read_dir(server.folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".part-")).count()
}
