//! The first turn of a conversation with a reply of the agent.

use domain::{Conversation, ConversationId, FinishReason, Message, Role, TenantId, TurnId};
use ports::{ConversationRepository, ListingOrder, MessageQuery, RepositoryError};

/// The number of messages that are read together.
const MESSAGES: usize = 20;

/// The first completed turn of a conversation without a title, with its texts.
pub(super) struct FirstTurn {
    /// The conversation as it was read.
    pub(super) conversation: Conversation,
    /// The turn.
    pub(super) id: TurnId,
    /// The text of the user's message; empty without one.
    pub(super) message: String,
    /// The reply of the agent.
    pub(super) reply: String,
}

impl FirstTurn {
    /// Finds a turn that has been completed. Returns `None` if it is not the first one, or the conversation needs no title.
    pub(super) async fn find(
        conversations: &dyn ConversationRepository,
        tenant: &TenantId,
        (conversation, id): (ConversationId, TurnId),
    ) -> Result<Option<Self>, RepositoryError> {
        let found = conversations.find(tenant, conversation).await?.value;
        let Some(found) = found.filter(|found| found.item.is_untitled()) else {
            return Ok(None);
        };
        let mut first = Self {
            conversation: found.item,
            id,
            message: String::new(),
            reply: String::new(),
        };
        let (mut after, mut has_message) = (None, false);
        loop {
            let query = MessageQuery {
                order: ListingOrder::Ascending,
                after,
                limit: MESSAGES,
                with_superseded: true,
            };
            let page = conversations.messages(tenant, conversation, &query).await?;
            let Some(page) = page.value else {
                return Ok(None);
            };
            after = page.items.last().map(|last| last.seq);
            for message in page.items {
                if is_reply(&message) {
                    let is_first = message.turn_id == Some(id);
                    first.reply = message.content;
                    return Ok(is_first.then_some(first));
                }
                let is_of_turn = message.turn_id == Some(id);
                if message.role == Role::User && (is_of_turn || !has_message) {
                    has_message = true;
                    first.message = message.content;
                }
            }
            if !page.has_more {
                return Ok(None);
            }
        }
    }
}

/// Returns whether a message is the reply of a completed turn. The text of a cancelled turn is none.
fn is_reply(message: &Message) -> bool {
    message.role == Role::Agent
        && message.turn_id.is_some()
        && message.finish_reason != Some(FinishReason::Cancelled)
}
