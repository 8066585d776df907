//! `/api/conversations`.

mod create;
mod list;
mod messages;
mod one;

pub use create::{__path_create_conversation, ConversationRequest, create_conversation};
pub use list::{__path_list_conversations, list_conversations};
pub use messages::{__path_list_messages, list_messages};
pub use one::{
    __path_delete_conversation, __path_get_conversation, __path_patch_conversation,
    delete_conversation, get_conversation, patch_conversation,
};

use domain::Conversation;

/// The entity tag of a conversation. It changes with every message, but `If-Match` compares only
/// the version in it.
fn etag(conversation: &Conversation) -> String {
    format!(
        "\"v{}.{}\"",
        conversation.version, conversation.message_count
    )
}
