//! Rows of `conversations`.

use domain::{Conversation, ConversationKey, Timestamp, TitleSource};
use ports::write_store::{
    ConversationAdvance, ConversationDeletion, ConversationHandover, ConversationRow,
    ConversationUpdate,
};
use sqlx::types::Json;

use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into conversations (tenant_id, id, agent_id, user_id, title, metadata, version, \
            message_count, turn_count, created_at, updated_at, last_message_at, sort_seq, key, excerpt, \
            forked_from, context, handled_by, assignee, waiting_since, staff_messages, \
            title_source, imported_at) \
        select * from ",
        unnest!(
            1 text, 2 uuid, 3 uuid, 4 text, 5 text, 6 jsonb, 7 bigint, 8 bigint, 9 bigint,
            10 timestamptz, 11 timestamptz, 12 timestamptz, 13 bigint, 14 text, 15 text,
            16 jsonb, 17 text, 18 text, 19 text, 20 timestamptz, 21 bigint, 22 text, 23 timestamptz
        ),
        " as n where true"
    );

    const ADVANCE: &str = concat!(
        "update conversations set message_count = n.messages, superseded_count = n.superseded, \
            turn_count = n.turns, updated_at = n.updated, \
            last_message_at = coalesce(n.last_message, last_message_at), \
            excerpt = coalesce(n.excerpt, conversations.excerpt), waiting_since = n.waiting, \
            staff_messages = n.of_staff, sort_seq = n.sort_seq \
        from ",
        unnest!(
            1 text, 2 uuid, 3 bigint, 4 bigint, 5 bigint, 6 timestamptz, 7 timestamptz, 8 text,
            9 timestamptz, 10 bigint, 11 bigint
        ),
        " as n (tenant, id, messages, superseded, turns, updated, last_message, excerpt, waiting, \
            of_staff, sort_seq) \
        where conversations.tenant_id = n.tenant and conversations.id = n.id"
    );

    const UPDATE: &str = concat!(
        "update conversations set title = n.title, title_source = n.title_source, metadata = n.metadata, \
            context = n.context, handled_by = n.handled_by, assignee = n.assignee, waiting_since = n.waiting, \
            handover = n.handover, user_id = n.user_id, version = n.version, updated_at = n.updated, \
            sort_seq = n.sort_seq \
        from ",
        unnest!(
            1 text, 2 uuid, 3 text, 4 jsonb, 5 text, 6 text, 7 text, 8 timestamptz, 9 text,
            10 bigint, 11 timestamptz, 12 bigint, 13 jsonb, 14 text
        ),
        " as n (tenant, id, title, metadata, context, handled_by, assignee, waiting, user_id, version, \
            updated, sort_seq, handover, title_source) \
        where conversations.tenant_id = n.tenant and conversations.id = n.id"
    );

    const HAND_OVER: &str = concat!(
        "update conversations set handled_by = 'staff', waiting_since = n.at, updated_at = n.at, \
            handover = n.handover, version = n.version, sort_seq = n.sort_seq \
        from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 jsonb, 5 timestamptz, 6 bigint),
        " as n (tenant, id, version, handover, at, sort_seq) \
        where conversations.tenant_id = n.tenant and conversations.id = n.id"
    );

    const DELETE: &str = concat!(
        "update conversations set deleted_at = n.deleted \
        from ",
        unnest!(1 text, 2 uuid, 3 timestamptz),
        " as n (tenant, id, deleted) \
        where conversations.tenant_id = n.tenant and conversations.id = n.id"
    );
}

/// Inserts new conversations.
pub(super) fn insert(batch: &mut CteBatch, rows: &[ConversationRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation.id.uuid())
            .column(rows, |row| row.conversation.agent_id.uuid())
            .column(rows, |row| row.conversation.user_id.as_deref())
            .column(rows, |row| row.conversation.title.as_deref())
            .column(rows, |row| Json(&row.conversation.metadata))
            .column(rows, |row| row.conversation.version)
            .column(rows, |row| row.conversation.message_count)
            .column(rows, |row| row.turn_count)
            .column(rows, |row| row.conversation.created_at.date_time())
            .column(rows, |row| row.conversation.updated_at.date_time())
            .column(rows, |row| {
                row.conversation.last_message_at.map(Timestamp::date_time)
            })
            .column(rows, |row| row.sort_seq.0)
            .column(rows, |row| {
                row.conversation.key.as_ref().map(ConversationKey::as_str)
            })
            .column(rows, |row| row.conversation.excerpt.as_deref())
            .column(rows, |row| row.conversation.forked_from.as_ref().map(Json))
            .column(rows, |row| row.conversation.context.as_deref())
            .column(rows, |row| row.conversation.handled_by.as_str())
            .column(rows, |row| row.conversation.assignee.as_deref())
            .column(rows, |row| {
                row.conversation.waiting_since.map(Timestamp::date_time)
            })
            .column(rows, |row| row.staff_messages)
            .column(rows, |row| title_source(&row.conversation))
            .column(rows, |row| row.imported_at.map(Timestamp::date_time))
    });
}

fn title_source(conversation: &Conversation) -> Option<&str> {
    conversation.title_source.as_ref().map(TitleSource::as_str)
}

/// Updates conversations with new messages or a turn whose status changes.
pub(super) fn advance(batch: &mut CteBatch, rows: &[ConversationAdvance]) {
    batch.add(ADVANCE, rows, |advance, rows| {
        advance
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.last_message_seq)
            .column(rows, |row| row.superseded_count)
            .column(rows, |row| row.turn_count)
            .column(rows, |row| row.updated_at.date_time())
            .column(rows, |row| row.last_message_at.map(Timestamp::date_time))
            .column(rows, |row| row.excerpt.as_deref())
            .column(rows, |row| row.waiting_since.map(Timestamp::date_time))
            .column(rows, |row| row.staff_messages)
            .column(rows, |row| row.sort_seq.0)
    });
}

/// Updates the columns of conversations that clients can change.
pub(super) fn update(batch: &mut CteBatch, rows: &[ConversationUpdate]) {
    batch.add(UPDATE, rows, |update, rows| {
        update
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation.id.uuid())
            .column(rows, |row| row.conversation.title.as_deref())
            .column(rows, |row| Json(&row.conversation.metadata))
            .column(rows, |row| row.conversation.context.as_deref())
            .column(rows, |row| row.conversation.handled_by.as_str())
            .column(rows, |row| row.conversation.assignee.as_deref())
            .column(rows, |row| {
                row.conversation.waiting_since.map(Timestamp::date_time)
            })
            .column(rows, |row| row.conversation.user_id.as_deref())
            .column(rows, |row| row.conversation.version)
            .column(rows, |row| row.conversation.updated_at.date_time())
            .column(rows, |row| row.sort_seq.0)
            .column(rows, |row| row.conversation.handover.as_ref().map(Json))
            .column(rows, |row| title_source(&row.conversation))
    });
}

/// Hands conversations over to staff.
pub(super) fn hand_over(batch: &mut CteBatch, rows: &[ConversationHandover]) {
    batch.add(HAND_OVER, rows, |update, rows| {
        update
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.version)
            .column(rows, |row| Json(&row.handover))
            .column(rows, |row| row.handover.at.date_time())
            .column(rows, |row| row.sort_seq.0)
    });
}

/// Marks conversations as deleted.
pub(super) fn delete(batch: &mut CteBatch, rows: &[ConversationDeletion]) {
    batch.add(DELETE, rows, |delete, rows| {
        delete
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.deleted_at.date_time())
    });
}
