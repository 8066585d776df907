//! The deletion of a note of staff.

use domain::{EventType, Stamp};
use ports::{Facts, FactsQuery, RepositoryError, write_store::NoteKey};

use super::in_doubt;
use crate::{Command, Committed, Part, Planned, Planner, Scope, event_rows};

/// Deletes a note, and writes `note.deleted`. `None` if it does not exist.
#[derive(Debug, Clone)]
pub struct DeleteNote {
    /// The note.
    pub note: NoteKey,
    /// The time and the actor.
    pub stamp: Stamp,
}

impl Command for DeleteNote {
    type Outcome = Option<Committed>;

    fn scope(&self) -> Scope {
        let conversation = Part::Conversation(self.note.conversation_id);
        Scope::new(&self.note.tenant, [conversation])
    }

    fn needs(&self, query: &mut FactsQuery) {
        let conversation = (self.note.tenant.clone(), self.note.conversation_id);
        query.conversations.insert(conversation);
        query.notes.insert(self.note.clone());
    }

    fn stored(&self, facts: &Facts) -> Option<Self::Outcome> {
        let kind = EventType::NoteDeleted;
        let at = in_doubt::find(facts, &self.note.tenant, kind, |event| {
            let is_here = event.conversation_id == Some(self.note.conversation_id);
            is_here && event.stamp == self.stamp
        })?;
        Some(Some(Committed::at(at)))
    }

    fn plan(&self, planner: &mut Planner<'_>) -> Result<Planned<Self::Outcome>, RepositoryError> {
        let NoteKey {
            tenant,
            conversation_id,
            id,
        } = &self.note;
        let found = planner.facts.conversation(tenant, *conversation_id);
        let found = found.filter(|_| planner.facts.notes.contains(&self.note));
        let Some(conversation) = found else {
            return Ok(Planned::Rejected(None));
        };
        let place = (*conversation_id, *id);
        let at = planner.log(tenant, &self.stamp, |position| {
            event_rows::note_event(position, EventType::NoteDeleted, conversation, place)
        });
        planner.rows.deleted_notes.push(self.note.clone());
        Ok(Planned::Applied(Some(Committed::at(at))))
    }
}
