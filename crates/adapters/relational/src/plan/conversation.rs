//! A new conversation, empty or with a greeting.

use domain::{Conversation, IdempotencyEntry, Message, Seq, Stamp, TenantId};
use ports::Committed;

use super::log_change;
use crate::{ConversationRow, MessageRow, RecordRow, Rows, event_rows};

/// Plans a new conversation. `head` is the position of the tenant's newest event.
pub fn new_conversation(
    tenant: &TenantId,
    head: Seq,
    conversation: &Conversation,
    greeting: Option<&Message>,
    stamp: &Stamp,
    idempotency: Option<&IdempotencyEntry>,
) -> (Rows, Committed) {
    let (rows, committed) = log_change(tenant, head, stamp, |position| {
        event_rows::conversation_created(position, conversation)
    });
    let rows = Rows {
        conversations: vec![ConversationRow {
            tenant: tenant.clone(),
            conversation: conversation.clone(),
            turn_count: 0,
            sort_seq: committed.last,
        }],
        messages: greeting
            .map(|message| MessageRow {
                tenant: tenant.clone(),
                message: message.clone(),
            })
            .into_iter()
            .collect(),
        idempotency: RecordRow::without_turn(tenant, idempotency)
            .into_iter()
            .collect(),
        ..rows
    };
    (rows, committed)
}
