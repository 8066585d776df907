//! Creation of conversations that begin with the messages of another.

use domain::{
    ConversationId, FaultCode, ForkOrigin, InputFault, MessageId, Principal, Timestamp,
    UnknownMembers, conversation::excerpt,
};
use ports::{
    FirstMessages, ForkedMessages, FoundMessage, ListingOrder, MessageQuery, MessageReference,
    RepositoryError,
};
use serde::Serialize;

use super::{
    ConversationError, ConversationService,
    creating::{NewConversation, Origin},
};

/// The maximum number of messages that a fork copies.
const MAX_FORKED_MESSAGES: i64 = 1_000;

/// The messages that a fork copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fork {
    /// The conversation.
    pub conversation_id: ConversationId,
    /// The last message; all messages if absent.
    pub message_id: Option<MessageId>,
}

impl ConversationService {
    /// Returns the origin of a conversation that begins with the messages of another.
    pub(super) async fn forked(
        &self,
        caller: &Principal,
        new: &NewConversation,
        fork: Fork,
        now: Timestamp,
    ) -> Result<Origin, ConversationError> {
        let from = fork.conversation_id;
        let state = self.find_accessible(caller, from).await?;
        if new.agent_id.is_some_and(|named| named != state.agent_id) {
            return Err(fault("/agentId", "the conversation is with another agent"));
        }
        if new.user_id.is_some() && new.user_id != state.user_id {
            return Err(fault("/userId", "the conversation belongs to another user"));
        }
        let last = match fork.message_id {
            Some(message) => {
                let found = self.forked_message(caller, from, message).await?;
                Some(found.ok_or_else(unknown_message)?)
            }
            None => self.last_message(caller, from).await?,
        };
        let count = last.as_ref().map_or(0, |last| last.before + 1);
        if count > MAX_FORKED_MESSAGES {
            let detail = "a fork has at most 1,000 messages";
            return Err(ConversationError::Invalid(vec![InputFault::new(
                "/forkOf/messageId",
                FaultCode::TooLarge,
                detail,
            )]));
        }
        let of_staff = |last: &FoundMessage| last.of_staff + i64::from(last.message.is_of_staff());
        let of_staff = last.as_ref().map_or(0, of_staff);
        let counts = last.as_ref().map(|last| last.counts);
        let last = last.map(|last| last.message);
        // Not from the cache, since it is stored again.
        let original = self.ports.conversations.find(&caller.tenant, from).await?;
        let context = original.value.and_then(|original| original.item.context);
        Ok(Origin {
            agent_id: state.agent_id,
            user_id: state.user_id.clone(),
            first_messages: FirstMessages::Forked(ForkedMessages {
                from,
                turn_count: state.turn_count,
                to_seq: last.as_ref().map_or(0, |message| message.seq),
                of_staff,
                counts,
            }),
            message_count: count,
            excerpt: last
                .as_ref()
                .map(|message| excerpt(&message.content, &message.files)),
            last_message_at: last.as_ref().map(|message| message.created_at),
            forked_from: Some(ForkOrigin {
                conversation_id: from,
                message_id: last.map(|message| message.id),
                unknown: UnknownMembers::default(),
            }),
            context,
            began_at: now,
        })
    }

    /// Returns a message unless it is superseded.
    async fn forked_message(
        &self,
        caller: &Principal,
        conversation: ConversationId,
        id: MessageId,
    ) -> Result<Option<FoundMessage>, ConversationError> {
        let tenant = &caller.tenant;
        let reference = MessageReference::Id(id);
        let found = self
            .ports
            .conversations
            .find_message(tenant, conversation, &reference);
        let found = found.await?;
        Ok(found.filter(|found| found.message.superseded_at.is_none()))
    }

    /// Returns the last message. `Stale` if a turn has superseded it
    /// meanwhile. The transaction of the insert checks that none has started since.
    async fn last_message(
        &self,
        caller: &Principal,
        conversation: ConversationId,
    ) -> Result<Option<FoundMessage>, ConversationError> {
        let query = MessageQuery {
            order: ListingOrder::Descending,
            after: None,
            limit: 1,
            with_superseded: false,
        };
        let (tenant, conversations) = (&caller.tenant, &self.ports.conversations);
        let page = conversations.messages(tenant, conversation, &query).await?;
        let page = page.value.ok_or(ConversationError::NotFound)?;
        let Some(last) = page.items.into_iter().next() else {
            return Ok(None);
        };
        let last = self.forked_message(caller, conversation, last.id).await?;
        let superseded = RepositoryError::Stale {
            what: "conversation",
        };
        Ok(Some(last.ok_or(superseded)?))
    }
}

fn unknown_message() -> ConversationError {
    ConversationError::Invalid(vec![InputFault::new(
        "/forkOf/messageId",
        FaultCode::UnknownValue,
        "no message of the conversation that is not superseded",
    )])
}

fn fault(pointer: &str, detail: &str) -> ConversationError {
    ConversationError::Invalid(vec![InputFault::new(
        pointer,
        FaultCode::NotCombinable,
        detail,
    )])
}
