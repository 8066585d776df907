//! Rows of `users`.

use ports::{RepositoryError, write_store::UserRow};

use super::change::{Changes, Parameter};

relational::statements! {
    const SAVE: &str = "\
        insert into users (tenant_id, user_id, name, context, metadata, created_at, updated_at, sort_seq) \
        values (?, ?, ?, ?, ?, ?, ?, ?) \
        on conflict (tenant_id, user_id) do update set name = excluded.name, \
            context = excluded.context, metadata = excluded.metadata, updated_at = excluded.updated_at";
}

/// Inserts a user, or replaces its content.
pub(super) fn save<'r>(changes: &mut Changes<'r>, row: &'r UserRow) -> Result<(), RepositoryError> {
    let user = &row.user;
    changes.add(
        SAVE,
        [
            row.tenant.as_str().into(),
            user.user_id.as_str().into(),
            user.name.as_deref().into(),
            user.context.as_str().into(),
            Parameter::json(&user.metadata)?,
            user.created_at.into(),
            user.updated_at.into(),
            row.sort_seq.0.into(),
        ],
    );
    Ok(())
}
