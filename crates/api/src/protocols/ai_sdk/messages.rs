//! `GET /ai-sdk/agents/{id}/chat/{chat}/messages`.

use actix_web::HttpResponse;
use application::{ConversationError, PAGE_LIMIT};
use domain::Message;
use ports::ListingOrder;

use super::{path::PathChat, ui_message::UiMessage};
use crate::{
    auth::{Authorized, TurnsRead, missing_conversations_read},
    problem::ApiError,
    request::PagePermit,
};

/// The maximum number of messages in a response.
const MAX_MESSAGES: usize = 1_000;
/// The size in bytes of their texts and tool results after which no older message is added.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Responds with the newest messages of a chat, oldest first; with none if it does not exist.
pub(super) async fn list_messages(
    authorized: Authorized<TurnsRead>,
    chat: PathChat,
    _permit: PagePermit,
) -> Result<HttpResponse, ApiError> {
    let caller = authorized.caller();
    if !caller.may_read_conversations() {
        return Err(missing_conversations_read());
    }
    let conversation = match chat.0 {
        Some(chat) => chat.find(&authorized.conversations, caller).await?,
        None => None,
    };
    let mut newest_first: Vec<Message> = Vec::new();
    let (mut cursor, mut bytes) = (None, 0);
    while let Some(id) = conversation {
        let (conversations, order) = (&authorized.conversations, ListingOrder::Descending);
        let from = cursor.as_deref();
        let page = conversations.messages(caller, id, order, from, PAGE_LIMIT, false);
        let (page, next) = match page.await {
            // It has been deleted since.
            Err(ConversationError::NotFound) => break,
            read => read?.value,
        };
        bytes += page.items.iter().map(size).sum::<usize>();
        newest_first.extend(page.items);
        cursor = next;
        if cursor.is_none() || newest_first.len() >= MAX_MESSAGES || bytes >= MAX_BYTES {
            break;
        }
    }
    let oldest_first = newest_first.into_iter().rev();
    let messages: Vec<_> = oldest_first.map(UiMessage::from).collect();
    Ok(HttpResponse::Ok().json(messages))
}

fn size(message: &Message) -> usize {
    let results = message.tool_calls.iter();
    let results = results.filter_map(|call| call.result.as_ref());
    message.content.len() + results.map(String::len).sum::<usize>()
}
