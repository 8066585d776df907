//! Creation of conversations.

use domain::{
    AgentId, Conversation, ConversationDraft, ConversationId, IdempotencyEntry, IdempotencyKey,
    Message, MessageId, Principal, Role, Stamp, Timestamp,
};
use ports::Idempotent;
use serde::Serialize;

use super::{ConversationError, ConversationService, own_user_id};
use crate::{Created, idempotency};

/// A conversation that is to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewConversation {
    /// The agent that replies in it.
    pub agent_id: AgentId,
    /// The user that it belongs to.
    pub user_id: Option<String>,
    /// Title and metadata.
    #[serde(flatten)]
    pub draft: ConversationDraft,
}

impl ConversationService {
    /// Creates a conversation; the agent's greeting becomes its first message.
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
        let entry = idempotency::new_entry(caller, "conversations.create", key, &new, stamp.time);
        let outcome = self.insert(caller, new, &stamp, entry.as_ref()).await;
        idempotency::created(
            &*self.idempotency_records,
            &caller.tenant,
            entry.as_ref(),
            outcome,
        )
        .await
    }

    async fn insert(
        &self,
        caller: &Principal,
        new: NewConversation,
        stamp: &Stamp,
        entry: Option<&IdempotencyEntry>,
    ) -> Result<Idempotent<Conversation>, ConversationError> {
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
        let entry = idempotency::with_result(entry, &conversation);
        let inserted = self.conversations.insert(
            &caller.tenant,
            &conversation,
            greeting.as_ref(),
            stamp,
            entry.as_ref(),
        );
        match inserted.await? {
            Idempotent::Applied(Some(_)) => Ok(Idempotent::Applied(conversation)),
            Idempotent::Applied(None) => Err(ConversationError::AgentNotFound),
            Idempotent::Replayed(record) => Ok(Idempotent::Replayed(record)),
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
}
