//! Server-sent events, as a client reads them. By hand, over connections that are broken on purpose: a
//! stream that breaks off must be told from one that ends.

use serde_json::Value;

use crate::rig::http::{Broken, Incoming};

/// One event.
#[derive(Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: Value,
}

/// Reads the events of an answer.
pub(super) struct Events {
    incoming: Incoming,
    text: Vec<u8>,
}

impl Events {
    /// Reads the body of this answer.
    pub(super) fn new(incoming: Incoming) -> Self {
        Self {
            incoming,
            text: Vec::new(),
        }
    }

    /// The next event; `None` at the end of the answer. Comments are passed over.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, Broken> {
        loop {
            while let Some(block) = take_block(&mut self.text) {
                if let Some(event) = parse(&block) {
                    return Ok(Some(event));
                }
            }
            match self.incoming.part().await? {
                Some(part) => self.text.extend(part),
                None => return Ok(None),
            }
        }
    }
}

/// The lines up to the first empty one.
fn take_block(text: &mut Vec<u8>) -> Option<String> {
    let end = text.windows(2).position(|bytes| bytes == b"\n\n")?;
    let block: Vec<u8> = text.drain(..end + 2).collect();
    Some(String::from_utf8_lossy(&block).into_owned())
}

fn parse(block: &str) -> Option<Event> {
    let field = |name| block.lines().find_map(|line| line.strip_prefix(name));
    Some(Event {
        name: field("event: ")?.to_owned(),
        data: serde_json::from_str(field("data: ")?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_events_and_passes_over_comments() {
        let mut text = b": still there\n\nevent: a\nid: 7\ndata: {\"b\":1}\n\nevent: half".to_vec();
        let comment = take_block(&mut text).unwrap();
        assert_eq!(parse(&comment), None);
        let event = take_block(&mut text).unwrap();
        let expected = Event {
            name: "a".to_owned(),
            data: json!({"b": 1}),
        };
        assert_eq!(parse(&event), Some(expected));
        assert_eq!(take_block(&mut text), None);
    }
}
