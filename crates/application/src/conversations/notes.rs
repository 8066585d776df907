//! Notes of staff about conversations.

use domain::{
    ConversationId, IdempotencyEntry, IdempotencyKey, Note, NoteDraft, NoteId, Page, Principal,
    Scope, Seq, Stamp, cursor, event_data::NoteReference,
};
use ports::{Idempotent, write_store::NoteKey};
use writes::{CreateNote, CreateNoteOutcome, DeleteNote};

use super::{ConversationError, ConversationService, staff_messages::DraftRequest};
use crate::idempotency::{self, Created, created};

impl ConversationService {
    /// Lists the notes of a conversation, the newest first, and returns the cursor of the next page.
    pub async fn list_notes(
        &self,
        caller: &Principal,
        id: ConversationId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Page<Note>, Option<String>), ConversationError> {
        let lacking = (!caller.may_read_context()).then_some(Scope::ConversationsAll);
        self.require_staff(caller, id, lacking).await?;
        let binding = (caller.tenant.as_str(), "notes", id);
        let after = cursor
            .map(|cursor| cursor::decode::<Seq>(&binding, cursor))
            .transpose()
            .map_err(|_invalid| ConversationError::InvalidCursor)?;
        let page = self.notes.list(&caller.tenant, id, after, limit).await?;
        let last = page.items.last().filter(|_| page.has_more);
        let next = last.map(|last| cursor::encode(&binding, &last.sort_seq));
        Ok((page.into_items(), next))
    }

    /// Writes a note.
    pub async fn write_note(
        &self,
        caller: &Principal,
        id: ConversationId,
        draft: NoteDraft,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<Note>, ConversationError> {
        self.require_staff(caller, id, caller.lacks_to_act_as_staff())
            .await?;
        let stamp = self.stamp(caller);
        let request = DraftRequest {
            conversation: id,
            draft: &draft,
        };
        let entry = idempotency::new_entry(caller, "notes.create", key, &request, stamp.time);
        let outcome = self.write_note_draft(caller, (id, draft), stamp, entry.clone());
        let outcome = outcome.await;
        let records = &*self.ports.idempotency;
        let written: Created<NoteReference> =
            created(records, &caller.tenant, entry.as_ref(), outcome).await?;
        // It may have been deleted since, above all before a repetition.
        let found = self.notes.find(&caller.tenant, id, written.value.id);
        Ok(Created {
            value: found.await?.ok_or(ConversationError::NoteNotFound)?,
            is_replayed: written.is_replayed,
        })
    }

    async fn write_note_draft(
        &self,
        caller: &Principal,
        (conversation, draft): (ConversationId, NoteDraft),
        stamp: Stamp,
        idempotency: Option<IdempotencyEntry>,
    ) -> Result<Idempotent<NoteReference>, ConversationError> {
        let faults = draft.check();
        if !faults.is_empty() {
            return Err(ConversationError::Invalid(faults));
        }
        let files = self.find_files(caller, &draft.files, stamp.time).await?;
        let id = NoteId::new(self.ports.ids.next_id());
        let write = CreateNote {
            tenant: caller.tenant.clone(),
            note: draft.into_note((conversation, id), files, stamp.time),
            stamp,
            idempotency,
        };
        match self.ports.writes.write(write).await? {
            CreateNoteOutcome::Written(_) => Ok(Idempotent::Applied(NoteReference { id })),
            CreateNoteOutcome::Replayed(record) => Ok(Idempotent::Replayed(record)),
            CreateNoteOutcome::NoConversation => Err(ConversationError::NotFound),
            CreateNoteOutcome::FileUnusable(file) => Err(file.into()),
        }
    }

    /// Deletes a note.
    pub async fn delete_note(
        &self,
        caller: &Principal,
        (conversation_id, id): (ConversationId, NoteId),
    ) -> Result<(), ConversationError> {
        self.require_staff(caller, conversation_id, caller.lacks_to_act_as_staff())
            .await?;
        let delete = DeleteNote {
            note: NoteKey {
                tenant: caller.tenant.clone(),
                conversation_id,
                id,
            },
            stamp: self.stamp(caller),
        };
        let deleted = self.ports.writes.write(delete).await?;
        deleted.map(drop).ok_or(ConversationError::NoteNotFound)
    }
}
