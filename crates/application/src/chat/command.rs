//! The command of a chat, and its result.

use std::time::Duration;

pub use domain::admission::OnBusy;
use domain::{
    AgentId, ChatReply, ConversationId, Fault,
    config::{Metadata, check_metadata},
};
use serde::Serialize;

/// A message to an agent. An idempotency key is bound to its serialized form, which omits the
/// members that only shape the response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatCommand {
    /// The agent that is to reply.
    pub agent_id: AgentId,
    /// The user's text.
    pub message: String,
    /// The conversation; a new one if absent.
    pub conversation_id: Option<ConversationId>,
    /// The user that sends the message.
    pub user_id: Option<String>,
    /// The client's own string pairs for the turn.
    pub metadata: Metadata,
    /// What to do when a turn is in progress.
    #[serde(skip)]
    pub on_busy: OnBusy,
    /// The id of the request, for the log.
    #[serde(skip)]
    pub request_id: Option<String>,
}

impl ChatCommand {
    /// Checks what the schema cannot express, and returns all faults at once.
    pub(super) fn check(&self) -> Result<(), Vec<Fault>> {
        let faults = check_metadata(&self.metadata);
        if faults.is_empty() {
            return Ok(());
        }
        Err(faults
            .into_iter()
            .map(|fault| fault.below("/metadata"))
            .collect())
    }
}

/// A completed chat and the time that it took.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedChat {
    /// The reply.
    pub reply: ChatReply,
    /// The time spent in the store.
    pub store: Duration,
    /// The time spent in engines.
    pub engine: Duration,
}

impl CompletedChat {
    /// Returns a reply that was read from the store.
    pub(super) const fn replayed(reply: ChatReply) -> Self {
        Self {
            reply,
            store: Duration::ZERO,
            engine: Duration::ZERO,
        }
    }
}
