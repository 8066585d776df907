//! The rows that every new turn writes.

use domain::{
    AgentId, Conversation, EventType, FileReference, LEVEL, Message, Seq, TenantId, Timestamp,
    Turn, conversation::excerpt,
};
use ports::{
    ConversationName, Facts, FactsQuery,
    write_store::{
        ConversationAdvance, ConversationRow, InTenant, KeyName, MessageRow, MessageTurn,
        RecordKey, SupersededMessages, TurnRow,
    },
};

use super::{dismissal, file_uses::FileUses, turn_admission::ConversationState};
use crate::{
    BeginTurn, ConversationTarget, Part, Planner, Scope, TurnMessages,
    event_rows::{self, TurnIds},
};

fn key(begin: &BeginTurn) -> Option<RecordKey> {
    RecordKey::of(&begin.tenant, begin.idempotency.as_ref())
}

fn agent(begin: &BeginTurn) -> InTenant<AgentId> {
    (begin.tenant.clone(), begin.agent_id)
}

/// The name of the conversation that the turn creates, if the client has named it.
fn new_name(begin: &BeginTurn) -> Option<ConversationName> {
    match &begin.target {
        ConversationTarget::New(conversation) => ConversationName::of(conversation),
        ConversationTarget::Existing { .. } => None,
    }
}

/// The scope of a command that begins a turn.
pub(super) fn scope(begin: &BeginTurn) -> Scope {
    let conversation = Part::Conversation(begin.target.id());
    let name = new_name(begin).map(Part::Name);
    let key = key(begin).map(Part::Key);
    let parts = [conversation].into_iter().chain(name).chain(key);
    Scope::new(&begin.tenant, parts.chain(file_uses(begin).parts()))
}

/// The files of the user's message.
pub(super) fn file_uses(begin: &BeginTurn) -> FileUses<'_> {
    FileUses {
        tenant: &begin.tenant,
        conversation: begin.target.id(),
        files: &begin.files,
        is_for_staff: false,
    }
}

/// Adds the keys of the facts that a new turn needs.
pub(super) fn needs(begin: &BeginTurn, query: &mut FactsQuery) {
    query.idempotency.extend(key(begin));
    file_uses(begin).needs(query);
    let conversation = (begin.tenant.clone(), begin.target.id());
    match begin.target {
        ConversationTarget::New(_) => {
            query.agents.insert(agent(begin));
            query.new_conversations.push(conversation);
        }
        ConversationTarget::Existing { .. } => {
            query.conversations.insert(conversation);
        }
    }
    let name = new_name(begin).map(|name| (begin.tenant.clone(), name));
    query.new_names.extend(name);
}

/// Adds the agent, if it is not that of the existing conversation, whose version is known with it; the
/// turn that waits for an answer, which the new one dismisses; and the failed turn that has released the
/// key.
pub(super) fn needs_more(begin: &BeginTurn, facts: &Facts, query: &mut FactsQuery) {
    let is_in_existing = matches!(begin.target, ConversationTarget::Existing { .. });
    if is_in_existing && begin.stored_agent_version(facts).is_none() {
        query.agents.insert(agent(begin));
    }
    let conversation = (begin.tenant.clone(), begin.target.id());
    dismissal::needs_more(&conversation, facts, query);
    let record = key(begin).and_then(|key| facts.idempotency.get(&key));
    if let Some(failed) = record.and_then(|record| record.released_by) {
        query.turns.insert((begin.tenant.clone(), failed));
    }
}

/// The last message of a conversation that is not superseded.
#[derive(Clone, Copy)]
pub(super) struct LastMessage<'a> {
    /// Its position, or that of a later message that is superseded.
    pub(super) seq: i64,
    /// Its text and files; `None` if the turn has no message.
    pub(super) content: Option<(&'a str, &'a [FileReference])>,
    /// The time of the change.
    pub(super) at: Timestamp,
}

