//! Server-sent events of a response.
//!
//! Parsed here because a stream that breaks off must be distinguished from one that ends.

use dev_load::http::{RequestError, ResponseStream};
use serde_json::Value;

/// One event.
#[derive(Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: Value,
}

/// The events of a response.
pub(super) struct EventStream {
    response: ResponseStream,
    buffer: Vec<u8>,
}

impl EventStream {
    /// Reads the body of this response.
    pub(super) fn new(response: ResponseStream) -> Self {
        Self {
            response,
            buffer: Vec::new(),
        }
    }

    /// Returns the next event, or `None` at the end of the response. Comments are skipped.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, RequestError> {
        loop {
            while let Some(block) = take_block(&mut self.buffer) {
                if let Some(event) = parse(&block) {
                    return Ok(Some(event));
                }
            }
            match self.response.chunk().await? {
                Some(chunk) => self.buffer.extend(chunk),
                None => return Ok(None),
            }
        }
    }
}

/// Removes the lines up to the first empty line.
fn take_block(buffer: &mut Vec<u8>) -> Option<String> {
    let end = buffer.windows(2).position(|bytes| bytes == b"\n\n")?;
    let block: Vec<u8> = buffer.drain(..end + 2).collect();
    Some(String::from_utf8_lossy(&block).into_owned())
}

fn parse(block: &str) -> Option<Event> {
    let field = |name| block.lines().find_map(|line| line.strip_prefix(name));
    Some(Event {
        name: field("event: ")?.to_owned(),
        data: serde_json::from_str(field("data: ")?).ok()?,
    })
}
