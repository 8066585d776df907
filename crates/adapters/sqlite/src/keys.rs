//! API keys.

use async_trait::async_trait;
use domain::{ApiKey, KeyId, Page, TenantId, Timestamp, api_key::SecretDigest};
use ports::{KeyPosition, KeyRepository, RepositoryError};
use sqlx::SqliteConnection;

use crate::{
    SqliteStore,
    error::{conflict_on, corrupt, from_sqlx, in_table},
    row,
};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "select id, tenant_id, name, scopes, digest, last4, previous_digest, previous_until, \
             created_at, expires_at, last_used_at, revoked_at, allowed_origins, limits \
             from api_keys ",
            $rest
        )
    };
}

const INSERT: &str = "\
    insert into api_keys (id, tenant_id, name, scopes, digest, last4, previous_digest, \
        previous_until, created_at, expires_at, last_used_at, revoked_at, allowed_origins, limits) \
    values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
const NOTE_KEY: &str = "update store_state set had_key = 1 where had_key = 0";
const HAD_KEY: &str = "select had_key from store_state";
const FIND: &str = select!("where id = ?1");
const LIST: &str = select!(
    "where tenant_id = ?1 and (created_at, id) < (?2, ?3) \
     order by created_at desc, id desc limit ?4"
);
const EXISTS: &str = "select exists (select 1 from api_keys where tenant_id = ?1 and id = ?2)";
const REVOKE: &str = "\
    update api_keys set revoked_at = ?3 \
    where tenant_id = ?1 and id = ?2 and revoked_at is null";
const RAISE_ACCESS_VERSION: &str = "update store_state set access_version = access_version + 1";
const TOUCH: &str = "\
    update api_keys set last_used_at = used.at \
    from (select value ->> 0 as id, max(value ->> 1) as at from json_each(?1) group by 1) as used \
    where api_keys.id = used.id and coalesce(api_keys.last_used_at < used.at, true)";
const ACCESS_VERSION: &str = "select access_version from store_state";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    INSERT,
    NOTE_KEY,
    HAD_KEY,
    FIND,
    LIST,
    EXISTS,
    REVOKE,
    RAISE_ACCESS_VERSION,
    TOUCH,
    ACCESS_VERSION,
];

#[derive(sqlx::FromRow)]
struct KeyRow {
    id: String,
    tenant_id: String,
    name: String,
    scopes: String,
    digest: Vec<u8>,
    last4: String,
    previous_digest: Option<Vec<u8>>,
    previous_until: Option<i64>,
    created_at: i64,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    revoked_at: Option<i64>,
    allowed_origins: String,
    limits: String,
}

impl TryFrom<KeyRow> for ApiKey {
    type Error = RepositoryError;

    fn try_from(row: KeyRow) -> Result<Self, RepositoryError> {
        let previous = match (row.previous_digest, row.previous_until) {
            (Some(bytes), Some(until)) => Some((
                digest("api_keys.previous_digest", &bytes)?,
                row::time(until),
            )),
            _ => None,
        };
        Ok(Self {
            id: row::parse("api_keys.id", &row.id)?,
            tenant: row::parse("api_keys.tenant_id", &row.tenant_id)?,
            name: row.name,
            scopes: row::from_json("api_keys.scopes", &row.scopes)?,
            digest: digest("api_keys.digest", &row.digest)?,
            last4: row.last4,
            previous,
            created_at: row::time(row.created_at),
            expires_at: row.expires_at.map(row::time),
            last_used_at: row.last_used_at.map(row::time),
            revoked_at: row.revoked_at.map(row::time),
            allowed_origins: row::from_json("api_keys.allowed_origins", &row.allowed_origins)?,
            limits: row::from_json("api_keys.limits", &row.limits)?,
        })
    }
}

fn digest(column: &'static str, bytes: &[u8]) -> Result<SecretDigest, RepositoryError> {
    let bytes = bytes.try_into().map_err(corrupt(column))?;
    Ok(SecretDigest::new(bytes))
}

/// API keys in SQLite.
pub(crate) struct SqliteKeys {
    pub(crate) store: SqliteStore,
}

