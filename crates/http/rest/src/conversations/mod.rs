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
pub use follow::{__path_follow_conversation, follow_conversation};
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
pub use turns::{__path_list_turns, list_turns};

use domain::{Conversation, Listed};
use kit::reads;

/// The entity tag of a conversation. It changes with every message and every status of a turn, and
/// never comes back, but `If-Match` compares only the version in it.
fn etag(Listed { item, sort_seq }: &Listed<Conversation>) -> String {
    let content = serde_json::to_vec(&(sort_seq, item)).unwrap_or_default();
    format!("\"v{}.{}\"", item.version, reads::digest(&content))
}
