//! Rows of `files` and `file_uses`. Triggers count the uses of a file, and keep the key of a deleted content.

use domain::{FileId, TenantId};
use ports::write_store::{FileRow, FileUseRow};

use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into files (tenant_id, id, blob, name, media_type, bytes, sha256, principal, created_at, \
            expires_at) \
        select * from ",
        unnest!(
            1 text, 2 uuid, 3 uuid, 4 text, 5 text, 6 bigint, 7 bytea, 8 text, 9 timestamptz,
            10 timestamptz
        ),
        " as n where true"
    );

    const USE: &str = concat!(
        "insert into file_uses (tenant_id, file_id, conversation_id) select distinct * from ",
        unnest!(1 text, 2 uuid, 3 uuid),
        " as n where true on conflict (tenant_id, conversation_id, file_id) do nothing"
    );

    const DELETE: &str = concat!(
        "delete from files using ",
        unnest!(1 text, 2 uuid),
        " as n (tenant, file) where tenant_id = n.tenant and id = n.file"
    );
}

/// Inserts files.
pub(super) fn insert(batch: &mut CteBatch, rows: &[FileRow]) {
    batch.add(INSERT, rows, |insert, rows| {
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.file.reference.id.uuid())
            .column(rows, |row| row.blob.uuid())
            .column(rows, |row| row.file.reference.name.as_str())
            .column(rows, |row| row.file.reference.media_type.as_str())
            .column(rows, |row| row.file.reference.bytes.cast_signed())
            .column(rows, |row| row.file.sha256.0.as_slice())
            .column(rows, |row| row.creator.as_str())
            .column(rows, |row| row.file.created_at.date_time())
            .column(rows, |row| {
                row.file.expires_at.map(domain::Timestamp::date_time)
            })
    });
}

/// Inserts uses of files.
pub(super) fn add_uses(batch: &mut CteBatch, rows: &[FileUseRow]) {
    batch.add(USE, rows, |uses, rows| {
        uses.column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.file_id.uuid())
            .column(rows, |row| row.conversation_id.uuid())
    });
}

/// Deletes files.
pub(super) fn delete(batch: &mut CteBatch, rows: &[(TenantId, FileId)]) {
    batch.add(DELETE, rows, |delete, rows| {
        delete
            .column(rows, |(tenant, _)| tenant.as_str())
            .column(rows, |(_, id)| id.uuid())
    });
}
