//! Rows of `feedback`.

use ports::write_store::{FeedbackDeletion, FeedbackRow};
use relational::stored::principal_column;

use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    const SAVE: &str = concat!(
        "insert into feedback (tenant_id, conversation_id, message_seq, principal, rating, comment, \
            updated_at, sort_seq) \
        select * from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 text, 5 text, 6 text, 7 timestamptz, 8 bigint),
        " as n where true \
        on conflict (tenant_id, conversation_id, message_seq, principal) do update set \
            rating = excluded.rating, comment = excluded.comment, updated_at = excluded.updated_at, \
            sort_seq = excluded.sort_seq"
    );

    const MARK_CONVERSATIONS: &str = concat!(
        "update conversations set has_feedback = true from ",
        unnest!(1 text, 2 uuid),
        " as n (tenant, id) \
        where conversations.tenant_id = n.tenant and conversations.id = n.id and not has_feedback"
    );

    const DELETE: &str = concat!(
        "delete from feedback f using ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 text),
        " as n (tenant, conversation, seq, principal) \
        where f.tenant_id = n.tenant and f.conversation_id = n.conversation \
            and f.message_seq = n.seq and f.principal = n.principal"
    );
}

/// Inserts ratings, or replaces their content. Their conversations have ratings from then on.
pub(super) fn save(batch: &mut CteBatch, rows: &[FeedbackRow]) {
    batch.add(SAVE, rows, |save, rows| {
        save.column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.key.conversation_id.uuid())
            .column(rows, |row| row.key.message_seq)
            .column(rows, |row| principal_column(&row.key))
            .column(rows, |row| row.feedback.rating.as_str())
            .column(rows, |row| row.feedback.comment.as_deref())
            .column(rows, |row| row.feedback.updated_at.date_time())
            .column(rows, |row| row.sort_seq.0)
    });
    batch.add(MARK_CONVERSATIONS, rows, |mark, rows| {
        mark.column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.key.conversation_id.uuid())
    });
}

/// Deletes ratings.
pub(super) fn delete(batch: &mut CteBatch, rows: &[FeedbackDeletion]) {
    batch.add(DELETE, rows, |delete, rows| {
        delete
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.key.conversation_id.uuid())
            .column(rows, |row| row.key.message_seq)
            .column(rows, |row| principal_column(&row.key))
    });
}
