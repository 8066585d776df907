//! Rows of `conversation_notes`.

use ports::write_store::{NoteKey, NoteRow};
use sqlx::types::Json;

use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into conversation_notes (tenant_id, conversation_id, id, content, author, created_at, \
            sort_seq) \
        select * from ",
        unnest!(1 text, 2 uuid, 3 uuid, 4 text, 5 jsonb, 6 timestamptz, 7 bigint),
        " as n where true"
    );

    const DELETE: &str = concat!(
        "delete from conversation_notes using ",
        unnest!(1 text, 2 uuid, 3 uuid),
        " as n (tenant, conversation, note) \
        where tenant_id = n.tenant and conversation_id = n.conversation and id = n.note"
    );
}

/// Inserts notes.
pub(super) fn insert(batch: &mut CteBatch, rows: &[NoteRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.note.conversation_id.uuid())
            .column(rows, |row| row.note.id.uuid())
            .column(rows, |row| row.note.content.as_str())
            .column(rows, |row| Json(&row.note.author))
            .column(rows, |row| row.note.created_at.date_time())
            .column(rows, |row| row.sort_seq.0)
    });
}

/// Deletes notes.
pub(super) fn delete(batch: &mut CteBatch, rows: &[NoteKey]) {
    batch.add(DELETE, rows, |delete, rows| {
        delete
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation_id.uuid())
            .column(rows, |row| row.id.uuid())
    });
}
