//! Rows of `users`.

use domain::{ErasureId, TenantId};
use ports::{
    RepositoryError,
    write_store::{ErasureRow, UserRow},
};

use super::change::{Changes, Parameter};

relational::statements! {
    const SAVE: &str = "\
        insert into users (tenant_id, user_id, name, context, metadata, created_at, updated_at, sort_seq) \
        values (?, ?, ?, ?, ?, ?, ?, ?) \
        on conflict (tenant_id, user_id) do update set name = excluded.name, \
            context = excluded.context, metadata = excluded.metadata, updated_at = excluded.updated_at";

    const BEGIN_ERASURE: &str = "insert into erasures (tenant_id, id, user_id) values (?, ?, ?)";

    const DELETE: &str = "delete from users where tenant_id = ? and user_id = ?";

    const END_ERASURE: &str = "delete from erasures where tenant_id = ? and id = ?";
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

/// Stores an erasure that begins, and deletes its user.
pub(super) fn begin_erasure<'r>(changes: &mut Changes<'r>, row: &'r ErasureRow) {
    let (tenant, user) = (row.tenant.as_str(), row.user_id.as_str());
    changes.add(BEGIN_ERASURE, [tenant.into(), row.id.into(), user.into()]);
    changes.add(DELETE, [tenant.into(), user.into()]);
}

/// Removes an erasure that has ended.
pub(super) fn end_erasure<'r>(changes: &mut Changes<'r>, (tenant, id): &'r (TenantId, ErasureId)) {
    changes.add(END_ERASURE, [tenant.as_str().into(), (*id).into()]);
}
