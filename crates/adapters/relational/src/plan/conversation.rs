//! The creation, the update and the deletion of a conversation.

use domain::Conversation;
use ports::{DeleteOutcome, FirstMessages, Idempotent, RepositoryError, SORT_SEQ_OF_RESULT};
use serde_json::Value;

use super::{Planner, check_version, committed};
use crate::{
    ConversationDeletion, ConversationFacts, ConversationRow, ConversationUpdate,
    CreateConversation, DeleteConversation, Facts, IdempotencyRow, MessageCopy, UpdateConversation,
    WriteOutcome, event_rows,
};

/// Checks the idempotency key first, then whether the agent exists, and then what the caller assumed:
/// that the name is unused, and the turn count of the conversation to copy from.
pub(super) fn create(
    planner: &mut Planner<'_>,
    create: &CreateConversation,
) -> Result<WriteOutcome, RepositoryError> {
    let CreateConversation {
        tenant,
        conversation,
        first_messages,
        stamp,
        idempotency,
    } = create;
    if let Some(record) = planner.facts.existing_record(tenant, idempotency.as_ref()) {
        let replayed = Idempotent::Replayed(record.clone());
        return Ok(WriteOutcome::CreateConversation(replayed));
    }
    let agent = (tenant.clone(), conversation.agent_id);
    if !planner.facts.agents.contains_key(&agent) {
        return Ok(WriteOutcome::CreateConversation(Idempotent::Applied(None)));
    }
    check_assumptions(planner.facts, create)?;
    let created = planner.log(tenant, stamp, |position| {
        event_rows::conversation_created(position, conversation)
    });
    planner.rows.conversations.push(ConversationRow {
        tenant: tenant.clone(),
        conversation: conversation.clone(),
        turn_count: 0,
        sort_seq: created,
    });
    match first_messages {
        FirstMessages::None => {}
        FirstMessages::Greeting(greeting) => planner.push_message(tenant, greeting.clone()),
        FirstMessages::Forked(copied) => planner.rows.copies.push(MessageCopy {
            tenant: tenant.clone(),
            from: copied.from,
            to_seq: copied.to_seq,
            into: conversation.id,
        }),
    }
    let mut record = IdempotencyRow::without_turn(tenant, idempotency.as_ref());
    if let Some(Value::Object(result)) = record
        .as_mut()
        .and_then(|record| record.idempotency.result.as_mut())
    {
        result.insert(SORT_SEQ_OF_RESULT.to_owned(), created.0.into());
    }
    planner.rows.idempotency.extend(record);
    let committed = committed(created, created);
    let applied = Idempotent::Applied(Some(committed));
    Ok(WriteOutcome::CreateConversation(applied))
}

fn check_assumptions(facts: &Facts, create: &CreateConversation) -> Result<(), RepositoryError> {
    let CreateConversation {
        tenant,
        conversation,
        first_messages,
        ..
    } = create;
    let is_copied_current = match first_messages {
        FirstMessages::None | FirstMessages::Greeting(_) => true,
        FirstMessages::Forked(copied) => facts
            .conversation(tenant, copied.from)
            .is_some_and(|found| found.turn_count == copied.turn_count),
    };
    if facts.is_name_used(tenant, conversation) || !is_copied_current {
        return Err(RepositoryError::Stale {
            what: "conversation",
        });
    }
    Ok(())
}

/// Replaces the columns that clients can change, if the stored version is the one before.
pub(super) fn update(
    planner: &mut Planner<'_>,
    update: &UpdateConversation,
) -> Result<WriteOutcome, RepositoryError> {
    let UpdateConversation {
        tenant,
        conversation,
        stamp,
    } = update;
    let Some(stored) = planner.facts.conversation(tenant, conversation.id) else {
        return Ok(WriteOutcome::UpdateConversation(None));
    };
    check_version(
        "conversation",
        stored.version,
        Some(conversation.version - 1),
    )?;
    let conversation = updated_conversation(stored, conversation);
    let sort_seq = planner.log(tenant, stamp, |position| {
        event_rows::conversation_updated(position, &conversation)
    });
    planner.rows.conversation_updates.push(ConversationUpdate {
        tenant: tenant.clone(),
        conversation: conversation.clone(),
        sort_seq,
    });
    let updated = (committed(sort_seq, sort_seq), conversation);
    Ok(WriteOutcome::UpdateConversation(Some(updated)))
}

/// Applies the client's changes in `changed` to the stored conversation. Its times never run
/// backwards.
pub(super) fn updated_conversation(
    stored: &ConversationFacts,
    changed: &Conversation,
) -> Conversation {
    Conversation {
        agent_id: stored.agent_id,
        user_id: stored.user_id.clone(),
        message_count: stored.message_count(),
        created_at: stored.created_at,
        updated_at: changed.updated_at.max(stored.updated_at),
        last_message_at: stored.last_message_at,
        ..changed.clone()
    }
}

/// Cancels the open turns of the conversation and deletes it, if the caller expects its version.
pub(super) fn delete(
    planner: &mut Planner<'_>,
    delete: &DeleteConversation,
) -> Result<WriteOutcome, RepositoryError> {
    let DeleteConversation {
        tenant,
        id,
        expected,
        stamp,
    } = delete;
    let facts = planner.facts;
    let Some(stored) = facts.conversation(tenant, *id) else {
        return Ok(WriteOutcome::DeleteConversation(DeleteOutcome::NotFound));
    };
    check_version("conversation", stored.version, *expected)?;
    let first = planner.head(tenant).plus(1);
    let open = facts.open_turns.get(&(tenant.clone(), *id));
    planner.cancel_open_turns(tenant, open.map_or(&[], Vec::as_slice), stamp);
    let last = planner.log(tenant, stamp, |position| {
        event_rows::conversation_deleted(position, *id, stored)
    });
    planner
        .rows
        .conversation_deletions
        .push(ConversationDeletion {
            tenant: tenant.clone(),
            id: *id,
            deleted_at: stamp.time,
        });
    let deleted = DeleteOutcome::Deleted(committed(first, last));
    Ok(WriteOutcome::DeleteConversation(deleted))
}
