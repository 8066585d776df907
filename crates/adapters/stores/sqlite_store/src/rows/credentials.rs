//! Rows of `credentials`, and the row of `store_state`.

use domain::{ConfinedScopes, Credential};
use ports::{
    RepositoryError,
    write_store::{Revocation, StateChange},
};
use relational::{credential_columns, stored::ProofColumns};

use super::change::{Changes, Parameter};

relational::statements! {
    const INSERT: &str = concat!(
        "insert into credentials (",
        credential_columns!(),
        ", sort_seq) \
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
            1 + (select coalesce(max(sort_seq), 0) from credentials where tenant_id = ?3 and kind = ?2))"
    );

    const UPDATE: &str = "\
        update credentials set name = ?, scopes = ?, confined = ?, expires_at = ?, \
            allowed_origins = ?, limits = ? \
        where id = ?";

    const REVOKE: &str = "update credentials set revoked_at = ? where id = ? and revoked_at is null";

    const CHANGE_STATE: &str = "\
        update store_state set access_version = access_version + ?, had_key = max(had_key, ?)";
}

/// Inserts a new credential.
pub(super) fn insert<'r>(
    changes: &mut Changes<'r>,
    row: &'r Credential,
) -> Result<(), RepositoryError> {
    let proof = ProofColumns::from(&row.proof);
    let (scopes, confined) = ConfinedScopes::split(&row.scopes, &row.agents);
    changes.add(
        INSERT,
        [
            row.id.as_str().into(),
            row.kind.as_str().into(),
            row.tenant.as_str().into(),
            row.name.as_str().into(),
            Parameter::json(&scopes)?,
            proof.digest.into(),
            proof.last4.into(),
            proof.previous_digest.into(),
            proof.previous_until.into(),
            proof.key_set.as_ref().into(),
            proof.key_set_url.into(),
            row.created_at.into(),
            row.expires_at.into(),
            row.last_used_at.into(),
            row.revoked_at.into(),
            Parameter::json(&row.allowed_origins)?,
            Parameter::json(&row.limits)?,
            confined.as_ref().map(Parameter::json).transpose()?.into(),
        ],
    );
    Ok(())
}

/// Replaces the content of a credential.
pub(super) fn update<'r>(
    changes: &mut Changes<'r>,
    row: &'r Credential,
) -> Result<(), RepositoryError> {
    let (scopes, confined) = ConfinedScopes::split(&row.scopes, &row.agents);
    changes.add(
        UPDATE,
        [
            row.name.as_str().into(),
            Parameter::json(&scopes)?,
            confined.as_ref().map(Parameter::json).transpose()?.into(),
            row.expires_at.into(),
            Parameter::json(&row.allowed_origins)?,
            Parameter::json(&row.limits)?,
            row.id.as_str().into(),
        ],
    );
    Ok(())
}

/// Revokes a credential that is not revoked yet.
pub(super) fn revoke<'r>(changes: &mut Changes<'r>, row: &'r Revocation) {
    changes.add(REVOKE, [row.revoked_at.into(), row.id.as_str().into()]);
}

/// Changes the state of the store.
pub(super) fn change_state(changes: &mut Changes<'_>, change: StateChange) {
    if change != StateChange::default() {
        let values = [change.raises_access_version, change.records_key];
        changes.add(CHANGE_STATE, values.map(Parameter::from));
    }
}
