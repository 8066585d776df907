//! A decoder of server-sent events.

use std::mem;

use memchr::memchr2;

/// An event is larger than the maximum of its decoder.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is too large")]
pub struct EventTooLarge;

/// Decodes the stream format of the HTML standard, from pieces of any size. Returns only the data
/// of events; comments and other fields are ignored.
#[derive(Debug)]
pub struct EventDecoder {
    max_event_bytes: usize,
    /// The current line so far.
    line: Vec<u8>,
    /// The data lines of the current event, each with a line feed before it.
    data: Vec<u8>,
    /// The data was returned and is cleared before the next byte.
    is_returned: bool,
    /// The last line ended with a carriage return, so a line feed that follows belongs to it.
    after_carriage_return: bool,
    /// The number of complete lines.
    lines: u64,
}

impl EventDecoder {
    /// Creates a decoder of events that have at most this number of bytes, including everything that
    /// is ignored.
    pub const fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            line: Vec::new(),
            data: Vec::new(),
            is_returned: false,
            after_carriage_return: false,
            lines: 0,
        }
    }

    /// Consumes `bytes` until an event is complete and returns its data. Returns `None` if all
    /// bytes were consumed and more are needed.
    pub fn decode(&mut self, bytes: &mut &[u8]) -> Result<Option<&[u8]>, EventTooLarge> {
        self.discard_returned();
        while let Some(first) = bytes.first() {
            if mem::take(&mut self.after_carriage_return) && *first == b'\n' {
                *bytes = &bytes[1..];
                continue;
            }
            let end = memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
            let (part, rest) = bytes.split_at(end);
            self.append(part)?;
            let Some(ending) = rest.first() else {
                *bytes = rest;
                return Ok(None);
            };
            self.after_carriage_return = *ending == b'\r';
            *bytes = &rest[1..];
            if self.end_line() {
                return Ok(self.end_event());
            }
        }
        Ok(None)
    }

    /// Returns the last event after the regular end of the stream: many servers omit the empty line
    /// after it.
    pub fn finish(&mut self) -> Option<&[u8]> {
        self.discard_returned();
        if !self.line.is_empty() {
            self.end_line();
        }
        self.end_event()
    }

    /// The number of complete lines, including comments.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    fn append(&mut self, part: &[u8]) -> Result<(), EventTooLarge> {
        let kept = self.line.len() + self.data.len();
        if kept + part.len() > self.max_event_bytes {
            return Err(EventTooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// Adds the line to the current event. Returns whether it completes the event.
    fn end_line(&mut self) -> bool {
        const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
        let mut line = self.line.as_slice();
        if self.lines == 0 {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        self.lines += 1;
        let is_complete = line.is_empty() && !self.data.is_empty();
        if let Some(value) = data_value(line) {
            self.data.push(b'\n');
            self.data.extend_from_slice(value);
        }
        self.line.clear();
        is_complete
    }

    /// Ends the current event and returns its data.
    fn end_event(&mut self) -> Option<&[u8]> {
        self.is_returned = true;
        self.data.strip_prefix(b"\n")
    }

    fn discard_returned(&mut self) {
        if mem::take(&mut self.is_returned) {
            self.data.clear();
        }
    }
}

/// Returns the value of a `data` field.
fn data_value(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data")?;
    match value {
        [] => Some(value),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const MAX_EVENT_BYTES: usize = 1024 * 1024;

    fn decoder() -> EventDecoder {
        EventDecoder::new(MAX_EVENT_BYTES)
    }

    /// Decodes the events of a stream that arrives in these pieces and ends regularly, and counts its
    /// lines.
    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, u64) {
        let mut decoder = decoder();
        let mut events = Vec::new();
        for mut piece in pieces {
            while let Some(event) = decoder.decode(&mut piece).unwrap() {
                events.push(event.to_vec());
            }
            assert!(piece.is_empty());
        }
        events.extend(decoder.finish().map(<[u8]>::to_vec));
        let text = |event| String::from_utf8(event).unwrap();
        (events.into_iter().map(text).collect(), decoder.lines())
    }

    #[rstest]
    #[case("", &[])]
    #[case("data: one\n\n", &["one"])]
    #[case("data:one\n\ndata: two\n\n", &["one", "two"])]
    #[case("data: one\r\n\r\ndata: two\r\r", &["one", "two"])]
    #[case("data: a\ndata: b\n\n", &["a\nb"])]
    #[case("data:  two spaces\n\n", &[" two spaces"])]
    #[case("data\n\n", &[""])]
    #[case("data: \n\n", &[""])]
    #[case(": a comment\n\n\n\ndata: one\n\n", &["one"])]
    #[case("event: x\nid: 1\nretry: 5\ndata: one\n\n", &["one"])]
    #[case("database: no\n\nevent: alone\n\n", &[])]
    #[case("\u{feff}data: one\n\ndata: \u{feff}two\n\n", &["one", "\u{feff}two"])]
    #[case("data: a\n\r\ndata: b\n\n", &["a", "b"])]
    #[case("data: a\r\n\ndata: b\n\n", &["a", "b"])]
    #[case("data: no empty line after it\n", &["no empty line after it"])]
    #[case("data: no end of line", &["no end of line"])]
    fn decodes_the_stream_format(#[case] stream: &str, #[case] expected: &[&str]) {
        let whole = decode([stream.as_bytes()]);
        assert_eq!(whole.0, expected);
        assert_eq!(decode(stream.as_bytes().chunks(1)), whole);
    }

    #[test]
    fn comments_count_as_lines_and_partial_lines_do_not() {
        let mut decoder = decoder();
        assert_eq!(decoder.decode(&mut ": wait\n: for".as_bytes()), Ok(None));
        assert_eq!(decoder.lines(), 1);
        assert_eq!(decoder.decode(&mut " it\n".as_bytes()), Ok(None));
        assert_eq!(decoder.lines(), 2);
    }

    #[rstest]
    #[case::in_one_line(b"data: ", b"")]
    #[case::in_many_lines(b"data: x\n", b"data: ")]
    #[case::in_a_comment(b": ", b"")]
    fn rejects_an_event_that_is_too_large(#[case] begin: &[u8], #[case] then: &[u8]) {
        let mut decoder = decoder();
        assert_eq!(decoder.decode(&mut &*begin), Ok(None));
        assert_eq!(decoder.decode(&mut &*then), Ok(None));
        let piece = [b'a'; 1024];
        let error = (0..1025).find_map(|_| decoder.decode(&mut piece.as_slice()).err());
        assert_eq!(error, Some(EventTooLarge));
        assert!(decoder.line.len() <= MAX_EVENT_BYTES);
    }

    #[rstest]
    #[case::whole(usize::MAX)]
    #[case::in_pieces(1024)]
    fn the_limit_does_not_depend_on_pieces(#[case] size: usize) {
        let first_error = |bytes: usize| {
            let stream = format!("data: {}\n\n", "a".repeat(bytes));
            let mut decoder = decoder();
            let mut pieces = stream.as_bytes().chunks(size);
            pieces.find_map(|mut piece| decoder.decode(&mut piece).err())
        };
        let largest = MAX_EVENT_BYTES - "data: ".len();
        assert_eq!(first_error(largest), None);
        assert_eq!(first_error(largest + 1), Some(EventTooLarge));
    }

    #[test]
    fn the_data_lines_of_an_event_are_limited_together() {
        let mut decoder = decoder();
        let line = format!("data: {}\n", "a".repeat(100_000));
        let error = (0..11).find_map(|_| decoder.decode(&mut line.as_bytes()).err());
        assert_eq!(error, Some(EventTooLarge));
    }

    proptest! {
        #[test]
        fn decodes_the_same_events_from_pieces_of_any_size(
            lines in prop::collection::vec(
                "((data: ?|:|event:)[a-zé\u{1f98a} :]{0,12}|data: [a-z]{0,12}\n|)(\n|\r|\r\n)",
                0..24,
            ),
            size in 1_usize..9,
        ) {
            let stream = lines.concat();
            let whole = decode([stream.as_bytes()]);
            prop_assert_eq!(decode(stream.as_bytes().chunks(size)), whole);
        }
    }
}
