//! Rows of `credentials`, and the row of `store_state`.

use domain::{Credential, Timestamp};
use ports::RepositoryError;
use relational::{Revocation, StateChange, credential_columns, stored::ProofColumns};
use serde::Serialize;
use serde_json::Value;

use super::hexadecimal;
use crate::script::{Script, to_json};

const INSERT: &str = concat!(
    given!(),
    "insert into credentials (",
    credential_columns!(),
    ", sort_seq) \
    select entry ->> 'id', entry ->> 'kind', entry ->> 'tenant', entry ->> 'name', \
        entry ->> 'scopes', unhex(entry ->> 'digest'), entry ->> 'last4', \
        unhex(entry ->> 'previousDigest'), entry ->> 'previousUntil', entry ->> 'keySet', \
        entry ->> 'keySetUrl', entry ->> 'created', entry ->> 'expires', entry ->> 'lastUsed', \
        entry ->> 'revoked', entry ->> 'allowedOrigins', entry ->> 'limits', \
        row_number() over (partition by entry ->> 'tenant', entry ->> 'kind') \
            + (select coalesce(max(c.sort_seq), 0) from credentials c \
                where c.tenant_id = entry ->> 'tenant' and c.kind = entry ->> 'kind') \
    from given"
);
const REVOKE: &str = concat!(
    given!(),
    "update credentials set revoked_at = n.at \
    from (select entry ->> 0 as id, entry ->> 1 as at from given) n \
    where credentials.id = n.id and credentials.revoked_at is null"
);
const CHANGE_STATE: &str = concat!(
    given!(),
    "update store_state set access_version = access_version + n.raised, \
        had_key = max(had_key, n.has_key) \
    from (select entry ->> 0 as raised, entry ->> 1 as has_key from given) n"
);

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[INSERT, REVOKE, CHANGE_STATE];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewCredential<'r> {
    id: &'r str,
    kind: &'static str,
    tenant: &'r str,
    name: &'r str,
    scopes: String,
    digest: Option<String>,
    last4: Option<String>,
    previous_digest: Option<String>,
    previous_until: Option<i64>,
    key_set: Option<String>,
    key_set_url: Option<String>,
    created: i64,
    expires: Option<i64>,
    last_used: Option<i64>,
    revoked: Option<i64>,
    allowed_origins: String,
    limits: String,
}

/// Inserts new credentials.
pub(super) fn insert(script: &mut Script, rows: &[Credential]) -> Result<(), RepositoryError> {
    script.add(INSERT, rows, |row| {
        let proof = ProofColumns::from(&row.proof);
        Ok(NewCredential {
            id: row.id.as_str(),
            kind: row.kind.as_str(),
            tenant: row.tenant.as_str(),
            name: &row.name,
            scopes: to_json(&row.scopes)?,
            digest: proof.digest.as_deref().map(hexadecimal),
            last4: proof.last4,
            previous_digest: proof.previous_digest.as_deref().map(hexadecimal),
            previous_until: proof.previous_until.map(Timestamp::milliseconds),
            key_set: proof.key_set.as_ref().map(Value::to_string),
            key_set_url: proof.key_set_url,
            created: row.created_at.milliseconds(),
            expires: row.expires_at.map(Timestamp::milliseconds),
            last_used: row.last_used_at.map(Timestamp::milliseconds),
            revoked: row.revoked_at.map(Timestamp::milliseconds),
            allowed_origins: to_json(&row.allowed_origins)?,
            limits: to_json(&row.limits)?,
        })
    })
}

/// Revokes credentials that are not revoked yet.
pub(super) fn revoke(script: &mut Script, rows: &[Revocation]) -> Result<(), RepositoryError> {
    script.add(REVOKE, rows, |row| {
        Ok((row.id.as_str(), row.revoked_at.milliseconds()))
    })
}

/// Changes the state of the store.
pub(super) fn change_state(
    script: &mut Script,
    change: StateChange,
) -> Result<(), RepositoryError> {
    if change == StateChange::default() {
        return Ok(());
    }
    script.add(CHANGE_STATE, &[change], |change| {
        Ok((change.raises_access_version, change.records_key))
    })
}
