//! The rows that every new turn writes.

use domain::{
    Conversation, EventType, Message, Seq, TenantId, Timestamp, Turn, conversation::excerpt,
};
use ports::{BeginTurn, TurnMessages};

use super::{Planner, conversation_state::ConversationState};
use crate::{
    ConversationAdvance, ConversationRow, IdempotencyRow, KeyName, MessageRow, MessageTurn,
    SupersededMessages, TurnRow,
    event_rows::{self, TurnIds},
};

/// The last message of a conversation that is not superseded.
#[derive(Clone, Copy)]
pub(super) struct LastMessage<'a> {
    /// Its position, or that of a later message that is superseded.
    pub(super) seq: i64,
    /// Its text.
    pub(super) content: &'a str,
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
        place: &TurnMessages,
    ) -> TurnRow {
        let (tenant, stamp) = (&begin.tenant, &begin.stamp);
        if let ConversationState::New(conversation) = state {
            self.log(tenant, stamp, |position| {
                event_rows::conversation_created(position, conversation)
            });
        }
        let ids = turn_ids(begin, state);
        if let Some(supersession) = begin.supersession {
            self.supersede(begin, ids, supersession.from_seq, state.last_message_seq());
        }
        let started = self.log_turn(tenant, stamp, EventType::TurnStarted, ids);
        let mut row = turn_row(begin, started);
        row.turn = Turn {
            retry_of: place.retry_of,
            ..begin.started()
        };
        row.message_id = place.message.id;
        row.message_seq = Some(place.message.seq);
        row.turn_number = Some(place.turn_number);
        row.reuses_message = place.message.seq <= state.last_message_seq();
        match row.user_message() {
            Some(message) => self.push_message(tenant, message),
            None => self.rows.answered.push(MessageTurn {
                tenant: tenant.clone(),
                conversation_id: begin.target.id(),
                seq: place.message.seq,
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
                    excerpt: Some(excerpt(content)),
                    updated_at: at.max(conversation.updated_at),
                    last_message_at: Some(at.max(conversation.created_at)),
                    ..(*conversation).clone()
                },
                turn_count,
                sort_seq,
            }),
            ConversationState::Existing(found) => self.advance(
                found,
                ConversationAdvance {
                    tenant: begin.tenant.clone(),
                    id: begin.target.id(),
                    last_message_seq: seq,
                    superseded_count: state.superseded_count(begin),
                    turn_count,
                    updated_at: at,
                    last_message_at: (seq > found.last_message_seq).then_some(at),
                    excerpt: Some(excerpt(content)),
                    sort_seq,
                },
            ),
        }
    }

    /// Writes the idempotency record of the turn.
    pub(super) fn push_record(&mut self, begin: &BeginTurn) {
        self.rows
            .idempotency
            .extend(begin.idempotency.iter().map(|idempotency| IdempotencyRow {
                tenant: begin.tenant.clone(),
                idempotency: idempotency.clone(),
                turn_id: Some(begin.turn_id),
            }));
    }

    /// Writes a message.
    pub(super) fn push_message(&mut self, tenant: &TenantId, message: Message) {
        self.rows.messages.push(MessageRow {
            tenant: tenant.clone(),
            message,
        });
    }
}

/// Builds the row of a queued turn. `sort_seq` is the position of its first event; the caller sets
/// `queued_seq`.
pub(super) fn turn_row(begin: &BeginTurn, sort_seq: Seq) -> TurnRow {
    TurnRow {
        tenant: begin.tenant.clone(),
        turn: begin.queued(),
        principal: begin.stamp.actor.clone(),
        message_id: begin.message_id,
        reuses_message: false,
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
        level: None,
    }
}

/// The ids for the events of the turn.
pub(super) fn turn_ids<'a>(begin: &BeginTurn, state: &ConversationState<'a>) -> TurnIds<'a> {
    TurnIds {
        turn_id: begin.turn_id,
        conversation_id: begin.target.id(),
        agent_id: begin.agent_id,
        user_id: state.user_id(),
    }
}
