//! Rows of `feedback`.

use ports::write_store::{FeedbackDeletion, FeedbackRow};
use relational::stored::principal_column;

use super::change::Changes;

relational::statements! {
    const SAVE: &str = "\
        insert into feedback (tenant_id, conversation_id, message_seq, principal, rating, comment, \
            updated_at, sort_seq) \
        values (?, ?, ?, ?, ?, ?, ?, ?) \
        on conflict (tenant_id, conversation_id, message_seq, principal) do update set \
            rating = excluded.rating, comment = excluded.comment, updated_at = excluded.updated_at, \
            sort_seq = excluded.sort_seq";

    const MARK_CONVERSATION: &str = "\
        update conversations set has_feedback = 1 where tenant_id = ? and id = ? and not has_feedback";

    const DELETE: &str = "\
        delete from feedback where tenant_id = ? and conversation_id = ? and message_seq = ? \
            and principal = ?";
}

/// Inserts a rating, or replaces its content. Its conversation has ratings from then on.
pub(super) fn save<'r>(changes: &mut Changes<'r>, row: &'r FeedbackRow) {
    let (tenant, conversation) = (row.tenant.as_str(), row.key.conversation_id);
    changes.add(
        SAVE,
        [
            tenant.into(),
            conversation.into(),
            row.key.message_seq.into(),
            principal_column(&row.key).into(),
            row.feedback.rating.as_str().into(),
            row.feedback.comment.as_deref().into(),
            row.feedback.updated_at.into(),
            row.sort_seq.0.into(),
        ],
    );
    changes.add(MARK_CONVERSATION, [tenant.into(), conversation.into()]);
}

/// Deletes a rating.
pub(super) fn delete<'r>(changes: &mut Changes<'r>, row: &'r FeedbackDeletion) {
    changes.add(
        DELETE,
        [
            row.tenant.as_str().into(),
            row.key.conversation_id.into(),
            row.key.message_seq.into(),
            principal_column(&row.key).into(),
        ],
    );
}
