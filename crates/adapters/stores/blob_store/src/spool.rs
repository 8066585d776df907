//! Contents of unknown size, collected before they are sent: small ones in memory, others in a file.

use std::{io, io::SeekFrom};

use bytes::{Bytes, BytesMut};
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _},
};

/// The maximum size in memory, and of one write to a file.
const MEMORY_BYTES: usize = 256 * 1024;

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
        }
        if let Some(file) = &mut self.file {
            file.flush().await?;
            file.seek(SeekFrom::Start(0)).await?;
        }
        Ok(Spooled {
            memory: self.memory.freeze(),
            file: self.file,
            length: self.length,
        })
    }

    async fn flush(&mut self) -> io::Result<()> {
        let file = if let Some(file) = &mut self.file {
            file
        } else {
            let made = tokio::task::spawn_blocking(tempfile::tempfile).await??;
            self.file.insert(File::from_std(made))
        };
        file.write_all(&self.memory).await?;
        self.memory.clear();
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
        let length = usize::try_from(self.length)
            .unwrap_or(usize::MAX)
            .min(maximum);
        self.length -= length as u64;
        let Some(file) = &mut self.file else {
            return Ok(self.memory.split_to(length));
        };
        let mut part = vec![0; length];
        file.read_exact(&mut part).await?;
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
