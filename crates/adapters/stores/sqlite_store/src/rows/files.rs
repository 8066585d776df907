//! Rows of `files`, `file_uses` and `uploads`. Triggers count the uses of a file, and keep the key of a deleted content.

use domain::{FileId, TenantId};
use ports::write_store::{FileRelease, FileRow, FileUseRow, UploadRow};

use super::change::Changes;

relational::statements! {
    const INSERT: &str = "\
        insert into files (tenant_id, id, blob, name, media_type, bytes, sha256, principal, created_at, \
            expires_at) \
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    const USE: &str = "\
        insert into file_uses (tenant_id, file_id, conversation_id) values (?, ?, ?) \
        on conflict (tenant_id, conversation_id, file_id) do nothing";

    const RELEASE: &str = "\
        delete from file_uses where tenant_id = ?1 and conversation_id = ?2 and file_id = ?3 \
            and not exists (select 1 from messages m, json_each(m.files) f \
                where m.tenant_id = ?1 and m.conversation_id = ?2 and m.seq <> ?4 \
                    and f.value ->> 'id' = ?5) \
            and not exists (select 1 from turns r, json_each(r.files) f \
                where r.tenant_id = ?1 and r.conversation_id = ?2 and r.status <> 'completed' \
                    and f.value ->> 'id' = ?5)";

    const COUNT: &str = "\
        insert into uploads (tenant_id, principal, ends_at, files, bytes) values (?, ?, ?, ?, ?) \
        on conflict (tenant_id, principal, ends_at) do update \
            set files = files + excluded.files, bytes = bytes + excluded.bytes";

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

/// Ends the use of a file by a message that is deleted.
pub(super) fn release<'r>(changes: &mut Changes<'r>, row: &'r FileRelease) {
    changes.add(
        RELEASE,
        [
            row.of.tenant.as_str().into(),
            row.of.conversation_id.into(),
            row.of.file_id.into(),
            row.seq.into(),
            row.of.file_id.to_string().into(),
        ],
    );
}

/// Counts uploads.
pub(super) fn count<'r>(changes: &mut Changes<'r>, row: &'r UploadRow) {
    changes.add(
        COUNT,
        [
            row.day.tenant.as_str().into(),
            row.day.principal.as_str().into(),
            row.day.ends_at.into(),
            row.uploads.files.cast_signed().into(),
            row.uploads.bytes.cast_signed().into(),
        ],
    );
}

/// Deletes a file.
pub(super) fn delete<'r>(changes: &mut Changes<'r>, (tenant, id): &'r (TenantId, FileId)) {
    changes.add(DELETE, [tenant.as_str().into(), (*id).into()]);
}
