//! Keys that sign access tokens.

use domain::{SigningKey, Timestamp};
use ports::RepositoryError;
use relational::{read, repositories::SigningKeySql, stored::StoredSigningKey};
use sqlx::{PgConnection, types::Json};

use crate::{
    PostgresStore,
    error::{conflict_on, from_sqlx, in_table},
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

impl SigningKeySql for PostgresStore {
    async fn list_signing_keys(&self) -> Result<Vec<SigningKey>, RepositoryError> {
        let rows = self.connections.fetch_all(sqlx::query(LIST)).await?;
        read::rows("signing_keys", rows, |row: StoredSigningKey| Ok(row.into()))
    }

    async fn newest_signing_key(
        connection: &mut PgConnection,
    ) -> Result<Option<String>, RepositoryError> {
        let newest = sqlx::query_scalar(NEWEST).fetch_optional(connection).await;
        newest.map_err(in_table("signing_keys"))
    }

    async fn limit_signing_keys(
        connection: &mut PgConnection,
        until: Timestamp,
    ) -> Result<(), RepositoryError> {
        let limit = sqlx::query(END).bind(until.date_time());
        limit.execute(connection).await.map(drop).map_err(from_sqlx)
    }

    async fn insert_signing_key(
        connection: &mut PgConnection,
        key: &SigningKey,
    ) -> Result<(), RepositoryError> {
        let inserted = sqlx::query(INSERT)
            .bind(&key.kid)
            .bind(&key.private_key)
            .bind(key.is_sealed)
            .bind(Json(&key.public_key))
            .bind(key.created_at.date_time())
            .bind(key.valid_until.map(Timestamp::date_time))
            .execute(connection)
            .await;
        inserted.map(drop).map_err(conflict_on("signing key"))
    }
}
