//! Lines of bounded length.

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// The number of bytes that are kept of each end of a line that is too long.
const KEPT: usize = 256;

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// The first and the last bytes of a line that was too long.
    TooLong { start: Vec<u8>, end: Vec<u8> },
}

/// Reads lines. Cancel safe: nothing is lost when the future of [`Self::next`] is dropped.
pub(crate) struct Lines<R> {
    reader: R,
    max_bytes: usize,
    line: Vec<u8>,
    /// The beginning of the line, once it is too long.
    start: Option<Vec<u8>>,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Creates a reader of lines with at most `max_bytes` bytes, which must exceed [`KEPT`].
    pub(crate) fn new(reader: R, max_bytes: usize) -> Self {
        Self {
            reader,
            max_bytes,
            line: Vec::new(),
            start: None,
        }
    }

    /// Returns the next line; `None` at the end of the stream, where an unterminated line is
    /// dropped.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = &available[..end.unwrap_or(available.len())];
            self.line.extend_from_slice(taken);
            let consumed = taken.len() + usize::from(end.is_some());
            self.reader.consume(consumed);
            self.cut();
            if end.is_some() {
                return Ok(Some(self.take()));
            }
        }
    }

    fn cut(&mut self) {
        if self.start.is_none() && self.line.len() > self.max_bytes {
            self.start = Some(self.line[..KEPT.min(self.line.len())].to_vec());
        }
        if self.start.is_some() {
            let surplus = self.line.len().saturating_sub(KEPT);
            self.line.drain(..surplus);
            self.line.shrink_to(KEPT);
        }
    }

    fn take(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        match self.start.take() {
            Some(start) => Line::TooLong { start, end: line },
            None => Line::Whole(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::executor::block_on;
    use proptest::prelude::*;
    use tokio::io::{AsyncWriteExt as _, BufReader, duplex};

    use super::*;

    async fn read(text: &str, max_bytes: usize) -> Vec<Line> {
        read_in_parts(text.as_bytes(), usize::MAX, max_bytes).await
    }

    /// Reads `part` bytes at a time.
    async fn read_in_parts(bytes: &[u8], part: usize, max_bytes: usize) -> Vec<Line> {
        let reader = BufReader::with_capacity(part.min(bytes.len()).max(1), bytes);
        let mut lines = Lines::new(reader, max_bytes);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await.expect("memory can be read") {
            read.push(line);
        }
        read
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn an_unterminated_last_line_is_dropped() {
        let read = read("one\n\ntwo\nthree", 10).await;
        assert_eq!(read, [whole("one"), whole(""), whole("two")]);
    }

    #[tokio::test]
    async fn the_ends_of_a_line_that_is_too_long_are_kept() {
        let long = format!("{}{}", "a".repeat(1_000), "b".repeat(1_000));
        let cut = read(&format!("{long}\nnext\n"), 1_999).await;
        let start = vec![b'a'; KEPT];
        let end = vec![b'b'; KEPT];
        assert_eq!(cut, [Line::TooLong { start, end }, whole("next")]);
        let just_fits = read(&format!("{long}\n"), 2_000).await;
        assert_eq!(just_fits, [whole(&long)]);
    }

    #[tokio::test]
    async fn memory_is_bounded() {
        let (mut writer, reader) = duplex(4_096);
        let writing = async move {
            for _ in 0..4_096 {
                writer.write_all(&[b'x'; 4_096]).await.expect("it is read");
            }
            writer.write_all(b"\n").await.expect("it is read");
        };
        let mut lines = Lines::new(BufReader::new(reader), 65_536);
        let reading = async {
            let line = lines.next().await.expect("memory can be read");
            assert!(matches!(line, Some(Line::TooLong { .. })));
            lines.line.capacity()
        };
        let ((), held) = tokio::join!(writing, reading);
        assert!(held <= 2 * 65_536, "{held}");
    }

    #[tokio::test]
    async fn a_cancelled_read_loses_nothing() {
        let (mut writer, reader) = duplex(64);
        let mut lines = Lines::new(BufReader::new(reader), 100);
        writer.write_all(b"first ").await.expect("it is read");
        let cancelled = tokio::time::timeout(Duration::ZERO, lines.next()).await;
        assert!(cancelled.is_err());
        writer.write_all(b"half\n").await.expect("it is read");
        assert_eq!(
            lines.next().await.expect("a line"),
            Some(whole("first half"))
        );
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_the_size_of_reads(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..2_000),
            part in 1_usize..600,
            max_bytes in KEPT..900,
        ) {
            let mut expected: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
            expected.pop();
            let expected = expected.into_iter().map(|line| {
                if line.len() > max_bytes {
                    let kept = line.len().min(KEPT);
                    let (start, end) = (&line[..kept], &line[line.len() - kept..]);
                    Line::TooLong { start: start.to_vec(), end: end.to_vec() }
                } else {
                    Line::Whole(line.to_vec())
                }
            });
            let read = block_on(read_in_parts(&bytes, part, max_bytes));
            prop_assert_eq!(read, expected.collect::<Vec<_>>());
        }
    }
}
