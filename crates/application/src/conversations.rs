//! Conversations: create, read, change, delete.

mod error;

use std::sync::Arc;

use domain::{
    AgentId, AsOf, Conversation, ConversationDraft, ConversationHead, ConversationId, Fault,
    FaultCode, IdempotencyClaim, IdempotencyKey, Message, MessageId, Page, Principal, Role, Stamp,
    Timestamp, cursor, merge_patch,
};
use ports::{
    AgentRepository, ClaimRepository, Clock, ConversationFilter, ConversationPosition,
    ConversationQuery, ConversationRepository, Deletion, IdSource, MessageOrder, MessageQuery,
    Once, RepositoryError,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{Created, idempotency};

pub use error::ConversationError;

/// How often a change is computed again when others keep changing the same conversation.
const CHANGE_ATTEMPTS: usize = 100;

/// A conversation to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewConversation {
    /// Who answers in it.
    pub agent_id: AgentId,
    /// The person it belongs to.
    pub user_id: Option<String>,
    /// Title and metadata.
    #[serde(flatten)]
    pub draft: ConversationDraft,
}

/// Which conversations a listing shows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationListing {
    /// Those of this agent.
    pub agent_id: Option<AgentId>,
    /// Those of this user.
    pub user_id: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Position {
    at: i64,
    id: Uuid,
}

