//! Rows of `conversation_notes` and `note_file_uses`. A trigger counts the uses of a file.

use ports::write_store::{NoteKey, NoteRow};
use sqlx::types::Json;

use super::json_unless_empty;
use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into conversation_notes (tenant_id, conversation_id, id, content, author, created_at, \
            sort_seq, files) \
        select * from ",
        unnest!(1 text, 2 uuid, 3 uuid, 4 text, 5 jsonb, 6 timestamptz, 7 bigint, 8 jsonb),
        " as n where true"
    );

    const USE_FILES: &str = concat!(
        "insert into note_file_uses (tenant_id, conversation_id, note_seq, file_id) \
        select n.tenant, n.conversation, n.seq, (f.value ->> 'id')::uuid from ",
        unnest!(1 text, 2 uuid, 3 bigint, 4 jsonb),
        " as n (tenant, conversation, seq, files) \
        cross join lateral jsonb_array_elements(n.files) f where true"
    );

    const DELETE: &str = concat!(
        "delete from conversation_notes using ",
        unnest!(1 text, 2 uuid, 3 uuid),
        " as n (tenant, conversation, note) \
        where tenant_id = n.tenant and conversation_id = n.conversation and id = n.note"
    );
}

/// Inserts notes, which use their files.
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
            .column(rows, |row| {
                json_unless_empty(row.note.files.is_empty(), &row.note.files)
            })
    });
    if rows.iter().any(|row| !row.note.files.is_empty()) {
        batch.add(USE_FILES, rows, |uses, rows| {
            uses.column(rows, |row| row.tenant.as_str())
                .column(rows, |row| row.note.conversation_id.uuid())
                .column(rows, |row| row.sort_seq.0)
                .column(rows, |row| Json(&row.note.files))
        });
    }
}

/// Deletes notes. The uses of their files end with them.
pub(super) fn delete(batch: &mut CteBatch, rows: &[NoteKey]) {
    batch.add(DELETE, rows, |delete, rows| {
        delete
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.conversation_id.uuid())
            .column(rows, |row| row.id.uuid())
    });
}
