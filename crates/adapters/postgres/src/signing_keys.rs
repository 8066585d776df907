//! Keys that sign access tokens.

use async_trait::async_trait;
use domain::{SigningKey, Timestamp};
use ports::{RepositoryError, SigningKeyRepository};
use serde_json::Value;
use sqlx::{PgConnection, types::Json};
use time::OffsetDateTime;

use crate::{
    PostgresStore,
    error::{conflict_on, from_sqlx, in_table},
    row, store_state,
};

const LIST: &str = "\
    select kid, private_key, is_sealed, public_key, created_at, valid_until from signing_keys \
    order by created_at desc, kid desc";
const NEWEST: &str = "select kid from signing_keys order by created_at desc, kid desc limit 1";
const END: &str = "\
    update signing_keys set valid_until = $1 where valid_until is null or valid_until > $1";
const INSERT: &str = "\
    insert into signing_keys (kid, private_key, is_sealed, public_key, created_at, valid_until) \
    values ($1, $2, $3, $4, $5, $6)";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[LIST, NEWEST, END, INSERT];

#[derive(sqlx::FromRow)]
struct SigningKeyRow {
    kid: String,
    private_key: Vec<u8>,
    is_sealed: bool,
    public_key: Value,
    created_at: OffsetDateTime,
    valid_until: Option<OffsetDateTime>,
}

impl From<SigningKeyRow> for SigningKey {
    fn from(row: SigningKeyRow) -> Self {
        Self {
            kid: row.kid,
            private_key: row.private_key,
            is_sealed: row.is_sealed,
            public_key: row.public_key,
            created_at: row::time(row.created_at),
            valid_until: row.valid_until.map(row::time),
        }
    }
}

/// Signing keys in PostgreSQL.
pub(crate) struct PostgresSigningKeys {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl SigningKeyRepository for PostgresSigningKeys {
    async fn list(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        let rows = self.store.connections.fetch_all(sqlx::query(LIST)).await?;
        rows.iter()
            .map(|row| row::read::<SigningKeyRow>("signing_keys", row).map(SigningKey::from))
            .collect()
    }

    async fn add(
        &self,
        key: &SigningKey,
        newest: Option<&str>,
        previous_until: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let (key, newest) = (key.clone(), newest.map(str::to_owned));
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(
                    async move { add(connection, &key, newest.as_deref(), previous_until).await },
                )
            })
            .await
    }
}

async fn add(
    connection: &mut PgConnection,
    key: &SigningKey,
    newest: Option<&str>,
    previous_until: Timestamp,
) -> Result<bool, RepositoryError> {
    store_state::lock(connection).await?;
    let stored: Option<String> = sqlx::query_scalar(NEWEST)
        .fetch_optional(&mut *connection)
        .await
        .map_err(in_table("signing_keys"))?;
    if stored.as_deref() != newest {
        return Ok(false);
    }
    sqlx::query(END)
        .bind(previous_until.date_time())
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    sqlx::query(INSERT)
        .bind(&key.kid)
        .bind(&key.private_key)
        .bind(key.is_sealed)
        .bind(Json(&key.public_key))
        .bind(key.created_at.date_time())
        .bind(key.valid_until.map(Timestamp::date_time))
        .execute(&mut *connection)
        .await
        .map_err(conflict_on("signing key"))?;
    store_state::raise_access_version(connection).await?;
    Ok(true)
}
