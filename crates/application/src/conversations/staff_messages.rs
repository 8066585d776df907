//! Messages that members of staff write in place of the agent.

use domain::{
    ConversationId, FileId, FileReference, IdempotencyEntry, IdempotencyKey, Message, MessageId,
    Principal, Role, Scope, Stamp, Timestamp,
    staff_message::{StaffMessageDraft, check_content},
    text::is_blank,
};
use ports::{FoundMessage, Idempotent, MessageReference, RepositoryError};
use serde::Serialize;
use writes::{ChangeStaffMessage, StaffMessageChange, StaffMessageOutcome, WriteStaffMessage};

use super::{ConversationError, ConversationService, update::CHANGE_ATTEMPTS};
use crate::{
    files::find_references,
    idempotency::{self, Created, created},
};

/// The request that the idempotency key of a message or note identifies.
#[derive(Serialize)]
pub(super) struct DraftRequest<'a, D> {
    pub(super) conversation: ConversationId,
    pub(super) draft: &'a D,
}

impl ConversationService {
    /// Writes a message of staff. The agent does not answer it.
    pub async fn write_staff_message(
        &self,
        caller: &Principal,
        id: ConversationId,
        draft: StaffMessageDraft,
        key: Option<IdempotencyKey>,
    ) -> Result<Created<Message>, ConversationError> {
        self.require_staff(caller, id, caller.lacks_to_act_as_staff())
            .await?;
        let stamp = self.stamp(caller);
        let request = DraftRequest {
            conversation: id,
            draft: &draft,
        };
        let entry = idempotency::new_entry(caller, "messages.create", key, &request, stamp.time);
        let outcome = self.write_draft(caller, (id, draft), stamp, entry.clone());
        let outcome = outcome.await;
        let records = &*self.ports.idempotency;
        let written: Created<Message> =
            created(records, &caller.tenant, entry.as_ref(), outcome).await?;
        if written.is_replayed {
            // It may have been deleted since.
            self.find_staff_message(caller, (id, written.value.id))
                .await?;
        }
        Ok(written)
    }

    async fn write_draft(
        &self,
        caller: &Principal,
        (id, draft): (ConversationId, StaffMessageDraft),
        stamp: Stamp,
        idempotency: Option<IdempotencyEntry>,
    ) -> Result<Idempotent<Message>, ConversationError> {
        let faults = draft.check();
        if !faults.is_empty() {
            return Err(ConversationError::Invalid(faults));
        }
        let files = self.find_files(caller, &draft.files, stamp.time).await?;
        let message = Message {
            author: Some(draft.author()),
            client_message_id: draft.client_message_id,
            files,
            ..Message::new(
                (id, 0),
                MessageId::new(self.ports.ids.next_id()),
                Role::Agent,
                draft.content,
                stamp.time,
            )
        };
        let write = WriteStaffMessage {
            tenant: caller.tenant.clone(),
            message,
            stamp,
            idempotency,
        };
        match self.ports.writes.write(write).await? {
            StaffMessageOutcome::Written(_, message) => Ok(Idempotent::Applied(*message)),
            StaffMessageOutcome::Replayed(record) => Ok(Idempotent::Replayed(record)),
            StaffMessageOutcome::NoConversation => Err(ConversationError::NotFound),
            StaffMessageOutcome::FileUnusable(file) => Err(file.into()),
        }
    }

    /// Replaces the text of a message of staff, if another one is given.
    pub async fn rewrite_staff_message(
        &self,
        caller: &Principal,
        (id, message): (ConversationId, MessageId),
        content: Option<String>,
    ) -> Result<Message, ConversationError> {
        self.require_staff(caller, id, caller.lacks_to_act_as_staff())
            .await?;
        let Some(content) = content else {
            let found = self.find_staff_message(caller, (id, message)).await?;
            return Ok(found.message);
        };
        let has_files = if is_blank(&content) {
            let found = self.find_staff_message(caller, (id, message)).await?;
            !found.message.files.is_empty()
        } else {
            false
        };
        if let Some(fault) = check_content(&content, has_files) {
            return Err(ConversationError::Invalid(vec![fault]));
        }
        let change = StaffMessageChange::Rewritten(content);
        self.change_staff_message(caller, (id, message), change)
            .await
    }

    /// Deletes a message of staff.
    pub async fn delete_staff_message(
        &self,
        caller: &Principal,
        (id, message): (ConversationId, MessageId),
    ) -> Result<(), ConversationError> {
        self.require_staff(caller, id, caller.lacks_to_act_as_staff())
            .await?;
        let change = StaffMessageChange::Deleted;
        let deleted = self.change_staff_message(caller, (id, message), change);
        deleted.await.map(drop)
    }

    async fn change_staff_message(
        &self,
        caller: &Principal,
        (id, message): (ConversationId, MessageId),
        change: StaffMessageChange,
    ) -> Result<Message, ConversationError> {
        for _ in 0..CHANGE_ATTEMPTS {
            let command = ChangeStaffMessage {
                tenant: caller.tenant.clone(),
                found: self.find_staff_message(caller, (id, message)).await?,
                change: change.clone(),
                stamp: self.stamp(caller),
            };
            match self.ports.writes.write(command).await {
                Ok(Some((_, message))) => return Ok(message),
                Ok(None) => return Err(ConversationError::NotFound),
                Err(RepositoryError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ConversationError::Contended)
    }

    async fn find_staff_message(
        &self,
        caller: &Principal,
        (id, message): (ConversationId, MessageId),
    ) -> Result<FoundMessage, ConversationError> {
        let reference = MessageReference::Id(message);
        let conversations = &self.ports.conversations;
        let found = conversations.find_message(&caller.tenant, id, &reference);
        let found = found.await?.filter(|found| found.message.is_of_staff());
        found.ok_or(ConversationError::MessageNotFound)
    }

    /// Finds the files that a message of staff or a note names.
    pub(super) async fn find_files(
        &self,
        caller: &Principal,
        named: &[String],
        now: Timestamp,
    ) -> Result<Vec<FileReference>, ConversationError> {
        let ids: Result<Vec<FileId>, _> = named.iter().map(|id| id.parse()).collect();
        let ids = ids.map_err(|_malformed| ConversationError::FileNotFound)?;
        let found = find_references(&self.ports, caller, &ids, now).await?;
        found.ok_or(ConversationError::FileNotFound)
    }

    /// Checks that the caller can reach a conversation, lacks no scope to act as staff there, and that the
    /// conversation is not its own.
    pub(super) async fn require_staff(
        &self,
        caller: &Principal,
        id: ConversationId,
        lacking: Option<Scope>,
    ) -> Result<(), ConversationError> {
        let state = self.find_accessible(caller, id).await?;
        if let Some(scope) = lacking {
            return Err(ConversationError::NotPermitted(scope));
        }
        let is_own = caller.user_id.is_some() && caller.user_id == state.user_id;
        if is_own {
            return Err(ConversationError::OwnConversation);
        }
        Ok(())
    }

    pub(super) fn stamp(&self, caller: &Principal) -> Stamp {
        Stamp {
            time: self.ports.clock.now(),
            actor: caller.id.clone(),
        }
    }
}
