//! The creation of a conversation.

use domain::{Conversation, EventType, IdempotencyEntry, Stamp, TenantId};
use ports::{
    ConversationName, Facts, FactsQuery, FirstMessages, Idempotent, RepositoryError,
    SORT_SEQ_OF_RESULT,
    write_store::{ConversationRow, MessageCopy, RecordKey},
};
use serde_json::Value;

use super::in_doubt;
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// The maximum number of imported messages that are written together with the changes of others.
const MAX_GROUPED_MESSAGES: usize = 32;
/// The maximum number of bytes of their text.
const MAX_GROUPED_BYTES: usize = 32 * 1024;

/// Stores a new conversation with its first messages, whose number is `conversation.message_count`.
/// Writes `conversation.created` and the idempotency entry, to whose result it adds the position of
/// the conversation as [`SORT_SEQ_OF_RESULT`]; writes nothing if the entry's key was used before.
/// `Applied(None)` if the agent does not exist. `Stale` if a conversation has its name, or the
/// conversation to copy from is missing or has another turn count than assumed.
///
/// Copied messages are those that are not superseded, numbered from 1. They keep their ids, turns and
/// times.
#[derive(Debug, Clone)]
pub struct CreateConversation {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The new conversation.
    pub conversation: Conversation,
    /// Its first messages.
    pub first_messages: FirstMessages,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

impl CreateConversation {
    fn key(&self) -> Option<RecordKey> {
        RecordKey::of(&self.tenant, self.idempotency.as_ref())
    }

    /// The writes that the transaction makes besides the conversation: its first messages.
    fn push_first_messages(&self, planner: &mut Planner<'_>) {
        match &self.first_messages {
            FirstMessages::None => {}
            FirstMessages::Greeting(greeting) => {
                planner.push_message(&self.tenant, greeting.clone());
            }
            FirstMessages::Imported(messages) => {
                for message in messages {
                    planner.push_message(&self.tenant, message.clone());
                }
            }
            FirstMessages::Forked(copied) => planner.rows.copies.push(MessageCopy {
                tenant: self.tenant.clone(),
                from: copied.from,
                to_seq: copied.to_seq,
                into: self.conversation.id,
            }),
        }
    }

    fn check_assumptions(&self, facts: &Facts) -> Result<(), RepositoryError> {
        let is_copied_current = match &self.first_messages {
            FirstMessages::None | FirstMessages::Greeting(_) | FirstMessages::Imported(_) => true,
            FirstMessages::Forked(copied) => facts
                .conversation(&self.tenant, copied.from)
                .is_some_and(|found| {
                    let is_current = |counts| found.counts() == counts;
                    found.turn_count == copied.turn_count && copied.counts.is_none_or(is_current)
                }),
        };
        if facts.is_name_used(&self.tenant, &self.conversation) || !is_copied_current {
            return Err(RepositoryError::Stale {
                what: "conversation",
            });
        }
        Ok(())
    }
}

impl Command for CreateConversation {
    type Outcome = Idempotent<Option<Committed>>;

    fn scope(&self) -> Scope {
        let copied = self.first_messages.copied_from();
        let conversations = [self.conversation.id].into_iter().chain(copied);
        let parts = conversations.map(Part::Conversation);
        let name = ConversationName::of(&self.conversation).map(Part::Name);
        Scope::new(
            &self.tenant,
            parts.chain(name).chain(self.key().map(Part::Key)),
        )
    }

    /// Writing many messages takes long.
    fn is_long(&self) -> bool {
        match &self.first_messages {
            FirstMessages::Imported(messages) => {
                let bytes: usize = messages.iter().map(|it| it.content.len()).sum();
                messages.len() > MAX_GROUPED_MESSAGES || bytes > MAX_GROUPED_BYTES
            }
            _ => false,
        }
    }

    fn needs(&self, query: &mut FactsQuery) {
        let tenant = || self.tenant.clone();
        query.idempotency.extend(self.key());
        query.agents.insert((tenant(), self.conversation.agent_id));
        let name = ConversationName::of(&self.conversation);
        query.new_names.extend(name.map(|name| (tenant(), name)));
        query
            .new_conversations
            .push((tenant(), self.conversation.id));
        if let FirstMessages::Forked(copied) = &self.first_messages {
            query.conversations.insert((tenant(), copied.from));
        }
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let (id, kind) = (self.conversation.id, EventType::ConversationCreated);
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            event.conversation_id == Some(id) && event.stamp == self.stamp
        })?;
        Some(Idempotent::Applied(Some(Committed::at(at))))
    }

    /// Checks the idempotency key first, then whether the agent exists, and then what the caller
    /// assumed: that the name is unused, and the turn count of the conversation to copy from.
    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let Self {
            tenant,
            conversation,
            stamp,
            idempotency,
            ..
        } = self;
        if let Some(replayed) = planner.replayed(tenant, idempotency.as_ref()) {
            return Ok(replayed);
        }
        let agent = (tenant.clone(), conversation.agent_id);
        if !planner.facts.agents.contains_key(&agent) {
            return Ok(Planned::Rejected(Idempotent::Applied(None)));
        }
        self.check_assumptions(planner.facts)?;
        let created = planner.log(tenant, stamp, |position| {
            event_rows::conversation_created(position, conversation)
        });
        planner.rows.conversations.push(ConversationRow {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            turn_count: 0,
            staff_messages: self.first_messages.of_staff(),
            imported_at: match self.first_messages {
                FirstMessages::Imported(_) => Some(stamp.time),
                _ => None,
            },
            sort_seq: created,
        });
        self.push_first_messages(planner);
        let mut idempotency = idempotency.clone();
        let result = idempotency.as_mut().and_then(|it| it.result.as_mut());
        if let Some(Value::Object(result)) = result {
            result.insert(SORT_SEQ_OF_RESULT.to_owned(), created.0.into());
        }
        planner.push_record(tenant, idempotency, None);
        let committed = Committed::at(created);
        Ok(Planned::Applied(Idempotent::Applied(Some(committed))))
    }
}
