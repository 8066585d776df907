//! A change of a message that a member of staff has written.

use domain::{EventType, Message, Stamp, TenantId, conversation::excerpt};
use ports::{
    Facts, FactsQuery, FoundMessage, RepositoryError,
    write_store::{ConversationAdvance, FileRelease, FileUseRow, MessageDeletion, MessageRow},
};

use super::{ending::unchanged, in_doubt};
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// The change of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaffMessageChange {
    /// It has another text.
    Rewritten(String),
    /// It is deleted.
    Deleted,
}

/// Changes or deletes a message of staff, and writes `message.updated` or `message.deleted`. `Stale` if a
/// message of the conversation was written, superseded or deleted since it was read; `None` if the
/// conversation does not exist.
#[derive(Debug, Clone)]
pub struct ChangeStaffMessage {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The message as it was read.
    pub found: FoundMessage,
    /// The change.
    pub change: StaffMessageChange,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl ChangeStaffMessage {
    const fn event(&self) -> EventType {
        match self.change {
            StaffMessageChange::Rewritten(_) => EventType::MessageUpdated,
            StaffMessageChange::Deleted => EventType::MessageDeleted,
        }
    }

    /// The message after the change.
    fn message(&self) -> Message {
        let before = self.found.message.clone();
        match &self.change {
            StaffMessageChange::Rewritten(content) => Message {
                content: content.clone(),
                ..before
            },
            StaffMessageChange::Deleted => before,
        }
    }
}

impl Command for ChangeStaffMessage {
    type Outcome = Option<(Committed, Message)>;

    fn scope(&self) -> Scope {
        let conversation = Part::Conversation(self.found.message.conversation_id);
        Scope::new(&self.tenant, [conversation])
    }

    fn needs(&self, query: &mut FactsQuery) {
        let conversation = (self.tenant.clone(), self.found.message.conversation_id);
        query.conversations.insert(conversation);
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let id = self.found.message.conversation_id;
        let at = in_doubt::find(facts, &self.tenant, self.event(), |event| {
            event.conversation_id == Some(id) && event.stamp == self.stamp
        })?;
        Some(Some((Committed::at(at), self.message())))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let (tenant, message) = (&self.tenant, self.message());
        let (id, seq) = (message.conversation_id, message.seq);
        let Some(conversation) = planner.facts.conversation(tenant, id) else {
            return Ok(Planned::Rejected(None));
        };
        if conversation.counts() != self.found.counts {
            let what = "conversation";
            return Err(RepositoryError::Stale { what });
        }
        let at = planner.log(tenant, &self.stamp, |position| {
            event_rows::message_event(position, self.event(), conversation, &message)
        });
        // A position is skipped, so that no process uses a history that it has cached for the next message.
        let mut after = ConversationAdvance {
            last_message_seq: conversation.last_message_seq + 1,
            superseded_count: conversation.superseded_count + 1,
            updated_at: self.stamp.time,
            ..unchanged((tenant, id), conversation)
        };
        // The newest message begins the conversation in listings.
        let is_newest = self.found.before + 1 == conversation.message_count();
        if matches!(self.change, StaffMessageChange::Deleted) {
            after.superseded_count += 1;
            after.staff_messages -= 1;
            let previous = self.found.previous.as_ref();
            let previous = previous.map_or("", |previous| &previous.content);
            after.excerpt = is_newest.then(|| excerpt(previous, &[]));
            planner.rows.deleted_messages.push(MessageDeletion {
                tenant: tenant.clone(),
                conversation_id: id,
                seq,
            });
            let releases = message.files.iter().map(|file| FileRelease {
                of: FileUseRow {
                    tenant: tenant.clone(),
                    file_id: file.id,
                    conversation_id: id,
                },
                seq,
            });
            planner.rows.released_files.extend(releases);
        } else {
            after.excerpt = is_newest.then(|| excerpt(&message.content, &message.files));
            planner.rows.rewritten.push(MessageRow {
                tenant: tenant.clone(),
                message: message.clone(),
            });
        }
        planner.advance(conversation, after);
        let changed = (Committed::at(at), message);
        Ok(Planned::Applied(Some(changed)))
    }
}
