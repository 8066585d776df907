//! Rows of `conversation_notes`.

use ports::{
    RepositoryError,
    write_store::{NoteKey, NoteRow},
};

use super::change::{Changes, Parameter};

relational::statements! {
    const INSERT: &str = "\
        insert into conversation_notes (tenant_id, conversation_id, id, content, author, created_at, \
            sort_seq) \
        values (?, ?, ?, ?, ?, ?, ?)";

    const DELETE: &str =
        "delete from conversation_notes where tenant_id = ? and conversation_id = ? and id = ?";
}

/// Inserts a note.
pub(super) fn insert<'r>(
    changes: &mut Changes<'r>,
    row: &'r NoteRow,
) -> Result<(), RepositoryError> {
    let note = &row.note;
    changes.add(
        INSERT,
        [
            row.tenant.as_str().into(),
            note.conversation_id.into(),
            note.id.into(),
            note.content.as_str().into(),
            Parameter::json(&note.author)?,
            note.created_at.into(),
            row.sort_seq.0.into(),
        ],
    );
    Ok(())
}

/// Deletes a note.
pub(super) fn delete<'r>(changes: &mut Changes<'r>, row: &'r NoteKey) {
    changes.add(
        DELETE,
        [
            row.tenant.as_str().into(),
            row.conversation_id.into(),
            row.id.into(),
        ],
    );
}
