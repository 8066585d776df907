//! Notes of staff about conversations.

use domain::{
    ConversationId, IdempotencyKey, Note, NoteDraft, NoteId, Page, Principal, Scope, Seq, cursor,
    event_data::NoteReference,
};
use ports::{Idempotent, write_store::NoteKey};
use writes::{CreateNote, DeleteNote};

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
        let faults = draft.check();
        let outcome = if faults.is_empty() {
            let note_id = NoteId::new(self.ports.ids.next_id());
            let write = CreateNote {
                tenant: caller.tenant.clone(),
                note: draft.into_note(note_id, id, stamp.time),
                stamp,
                idempotency: entry.clone(),
            };
            match self.ports.writes.write(write).await {
                Ok(Idempotent::Applied(Some(_))) => {
                    Ok(Idempotent::Applied(NoteReference { id: note_id }))
                }
                Ok(Idempotent::Applied(None)) => Err(ConversationError::NotFound),
                Ok(Idempotent::Replayed(record)) => Ok(Idempotent::Replayed(record)),
                Err(error) => Err(error.into()),
            }
        } else {
            Err(ConversationError::Invalid(faults))
        };
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
