//! A note of staff.

use domain::{EventType, IdempotencyEntry, Note, Stamp, TenantId, event_data::NoteReference};
use ports::{
    Facts, FactsQuery, Idempotent, RepositoryError,
    write_store::{NoteRow, RecordKey},
};

use super::in_doubt;
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Stores a note about a conversation. Writes `note.created` and the idempotency entry, whose result is the id of
/// the note, so that a deleted one leaves nothing else; writes nothing if the entry's key was used before.
/// `Applied(None)` if the conversation does not exist.
#[derive(Debug, Clone)]
pub struct CreateNote {
    /// The tenant that owns the data.
    pub tenant: TenantId,
    /// The note.
    pub note: Note,
    /// The time and the actor.
    pub stamp: Stamp,
    /// The idempotency entry.
    pub idempotency: Option<IdempotencyEntry>,
}

impl CreateNote {
    fn key(&self) -> Option<RecordKey> {
        RecordKey::of(&self.tenant, self.idempotency.as_ref())
    }
}

impl Command for CreateNote {
    type Outcome = Idempotent<Option<Committed>>;

    fn scope(&self) -> Scope {
        let conversation = Part::Conversation(self.note.conversation_id);
        let key = self.key().map(Part::Key);
        Scope::new(&self.tenant, [conversation].into_iter().chain(key))
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.key());
        let conversation = (self.tenant.clone(), self.note.conversation_id);
        query.conversations.insert(conversation);
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::NoteCreated;
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            let is_here = event.conversation_id == Some(self.note.conversation_id);
            is_here && event.stamp == self.stamp
        })?;
        Some(Idempotent::Applied(Some(Committed::at(at))))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let (tenant, note) = (&self.tenant, &self.note);
        if let Some(replayed) = planner.replayed(tenant, self.idempotency.as_ref()) {
            return Ok(replayed);
        }
        let found = planner.facts.conversation(tenant, note.conversation_id);
        let Some(conversation) = found else {
            return Ok(Planned::Rejected(Idempotent::Applied(None)));
        };
        let place = (note.conversation_id, note.id);
        let sort_seq = planner.log(tenant, &self.stamp, |position| {
            event_rows::note_event(position, EventType::NoteCreated, conversation, place)
        });
        planner.rows.notes.push(NoteRow {
            tenant: tenant.clone(),
            note: note.clone(),
            sort_seq,
        });
        let idempotency = self.idempotency.clone().map(|entry| IdempotencyEntry {
            result: serde_json::to_value(NoteReference { id: note.id }).ok(),
            ..entry
        });
        planner.push_record(tenant, idempotency, None);
        let committed = Committed::at(sort_seq);
        Ok(Planned::Applied(Idempotent::Applied(Some(committed))))
    }
}
