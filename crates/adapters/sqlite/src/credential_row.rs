//! A credential as it is stored.

use domain::Credential;
use ports::RepositoryError;
use relational::{ProofColumns, column};

use crate::row;

/// The columns of a credential.
macro_rules! credential_columns {
    () => {
        "id, kind, tenant_id, name, scopes, digest, last4, previous_digest, previous_until, \
         key_set, key_set_url, created_at, expires_at, last_used_at, revoked_at, \
         allowed_origins, limits"
    };
}
pub(crate) use credential_columns;

#[derive(sqlx::FromRow)]
pub(crate) struct CredentialRow {
    id: String,
    kind: String,
    tenant_id: String,
    name: String,
    scopes: String,
    digest: Option<Vec<u8>>,
    last4: Option<String>,
    previous_digest: Option<Vec<u8>>,
    previous_until: Option<i64>,
    key_set: Option<String>,
    key_set_url: Option<String>,
    created_at: i64,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
    allowed_origins: String,
    limits: String,
}

impl TryFrom<CredentialRow> for Credential {
    type Error = RepositoryError;

    fn try_from(row: CredentialRow) -> Result<Self, RepositoryError> {
        let key_set = row.key_set.as_deref();
        let proof = ProofColumns {
            digest: row.digest,
            last4: row.last4,
            previous_digest: row.previous_digest,
            previous_until: row.previous_until.map(row::time),
            key_set: key_set
                .map(|key_set| row::from_json("credentials.key_set", key_set))
                .transpose()?,
            key_set_url: row.key_set_url,
        };
        Ok(Self {
            kind: column::parse("credentials.kind", &row.kind)?,
            id: column::parse("credentials.id", &row.id)?,
            tenant: column::parse("credentials.tenant_id", &row.tenant_id)?,
            name: row.name,
            scopes: row::from_json("credentials.scopes", &row.scopes)?,
            proof: proof.try_into()?,
            created_at: row::time(row.created_at),
            expires_at: row.expires_at.map(row::time),
            last_used_at: row.last_used_at.map(row::time),
            revoked_at: row.revoked_at.map(row::time),
            allowed_origins: row::from_json("credentials.allowed_origins", &row.allowed_origins)?,
            limits: row::from_json("credentials.limits", &row.limits)?,
        })
    }
}
