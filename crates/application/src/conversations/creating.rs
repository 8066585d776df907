//! Creation of conversations.

use domain::{
    AgentId, Conversation, ConversationDraft, ConversationId, ConversationImport, ConversationKey,
    ForkOrigin, IdempotencyEntry, IdempotencyKey, Listed, Message, MessageId, Principal, Role, Seq,
    Stamp, Timestamp, TitleSource, conversation::excerpt,
};
use ports::{FirstMessages, Idempotent, RepositoryError};
use serde::{Deserialize, Serialize};
use writes::CreateConversation;

use super::{
    ConversationError, ConversationService, forking::Fork, own_user_id, shown,
    update::CHANGE_ATTEMPTS,
};
use crate::idempotency::{self, check_key, stored_result};

/// A conversation that is to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewConversation {
    /// The agent that replies in it; that of the original if it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The user that it belongs to.
    pub user_id: Option<String>,
    /// The client's own name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<ConversationKey>,
    /// The conversation whose messages it begins with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<Fork>,
    /// The messages with which it begins, if it is imported.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub import: Option<ConversationImport>,
    /// Title, metadata and context. It names no user: `user_id` does.
    #[serde(flatten)]
    pub draft: ConversationDraft,
}

/// The result of a creation.
#[derive(Debug, Clone, PartialEq)]
pub enum CreatedConversation {
    /// The conversation was created.
    New(Listed<Conversation>),
    /// A conversation with the same key exists; nothing was changed.
    Existing(Listed<Conversation>),
    /// An earlier request with the same idempotency key created it.
    Replayed(Listed<Conversation>),
}

impl CreatedConversation {
    fn shown_to(self, caller: &Principal) -> Self {
        match self {
            Self::New(found) => Self::New(shown(found, caller)),
            Self::Existing(found) => Self::Existing(shown(found, caller)),
            Self::Replayed(found) => Self::Replayed(shown(found, caller)),
        }
    }
}

/// The stored result of a creation.
#[derive(Deserialize)]
struct FirstResult {
    #[serde(flatten)]
    item: Conversation,
    /// Added by [`CreateConversation`] as [`ports::SORT_SEQ_OF_RESULT`]; missing in results of earlier versions.
    #[serde(default, rename = "sortSeq")]
    sort_seq: Seq,
}

/// The owner and the first messages of a new conversation.
pub(super) struct Origin {
    pub(super) agent_id: AgentId,
    pub(super) user_id: Option<String>,
    pub(super) first_messages: FirstMessages,
    pub(super) message_count: i64,
    pub(super) excerpt: Option<String>,
    pub(super) last_message_at: Option<Timestamp>,
    pub(super) forked_from: Option<ForkOrigin>,
    pub(super) context: Option<String>,
    pub(super) began_at: Timestamp,
}

impl ConversationService {
    /// Creates a conversation; the agent's greeting becomes its first message, unless it is a fork.
    pub async fn create(
        &self,
        caller: &Principal,
        new: NewConversation,
        key: Option<IdempotencyKey>,
    ) -> Result<CreatedConversation, ConversationError> {
        if new.agent_id.is_some_and(|id| !caller.agents.contains(id)) {
            return Err(ConversationError::AgentNotFound);
        }
        if new.draft.context.is_some()
            && let Some(scope) = caller.lacks_to_act_as_staff()
        {
            return Err(ConversationError::NotPermitted(scope));
        }
        if new.import.is_some() && caller.names_a_user() {
            return Err(ConversationError::NotForUsers);
        }
        let stamp = self.stamp(caller);
        let entry = idempotency::new_entry(caller, "conversations.create", key, &new, stamp.time);
        let outcome = self.find_or_insert(caller, &new, &stamp, entry.as_ref());
        let (records, tenant) = (&*self.ports.idempotency, &caller.tenant);
        let outcome = outcome.await;
        Ok(
            match check_key(records, tenant, entry.as_ref(), outcome).await? {
                Idempotent::Applied(created) => created.shown_to(caller),
                Idempotent::Replayed(record) => {
                    let FirstResult { item, sort_seq } = stored_result(record)?;
                    if !caller.agents.contains(item.agent_id) {
                        return Err(ConversationError::NotFound);
                    }
                    CreatedConversation::Replayed(Listed { item, sort_seq }).shown_to(caller)
                }
            },
        )
    }

