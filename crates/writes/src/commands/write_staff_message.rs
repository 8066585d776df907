//! A message that a member of staff writes in place of the agent.

use domain::{
    EventType, IdempotencyEntry, IdempotencyRecord, Message, Stamp, TenantId, conversation::excerpt,
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{ConversationAdvance, RecordKey},
};

use super::{ending::unchanged, file_uses::FileUses, in_doubt};
use crate::{Command, Committed, Part, Planned, Planner, Scope, UnusableFile, event_rows};

/// Stores a message after all others of its conversation, whose user then waits no longer, and returns it
/// with its position. Writes `message.created` and the idempotency entry, whose result is the message;
/// writes nothing if the entry's key was used before.
#[derive(Debug, Clone)]
pub struct WriteStaffMessage {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The message. Its position is decided here.
    pub message: Message,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

/// The outcome of a [`WriteStaffMessage`].
#[derive(Debug, Clone, PartialEq)]
pub enum StaffMessageOutcome {
    /// The message is stored.
    Written(Committed, Box<Message>),
    /// The key was used before.
    Replayed(IdempotencyRecord),
    /// The conversation does not exist.
    NoConversation,
    /// The message cannot have one of its files.
    FileUnusable(UnusableFile),
}

impl WriteStaffMessage {
    fn file_uses(&self) -> FileUses<'_> {
        FileUses {
            tenant: &self.tenant,
            conversation: self.message.conversation_id,
            files: &self.message.files,
            is_for_staff: true,
        }
    }

    fn key(&self) -> Option<RecordKey> {
        RecordKey::of(&self.tenant, self.idempotency.as_ref())
    }
}

impl Command for WriteStaffMessage {
    type Outcome = StaffMessageOutcome;

    fn scope(&self) -> Scope {
        let conversation = Part::Conversation(self.message.conversation_id);
        let (key, files) = (self.key().map(Part::Key), self.file_uses().parts());
        let parts = [conversation].into_iter().chain(key).chain(files);
        Scope::new(&self.tenant, parts)
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.key());
        let conversation = (self.tenant.clone(), self.message.conversation_id);
        query.conversations.insert(conversation);
        self.file_uses().needs(query);
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let (id, kind) = (self.message.conversation_id, EventType::MessageCreated);
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.conversation_id == Some(id) && event.stamp == self.stamp
        })?;
        let conversation = facts.conversation(&self.tenant, id)?;
        let message = Message {
            seq: conversation.last_message_seq,
            ..self.message.clone()
        };
        Some(StaffMessageOutcome::Written(
            Committed::at(at),
            Box::new(message),
        ))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            stamp,
            idempotency,
            ..
        } = self;
        if let Some(record) = (planner.facts).existing_record(tenant, idempotency.as_ref()) {
            let replayed = StaffMessageOutcome::Replayed(record.clone());
            return Ok(Planned::Rejected(replayed));
        }
        let id = self.message.conversation_id;
        let Some(conversation) = planner.facts.conversation(tenant, id) else {
            return Ok(Planned::Rejected(StaffMessageOutcome::NoConversation));
        };
        if let Err(file) = self.file_uses().check(planner.facts, stamp.time) {
            return Ok(Planned::Rejected(StaffMessageOutcome::FileUnusable(file)));
        }
        let message = Message {
            seq: conversation.last_message_seq + 1,
            created_at: stamp.time.max(conversation.updated_at),
            ..self.message.clone()
        };
        let at = planner.log(tenant, stamp, |position| {
            event_rows::message_event(position, EventType::MessageCreated, conversation, &message)
        });
        planner.push_message(tenant, message.clone());
        planner.use_files(self.file_uses());
        planner.advance(
            conversation,
            ConversationAdvance {
                last_message_seq: message.seq,
                staff_messages: conversation.staff_messages + 1,
                waiting_since: None,
                updated_at: message.created_at,
                last_message_at: Some(message.created_at),
                excerpt: Some(excerpt(&message.content, &message.files)),
                ..unchanged((tenant, id), conversation)
            },
        );
        let idempotency = idempotency.clone().map(|entry| IdempotencyEntry {
            result: serde_json::to_value(&message).ok(),
            ..entry
        });
        planner.push_record(tenant, idempotency, None);
        let written = StaffMessageOutcome::Written(Committed::at(at), Box::new(message));
        Ok(Planned::Applied(written))
    }
}