/// Conversations: create, read, change, delete.
pub struct ConversationService {
    conversations: Arc<dyn ConversationRepository>,
    agents: Arc<dyn AgentRepository>,
    claims: Arc<dyn ClaimRepository>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl ConversationService {
    /// A service over these ports.
    pub fn new(
        conversations: Arc<dyn ConversationRepository>,
        agents: Arc<dyn AgentRepository>,
        claims: Arc<dyn ClaimRepository>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Self {
        Self {
            conversations,
            agents,
            claims,
            clock,
            ids,
        }
    }

    /// Makes a conversation; the agent's greeting becomes its first message.
    pub async fn create(
        &self,
        caller: &Principal,
        new: NewConversation,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<Conversation>, ConversationError> {
        let stamp = Stamp {
            time: self.clock.now(),
            actor: caller.id.clone(),
        };
        let claim = idempotency::claim(caller, "conversations.create", key, &new, stamp.time);
        let outcome = self.insert(caller, new, &stamp, claim.as_ref()).await;
        idempotency::created(&*self.claims, &caller.tenant, claim.as_ref(), outcome).await
    }

    async fn insert(
        &self,
        caller: &Principal,
        new: NewConversation,
        stamp: &Stamp,
        claim: Option<&IdempotencyClaim>,
    ) -> Result<Once<Conversation>, ConversationError> {
        let user_id = own_user_id(caller, new.user_id.as_deref())?;
        let faults = new.draft.check();
        if !faults.is_empty() {
            return Err(ConversationError::Invalid(faults));
        }
        let agent = self.agents.find(&caller.tenant, new.agent_id).await?.value;
        let (id, now) = (ConversationId::new(self.ids.next_id()), stamp.time);
        let greeting = agent.and_then(|agent| {
            let content = agent.config.greeting.clone()?;
            Some(self.greeting(id, content, agent.version, now))
        });
        let conversation = Conversation {
            user_id,
            title: new.draft.title,
            metadata: new.draft.metadata,
            message_count: i64::from(greeting.is_some()),
            last_message_at: greeting.as_ref().map(|_| now),
            ..Conversation::empty(id, new.agent_id, now)
        };
        let claim = idempotency::answering(claim, &conversation);
        let inserted = self.conversations.insert(
            &caller.tenant,
            &conversation,
            greeting.as_ref(),
            stamp,
            claim.as_ref(),
        );
        match inserted.await? {
            Once::Done(Some(_)) => Ok(Once::Done(conversation)),
            Once::Done(None) => Err(ConversationError::AgentNotFound),
            Once::Repeated(record) => Ok(Once::Repeated(record)),
        }
    }

    fn greeting(
        &self,
        conversation_id: ConversationId,
        content: String,
        agent_version: i64,
        now: Timestamp,
    ) -> Message {
        Message {
            id: MessageId::new(self.ids.next_id()),
            conversation_id,
            turn_id: None,
            seq: 1,
            role: Role::Agent,
            content,
            created_at: now,
            engine: None,
            agent_version: Some(agent_version),
            finish_reason: None,
            usage: None,
        }
    }

    /// Reads a conversation.
    pub async fn get(
        &self,
        caller: &Principal,
        id: ConversationId,
    ) -> Result<AsOf<Conversation>, ConversationError> {
        let found = self.conversations.find(&caller.tenant, id).await?;
        let conversation = found
            .value
            .filter(|conversation| caller.may_reach(conversation.user_id.as_deref()))
            .ok_or(ConversationError::NotFound)?;
        Ok(AsOf {
            value: conversation,
            position: found.position,
        })
    }

    /// Lists conversations, latest activity first; the answer carries the next page's cursor.
    pub async fn list(
        &self,
        caller: &Principal,
        listing: ConversationListing,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<(Page<Conversation>, Option<String>)>, ConversationError> {
        let user_id = own_user_id(caller, listing.user_id.as_deref())?;
        let listing = ConversationListing { user_id, ..listing };
        let binding = (caller.tenant.as_str(), "conversations", &listing);
        let after = cursor
            .map(|cursor| cursor::decode::<Position>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?
            .map(|position| ConversationPosition {
                updated_at: Timestamp::from_milliseconds(position.at),
                id: ConversationId::new(position.id),
            });
        let filter = ConversationFilter {
            agent_id: listing.agent_id,
            user_id: listing.user_id.clone(),
        };
        let query = ConversationQuery {
            filter,
            after,
            limit,
        };
        let page = self.conversations.list(&caller.tenant, &query).await?;
        Ok(page.map(|page| {
            let last = page.items.last().filter(|_| page.has_more);
            let next = last.map(|last| {
                let at = last.updated_at.milliseconds();
                cursor::encode(
                    &binding,
                    &Position {
                        at,
                        id: last.id.uuid(),
                    },
                )
            });
            (page, next)
        }))
    }

    /// Lists the messages of a conversation.
    pub async fn messages(
        &self,
        caller: &Principal,
        id: ConversationId,
        order: MessageOrder,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<AsOf<(Page<Message>, Option<String>)>, ConversationError> {
        let ascending = order == MessageOrder::Ascending;
        let binding = (caller.tenant.as_str(), "messages", id, ascending);
        let after = cursor
            .map(|cursor| cursor::decode::<i64>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?;
        if caller.confined_to().is_some() {
            self.reach(caller, id).await?;
        }
        let query = MessageQuery {
            order,
            after,
            limit,
        };
        let found = self
            .conversations
            .messages(&caller.tenant, id, &query)
            .await?;
        let page = found.value.ok_or(ConversationError::NotFound)?;
        let last = page.items.last().filter(|_| page.has_more);
        let next = last.map(|last| cursor::encode(&binding, &last.seq));
        Ok(AsOf {
            value: (page, next),
            position: found.position,
        })
    }

    /// Looks whether a conversation is there for the caller, and what is known of it without
    /// reading all of it.
    pub async fn reach(
        &self,
        caller: &Principal,
        id: ConversationId,
    ) -> Result<Arc<ConversationHead>, ConversationError> {
        let found = self.conversations.find_head(&caller.tenant, id).await?;
        found
            .value
            .filter(|head| caller.may_reach(head.user_id.as_deref()))
            .ok_or(ConversationError::NotFound)
    }

    /// Applies a JSON merge patch whose shape was checked.
    pub async fn patch(
        &self,
        caller: &Principal,
        id: ConversationId,
        patch: &Value,
        expected: Option<i64>,
    ) -> Result<Conversation, ConversationError> {
        for _ in 0..CHANGE_ATTEMPTS {
            let current = self.get(caller, id).await?.value;
            if expected.is_some_and(|version| version != current.version) {
                return Err(ConversationError::VersionMismatch);
            }
            let draft = patched(&current, patch)?;
            let now = self.clock.now();
            let Some(changed) = current.changed_to(draft, now) else {
                return Ok(current);
            };
            let stamp = Stamp {
                time: now,
                actor: caller.id.clone(),
            };
            match self
                .conversations
                .update(&caller.tenant, &changed, &stamp)
                .await
            {
                Ok(Some((_, stored))) => return Ok(stored),
                Ok(None) => return Err(ConversationError::NotFound),
                Err(RepositoryError::Stale { .. }) if expected.is_some() => {
                    return Err(ConversationError::VersionMismatch);
                }
                Err(RepositoryError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ConversationError::Contended)
    }

    /// Deletes a conversation and all that hangs on it.
    pub async fn delete(
        &self,
        caller: &Principal,
        id: ConversationId,
        expected: Option<i64>,
    ) -> Result<(), ConversationError> {
        if caller.confined_to().is_some() {
            self.reach(caller, id).await?;
        }
        let stamp = Stamp {
            time: self.clock.now(),
            actor: caller.id.clone(),
        };
        match self
            .conversations
            .delete(&caller.tenant, id, expected, &stamp)
            .await
        {
            Ok(Deletion::Deleted(_)) => Ok(()),
            Ok(Deletion::NotFound) => Err(ConversationError::NotFound),
            Err(RepositoryError::Stale { .. }) => Err(ConversationError::VersionMismatch),
            Err(error) => Err(error.into()),
        }
    }
}

/// The user id that takes effect: a confined caller's own, also where none was named.
pub(crate) fn own_user_id(
    caller: &Principal,
    named: Option<&str>,
) -> Result<Option<String>, ConversationError> {
    match (caller.confined_to(), named) {
        (Some(own), Some(named)) if own != named => Err(ConversationError::ForeignUser),
        (Some(own), _) => Ok(Some(own.to_owned())),
        (None, named) => Ok(named.map(ToOwned::to_owned)),
    }
}

fn patched(current: &Conversation, patch: &Value) -> Result<ConversationDraft, ConversationError> {
    let mut document = serde_json::to_value(current.draft()).unwrap_or_default();
    merge_patch::apply(&mut document, patch.clone());
    let draft: ConversationDraft = serde_json::from_value(document).map_err(|_shape| {
        let detail = "the patch does not fit the conversation";
        ConversationError::Invalid(vec![Fault::new("", FaultCode::NotCombinable, detail)])
    })?;
    let faults = draft.check();
    if faults.is_empty() {
        Ok(draft)
    } else {
        Err(ConversationError::Invalid(faults))
    }
}
