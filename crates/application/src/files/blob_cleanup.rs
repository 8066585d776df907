//! The deletion of contents that no file has.

use std::{sync::Arc, time::Duration};

use domain::{BlobKey, Timestamp};
use futures::TryStreamExt as _;
use ports::{BlobError, BlobStore, Clock, FileRepository, RepositoryError};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::background::{AFTER_START, every};

/// The interval at which the contents of deleted files are deleted.
const INTERVAL: Duration = Duration::from_secs(10);
/// The interval at which contents without files are looked for, which uploads have left that broke off.
const SEARCH_INTERVAL: Duration = Duration::from_hours(1);
/// The age from which such a content belongs to no upload that is still in progress.
const MIN_AGE: Duration = Duration::from_hours(2);
/// The number of contents that are looked up together.
const CHUNK: usize = 500;

/// Deletes contents that no file has, in the background.
pub struct BlobCleanup {
    files: Arc<dyn FileRepository>,
    blobs: Arc<dyn BlobStore>,
    clock: Arc<dyn Clock>,
}

/// The error of a round.
#[derive(Debug, thiserror::Error)]
enum CleanupError {
    #[error("the store failed")]
    Store(#[from] RepositoryError),
    #[error("the blob store failed")]
    Blobs(#[from] BlobError),
}

impl BlobCleanup {
    /// Creates a cleanup of `blobs`, which belong to these files.
    pub const fn new(
        files: Arc<dyn FileRepository>,
        blobs: Arc<dyn BlobStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            files,
            blobs,
            clock,
        }
    }

    /// Runs the cleanup until `stop`.
    pub async fn run(self, stop: CancellationToken) {
        if stop.run_until_cancelled(sleep(AFTER_START)).await.is_none() {
            return;
        }
        let deleted = every(
            INTERVAL,
            &stop,
            "cannot delete the contents of deleted files; retrying",
            || self.delete_contents(&stop),
        );
        let left = every(
            SEARCH_INTERVAL,
            &stop,
            "cannot look for contents without files; retrying in an hour",
            || self.delete_left(&stop),
        );
        futures::join!(deleted, left);
    }

    /// Deletes the contents of deleted files.
    async fn delete_contents(&self, stop: &CancellationToken) -> Result<(), CleanupError> {
        while !stop.is_cancelled() {
            let listed = self.files.deleted_blobs(CHUNK).await?;
            for blob in &listed {
                self.blobs.delete(*blob).await?;
            }
            self.files.forget_blobs(&listed).await?;
            if listed.len() < CHUNK {
                break;
            }
        }
        Ok(())
    }

    /// Deletes the contents that have no file.
    async fn delete_left(&self, stop: &CancellationToken) -> Result<(), CleanupError> {
        let age = i64::try_from(MIN_AGE.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::from_milliseconds(self.clock.now().milliseconds() - age);
        let mut chunks = self.blobs.list(before).try_chunks(CHUNK);
        while let Some(chunk) = chunks.try_next().await.map_err(|error| error.1)? {
            if stop.is_cancelled() {
                break;
            }
            let known = self.files.known_blobs(&chunk).await?;
            let is_left = |blob: &&BlobKey| !known.contains(blob);
            for blob in chunk.iter().filter(is_left) {
                self.blobs.delete(*blob).await?;
            }
        }
        Ok(())
    }
}
