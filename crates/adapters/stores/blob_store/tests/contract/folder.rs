//! Blobs in a folder.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::ErrorKind,
    ops::Deref,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use blob_store::{BlobStoreAddress, ObjectBlobStore, OpenError, open};
use bytes::Bytes;
use domain::{BlobKey, BlobStoreId, Timestamp};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use ports::{BlobError, BlobStore as _};
use rstest::rstest;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

mod promises {
    contract::blob_store_contract!(crate::folder::folder);
}

struct Folder {
    store: ObjectBlobStore,
    _folder: TempDir,
}

impl Deref for Folder {
    type Target = ObjectBlobStore;

    fn deref(&self) -> &ObjectBlobStore {
        &self.store
    }
}

async fn folder() -> Folder {
    let folder = tempfile::tempdir().unwrap();
    Folder {
        store: open_folder(&folder.path().join("made/on demand")).unwrap(),
        _folder: folder,
    }
}

fn open_folder(path: &Path) -> Result<ObjectBlobStore, OpenError> {
    let address = BlobStoreAddress::Folder(path.to_owned());
    open(&address, [], &TaskTracker::new())
}

/// All files below a path, relative to it.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap().path();
            if entry.is_dir() {
                folders.push(entry);
            } else {
                found.push(entry.strip_prefix(path).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

fn key(number: u8) -> BlobKey {
    BlobKey::from_random([number; 16])
}

async fn put(store: &ObjectBlobStore, number: u8) {
    let content = stream::iter([Ok(Bytes::from_static(b"content"))]);
    store.put(key(number), content.boxed()).await.unwrap();
}

async fn listed(store: &ObjectBlobStore, before: Timestamp) -> Vec<BlobKey> {
    store.list(before).try_collect().await.unwrap()
}

const ALWAYS: Timestamp = Timestamp::from_milliseconds(i64::MAX);

#[rstest]
#[case("with space")]
#[case("percent%20 100% %zz")]
#[case("hash#1 and ?question")]
#[case("grüße-日本-👩‍🔬")]
#[case("line\nbreak\tand \u{1b} control")]
#[case("back\\slash and \"quotes\"")]
#[case("trailing. ")]
#[case("a:b|c*d<e>")]
#[case("~/.hidden")]
#[case("a/../b/./c//d/")]
#[tokio::test]
async fn a_folder_may_have_any_name(#[case] name: &str) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join(name);
    let store = open_folder(&path).unwrap();
    store
        .claim(BlobStoreId::from_random([1; 16]))
        .await
        .unwrap();
    put(&store, 1).await;
    let content = store.read(key(1), 7, 0..7).await.unwrap();
    assert_eq!(
        content.try_collect::<Vec<_>>().await.unwrap().concat(),
        b"content"
    );
    assert_eq!(listed(&store, ALWAYS).await, [key(1)]);
    let stored = [format!("blobs/{}", key(1)), "store-id".to_owned()].map(PathBuf::from);
    assert_eq!(files(&path), stored);
    store.delete(key(1)).await.unwrap();
    assert_eq!(files(&path), ["store-id"].map(PathBuf::from));
}

#[tokio::test]
async fn a_folder_that_vanishes_is_not_made_again() {
    let parent = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (parent.path().join("files"), parent.path().join("elsewhere"));
    let store = open_folder(&path).unwrap();
    let id = store.claim(BlobStoreId::from_random([1; 16])).await;
    id.unwrap();
    put(&store, 1).await;
    let broken = async |number| {
        let content = stream::iter([Ok(Bytes::from_static(b"content"))]);
        let put = store.put(key(number), content.boxed()).await;
        matches!(put, Err(BlobError::IdMissing))
    };
    fs::rename(&path, &elsewhere).unwrap();
    assert!(broken(2).await && !path.exists());
    // The empty folder below which a file system is not mounted.
    fs::create_dir(&path).unwrap();
    assert!(broken(2).await && files(&path).is_empty());
    fs::remove_dir(&path).unwrap();
    fs::rename(&elsewhere, &path).unwrap();
    put(&store, 2).await;
    assert_eq!(files(&path).len(), 3);
}

#[tokio::test]
async fn a_folder_need_not_be_named_in_utf_8() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join(OsStr::from_bytes(b"caf\xe9"));
    let store = open_folder(&path).unwrap();
    put(&store, 1).await;
    assert_eq!(listed(&store, ALWAYS).await, [key(1)]);
    assert_eq!(files(&path), [PathBuf::from(format!("blobs/{}", key(1)))]);
}

#[test]
fn a_path_that_is_no_folder_cannot_be_opened() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let dangling = parent.path().join("dangling");
    std::os::unix::fs::symlink(parent.path().join("absent"), &dangling).unwrap();
    let with_nul = PathBuf::from(OsString::from_vec(b"/tmp/a\0b".to_vec()));
    let long = parent.path().join("x".repeat(300));
    for path in [
        &file,
        &file.join("below"),
        &dangling,
        &with_nul,
        &long,
        Path::new("relative/folder"),
        Path::new(""),
    ] {
        let opened = open_folder(path);
        assert!(matches!(opened, Err(OpenError::Folder(..))), "{path:?}");
    }
}

