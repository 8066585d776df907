//! Creation of conversations that were led elsewhere, with their messages.

use domain::{
    ConversationId, ConversationImport, ImportedMessage, Message, MessageId, Principal, Timestamp,
    conversation::excerpt,
};
use ports::FirstMessages;

use super::{
    ConversationError, ConversationService,
    creating::{NewConversation, Origin},
    own_user_id,
};

impl ConversationService {
    /// Returns the origin of a conversation that begins with imported messages.
    pub(super) fn imported(
        &self,
        caller: &Principal,
        new: &NewConversation,
        import: &ConversationImport,
        (id, now): (ConversationId, Timestamp),
    ) -> Result<Origin, ConversationError> {
        let numbered = (1..).zip(&import.messages);
        let messages: Vec<_> = numbered
            .map(|(seq, imported)| self.imported_message((id, seq), imported))
            .collect();
        let last = messages.last();
        Ok(Origin {
            agent_id: new.agent_id.ok_or(ConversationError::AgentNotFound)?,
            user_id: own_user_id(caller, new.user_id.as_deref())?,
            message_count: last.map_or(0, |last| last.seq),
            excerpt: last.map(|last| excerpt(&last.content, &[])),
            last_message_at: last.map(|last| last.created_at),
            first_messages: FirstMessages::Imported(messages),
            forked_from: None,
            context: None,
            began_at: import.began_at(now),
        })
    }

    fn imported_message(
        &self,
        place: (ConversationId, i64),
        imported: &ImportedMessage,
    ) -> Message {
        let id = MessageId::new(self.ports.ids.next_id());
        let content = imported.content.clone();
        Message {
            author: imported.author(),
            client_message_id: imported.client_message_id.clone(),
            ..Message::new(place, id, imported.role, content, imported.created_at)
        }
    }
}
