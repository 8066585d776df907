//! The text of a reply, over all completions of a turn.

use ports::ReplyChunk;

use crate::{chunk_sender::ChunkSender, error::LlmError};

/// The maximum number of bytes of a reply. Its receiver accepts no more.
const MAX_REPLY_BYTES: usize = 1024 * 1024;
/// The separator between the text before tool calls and the text after them.
const PARAGRAPH: &str = "\n\n";

/// Sends the text of a reply, with a new paragraph after tool calls.
#[derive(Debug)]
pub(crate) struct ReplyWriter {
    sender: ChunkSender,
    bytes: usize,
    is_within_line: bool,
    starts_paragraph: bool,
}

impl ReplyWriter {
    pub(crate) fn new(sender: ChunkSender) -> Self {
        Self {
            sender,
            bytes: 0,
            is_within_line: false,
            starts_paragraph: false,
        }
    }

    /// Sends more text; an empty text is ignored.
    pub(crate) async fn write(&mut self, mut text: String) -> Result<(), LlmError> {
        let Some(last) = text.chars().next_back() else {
            return Ok(());
        };
        if std::mem::take(&mut self.starts_paragraph) && self.is_within_line {
            text.insert_str(0, PARAGRAPH);
        }
        self.is_within_line = last != '\n';
        self.bytes += text.len();
        if self.bytes > MAX_REPLY_BYTES {
            // Each completion is limited by `ResponseAccumulator`; this limits their sum, which the
            // settings of an agent can increase.
            return Err(LlmError::Unusable("the upstream's reply is too long"));
        }
        self.sender.send(ReplyChunk::Delta(text)).await;
        Ok(())
    }

    /// Starts a new paragraph with the next text, if there was text before.
    pub(crate) fn start_paragraph(&mut self) {
        self.starts_paragraph = true;
    }

    /// Reports the start or the end of a tool call.
    pub(crate) async fn send_tool_step(&self, step: ReplyChunk) {
        self.sender.send(step).await;
    }
}