#[tokio::test]
async fn a_folder_may_be_behind_a_link() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, link) = (parent.path().join("folder"), parent.path().join("link"));
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    put(&open_folder(&link).unwrap(), 1).await;
    assert_eq!(
        listed(&open_folder(&folder).unwrap(), ALWAYS).await,
        [key(1)]
    );
}

#[tokio::test]
async fn files_of_others_are_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let store = open_folder(parent.path()).unwrap();
    put(&store, 1).await;
    for name in [
        "notes.txt",
        "blobs/notes.txt",
        "blobs/notes.txt#1",
        "blobs/caf\u{e9}",
    ] {
        fs::write(parent.path().join(name), "").unwrap();
    }
    fs::create_dir(parent.path().join("blobs/folder")).unwrap();
    fs::write(
        parent.path().join("blobs").join(OsStr::from_bytes(b"\xff")),
        "",
    )
    .unwrap();
    assert_eq!(listed(&store, ALWAYS).await, [key(1)]);
}

#[tokio::test]
async fn what_a_killed_process_left_is_listed_and_deleted() {
    let parent = tempfile::tempdir().unwrap();
    let store = open_folder(parent.path()).unwrap();
    put(&store, 1).await;
    let left = parent.path().join(format!("blobs/{}#1", key(2)));
    fs::write(&left, "half of a cont").unwrap();
    assert_eq!(listed(&store, ALWAYS).await, [key(1), key(2)]);
    assert_eq!(listed(&store, Timestamp::from_milliseconds(0)).await, []);
    assert!(store.read(key(2), 14, 0..14).await.is_err());
    store.delete(key(2)).await.unwrap();
    assert_eq!(listed(&store, ALWAYS).await, [key(1)]);
    assert_eq!(fs::metadata(left).unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn an_upload_in_progress_has_the_name_of_what_a_killed_process_left() {
    const PIECES: usize = 48;
    let parent = tempfile::tempdir().unwrap();
    let store = open_folder(parent.path()).unwrap();
    let piece = Bytes::from(vec![b'a'; 64 * 1024]);
    let arrived = stream::repeat_with(move || Ok(piece.clone())).take(PIECES);
    let content = arrived.chain(stream::pending()).boxed();
    let upload = store.put(key(2), content);
    let file = parent.path().join(format!("blobs/{}#1", key(2)));
    let written = async {
        while fs::metadata(&file).map_or(0, |it| it.len()) < (PIECES * 64 * 1024) as u64 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        ended = upload => panic!("{ended:?}"),
        written = timeout(Duration::from_secs(20), written) => written.unwrap(),
    }
}

#[tokio::test]
async fn an_id_that_is_none_is_an_error() {
    let parent = tempfile::tempdir().unwrap();
    let store = open_folder(parent.path()).unwrap();
    fs::write(parent.path().join("store-id"), "not an id").unwrap();
    store.id().await.unwrap_err();
    store
        .claim(BlobStoreId::from_random([1; 16]))
        .await
        .unwrap_err();
}
