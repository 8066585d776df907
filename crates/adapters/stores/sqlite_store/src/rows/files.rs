//! Rows of `files` and `file_uses`. Triggers count the uses of a file, and keep the key of a deleted content.

use domain::{FileId, TenantId};
use ports::write_store::{FileRow, FileUseRow};

use super::change::Changes;

relational::statements! {
    const INSERT: &str = "\
        insert into files (tenant_id, id, blob, name, media_type, bytes, sha256, principal, created_at, \
            expires_at) \
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    const USE: &str = "\
        insert into file_uses (tenant_id, file_id, conversation_id) values (?, ?, ?) \
        on conflict (tenant_id, conversation_id, file_id) do nothing";

    const DELETE: &str = "delete from files where tenant_id = ? and id = ?";
}

/// Inserts a file.
pub(super) fn insert<'r>(changes: &mut Changes<'r>, row: &'r FileRow) {
    let file = &row.file;
    changes.add(
        INSERT,
        [
            row.tenant.as_str().into(),
            file.reference.id.into(),
            row.blob.into(),
            file.reference.name.as_str().into(),
            file.reference.media_type.as_str().into(),
            file.reference.bytes.cast_signed().into(),
            file.sha256.0.as_slice().into(),
            row.creator.as_str().into(),
            file.created_at.into(),
            file.expires_at.into(),
        ],
    );
}

/// Inserts the use of a file.
pub(super) fn add_use<'r>(changes: &mut Changes<'r>, row: &'r FileUseRow) {
    changes.add(
        USE,
        [
            row.tenant.as_str().into(),
            row.file_id.into(),
            row.conversation_id.into(),
        ],
    );
}

/// Deletes a file.
pub(super) fn delete<'r>(changes: &mut Changes<'r>, (tenant, id): &'r (TenantId, FileId)) {
    changes.add(DELETE, [tenant.as_str().into(), (*id).into()]);
}
