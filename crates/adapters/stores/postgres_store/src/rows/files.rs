//! Rows of `files`, `file_uses` and `uploads`. Triggers count the uses of a file, and keep the key of a deleted content.

use domain::{FileId, TenantId};
use ports::write_store::{FileRelease, FileRow, FileUseRow, UploadRow};

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

    /// The message itself is deleted by the same statement, so it is still there.
    const RELEASE: &str = concat!(
        "delete from file_uses using ",
        unnest!(1 text, 2 uuid, 3 uuid, 4 bigint),
        " as n (tenant, file, conversation, seq) \
        where tenant_id = n.tenant and conversation_id = n.conversation and file_id = n.file \
            and not exists (select 1 from messages m \
                where m.tenant_id = n.tenant and m.conversation_id = n.conversation \
                    and m.seq <> n.seq \
                    and m.files @> jsonb_build_array(jsonb_build_object('id', n.file::text))) \
            and not exists (select 1 from turns r \
                where r.tenant_id = n.tenant and r.conversation_id = n.conversation \
                    and r.status <> 'completed' \
                    and r.files @> jsonb_build_array(jsonb_build_object('id', n.file::text)))"
    );

    const COUNT: &str = concat!(
        "insert into uploads (tenant_id, principal, ends_at, files, bytes) \
        select n.tenant, n.principal, n.ends_at, n.files, n.bytes from ",
        unnest!(1 text, 2 text, 3 timestamptz, 4 bigint, 5 bigint),
        " as n (tenant, principal, ends_at, files, bytes) where true \
        on conflict (tenant_id, principal, ends_at) do update \
            set files = uploads.files + excluded.files, bytes = uploads.bytes + excluded.bytes"
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

/// Ends uses of files by messages that are deleted.
pub(super) fn release(batch: &mut CteBatch, rows: &[FileRelease]) {
    batch.add(RELEASE, rows, |releases, rows| {
        releases
            .column(rows, |row| row.of.tenant.as_str())
            .column(rows, |row| row.of.file_id.uuid())
            .column(rows, |row| row.of.conversation_id.uuid())
            .column(rows, |row| row.seq)
    });
}

/// Counts uploads.
pub(super) fn count(batch: &mut CteBatch, rows: &[UploadRow]) {
    batch.add(COUNT, rows, |count, rows| {
        count
            .column(rows, |row| row.day.tenant.as_str())
            .column(rows, |row| row.day.principal.as_str())
            .column(rows, |row| row.day.ends_at.date_time())
            .column(rows, |row| row.uploads.files.cast_signed())
            .column(rows, |row| row.uploads.bytes.cast_signed())
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