impl Planner<'_> {
    /// Logs the start of a turn, and stores the user's message unless the turn answers a stored one.
    /// Returns the row of the turn.
    pub(super) fn start_turn(
        &mut self,
        begin: &BeginTurn,
        state: &ConversationState<'_>,
        messages: &TurnMessages,
    ) -> TurnRow {
        let (tenant, stamp) = (&begin.tenant, &begin.stamp);
        if let ConversationState::New(conversation) = state {
            self.log(tenant, stamp, |position| {
                event_rows::conversation_created(position, conversation)
            });
        }
        self.use_files(file_uses(begin));
        let ids = turn_ids(begin, state);
        if let Some(supersession) = begin.supersession {
            self.supersede(begin, ids, supersession.from_seq, state.last_message_seq());
        }
        let started = self.log_turn(tenant, stamp, EventType::TurnStarted, ids);
        let turn = Turn {
            retry_of: messages.retry_of,
            ..begin.started()
        };
        let mut row = turn_row(begin, turn, started);
        row.message_id = messages.message.id;
        row.message_seq = Some(messages.message.seq);
        row.turn_number = Some(messages.turn_number);
        row.is_for_staff = state.is_for_staff();
        let has_message = row.turn.has_message();
        row.reuses_message |= messages.message.seq <= state.last_message_seq();
        match row.user_message() {
            Some(message) => self.push_message(tenant, message),
            None if !has_message => {}
            None => self.rows.answered.push(MessageTurn {
                tenant: tenant.clone(),
                conversation_id: begin.target.id(),
                seq: messages.message.seq,
                turn_id: begin.turn_id,
            }),
        }
        row
    }

    /// Marks messages as superseded, and logs it.
    fn supersede(&mut self, begin: &BeginTurn, ids: TurnIds<'_>, from_seq: i64, to_seq: i64) {
        self.log(&begin.tenant, &begin.stamp, |position| {
            event_rows::messages_superseded(position, ids, from_seq, to_seq)
        });
        self.rows.superseded.push(SupersededMessages {
            tenant: begin.tenant.clone(),
            conversation_id: begin.target.id(),
            from_seq,
            at: begin.stamp.time,
        });
    }

    /// Writes the conversation of a started turn: a new row, or an update of the stored one.
    pub(super) fn write_conversation(
        &mut self,
        begin: &BeginTurn,
        state: &ConversationState<'_>,
        last: LastMessage<'_>,
    ) {
        let LastMessage { seq, content, at } = last;
        let turn_count = state.turn_count() + 1;
        let sort_seq = self.head(&begin.tenant);
        match state {
            ConversationState::New(conversation) => self.rows.conversations.push(ConversationRow {
                tenant: begin.tenant.clone(),
                conversation: Conversation {
                    message_count: seq,
                    excerpt: content.map(|(text, files)| excerpt(text, files)),
                    updated_at: at.max(conversation.updated_at),
                    last_message_at: content.map(|_| at.max(conversation.created_at)),
                    ..(*conversation).clone()
                },
                turn_count,
                staff_messages: 0,
                imported_at: None,
                sort_seq,
            }),
            ConversationState::Existing(found) => self.advance(
                found,
                ConversationAdvance {
                    tenant: begin.tenant.clone(),
                    id: begin.target.id(),
                    last_message_seq: seq,
                    superseded_count: state.superseded_count(begin),
                    staff_messages: found.staff_messages,
                    turn_count,
                    waiting_since: state.waiting_since(at),
                    updated_at: at,
                    last_message_at: (seq > found.last_message_seq).then_some(at),
                    // The message of a turn that answers again may be followed by those of staff.
                    excerpt: content
                        .filter(|_| seq > found.last_message_seq || found.staff_messages == 0)
                        .map(|(text, files)| excerpt(text, files)),
                    sort_seq,
                },
            ),
        }
    }

    /// Writes a message.
    pub(super) fn push_message(&mut self, tenant: &TenantId, message: Message) {
        self.rows.messages.push(MessageRow {
            tenant: tenant.clone(),
            message,
        });
    }
}

/// Builds the row of a turn without its place in the conversation and in the queue, which the caller
/// sets. `sort_seq` is the position of its first event.
pub(super) fn turn_row(begin: &BeginTurn, turn: Turn, sort_seq: Seq) -> TurnRow {
    TurnRow {
        tenant: begin.tenant.clone(),
        reuses_message: !turn.has_message(),
        turn,
        principal: begin.stamp.actor.clone(),
        message_id: begin.message_id,
        is_for_staff: false,
        reply_id: Some(begin.reply_id),
        sort_seq,
        message_seq: None,
        turn_number: None,
        reply_seq: None,
        node: None,
        queued_seq: None,
        idempotency: begin.idempotency.as_ref().map(|idempotency| KeyName {
            operation: idempotency.operation.to_owned(),
            key: idempotency.key.as_str().to_owned(),
        }),
        // Earlier levels would start it without its files or its schema.
        level: begin.needs_level().then_some(LEVEL),
        action_expires_at: None,
        client_tools: begin.client_tools.clone(),
        response_schema: begin.response_schema.clone(),
    }
}

/// The ids for the events of the turn.
pub(super) fn turn_ids<'a>(begin: &BeginTurn, state: &ConversationState<'a>) -> TurnIds<'a> {
    TurnIds {
        turn: begin.turn_id,
        conversation: begin.target.id(),
        agent: begin.agent_id,
        user: state.user_id(),
    }
}
