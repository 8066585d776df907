//! Checkpoints: copies of the write-ahead log into the database file.
//!
//! SQLite makes one within the commit after which the log has 1,000 pages, so that every caller of
//! that commit, and everybody behind it, waits for it. Here a thread makes them beside the writer.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rusqlite::{Connection, Row};

use super::CALL_TIMEOUT;
use crate::error::from_rusqlite;

/// The number of pages in the log that are not in the database file yet, after which the thread
/// copies them.
const UNCOPIED_PAGES: i64 = 1_000;
/// The number of pages in the log, 64 MiB, after which the writer copies the last ones itself: only
/// while nothing is written can the log begin anew.
const MAX_LOG_PAGES: i64 = 16 * UNCOPIED_PAGES;
/// The minimum time between two looks at the log.
const PAUSE: Duration = Duration::from_millis(10);

const LOG_PAGES: &str = "pragma wal_checkpoint(noop)";
const COPY_PAGES: &str = "pragma wal_checkpoint(passive)";

/// The thread that makes checkpoints.
pub(super) struct Checkpoints {
    commits: SyncSender<()>,
    is_log_long: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// Starts the thread. It opens the file after the first commit.
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let (commits, committed) = sync_channel(1);
        let is_log_long = Arc::new(AtomicBool::new(false));
        let thread = {
            let (path, is_log_long) = (path.to_owned(), Arc::clone(&is_log_long));
            let run = move || run(&path, &committed, &is_log_long);
            thread::Builder::new()
                .name("store-checkpoints".to_owned())
                .spawn(run)?
        };
        Ok(Self {
            commits,
            is_log_long,
            thread,
        })
    }

    /// Records that something was committed.
    pub(super) fn record_commit(&self) {
        // If it is full, the thread will look at the log anyway.
        let _ = self.commits.try_send(());
    }

    /// Returns true if the writer must copy the last pages, once for each time that the thread finds
    /// the log too long.
    pub(super) fn is_log_long(&self) -> bool {
        self.is_log_long.swap(false, Ordering::Relaxed)
    }

    /// Ends the thread.
    pub(super) fn stop(self) {
        drop(self.commits);
        let _ = self.thread.join();
    }
}

fn run(path: &Path, committed: &Receiver<()>, is_log_long: &AtomicBool) {
    let mut connection = None;
    let mut has_failed = false;
    while committed.recv().is_ok() {
        match look(path, &mut connection) {
            Ok(pages) => {
                has_failed = false;
                is_log_long.store(pages > MAX_LOG_PAGES, Ordering::Relaxed);
            }
            Err(error) => {
                connection = None;
                if !std::mem::replace(&mut has_failed, true) {
                    let error = ports::error::one_line(&from_rusqlite(error));
                    tracing::warn!(error, "SQLite checkpoint failed; the log grows");
                }
            }
        }
        thread::sleep(PAUSE);
    }
}

/// Makes a checkpoint if it is due. Returns the number of pages in the log.
fn look(path: &Path, connection: &mut Option<Connection>) -> rusqlite::Result<i64> {
    let connection = match connection {
        Some(open) => open,
        None => {
            let open = Connection::open(path)?;
            open.busy_timeout(CALL_TIMEOUT)?;
            connection.insert(open)
        }
    };
    let pages = |row: &Row<'_>| Ok((row.get(1)?, row.get(2)?));
    let (all, copied): (i64, i64) = connection.query_row(LOG_PAGES, [], pages)?;
    if all - copied >= UNCOPIED_PAGES {
        copy_pages(connection)?;
    }
    Ok(all)
}

/// Copies all pages that no reader still needs to find in the log.
pub(super) fn copy_pages(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row(COPY_PAGES, [], |_pages| Ok(()))
}
