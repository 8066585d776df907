//! `GET /ai-sdk/agents/{id}/chat/{chat}/messages`.

use actix_web::{HttpResponse, http::header::ContentType};
use application::files::TenantLinks;
use application::{ConversationError, PAGE_LIMIT};
use domain::{Message, sizes::PAGE_BYTES};
use kit::{
    auth::{Authorized, TurnsRead, missing_conversations_read},
    problem::ApiError,
    request::PagePermit,
};
use ports::ListingOrder;

use super::{path::PathChat, ui_message::UiMessage};

/// The maximum number of messages in a response.
const MAX_MESSAGES: usize = 1_000;

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
    let links = authorized.files.tenant_links(&caller.tenant).await?;
    let mut newest = NewestMessages::default();
    let mut cursor = None;
    while let Some(id) = conversation {
        let (conversations, order) = (&authorized.conversations, ListingOrder::Descending);
        let from = cursor.as_deref();
        let page = conversations.messages(caller, id, order, from, PAGE_LIMIT, false);
        let (page, next) = match page.await {
            // It has been deleted since.
            Err(ConversationError::NotFound) => break,
            read => read?.value,
        };
        cursor = next;
        if !newest.add(page.items, &links) || cursor.is_none() {
            break;
        }
    }
    let mut response = HttpResponse::Ok();
    Ok(response
        .content_type(ContentType::json())
        .body(newest.into_json()))
}

/// The newest messages as JSON, as many as fit a page.
#[derive(Default)]
struct NewestMessages {
    newest_first: Vec<String>,
    bytes: usize,
}

impl NewestMessages {
    /// Adds older messages. Returns whether more may follow.
    fn add(&mut self, older: Vec<Message>, links: &TenantLinks) -> bool {
        let older = older.into_iter();
        for message in older.filter_map(|message| UiMessage::of(message, links)) {
            let json = serde_json::to_string(&message).unwrap_or_default();
            let is_first = self.newest_first.is_empty();
            if self.newest_first.len() == MAX_MESSAGES
                || (!is_first && self.bytes + json.len() > PAGE_BYTES)
            {
                return false;
            }
            self.bytes += json.len();
            self.newest_first.push(json);
        }
        true
    }

    /// The array, oldest first.
    fn into_json(mut self) -> String {
        self.newest_first.reverse();
        format!("[{}]", self.newest_first.join(","))
    }
}
