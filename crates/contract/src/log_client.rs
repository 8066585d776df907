//! A client that knows conversations from the log alone.

use std::collections::HashMap;

use domain::{
    Conversation, ConversationId, Event, EventData, EventType, Message, MessageId, Role, Seq,
    TenantId, TurnId, event_data::EventMessage,
};

use crate::{Store, log, results::ResultExt as _};

/// A message that is not superseded, as a client shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownMessage {
    pub(crate) id: MessageId,
    pub(crate) seq: i64,
    pub(crate) role: Role,
    pub(crate) content: String,
    pub(crate) turn: Option<TurnId>,
}

impl From<&Message> for ShownMessage {
    fn from(message: &Message) -> Self {
        Self {
            id: message.id,
            seq: message.seq,
            role: message.role,
            content: message.content.clone(),
            turn: message.turn_id,
        }
    }
}

/// Copies messages into a fork, numbered from 1.
pub(crate) fn copy(messages: &[ShownMessage]) -> Vec<ShownMessage> {
    let copied = (1..).zip(messages).map(|(seq, message)| ShownMessage {
        seq,
        ..message.clone()
    });
    copied.collect()
}

/// The conversations of a tenant, as its log describes them.
#[derive(Default)]
pub(crate) struct LogClient {
    since: Seq,
    conversations: HashMap<ConversationId, Vec<ShownMessage>>,
}

impl LogClient {
    /// Reads the events since the last call.
    pub(crate) async fn read(&mut self, storage: &Store, tenant: &TenantId) {
        let page = storage.event_page(tenant, &log::query(self.since)).await;
        for logged in page.success().events {
            self.since = logged.event.seq;
            self.apply(logged.event);
        }
    }

    /// Returns the messages of a conversation.
    pub(crate) fn messages(&self, id: ConversationId) -> &[ShownMessage] {
        &self.conversations[&id]
    }

    fn apply(&mut self, event: Event) {
        let Some(id) = event.conversation_id else {
            return;
        };
        if let EventData::Conversation {
            conversation,
            greeting,
        } = &event.data
        {
            if event.kind == EventType::ConversationCreated {
                let messages = self.first_messages(conversation, greeting.as_ref());
                self.conversations.insert(id, messages);
            }
            return;
        }
        let messages = self.conversations.get_mut(&id).expect("it was created");
        match event.data {
            EventData::MessagesSuperseded {
                from_seq, to_seq, ..
            } => messages.retain(|message| !(from_seq..=to_seq).contains(&message.seq)),
            EventData::Turn { turn, message, .. } => match message {
                Some(EventMessage::Whole(message)) => messages.push((&message).into()),
                Some(EventMessage::Omitted { .. }) => panic!("no message is large"),
                None if event.kind == EventType::TurnStarted => {
                    let mut newest = messages.iter_mut().rev();
                    let answered = newest.find(|message| message.role == Role::User);
                    answered.expect("a message is answered again").turn = Some(turn.id);
                }
                None => {}
            },
            _ => {}
        }
    }

    fn first_messages(
        &self,
        conversation: &Conversation,
        greeting: Option<&Message>,
    ) -> Vec<ShownMessage> {
        let Some(origin) = &conversation.forked_from else {
            return greeting.map(ShownMessage::from).into_iter().collect();
        };
        let original = self.messages(origin.conversation_id);
        let last = original
            .iter()
            .position(|message| Some(message.id) == origin.message_id);
        copy(&original[..=last.expect("the original has the message")])
    }
}
