//! Files that go to the disk while they are written: the sync of a whole one at its end would delay those of the
//! database on the same disk.

use std::{io, mem, path::PathBuf};

use tokio::task::spawn_blocking;

/// The bytes after which the system begins to write them to the disk.
const STEP_BYTES: usize = 1024 * 1024;

/// A file that is being written.
pub(crate) struct Writeback {
    file: PathBuf,
    /// The position up to which the system writes to the disk.
    begun: u64,
    /// The bytes that were written after it.
    pending: usize,
}

impl Writeback {
    pub(crate) const fn new(file: PathBuf) -> Self {
        Self {
            file,
            begun: 0,
            pending: 0,
        }
    }

    /// Records that bytes were written.
    pub(crate) async fn record(&mut self, bytes: usize) {
        self.pending += bytes;
        if self.pending < STEP_BYTES {
            return;
        }
        let (file, offset) = (self.file.clone(), self.begun);
        let length = mem::take(&mut self.pending) as u64;
        self.begun += length;
        // Without it only the sync at the end takes longer.
        let _: Result<io::Result<()>, _> =
            spawn_blocking(move || begin(&file, offset, length)).await;
    }
}

/// Lets the system begin to write a part of a file to the disk: Linux does so if the part is declared to be no longer
/// needed in memory. Those of its pages that are on the disk already go out of memory, too.
#[cfg(target_os = "linux")]
fn begin(file: &std::path::Path, offset: u64, length: u64) -> io::Result<()> {
    use rustix::fs::{Advice, fadvise};

    let file = std::fs::File::open(file)?;
    fadvise(&file, offset, length.try_into().ok(), Advice::DontNeed)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
const fn begin(_file: &std::path::Path, _offset: u64, _length: u64) -> io::Result<()> {
    Ok(())
}
