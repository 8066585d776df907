//! The messages to which a caller refers.

use std::time::Duration;

use domain::{ConversationId, Message, Principal, TurnId, TurnStatus};
use ports::{FoundMessage, MessageReference, RepositoryError};

use super::{AttachedFile, ChatService, command::ChatError};
use crate::cache::CachedPorts;

/// The time for which a client sends a request again.
pub const REPEATABLE_FOR: Duration = Duration::from_mins(2);

impl CachedPorts {
    /// Returns whether a caller may refer to a message of a conversation that it can reach. One that
    /// cannot read conversations may only refer to messages of turns that it has started.
    pub(super) async fn may_refer_to(
        &self,
        caller: &Principal,
        message: &Message,
    ) -> Result<bool, RepositoryError> {
        if caller.may_read_conversations() {
            return Ok(true);
        }
        let Some(turn) = message.turn_id else {
            return Ok(false);
        };
        let turn = self.turns.find(&caller.tenant, turn).await?.value;
        Ok(turn.is_some_and(|turn| caller.may_follow(&turn.principal)))
    }
}

impl ChatService {
    /// Finds a message of a conversation, superseded or not. Returns `None` if the caller may not
    /// refer to it.
    pub async fn find_message(
        &self,
        caller: &Principal,
        conversation: ConversationId,
        message: &MessageReference,
    ) -> Result<Option<FoundMessage>, ChatError> {
        let (context, tenant) = (&self.context(), &caller.tenant);
        context.check_access(caller, conversation).await?;
        let ports = &context.ports;
        let found = ports
            .conversations
            .find_message(tenant, conversation, message);
        let Some(mut found) = found.await? else {
            return Ok(None);
        };
        if !ports.may_refer_to(caller, &found.message).await? {
            return Ok(None);
        }
        let audience = caller.audience();
        for message in std::iter::once(&mut found.message).chain(&mut found.previous) {
            message.show_to(audience);
        }
        Ok(Some(found))
    }

    /// Returns the turn of an edit that is sent again: that of a message that has this text and these files,
    /// while the turn is open or, if the message has superseded another one, shortly after.
    pub fn repeated_edit(
        &self,
        found: &FoundMessage,
        text: &str,
        files: &[AttachedFile],
    ) -> Option<TurnId> {
        let message = &found.message;
        let is_equal = message.content == text && AttachedFile::may_be_all(files, &message.files);
        if !is_equal || message.superseded_at.is_some() {
            return None;
        }
        let is_repeated = match message.turn_status? {
            TurnStatus::Queued | TurnStatus::InProgress | TurnStatus::RequiresAction => true,
            TurnStatus::Completed => {
                let before = found.previous.as_ref().map_or(0, |previous| previous.seq);
                let has_superseded = before + 1 < message.seq;
                let now = self.context().ports.clock.now();
                has_superseded && now < message.created_at + REPEATABLE_FOR
            }
            TurnStatus::Failed | TurnStatus::Cancelled => false,
        };
        message.turn_id.filter(|_| is_repeated)
    }
}
