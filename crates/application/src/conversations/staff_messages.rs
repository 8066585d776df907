//! Messages that members of staff write in place of the agent.

use domain::{
    ConversationId, IdempotencyKey, Message, MessageId, Principal, Role, Stamp,
    staff_message::{StaffMessageDraft, check_content},
};
use ports::{FoundMessage, Idempotent, MessageReference, RepositoryError};
use serde::Serialize;
use writes::{ChangeStaffMessage, StaffMessageChange, WriteStaffMessage};

use super::{ConversationError, ConversationService, update::CHANGE_ATTEMPTS};
use crate::idempotency::{self, Created, created};

/// The request that an idempotency key of a message identifies.
#[derive(Serialize)]
struct Request<'a> {
    conversation: ConversationId,
    draft: &'a StaffMessageDraft,
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
        self.require_staff(caller, id).await?;
        let stamp = self.stamp(caller);
        let request = Request {
            conversation: id,
            draft: &draft,
        };
        let entry = idempotency::new_entry(caller, "messages.create", key, &request, stamp.time);
        let faults = draft.check();
        let outcome = if faults.is_empty() {
            let message = Message {
                author: Some(draft.author()),
                client_message_id: draft.client_message_id,
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
                idempotency: entry.clone(),
            };
            match self.ports.writes.write(write).await {
                Ok(Idempotent::Applied(Some((_, message)))) => Ok(Idempotent::Applied(message)),
                Ok(Idempotent::Applied(None)) => Err(ConversationError::NotFound),
                Ok(Idempotent::Replayed(record)) => Ok(Idempotent::Replayed(record)),
                Err(error) => Err(error.into()),
            }
        } else {
            Err(ConversationError::Invalid(faults))
        };
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

    /// Replaces the text of a message of staff, if another one is given.
    pub async fn rewrite_staff_message(
        &self,
        caller: &Principal,
        (id, message): (ConversationId, MessageId),
        content: Option<String>,
    ) -> Result<Message, ConversationError> {
        self.require_staff(caller, id).await?;
        let Some(content) = content else {
            let found = self.find_staff_message(caller, (id, message)).await?;
            return Ok(found.message);
        };
        if let Some(fault) = check_content(&content) {
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
        self.require_staff(caller, id).await?;
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

    /// Checks that the caller can reach a conversation, and may write in it in place of the agent.
    async fn require_staff(
        &self,
        caller: &Principal,
        id: ConversationId,
    ) -> Result<(), ConversationError> {
        let state = self.find_accessible(caller, id).await?;
        if let Some(scope) = caller.lacks_to_act_as_staff() {
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
