//! Rows of `conversation_notes` and `note_file_uses`. Triggers count the uses of a file.

use ports::{
    RepositoryError,
    write_store::{NoteKey, NoteRow},
};

use super::change::{Changes, Parameter, json_unless_empty};

relational::statements! {
    const INSERT: &str = "\
        insert into conversation_notes (tenant_id, conversation_id, id, content, author, created_at, \
            sort_seq, files) \
        values (?, ?, ?, ?, ?, ?, ?, ?)";

    const USE_FILE: &str = "\
        insert into note_file_uses (tenant_id, conversation_id, note_seq, file_id) \
        values (?, ?, ?, ?)";

    const DELETE: &str =
        "delete from conversation_notes where tenant_id = ? and conversation_id = ? and id = ?";
}

/// Inserts a note, which uses its files.
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
            json_unless_empty(note.files.is_empty(), &note.files)?,
        ],
    );
    for file in &note.files {
        changes.add(
            USE_FILE,
            [
                row.tenant.as_str().into(),
                note.conversation_id.into(),
                row.sort_seq.0.into(),
                file.id.into(),
            ],
        );
    }
    Ok(())
}

/// Deletes a note. The uses of its files end with it.
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
