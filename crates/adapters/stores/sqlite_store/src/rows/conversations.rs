//! Rows of `conversations`.

use domain::{Conversation, ConversationKey, TitleSource};
use ports::{
    RepositoryError,
    write_store::{
        ConversationAdvance, ConversationDeletion, ConversationHandover, ConversationRow,
        ConversationUpdate,
    },
};

use super::change::{Changes, Parameter};

relational::statements! {
    const INSERT: &str = "\
        insert into conversations (tenant_id, id, agent_id, user_id, title, metadata, version, \
            message_count, turn_count, created_at, updated_at, last_message_at, sort_seq, key, excerpt, \
            forked_from, context, handled_by, assignee, waiting_since, staff_messages, \
            title_source, imported_at) \
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    const ADVANCE: &str = "\
        update conversations set message_count = ?, superseded_count = ?, turn_count = ?, \
            updated_at = ?, last_message_at = coalesce(?, last_message_at), \
            excerpt = coalesce(?, excerpt), waiting_since = ?, staff_messages = ?, sort_seq = ? \
        where tenant_id = ? and id = ?";

    const UPDATE: &str = "\
        update conversations set title = ?, title_source = ?, metadata = ?, context = ?, \
            handled_by = ?, assignee = ?, waiting_since = ?, handover = ?, user_id = ?, version = ?, updated_at = ?, sort_seq = ? \
        where tenant_id = ? and id = ?";

    const HAND_OVER: &str = "\
        update conversations set handled_by = 'staff', waiting_since = ?, updated_at = ?, handover = ?, \
            version = ?, sort_seq = ? \
        where tenant_id = ? and id = ?";

    const DELETE: &str = "update conversations set deleted_at = ? where tenant_id = ? and id = ?";
}

/// Inserts a new conversation.
pub(super) fn insert<'r>(
    changes: &mut Changes<'r>,
    row: &'r ConversationRow,
) -> Result<(), RepositoryError> {
    let conversation = &row.conversation;
    let forked_from = conversation.forked_from.as_ref();
    changes.add(
        INSERT,
        [
            row.tenant.as_str().into(),
            conversation.id.into(),
            conversation.agent_id.into(),
            conversation.user_id.as_deref().into(),
            conversation.title.as_deref().into(),
            Parameter::json(&conversation.metadata)?,
            conversation.version.into(),
            conversation.message_count.into(),
            row.turn_count.into(),
            conversation.created_at.into(),
            conversation.updated_at.into(),
            conversation.last_message_at.into(),
            row.sort_seq.0.into(),
            conversation
                .key
                .as_ref()
                .map(ConversationKey::as_str)
                .into(),
            conversation.excerpt.as_deref().into(),
            forked_from.map(Parameter::json).transpose()?.into(),
            conversation.context.as_deref().into(),
            conversation.handled_by.as_str().into(),
            conversation.assignee.as_deref().into(),
            conversation.waiting_since.into(),
            row.staff_messages.into(),
            title_source(conversation).into(),
            row.imported_at.into(),
        ],
    );
    Ok(())
}

fn title_source(conversation: &Conversation) -> Option<&str> {
    conversation.title_source.as_ref().map(TitleSource::as_str)
}

/// Updates a conversation with new messages or a turn whose status changes.
pub(super) fn advance<'r>(changes: &mut Changes<'r>, row: &'r ConversationAdvance) {
    changes.add(
        ADVANCE,
        [
            row.last_message_seq.into(),
            row.superseded_count.into(),
            row.turn_count.into(),
            row.updated_at.into(),
            row.last_message_at.into(),
            row.excerpt.as_deref().into(),
            row.waiting_since.into(),
            row.staff_messages.into(),
            row.sort_seq.0.into(),
            row.tenant.as_str().into(),
            row.id.into(),
        ],
    );
}

/// Updates the columns of a conversation that clients can change.
pub(super) fn update<'r>(
    changes: &mut Changes<'r>,
    row: &'r ConversationUpdate,
) -> Result<(), RepositoryError> {
    let conversation = &row.conversation;
    let handover = conversation.handover.as_ref();
    changes.add(
        UPDATE,
        [
            conversation.title.as_deref().into(),
            title_source(conversation).into(),
            Parameter::json(&conversation.metadata)?,
            conversation.context.as_deref().into(),
            conversation.handled_by.as_str().into(),
            conversation.assignee.as_deref().into(),
            conversation.waiting_since.into(),
            handover.map(Parameter::json).transpose()?.into(),
            conversation.user_id.as_deref().into(),
            conversation.version.into(),
            conversation.updated_at.into(),
            row.sort_seq.0.into(),
            row.tenant.as_str().into(),
            conversation.id.into(),
        ],
    );
    Ok(())
}

/// Hands a conversation over to staff.
pub(super) fn hand_over<'r>(
    changes: &mut Changes<'r>,
    row: &'r ConversationHandover,
) -> Result<(), RepositoryError> {
    changes.add(
        HAND_OVER,
        [
            row.handover.at.into(),
            row.handover.at.into(),
            Parameter::json(&row.handover)?,
            row.version.into(),
            row.sort_seq.0.into(),
            row.tenant.as_str().into(),
            row.id.into(),
        ],
    );
    Ok(())
}

/// Marks a conversation as deleted.
pub(super) fn delete<'r>(changes: &mut Changes<'r>, row: &'r ConversationDeletion) {
    changes.add(
        DELETE,
        [
            row.deleted_at.into(),
            row.tenant.as_str().into(),
            row.id.into(),
        ],
    );
}
