//! Checkpoints: copies of the write-ahead log into the database file.
//!
//! By default SQLite makes one within the commit after which the log has 1,000 pages, so that every
//! caller of that commit waits for it, and so do all later ones. Here a thread makes them beside the
//! writer.

use std::{
    io, mem,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use ports::RepositoryError;
use rusqlite::{Connection, Row};

use super::CALL_TIMEOUT;
use crate::{error::from_rusqlite, location::DatabaseFile};

/// The number of pages in the log that are not in the database file yet, after which they are copied.
const UNCOPIED_PAGES: i64 = 300;
/// The minimum time between two checks.
const PAUSE: Duration = Duration::from_millis(10);

const LOG_PAGES: &str = "pragma wal_checkpoint(noop)";
const COPY_PAGES: &str = "pragma wal_checkpoint(passive)";

/// The thread that makes checkpoints.
pub(super) struct Checkpoints {
    jobs: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// Starts the thread. It opens the file after the first job of the writer.
    pub(super) fn start(file: DatabaseFile) -> io::Result<Self> {
        let (jobs, ended_jobs) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("store-checkpoints".to_owned())
            .spawn(move || run(&file, &ended_jobs))?;
        Ok(Self { jobs, thread })
    }

    /// Makes the thread check the log, because a job of the writer has ended.
    pub(super) fn notify(&self) {
        // If it is full, the thread will check it anyway.
        let _ = self.jobs.try_send(());
    }

    /// Ends the thread.
    pub(super) fn stop(self) {
        drop(self.jobs);
        let _ = self.thread.join();
    }
}

fn run(file: &DatabaseFile, ended_jobs: &Receiver<()>) {
    let mut connection = None;
    let mut is_failing = false;
    while ended_jobs.recv().is_ok() {
        let result = checkpoint_if_due(file, &mut connection);
        let was_failing = mem::replace(&mut is_failing, result.is_err());
        if let Err(error) = result {
            connection = None;
            if !was_failing {
                let error = ports::error::one_line(&error);
                tracing::warn!(error, "SQLite checkpoint failed; the log grows");
            }
        }
        thread::sleep(PAUSE);
    }
}

/// Copies the pages of the log, except those that a reader still needs to find there.
fn checkpoint_if_due(
    file: &DatabaseFile,
    connection: &mut Option<Connection>,
) -> Result<(), RepositoryError> {
    let connection = if let Some(open) = connection {
        open
    } else {
        let open = file.open()?;
        open.busy_timeout(CALL_TIMEOUT).map_err(from_rusqlite)?;
        connection.insert(open)
    };
    copy_if_due(connection).map_err(from_rusqlite)
}

fn copy_if_due(connection: &Connection) -> rusqlite::Result<()> {
    let pages = |row: &Row<'_>| Ok((row.get(1)?, row.get(2)?));
    let (all, copied): (i64, i64) = connection.query_row(LOG_PAGES, [], pages)?;
    if all - copied >= UNCOPIED_PAGES {
        connection.query_row(COPY_PAGES, [], |_pages| Ok(()))?;
    }
    Ok(())
}
