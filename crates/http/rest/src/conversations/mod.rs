//! `/api/conversations`.

mod create;
mod feedback;
mod follow;
mod list;
mod messages;
mod notes;
mod one;
mod staff_messages;
mod turns;

pub use create::{__path_create_conversation, ConversationRequest, create_conversation};
pub use feedback::{
    __path_delete_feedback, __path_list_feedback, __path_rate_message, delete_feedback,
    list_feedback, rate_message,
};
pub(crate) use feedback::{RatingParameter, rating};
pub use follow::{__path_follow_conversation, follow_conversation};
pub(crate) use list::METADATA;
pub use list::{__path_list_conversations, list_conversations};
pub use messages::{__path_list_messages, list_messages};
pub use notes::{
    __path_delete_note, __path_list_notes, __path_write_note, delete_note, list_notes, write_note,
};
pub use one::{
    __path_delete_conversation, __path_get_conversation, __path_patch_conversation,
    delete_conversation, get_conversation, patch_conversation,
};
pub use staff_messages::{
    __path_delete_message, __path_patch_message, __path_write_message, delete_message,
    patch_message, write_message,
};
pub use turns::{__path_list_conversation_turns, list_conversation_turns};
pub(crate) use turns::{TurnFilterParameter, turn_filter};

use application::ConversationError;
use domain::{AgentId, Conversation, FaultCode, Listed};
use kit::{problem::ApiError, reads, request::QueryParameters};

/// Reads the parameter `agentId`. A malformed id selects nothing, like that of an agent that does not exist.
pub(crate) fn agent_filter(query: &QueryParameters) -> Option<AgentId> {
    let id = query.text("agentId")?.parse();
    Some(id.unwrap_or_else(|_malformed| AgentId::new(uuid::Uuid::nil())))
}

/// Converts an error of a use case to which the parameter `userId` may have named somebody else.
pub(crate) fn named_user(error: ConversationError) -> ApiError {
    match error {
        ConversationError::ForeignUser => {
            ApiError::parameter("userId", FaultCode::NotCombinable, error.to_string())
        }
        other => other.into(),
    }
}

/// The entity tag of a conversation. It changes with every message and every status of a turn, and
/// never comes back, but `If-Match` compares only the version in it.
fn etag(Listed { item, sort_seq }: &Listed<Conversation>) -> String {
    let content = serde_json::to_vec(&(sort_seq, item)).unwrap_or_default();
    format!("\"v{}.{}\"", item.version, reads::digest(&content))
}
