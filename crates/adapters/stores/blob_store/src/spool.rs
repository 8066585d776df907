//! Contents of unknown size, collected before they are sent: small ones in memory, others in a file.
//!
//! The files of tokio are not used: each keeps a buffer of up to 2 MiB.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    mem::take,
};

use bytes::{Bytes, BytesMut};
use tokio::task::spawn_blocking;

/// The maximum size in memory, and of one write to a file.
const MEMORY_BYTES: usize = 64 * 1024;

/// A content that is being collected.
#[derive(Default)]
pub(crate) struct Spool {
    memory: BytesMut,
    file: Option<File>,
    length: u64,
}

impl Spool {
    /// Adds a piece.
    pub(crate) async fn push(&mut self, mut piece: Bytes) -> io::Result<()> {
        self.length += piece.len() as u64;
        while !piece.is_empty() {
            if self.memory.len() == MEMORY_BYTES {
                self.flush().await?;
            }
            let room = MEMORY_BYTES - self.memory.len();
            let next = piece.split_to(room.min(piece.len()));
            self.memory.extend_from_slice(&next);
        }
        Ok(())
    }

    /// Ends the content, which is read from its beginning then.
    pub(crate) async fn finish(mut self) -> io::Result<Spooled> {
        if self.file.is_some() {
            self.flush().await?;
            self.memory = BytesMut::new();
        }
        if let Some(file) = &mut self.file {
            // Only a number changes; the disk has nothing to do.
            file.rewind()?;
        }
        Ok(Spooled {
            memory: self.memory.freeze(),
            file: self.file,
            length: self.length,
        })
    }

    async fn flush(&mut self) -> io::Result<()> {
        let (file, mut memory) = (self.file.take(), take(&mut self.memory));
        let written = spawn_blocking(move || {
            let mut file = file.map_or_else(tempfile::tempfile, Ok)?;
            file.write_all(&memory)?;
            memory.clear();
            Ok::<_, io::Error>((file, memory))
        });
        let (file, memory) = written.await??;
        self.file = Some(file);
        self.memory = memory;
        Ok(())
    }
}

/// A whole content.
pub(crate) struct Spooled {
    memory: Bytes,
    file: Option<File>,
    length: u64,
}

impl Spooled {
    /// The length that was not read yet.
    pub(crate) fn remaining(&self) -> u64 {
        self.length
    }

    /// Reads the next bytes: as many as asked for, or all that remain.
    pub(crate) async fn read(&mut self, maximum: usize) -> io::Result<Bytes> {
        let length = usize::try_from(self.length).map_or(maximum, |it| it.min(maximum));
        self.length -= length as u64;
        let Some(mut file) = self.file.take() else {
            return Ok(self.memory.split_to(length));
        };
        // The allocator keeps memory for the thread that asked for it, and blocking threads are many.
        let mut part = vec![0; length];
        let read = spawn_blocking(move || {
            file.read_exact(&mut part)?;
            Ok::<_, io::Error>((file, part))
        });
        let (file, part) = read.await??;
        self.file = Some(file);
        Ok(part.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_content_is_read_as_it_was_written() {
        for (length, is_in_memory) in [
            (0, true),
            (1, true),
            (MEMORY_BYTES, true),
            (MEMORY_BYTES + 1, false),
            (3 * MEMORY_BYTES, false),
        ] {
            let content: Vec<u8> = (0..=250).cycle().take(length).collect();
            let mut spool = Spool::default();
            for piece in content.chunks(100_000) {
                spool.push(Bytes::copy_from_slice(piece)).await.unwrap();
            }
            let mut spooled = spool.finish().await.unwrap();
            assert_eq!(spooled.file.is_none(), is_in_memory, "{length}");
            let mut read = Vec::new();
            while spooled.remaining() > 0 {
                read.extend(spooled.read(70_000).await.unwrap());
            }
            assert!(read == content, "{length}");
        }
    }
}