#[async_trait]
impl KeyRepository for SqliteKeys {
    async fn insert(&self, key: &ApiKey) -> Result<(), RepositoryError> {
        let key = key.clone();
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move {
                    note_key(connection).await?;
                    insert(connection, &key).await
                })
            })
            .await
    }

    async fn insert_first(&self, key: &ApiKey) -> Result<bool, RepositoryError> {
        let key = key.clone();
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move {
                    let is_first = note_key(connection).await?;
                    if is_first {
                        insert(connection, &key).await?;
                    }
                    Ok(is_first)
                })
            })
            .await
    }

    async fn find(&self, id: &KeyId) -> Result<Option<ApiKey>, RepositoryError> {
        let row: Option<KeyRow> = sqlx::query_as(FIND)
            .bind(id.as_str())
            .fetch_optional(&self.store.readers)
            .await
            .map_err(in_table("api_keys"))?;
        row.map(ApiKey::try_from).transpose()
    }

    async fn list(
        &self,
        tenant: &TenantId,
        after: Option<&KeyPosition>,
        limit: usize,
    ) -> Result<Page<ApiKey>, RepositoryError> {
        let rows: Vec<KeyRow> = sqlx::query_as(LIST)
            .bind(tenant.as_str())
            .bind(after.map_or(i64::MAX, |after| after.created_at.milliseconds()))
            .bind(after.map_or("", |after| after.id.as_str()))
            .bind(row::one_more(limit))
            .fetch_all(&self.store.readers)
            .await
            .map_err(in_table("api_keys"))?;
        let keys = rows.into_iter().map(ApiKey::try_from);
        Ok(Page::from_one_more(keys.collect::<Result<_, _>>()?, limit))
    }

    async fn revoke(
        &self,
        tenant: &TenantId,
        id: &KeyId,
        at: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move { revoke(connection, &tenant, &id, at).await })
            })
            .await
    }

    async fn touch(&self, used: &[(KeyId, Timestamp)]) -> Result<(), RepositoryError> {
        if used.is_empty() {
            return Ok(());
        }
        let used: Vec<_> = used
            .iter()
            .map(|(id, at)| (id, at.milliseconds()))
            .collect();
        let touch = sqlx::query(TOUCH).bind(row::to_json(&used)?);
        self.store
            .writer
            .transaction(move |connection| {
                Box::pin(async move {
                    touch.execute(connection).await.map_err(from_sqlx)?;
                    Ok(())
                })
            })
            .await
    }

    async fn has_ever_held_one(&self) -> Result<bool, RepositoryError> {
        sqlx::query_scalar(HAD_KEY)
            .fetch_one(&self.store.readers)
            .await
            .map_err(in_table("store_state"))
    }

    async fn access_version(&self) -> Result<i64, RepositoryError> {
        sqlx::query_scalar(ACCESS_VERSION)
            .fetch_one(&self.store.readers)
            .await
            .map_err(in_table("store_state"))
    }
}

/// Notes that the store holds a key; answers whether it never did before.
async fn note_key(connection: &mut SqliteConnection) -> Result<bool, RepositoryError> {
    let noted = sqlx::query(NOTE_KEY).execute(connection).await;
    Ok(noted.map_err(from_sqlx)?.rows_affected() == 1)
}

async fn insert(connection: &mut SqliteConnection, key: &ApiKey) -> Result<(), RepositoryError> {
    let previous = key.previous.as_ref();
    sqlx::query(INSERT)
        .bind(key.id.as_str())
        .bind(key.tenant.as_str())
        .bind(&key.name)
        .bind(row::to_json(&key.scopes)?)
        .bind(key.digest.bytes().as_slice())
        .bind(&key.last4)
        .bind(previous.map(|(digest, _)| digest.bytes().as_slice()))
        .bind(previous.map(|(_, until)| until.milliseconds()))
        .bind(key.created_at.milliseconds())
        .bind(key.expires_at.map(Timestamp::milliseconds))
        .bind(key.last_used_at.map(Timestamp::milliseconds))
        .bind(key.revoked_at.map(Timestamp::milliseconds))
        .bind(row::to_json(&key.allowed_origins)?)
        .bind(row::to_json(&key.limits)?)
        .execute(connection)
        .await
        .map_err(conflict_on("key"))?;
    Ok(())
}

async fn revoke(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    id: &KeyId,
    at: Timestamp,
) -> Result<bool, RepositoryError> {
    let revoked = sqlx::query(REVOKE)
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(at.milliseconds())
        .execute(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    if revoked.rows_affected() == 1 {
        let raised = sqlx::query(RAISE_ACCESS_VERSION).execute(connection).await;
        raised.map_err(from_sqlx)?;
        return Ok(true);
    }
    sqlx::query_scalar(EXISTS)
        .bind(tenant.as_str())
        .bind(id.as_str())
        .fetch_one(connection)
        .await
        .map_err(from_sqlx)
}
