//! Requests that a client repeats. OpenAI clients give their messages no ids, so each message in a
//! stored conversation gets one. A repeated request finds that id, and has the same idempotency key.
//! On the process of the first request it is known before the message is stored; on others, requests
//! at the same time compute the same id from what the conversation contains.

use actix_web::http::header::{HeaderMap, HeaderName};
use application::{
    ConversationError, PAGE_LIMIT,
    chat::{AttachedFile, REPEATABLE_FOR},
    unnamed_messages::FirstId,
};
use domain::{AgentId, ConversationId, ConversationKey, IdempotencyKey, Turn, TurnId};
use kit::{
    auth::{Authorized, ChatWrite},
    problem::ApiError,
};
use ports::{IdSource, ListingOrder, TurnFilter};

use super::PROTOCOL;
use crate::resend::resend_key;

/// The number of times that the official clients have already sent the request.
const RETRY_COUNT: HeaderName = HeaderName::from_static("x-stainless-retry-count");

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
    /// The files.
    pub(super) files: &'a [AttachedFile],
}

/// The id of a message.
pub(super) enum MessageId {
    /// The message is new.
    New(String),
    /// The message may be stored or being stored, with the turn that the request joins.
    Known(String),
}

impl SentMessage<'_> {
    /// Returns the id of the message: a new one or, if an equal request was repeated, the id that the
    /// message has since the first of them.
    pub(super) async fn id(
        &self,
        authorized: &Authorized<ChatWrite>,
        headers: &HeaderMap,
        ids: &dyn IdSource,
    ) -> Result<MessageId, ApiError> {
        let (caller, unnamed) = (authorized.caller(), &authorized.chat.unnamed);
        let content = self.key("");
        if !is_repeated(headers) {
            let (id, other) = (self.next_id(authorized).await?, ids.next_id().to_string());
            return Ok(match unnamed.first(caller, &content, id, other) {
                FirstId::New(id) => MessageId::New(id),
                FirstId::Overtaken(id) => MessageId::Known(id),
            });
        }
        if let Some(known) = unnamed.find(caller, &content) {
            return Ok(MessageId::Known(known));
        }
        // Computed first: if the message is stored meanwhile, it is found.
        let next = self.next_id(authorized).await?;
        let id = match self.find(authorized).await? {
            Some(stored) => (stored, true),
            None => (next, false),
        };
        Ok(MessageId::Known(unnamed.again(caller, &content, id)))
    }

    /// Returns another id for a message whose new id turned out to be that of an equal message, and
    /// of the turn `stored`. Returns `None` if the request joins that turn, which a repeated request
    /// may have just started on another process.
    pub(super) async fn other_id(
        &self,
        authorized: &Authorized<ChatWrite>,
        stored: TurnId,
        ids: &dyn IdSource,
    ) -> Result<Option<String>, ApiError> {
        let (caller, unnamed) = (authorized.caller(), &authorized.chat.unnamed);
        let turn = authorized.turns.get(caller, stored).await?.value;
        if unnamed.may_be_late(turn.created_at) {
            return Ok(None);
        }
        let id = ids.next_id().to_string();
        unnamed.first(caller, &self.key(""), id.clone(), id.clone());
        Ok(Some(id))
    }

    /// Returns the idempotency key of the message with this id.
    pub(super) fn key(&self, id: &str) -> IdempotencyKey {
        let files: Vec<_> = self.files.iter().map(AttachedFile::identity).collect();
        let mut parts = vec![self.conversation.as_str(), self.text, id];
        parts.extend(files.iter().map(String::as_str));
        resend_key(&PROTOCOL, self.agent, self.user, &parts)
    }

    /// Returns the id that all processes give to the message while nothing else is stored in its
    /// conversation.
    async fn next_id(&self, authorized: &Authorized<ChatWrite>) -> Result<String, ApiError> {
        let (caller, conversations) = (authorized.caller(), &authorized.conversations);
        let mut before = String::new();
        if let Some(conversation) = self.conversation(authorized).await? {
            match conversations.find_accessible(caller, conversation).await {
                Ok(context) => {
                    let newest = context.newest_message.as_ref().map(|it| it.id.to_string());
                    let newest = newest.unwrap_or_default();
                    before = format!("{conversation} {} {newest}", context.last_message_seq);
                }
                // It has been deleted since.
                Err(ConversationError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let id = self.key(&format!("after {before}"));
        Ok(id.as_str().to_owned())
    }

    async fn conversation(
        &self,
        authorized: &Authorized<ChatWrite>,
    ) -> Result<Option<ConversationId>, ApiError> {
        let (caller, key) = (authorized.caller(), self.conversation.clone());
        let conversations = &authorized.conversations;
        let named = conversations.find_named(caller, self.agent, self.user, key);
        Ok(named.await?)
    }

    async fn find(&self, authorized: &Authorized<ChatWrite>) -> Result<Option<String>, ApiError> {
        let (caller, conversations) = (authorized.caller(), &authorized.conversations);
        let Some(conversation) = self.conversation(authorized).await? else {
            return Ok(None);
        };
        // The message of a queued turn is not stored yet.
        let listing = (TurnFilter::Open, ListingOrder::Descending);
        let open = authorized
            .turns
            .list(caller, conversation, listing, None, PAGE_LIMIT);
        let (open, _) = open.await?.value;
        let mut open = open.items.into_iter();
        let is_equal = |turn: &Turn| {
            turn.input == self.text && AttachedFile::may_be_all(self.files, &turn.files)
        };
        if let Some(turn) = open.find(is_equal) {
            return Ok(turn.client_message_id);
        }
        let content = (self.text, self.files);
        let recent = conversations.find_recent(caller, conversation, content, REPEATABLE_FOR);
        let found = recent.await?;
        Ok(found.and_then(|message| message.client_message_id))
    }
}

fn is_repeated(headers: &HeaderMap) -> bool {
    let count = headers.get(RETRY_COUNT).and_then(|it| it.to_str().ok());
    count.is_some_and(|count| count.parse::<u32>().is_ok_and(|count| count > 0))
}