    async fn find_or_insert(
        &self,
        caller: &Principal,
        new: &NewConversation,
        stamp: &Stamp,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<CreatedConversation>, ConversationError> {
        let mut faults = new.draft.check();
        let import = new.import.as_ref();
        faults.extend(import.into_iter().flat_map(|it| it.check(stamp.time)));
        if !faults.is_empty() {
            return Err(ConversationError::Invalid(faults));
        }
        for _ in 0..CHANGE_ATTEMPTS {
            if let Some(existing) = self.find_existing(caller, new).await? {
                // Messages are not added to a conversation that exists.
                if new.import.is_some() {
                    return Err(ConversationError::KeyInUse);
                }
                return Ok(Idempotent::Applied(CreatedConversation::Existing(existing)));
            }
            match self.insert(caller, new, stamp, entry).await {
                // Another request has created the conversation, or changed the original.
                Err(ConversationError::Store(RepositoryError::Stale { .. })) => {}
                outcome => return outcome,
            }
        }
        Err(ConversationError::Contended)
    }

    /// Finds the conversation that already has the key of the new one.
    async fn find_existing(
        &self,
        caller: &Principal,
        new: &NewConversation,
    ) -> Result<Option<Listed<Conversation>>, ConversationError> {
        let Some(key) = &new.key else {
            return Ok(None);
        };
        // A fork has the agent and the user of its original.
        let original = match new.fork_of {
            Some(fork) => match self.find_accessible(caller, fork.conversation_id).await {
                Ok(original) => Some(original),
                // The fork may outlive it.
                Err(ConversationError::NotFound) if new.agent_id.is_some() => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let original = original.as_deref();
        let Some(agent_id) = new.agent_id.or(original.map(|it| it.agent_id)) else {
            return Ok(None);
        };
        let user_id = original.and_then(|it| it.user_id.as_deref());
        let user_id = new.user_id.as_deref().or(user_id);
        let id = self.find_named(caller, agent_id, user_id, key.clone());
        let Some(id) = id.await? else {
            return Ok(None);
        };
        Ok(self
            .ports
            .conversations
            .find(&caller.tenant, id)
            .await?
            .value)
    }

    async fn insert(
        &self,
        caller: &Principal,
        new: &NewConversation,
        stamp: &Stamp,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<CreatedConversation>, ConversationError> {
        let (id, now) = (ConversationId::new(self.ports.ids.next_id()), stamp.time);
        let origin = match (new.fork_of, &new.import) {
            (Some(fork), _) => self.forked(caller, new, fork, now).await?,
            (None, Some(import)) => self.imported(caller, new, import, (id, now))?,
            (None, None) => self.greeted(caller, new, id, now).await?,
        };
        let conversation = Conversation {
            user_id: origin.user_id,
            key: new.key.clone(),
            title: new.draft.title.clone(),
            title_source: TitleSource::of_client(new.draft.title.as_deref()),
            metadata: new.draft.metadata.clone(),
            context: new.draft.context.clone().or(origin.context),
            message_count: origin.message_count,
            excerpt: origin.excerpt,
            forked_from: origin.forked_from,
            last_message_at: origin.last_message_at,
            created_at: origin.began_at,
            ..Conversation::empty(id, origin.agent_id, now)
        };
        let entry = idempotency::with_result(entry, &conversation);
        let create = CreateConversation {
            tenant: caller.tenant.clone(),
            conversation: conversation.clone(),
            first_messages: origin.first_messages,
            stamp: stamp.clone(),
            idempotency: entry,
        };
        match self.ports.writes.write(create).await? {
            Idempotent::Applied(Some(committed)) => {
                let created = Listed {
                    item: conversation,
                    sort_seq: committed.last,
                };
                Ok(Idempotent::Applied(CreatedConversation::New(created)))
            }
            Idempotent::Applied(None) => Err(ConversationError::AgentNotFound),
            Idempotent::Replayed(record) => Ok(Idempotent::Replayed(record)),
        }
    }

    /// Returns the origin of a conversation that begins with the agent's greeting, if it has one.
    async fn greeted(
        &self,
        caller: &Principal,
        new: &NewConversation,
        id: ConversationId,
        now: Timestamp,
    ) -> Result<Origin, ConversationError> {
        let agent_id = new.agent_id.ok_or(ConversationError::AgentNotFound)?;
        let user_id = own_user_id(caller, new.user_id.as_deref())?;
        let found = self.ports.agents.find(&caller.tenant, agent_id).await?;
        let greeting = match found.value {
            Some(agent) => {
                let content = self
                    .ports
                    .greeting(&caller.tenant, &agent, user_id.as_deref());
                let greeting = |content| self.greeting(id, content, agent.version, now);
                content.await?.map(greeting)
            }
            None => None,
        };
        Ok(Origin {
            agent_id,
            user_id,
            message_count: i64::from(greeting.is_some()),
            excerpt: greeting
                .as_ref()
                .map(|greeting| excerpt(&greeting.content, &[])),
            last_message_at: greeting.as_ref().map(|_| now),
            first_messages: greeting.map_or(FirstMessages::None, FirstMessages::Greeting),
            forked_from: None,
            context: None,
            began_at: now,
        })
    }

    fn greeting(
        &self,
        conversation_id: ConversationId,
        content: String,
        agent_version: i64,
        now: Timestamp,
    ) -> Message {
        let id = MessageId::new(self.ports.ids.next_id());
        Message {
            agent_version: Some(agent_version),
            ..Message::new((conversation_id, 1), id, Role::Agent, content, now)
        }
    }
}
