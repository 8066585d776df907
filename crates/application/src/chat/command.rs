//! What a chat is asked, and what it answers.

use std::time::Duration;

pub use domain::admission::OnBusy;
use domain::{
    AgentId, ChatReply, ConversationId, Fault,
    config::{Metadata, check_metadata},
};
use serde::Serialize;

/// A message to an agent. Its serialized form is what an idempotency key is bound to, so what only
/// shapes the answer stays out of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatCommand {
    /// Who is to answer.
    pub agent_id: AgentId,
    /// The user's text.
    pub message: String,
    /// The conversation; a new one when absent.
    pub conversation_id: Option<ConversationId>,
    /// The person who speaks.
    pub user_id: Option<String>,
    /// String pairs of the client's own, for the turn.
    pub metadata: Metadata,
    /// What to do when a turn is in progress.
    #[serde(skip)]
    pub on_busy: OnBusy,
    /// The request that asks it, for the log.
    #[serde(skip)]
    pub request_id: Option<String>,
}

impl ChatCommand {
    /// What the schema cannot say, all faults at once.
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

/// An answered chat and where its time went.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletedChat {
    /// The reply.
    pub reply: ChatReply,
    /// Time spent in the store.
    pub store: Duration,
    /// Time spent in engines.
    pub engine: Duration,
}

impl CompletedChat {
    /// A reply that was read from the store.
    pub(super) const fn replayed(reply: ChatReply) -> Self {
        Self {
            reply,
            store: Duration::ZERO,
            engine: Duration::ZERO,
        }
    }
}
