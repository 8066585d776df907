//! A credential as it is stored.

use domain::{ConfinedScopes, Credential, LimitOverrides, Scopes};
use ports::RepositoryError;
use serde_json::Value;
use sqlx::types::Json;

use super::proof::ProofColumns;
use crate::column::{self, StoredTime, TextList};

/// The columns of a credential.
#[macro_export]
macro_rules! credential_columns {
    () => {
        "id, kind, tenant_id, name, scopes, digest, last4, previous_digest, previous_until, \
         key_set, key_set_url, created_at, expires_at, last_used_at, revoked_at, \
         allowed_origins, limits, confined"
    };
}

/// A credential as it is stored. `Texts` is the type of columns that contain a list of texts.
#[derive(sqlx::FromRow)]
pub struct StoredCredential<Texts> {
    id: String,
    kind: String,
    tenant_id: String,
    name: String,
    scopes: Texts,
    digest: Option<Vec<u8>>,
    last4: Option<String>,
    previous_digest: Option<Vec<u8>>,
    previous_until: Option<StoredTime>,
    key_set: Option<Value>,
    key_set_url: Option<String>,
    created_at: StoredTime,
    expires_at: Option<StoredTime>,
    last_used_at: Option<StoredTime>,
    revoked_at: Option<StoredTime>,
    allowed_origins: Texts,
    limits: Json<LimitOverrides>,
    confined: Option<Json<ConfinedScopes>>,
}

impl<Texts: TextList> TryFrom<StoredCredential<Texts>> for Credential {
    type Error = RepositoryError;

    fn try_from(row: StoredCredential<Texts>) -> Result<Self, RepositoryError> {
        let proof = ProofColumns {
            digest: row.digest,
            last4: row.last4,
            previous_digest: row.previous_digest,
            previous_until: row.previous_until.map(|time| time.0),
            key_set: row.key_set,
            key_set_url: row.key_set_url,
        };
        let scopes = Scopes::read(row.scopes.into_texts());
        let confined = row.confined.map(|confined| confined.0);
        let (scopes, agents) = ConfinedScopes::join(scopes, confined);
        Ok(Self {
            kind: column::parse("credentials.kind", &row.kind)?,
            id: column::parse("credentials.id", &row.id)?,
            tenant: column::parse("credentials.tenant_id", &row.tenant_id)?,
            name: row.name,
            scopes,
            agents,
            proof: proof.try_into()?,
            created_at: row.created_at.0,
            expires_at: row.expires_at.map(|time| time.0),
            last_used_at: row.last_used_at.map(|time| time.0),
            revoked_at: row.revoked_at.map(|time| time.0),
            allowed_origins: row.allowed_origins.into_texts(),
            limits: row.limits.0,
        })
    }
}
