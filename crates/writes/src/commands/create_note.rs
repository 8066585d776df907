//! A note of staff.

use domain::{
    EventType, IdempotencyEntry, IdempotencyRecord, Note, Stamp, TenantId,
    event_data::NoteReference,
};
use ports::{
    Facts, FactsQuery, RepositoryError,
    write_store::{NoteRow, RecordKey},
};

use super::{file_uses::FileUses, in_doubt};
use crate::{Command, Committed, Part, Planned, Planner, Scope, UnusableFile, event_rows};

/// Stores a note about a conversation, which uses its files. Writes `note.created` and the idempotency entry, whose
/// result is the id of the note, so that a deleted one leaves nothing else; writes nothing if the entry's key was used
/// before.
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

/// The outcome of a [`CreateNote`].
#[derive(Debug, Clone, PartialEq)]
pub enum CreateNoteOutcome {
    /// The note is stored.
    Written(Committed),
    /// The key was used before.
    Replayed(IdempotencyRecord),
    /// The conversation does not exist.
    NoConversation,
    /// The note cannot have one of its files.
    FileUnusable(UnusableFile),
}

impl CreateNote {
    fn file_uses(&self) -> FileUses<'_> {
        FileUses {
            tenant: &self.tenant,
            conversation: self.note.conversation_id,
            files: &self.note.files,
            is_for_staff: true,
        }
    }

    fn key(&self) -> Option<RecordKey> {
        RecordKey::of(&self.tenant, self.idempotency.as_ref())
    }
}

impl Command for CreateNote {
    type Outcome = CreateNoteOutcome;

    fn scope(&self) -> Scope {
        let conversation = Part::Conversation(self.note.conversation_id);
        let (key, files) = (self.key().map(Part::Key), self.file_uses().parts());
        let parts = [conversation].into_iter().chain(key).chain(files);
        Scope::new(&self.tenant, parts)
    }

    fn needs(&self, query: &mut FactsQuery) {
        query.idempotency.extend(self.key());
        let conversation = (self.tenant.clone(), self.note.conversation_id);
        query.conversations.insert(conversation);
        self.file_uses().needs(query);
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::NoteCreated;
        let at = in_doubt::find(facts, &self.tenant, kind, |event| {
            let is_here = event.conversation_id == Some(self.note.conversation_id);
            is_here && event.stamp == self.stamp
        })?;
        Some(CreateNoteOutcome::Written(Committed::at(at)))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let (tenant, note) = (&self.tenant, &self.note);
        let record = (planner.facts).existing_record(tenant, self.idempotency.as_ref());
        if let Some(record) = record {
            let replayed = CreateNoteOutcome::Replayed(record.clone());
            return Ok(Planned::Rejected(replayed));
        }
        let found = planner.facts.conversation(tenant, note.conversation_id);
        let Some(conversation) = found else {
            return Ok(Planned::Rejected(CreateNoteOutcome::NoConversation));
        };
        if let Err(file) = self.file_uses().check(planner.facts, self.stamp.time) {
            return Ok(Planned::Rejected(CreateNoteOutcome::FileUnusable(file)));
        }
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
        Ok(Planned::Applied(CreateNoteOutcome::Written(committed)))
    }
}
