//! Requests that a client repeats. OpenAI clients give their messages no ids, so each message in a
//! stored conversation gets one. A repeated request finds that message, and has the same idempotency
//! key.

use std::time::Duration;

use actix_web::http::header::{HeaderMap, HeaderName};
use application::PAGE_LIMIT;
use domain::{AgentId, ConversationKey, IdempotencyKey};
use ports::{IdSource, ListingOrder, TurnFilter};

use super::PROTOCOL;
use crate::{
    auth::{Authorized, ChatWrite},
    problem::ApiError,
};

/// The number of times that the official clients have already sent the request.
const RETRY_COUNT: HeaderName = HeaderName::from_static("x-stainless-retry-count");

/// The time for which a request can be repeated.
const REPEATABLE_FOR: Duration = Duration::from_mins(2);

/// A message of a request.
pub(super) struct SentMessage<'a> {
    /// The agent.
    pub(super) agent: AgentId,
    /// The user.
    pub(super) user: Option<&'a str>,
    /// The conversation.
    pub(super) conversation: &'a ConversationKey,
    /// The text.
    pub(super) text: &'a str,
}

impl SentMessage<'_> {
    /// Returns the id of the message: a new one or, if the request repeats a recent one, the id that
    /// the message has since then.
    pub(super) async fn id(
        &self,
        authorized: &Authorized<ChatWrite>,
        headers: &HeaderMap,
        ids: &dyn IdSource,
    ) -> Result<String, ApiError> {
        if is_repeated(headers)
            && let Some(known) = self.find(authorized).await?
        {
            return Ok(known);
        }
        Ok(ids.next_id().to_string())
    }

    /// Returns the idempotency key of the message with this id.
    pub(super) fn key(&self, id: &str) -> IdempotencyKey {
        let parts = [self.conversation.as_str(), self.text, id];
        PROTOCOL.resend_key(self.agent, self.user, &parts)
    }

    async fn find(&self, authorized: &Authorized<ChatWrite>) -> Result<Option<String>, ApiError> {
        let (caller, conversations) = (authorized.caller(), &authorized.conversations);
        let key = self.conversation.clone();
        let named = conversations.find_named(caller, self.agent, self.user, key);
        let Some(conversation) = named.await? else {
            return Ok(None);
        };
        // The message of a queued turn is not stored yet.
        let listing = (TurnFilter::Open, ListingOrder::Descending);
        let open = authorized
            .turns
            .list(caller, conversation, listing, None, PAGE_LIMIT);
        let (open, _) = open.await?.value;
        let mut open = open.items.into_iter();
        if let Some(turn) = open.find(|turn| turn.input == self.text) {
            return Ok(turn.client_message_id);
        }
        let recent = conversations.find_recent(caller, conversation, self.text, REPEATABLE_FOR);
        let found = recent.await?;
        Ok(found.and_then(|message| message.client_message_id))
    }
}

fn is_repeated(headers: &HeaderMap) -> bool {
    let count = headers.get(RETRY_COUNT).and_then(|it| it.to_str().ok());
    count.is_some_and(|count| count.parse::<u32>().is_ok_and(|count| count > 0))
}
