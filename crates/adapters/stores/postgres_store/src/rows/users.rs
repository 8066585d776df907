//! Rows of `users`.

use domain::{ErasureId, TenantId};
use ports::write_store::{ErasureRow, UserRow};
use sqlx::types::Json;

use crate::{cte_batch::CteBatch, fragments::unnest};

relational::statements! {
    const SAVE: &str = concat!(
        "insert into users (tenant_id, user_id, name, context, metadata, created_at, updated_at, \
            sort_seq) \
        select * from ",
        unnest!(
            1 text, 2 text, 3 text, 4 text, 5 jsonb, 6 timestamptz, 7 timestamptz, 8 bigint
        ),
        " as n where true \
        on conflict (tenant_id, user_id) do update set name = excluded.name, \
            context = excluded.context, metadata = excluded.metadata, \
            updated_at = excluded.updated_at"
    );

    const BEGIN_ERASURE: &str = concat!(
        "insert into erasures (tenant_id, id, user_id) select * from ",
        unnest!(1 text, 2 uuid, 3 text),
        " as n where true"
    );

    const DELETE: &str = concat!(
        "delete from users using ",
        unnest!(1 text, 2 text),
        " as n (tenant, name_of_user) where tenant_id = n.tenant and user_id = n.name_of_user"
    );

    const END_ERASURE: &str = concat!(
        "delete from erasures using ",
        unnest!(1 text, 2 uuid),
        " as n (tenant, erasure) where tenant_id = n.tenant and id = n.erasure"
    );
}

/// Inserts users, or replaces their content.
pub(super) fn save(batch: &mut CteBatch, rows: &[UserRow]) {
    batch.add(SAVE, rows, |save, rows| {
        save.column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.user.user_id.as_str())
            .column(rows, |row| row.user.name.as_deref())
            .column(rows, |row| row.user.context.as_str())
            .column(rows, |row| Json(&row.user.metadata))
            .column(rows, |row| row.user.created_at.date_time())
            .column(rows, |row| row.user.updated_at.date_time())
            .column(rows, |row| row.sort_seq.0)
    });
}

/// Stores erasures that begin, and deletes their users.
pub(super) fn begin_erasures(batch: &mut CteBatch, rows: &[ErasureRow]) {
    batch.add(BEGIN_ERASURE, rows, |insert, rows| {
        insert
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.id.uuid())
            .column(rows, |row| row.user_id.as_str())
    });
    batch.add(DELETE, rows, |delete, rows| {
        delete
            .column(rows, |row| row.tenant.as_str())
            .column(rows, |row| row.user_id.as_str())
    });
}

/// Removes erasures that have ended.
pub(super) fn end_erasures(batch: &mut CteBatch, rows: &[(TenantId, ErasureId)]) {
    batch.add(END_ERASURE, rows, |delete, rows| {
        delete
            .column(rows, |(tenant, _)| tenant.as_str())
            .column(rows, |(_, id)| id.uuid())
    });
}
