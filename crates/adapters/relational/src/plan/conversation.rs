//! A conversation that begins empty, or with a greeting.

use domain::{Conversation, IdempotencyClaim, Message, Seq, Stamp, TenantId};
use ports::Committed;

use super::change;
use crate::{ClaimRow, ConversationRow, MessageRow, Rows, event_rows};

/// What a new conversation writes. `head` is the tenant's newest event.
pub fn new_conversation(
    tenant: &TenantId,
    head: Seq,
    conversation: &Conversation,
    greeting: Option<&Message>,
    stamp: &Stamp,
    claim: Option<&IdempotencyClaim>,
) -> (Rows, Committed) {
    let (rows, committed) = change(tenant, head, stamp, |place| {
        event_rows::conversation_created(place, conversation)
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
        claims: claim
            .map(|claim| ClaimRow {
                tenant: tenant.clone(),
                claim: claim.clone(),
                turn_id: None,
            })
            .into_iter()
            .collect(),
        ..rows
    };
    (rows, committed)
}
