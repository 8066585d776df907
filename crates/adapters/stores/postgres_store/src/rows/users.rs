//! Rows of `users`.

use ports::write_store::UserRow;
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
