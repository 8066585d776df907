//! The changes of the index by events.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use domain::{
    AgentId, Conversation, ConversationId, EventData, EventType, Message, TenantId, Timestamp,
    event_data::EventMessage,
    search::{SearchScope, indexed},
};
use ports::{LoggedEvent, RemovedEntries, RemovedMessages, SearchEntry, TITLE_SEQ};
use uuid::Uuid;

/// The lowest bits of an order: the `seq` of a message, so that messages of one millisecond are in their order, then a
/// part of the id, which keeps those of different conversations apart.
const SEQ_BITS: u32 = 10;
const ID_BITS: u32 = 10;

/// The changes of a tenant's index by the events of a step.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// The entries to store, by conversation and `seq`.
    pub(super) entries: BTreeMap<(ConversationId, i64), SearchEntry>,
    /// The messages to remove before.
    pub(super) removed: Vec<RemovedMessages>,
    /// The deleted conversations and agents.
    pub(super) deleted: Vec<RemovedEntries>,
    /// The conversations of which events do not show all messages: these are read.
    pub(super) to_read: BTreeSet<ConversationId>,
    /// New conversations, with the `seq` of the first message that is no greeting. The messages of forks have no
    /// events of their own.
    created: HashMap<ConversationId, i64>,
}

impl Changes {
    /// Collects the changes of events.
    pub(super) fn of<'e>(
        tenant: &TenantId,
        events: impl IntoIterator<Item = &'e LoggedEvent>,
    ) -> Self {
        let mut changes = Self::default();
        for event in events {
            changes.add(tenant, event);
        }
        for (id, first) in std::mem::take(&mut changes.created) {
            if !changes.entries.contains_key(&(id, first)) {
                changes.to_read.insert(id);
            }
        }
        changes
    }

    fn add(&mut self, tenant: &TenantId, logged: &LoggedEvent) {
        let event = &logged.event;
        if let (EventType::AgentDeleted, Some(agent)) = (event.kind, event.agent_id) {
            let scope = SearchScope::agent(tenant, agent);
            self.deleted.push(RemovedEntries::Scope(scope));
        }
        let (Some(id), Some(agent)) = (event.conversation_id, event.agent_id) else {
            return;
        };
        if event.kind == EventType::ConversationDeleted {
            self.forget(id);
            self.deleted.push(RemovedEntries::Conversation(id));
            return;
        }
        let scopes = || scopes(tenant, agent, event.user_id.as_deref());
        match &event.data {
            EventData::Turn {
                message: Some(message),
                ..
            }
            | EventData::Message { message } => self.put_message(id, message, scopes()),
            EventData::MessageDeleted { message } => self.remove(id, message.seq, message.seq),
            EventData::MessagesSuperseded {
                from_seq, to_seq, ..
            } => self.remove(id, *from_seq, *to_seq),
            EventData::Conversation {
                conversation,
                greeting,
            } => {
                self.put_title(conversation, scopes());
                if let Some(greeting) = greeting {
                    self.put(message_entry(greeting, scopes()));
                }
                if logged.moved.is_some() {
                    self.to_read.insert(id);
                }
                let first = if greeting.is_some() { 2 } else { 1 };
                let is_new = event.kind == EventType::ConversationCreated;
                if is_new && conversation.message_count >= first {
                    self.created.insert(id, first);
                }
            }
            _ => {}
        }
    }

    fn put_message(&mut self, id: ConversationId, shown: &EventMessage, scopes: Vec<SearchScope>) {
        match shown {
            EventMessage::Whole(message) => self.put(message_entry(message, scopes)),
            EventMessage::Omitted { .. } => {
                self.to_read.insert(id);
            }
        }
    }

    fn put_title(&mut self, conversation: &Conversation, scopes: Vec<SearchScope>) {
        match title_entry(conversation, scopes) {
            Some(entry) => self.put(entry),
            None => self.remove(conversation.id, TITLE_SEQ, TITLE_SEQ),
        }
    }

    fn put(&mut self, entry: SearchEntry) {
        self.entries
            .insert((entry.conversation_id, entry.message_seq), entry);
    }

    fn remove(&mut self, conversation_id: ConversationId, from_seq: i64, to_seq: i64) {
        let of_range = |(id, seq): &(ConversationId, i64)| {
            *id == conversation_id && (from_seq..=to_seq).contains(seq)
        };
        self.entries.retain(|key, _| !of_range(key));
        self.removed.push(RemovedMessages {
            conversation_id,
            from_seq,
            to_seq,
        });
    }

    fn forget(&mut self, conversation: ConversationId) {
        self.entries.retain(|(id, _), _| *id != conversation);
        self.removed.retain(|it| it.conversation_id != conversation);
        self.to_read.remove(&conversation);
        self.created.remove(&conversation);
    }
}

/// Returns the scopes in which the texts of a conversation are found.
pub(super) fn scopes(tenant: &TenantId, agent: AgentId, user: Option<&str>) -> Vec<SearchScope> {
    let user = user.map(|user| SearchScope::user(tenant, user));
    let others = [
        SearchScope::tenant(tenant),
        SearchScope::agent(tenant, agent),
    ];
    others.into_iter().chain(user).collect()
}

/// Returns the entry of a message.
pub(super) fn message_entry(message: &Message, scopes: Vec<SearchScope>) -> SearchEntry {
    SearchEntry {
        conversation_id: message.conversation_id,
        message_seq: message.seq,
        order: order(message.created_at, message.seq, message.id.uuid()),
        scopes,
        words: indexed(&message.content),
    }
}

/// Returns the entry of a conversation's title, if it has one.
pub(super) fn title_entry(
    conversation: &Conversation,
    scopes: Vec<SearchScope>,
) -> Option<SearchEntry> {
    let (id, at) = (conversation.id, conversation.updated_at);
    Some(SearchEntry {
        conversation_id: id,
        message_seq: TITLE_SEQ,
        order: order(at, TITLE_SEQ, id.uuid()),
        scopes,
        words: indexed(conversation.title.as_deref()?),
    })
}

fn order(at: Timestamp, seq: i64, id: Uuid) -> i64 {
    let seq = seq & ((1 << SEQ_BITS) - 1);
    let id = id.as_u128() & ((1 << ID_BITS) - 1);
    let at = at.milliseconds() << (SEQ_BITS + ID_BITS);
    at | (seq << ID_BITS) | i64::try_from(id).unwrap_or_default()
}
