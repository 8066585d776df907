//! The creation of a conversation, empty or with a greeting.

use ports::Idempotent;

use super::{Planner, committed};
use crate::{ConversationRow, CreateConversation, RecordRow, WriteOutcome, event_rows};

/// Checks the idempotency key first, then whether the agent exists.
pub(super) fn create(planner: &mut Planner<'_>, create: &CreateConversation) -> WriteOutcome {
    let CreateConversation {
        tenant,
        conversation,
        greeting,
        stamp,
        idempotency,
    } = create;
    if let Some(record) = planner.facts.existing_record(tenant, idempotency.as_ref()) {
        return WriteOutcome::CreateConversation(Idempotent::Replayed(record.clone()));
    }
    let agent = (tenant.clone(), conversation.agent_id);
    if !planner.facts.agents.contains_key(&agent) {
        return WriteOutcome::CreateConversation(Idempotent::Applied(None));
    }
    let created = planner.log(tenant, stamp, |position| {
        event_rows::conversation_created(position, conversation)
    });
    planner.rows.conversations.push(ConversationRow {
        tenant: tenant.clone(),
        conversation: conversation.clone(),
        turn_count: 0,
        sort_seq: created,
    });
    if let Some(greeting) = greeting {
        planner.push_message(tenant, greeting.clone());
    }
    let record = RecordRow::without_turn(tenant, idempotency.as_ref());
    planner.rows.idempotency.extend(record);
    let committed = committed(created, created);
    WriteOutcome::CreateConversation(Idempotent::Applied(Some(committed)))
}
