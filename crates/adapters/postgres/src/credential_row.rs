//! A credential as it is stored.

use domain::{Credential, LimitOverrides, Scope, Scopes};
use ports::RepositoryError;
use relational::{ProofColumns, column};
use serde_json::Value;
use sqlx::types::Json;
use time::OffsetDateTime;

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
    scopes: Vec<String>,
    digest: Option<Vec<u8>>,
    last4: Option<String>,
    previous_digest: Option<Vec<u8>>,
    previous_until: Option<OffsetDateTime>,
    key_set: Option<Value>,
    key_set_url: Option<String>,
    created_at: OffsetDateTime,
    expires_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    revoked_at: Option<OffsetDateTime>,
    allowed_origins: Vec<String>,
    limits: Json<LimitOverrides>,
}

impl TryFrom<CredentialRow> for Credential {
    type Error = RepositoryError;

    fn try_from(row: CredentialRow) -> Result<Self, RepositoryError> {
        let proof = ProofColumns {
            digest: row.digest,
            last4: row.last4,
            previous_digest: row.previous_digest,
            previous_until: row.previous_until.map(row::time),
            key_set: row.key_set,
            key_set_url: row.key_set_url,
        };
        Ok(Self {
            kind: column::parse("credentials.kind", &row.kind)?,
            id: column::parse("credentials.id", &row.id)?,
            tenant: column::parse("credentials.tenant_id", &row.tenant_id)?,
            name: row.name,
            scopes: scopes(&row.scopes)?,
            proof: proof.try_into()?,
            created_at: row::time(row.created_at),
            expires_at: row.expires_at.map(row::time),
            last_used_at: row.last_used_at.map(row::time),
            revoked_at: row.revoked_at.map(row::time),
            allowed_origins: row.allowed_origins,
            limits: row.limits.0,
        })
    }
}

fn scopes(words: &[String]) -> Result<Scopes, RepositoryError> {
    let scopes = words
        .iter()
        .map(|word| column::parse::<Scope>("credentials.scopes", word));
    scopes.collect()
}
