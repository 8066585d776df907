//! Notes of staff about conversations.

use domain::{
    ConversationId, IdempotencyKey, Note, NoteDraft, NoteId, Page, Principal, Scope, Seq, cursor,
};
use ports::{Idempotent, write_store::NoteKey};
use serde::Serialize;
use writes::{CreateNote, DeleteNote};

use super::{ConversationError, ConversationService};
use crate::idempotency::{self, Created, created};

/// The request that an idempotency key of a note identifies.
#[derive(Serialize)]
struct Request<'a> {
    conversation: ConversationId,
    draft: &'a NoteDraft,
}

impl ConversationService {
    /// Lists the notes of a conversation, the newest first, and returns the cursor of the next page.
    pub async fn list_notes(
        &self,
        caller: &Principal,
        id: ConversationId,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<(Page<Note>, Option<String>), ConversationError> {
        self.find_accessible(caller, id).await?;
        if !caller.may_read_context() {
            return Err(ConversationError::NotPermitted(Scope::ConversationsAll));
        }
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
        self.require_staff(caller, id).await?;
        let stamp = self.stamp(caller);
        let request = Request {
            conversation: id,
            draft: &draft,
        };
        let entry = idempotency::new_entry(caller, "notes.create", key, &request, stamp.time);
        let faults = draft.check();
        let outcome = if faults.is_empty() {
            let write = CreateNote {
                tenant: caller.tenant.clone(),
                note: draft.into_note(NoteId::new(self.ports.ids.next_id()), id, stamp.time),
                stamp,
                idempotency: entry.clone(),
            };
            match self.ports.writes.of_uncached().write(write).await {
                Ok(Idempotent::Applied(Some(note))) => Ok(Idempotent::Applied(note)),
                Ok(Idempotent::Applied(None)) => Err(ConversationError::NotFound),
                Ok(Idempotent::Replayed(record)) => Ok(Idempotent::Replayed(record)),
                Err(error) => Err(error.into()),
            }
        } else {
            Err(ConversationError::Invalid(faults))
        };
        let records = &*self.ports.idempotency;
        created(records, &caller.tenant, entry.as_ref(), outcome).await
    }

    /// Deletes a note.
    pub async fn delete_note(
        &self,
        caller: &Principal,
        (conversation_id, id): (ConversationId, NoteId),
    ) -> Result<(), ConversationError> {
        self.require_staff(caller, conversation_id).await?;
        let delete = DeleteNote {
            note: NoteKey {
                tenant: caller.tenant.clone(),
                conversation_id,
                id,
            },
            stamp: self.stamp(caller),
        };
        let is_deleted = self.ports.writes.of_uncached().write(delete).await?;
        is_deleted
            .then_some(())
            .ok_or(ConversationError::NoteNotFound)
    }
}
