//! The blobs of a folder, with the temporary files of uploads that a killed process left: `object_store`
//! writes a blob to `<key>#1` first, never lists such files, and lists nothing at all if another file has a
//! name that is not UTF-8.

use std::{
    fmt::Display,
    fs::{self, DirEntry, ReadDir},
    io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use domain::{BlobKey, Timestamp};
use futures::{Stream, TryStreamExt as _, stream};
use ports::BlobError;
use tokio::task::spawn_blocking;

use crate::error::unavailable;

/// The entries that are read at a time.
const BATCH_LENGTH: usize = 1000;

/// The suffix that `object_store` gives to the files of uploads in progress. Only the second upload with the same key
/// would use another number.
const TEMPORARY: &str = "#1";

/// Returns the keys of all blobs and uploads that were last written before a time.
pub(crate) fn list(
    folder: PathBuf,
    before: Timestamp,
) -> impl Stream<Item = Result<BlobKey, BlobError>> {
    let batches = stream::try_unfold(Position::Start(folder), move |position| async move {
        let read = spawn_blocking(move || next_batch(position, before));
        read.await.map_err(unavailable)?.map_err(unavailable)
    });
    batches
        .map_ok(|keys| stream::iter(keys.into_iter().map(Ok)))
        .try_flatten()
}

/// Returns an error if neither the folder nor the id of its store is there: a write would make a folder, which would
/// not be that of the database.
pub(crate) async fn check(folder: PathBuf, id: PathBuf) -> Result<(), BlobError> {
    let is_there =
        spawn_blocking(move || Ok::<_, io::Error>(folder.try_exists()? || id.try_exists()?));
    if is_there.await.map_err(unavailable)?.map_err(unavailable)? {
        Ok(())
    } else {
        Err(BlobError::IdMissing)
    }
}

/// Returns the file of an upload in progress.
pub(crate) fn path_of_upload(folder: &Path, key: impl Display) -> PathBuf {
    folder.join(format!("{key}{TEMPORARY}"))
}

/// Deletes what an upload left.
pub(crate) async fn delete_upload(folder: PathBuf, key: BlobKey) -> Result<(), BlobError> {
    let path = path_of_upload(&folder, key);
    let deleted = spawn_blocking(move || match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    });
    deleted.await.map_err(unavailable)?.map_err(unavailable)
}

enum Position {
    Start(PathBuf),
    Next(ReadDir),
    End,
}

fn next_batch(
    position: Position,
    before: Timestamp,
) -> io::Result<Option<(Vec<BlobKey>, Position)>> {
    let mut entries = match position {
        Position::End => return Ok(None),
        Position::Next(entries) => entries,
        Position::Start(folder) => match fs::read_dir(folder) {
            // It is made with the first blob.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries?,
        },
    };
    let mut keys = Vec::new();
    for entry in entries.by_ref().take(BATCH_LENGTH) {
        keys.extend(key_of(&entry?, before)?);
    }
    let position = match entries.next() {
        None => Position::End,
        Some(entry) => {
            keys.extend(key_of(&entry?, before)?);
            Position::Next(entries)
        }
    };
    Ok(Some((keys, position)))
}

fn key_of(entry: &DirEntry, before: Timestamp) -> io::Result<Option<BlobKey>> {
    let name = entry.file_name();
    let key = name.to_str().and_then(|name| {
        let key = name.strip_suffix(TEMPORARY).unwrap_or(name);
        key.parse().ok()
    });
    let metadata = match entry.metadata() {
        // It was deleted or renamed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    let since_1970 = metadata.modified()?.duration_since(UNIX_EPOCH);
    let written = Timestamp::from_milliseconds(0) + since_1970.unwrap_or_default();
    Ok(key.filter(|_| metadata.is_file() && written < before))
}
