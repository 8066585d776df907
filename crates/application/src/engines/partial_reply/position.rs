//! Positions in a reply that grows.

use super::PartialReply;

/// The position of a reader in a reply.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplyPosition {
    /// The position in the reasoning, in bytes.
    pub(crate) reasoning: usize,
    /// The position in the text, in bytes.
    pub(crate) text: usize,
    /// The number of tool events before it.
    pub(crate) tools: usize,
}

impl PartialReply {
    /// Returns the position at the end.
    pub(crate) fn end(&self) -> ReplyPosition {
        ReplyPosition {
            reasoning: self.reasoning.text().len(),
            text: self.text.len(),
            tools: self.tools.len(),
        }
    }
}
