//! API keys.

use async_trait::async_trait;
use domain::{
    ApiKey, KeyId, Page, Scope, Scopes, TenantId, Timestamp,
    api_key::{LimitOverrides, SecretDigest},
};
use ports::{KeyPosition, KeyRepository, RepositoryError};
use sqlx::{PgConnection, postgres::PgRow, types::Json};
use time::OffsetDateTime;

use crate::{
    PostgresStore,
    error::{conflict_on, corrupt, from_sqlx},
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
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
const NOTE_KEY: &str = "update store_state set had_key = true where not had_key";
const HAD_KEY: &str = "select had_key from store_state";
const FIND: &str = select!("where id = $1");
const LIST: &str = select!(
    "where tenant_id = $1 and (created_at, id) < ($2, $3) \
     order by created_at desc, id desc limit $4"
);
const EXISTS: &str = "select exists (select 1 from api_keys where tenant_id = $1 and id = $2)";
const REVOKE: &str = "\
    update api_keys set revoked_at = $3 \
    where tenant_id = $1 and id = $2 and revoked_at is null";
const RAISE_ACCESS_VERSION: &str = "update store_state set access_version = access_version + 1";
/// In id order, so that two nodes that touch the same keys do not wait for each other.
const TOUCH: &str = "\
    with used as materialized ( \
        select k.id, n.at \
        from (select id, max(at) as at from unnest($1::text[], $2::timestamptz[]) as n (id, at) \
            group by id) n \
        join api_keys k on k.id = n.id \
        order by k.id for update of k) \
    update api_keys set last_used_at = used.at from used \
    where api_keys.id = used.id \
        and (api_keys.last_used_at is null or api_keys.last_used_at < used.at)";
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
    scopes: Vec<String>,
    digest: Vec<u8>,
    last4: String,
    previous_digest: Option<Vec<u8>>,
    previous_until: Option<OffsetDateTime>,
    created_at: OffsetDateTime,
    expires_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    revoked_at: Option<OffsetDateTime>,
    allowed_origins: Vec<String>,
    limits: Json<LimitOverrides>,
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
            scopes: scopes(&row.scopes)?,
            digest: digest("api_keys.digest", &row.digest)?,
            last4: row.last4,
            previous,
            created_at: row::time(row.created_at),
            expires_at: row.expires_at.map(row::time),
            last_used_at: row.last_used_at.map(row::time),
            revoked_at: row.revoked_at.map(row::time),
            allowed_origins: row.allowed_origins,
            limits: row.limits.0,
        })
    }
}

fn key(row: &PgRow) -> Result<ApiKey, RepositoryError> {
    row::read::<KeyRow>("api_keys", row)?.try_into()
}

fn scopes(words: &[String]) -> Result<Scopes, RepositoryError> {
    let scopes = words
        .iter()
        .map(|word| row::parse::<Scope>("api_keys.scopes", word));
    scopes.collect()
}

fn digest(column: &'static str, bytes: &[u8]) -> Result<SecretDigest, RepositoryError> {
    let bytes = bytes.try_into().map_err(corrupt(column))?;
    Ok(SecretDigest::new(bytes))
}

/// API keys in PostgreSQL.
pub(crate) struct PostgresKeys {
    pub(crate) store: PostgresStore,
}

#[async_trait]
impl KeyRepository for PostgresKeys {
    async fn insert(&self, key: &ApiKey) -> Result<(), RepositoryError> {
        let key = key.clone();
        self.store
            .connections
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
            .connections
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
        let find = sqlx::query(FIND).bind(id.as_str());
        let row = self.store.connections.fetch_optional(find).await?;
        row.map(|row| key(&row)).transpose()
    }

    async fn list(
        &self,
        tenant: &TenantId,
        after: Option<&KeyPosition>,
        limit: usize,
    ) -> Result<Page<ApiKey>, RepositoryError> {
        let created_at = after.map_or(row::END_OF_TIME, |after| after.created_at);
        let list = sqlx::query(LIST)
            .bind(tenant.as_str())
            .bind(created_at.date_time())
            .bind(after.map_or_else(String::new, |after| after.id.to_string()))
            .bind(row::one_more(limit));
        let rows = self.store.connections.fetch_all(list).await?;
        let keys = rows.iter().map(key).collect::<Result<_, _>>()?;
        Ok(Page::from_one_more(keys, limit))
    }

    async fn revoke(
        &self,
        tenant: &TenantId,
        id: &KeyId,
        at: Timestamp,
    ) -> Result<bool, RepositoryError> {
        let (tenant, id) = (tenant.clone(), id.clone());
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move { revoke(connection, &tenant, &id, at).await })
            })
            .await
    }

    async fn touch(&self, used: &[(KeyId, Timestamp)]) -> Result<(), RepositoryError> {
        if used.is_empty() {
            return Ok(());
        }
        let (ids, times): (Vec<_>, Vec<_>) = used
            .iter()
            .map(|(id, at)| (id.to_string(), at.date_time()))
            .unzip();
        let touch = sqlx::query(TOUCH).bind(ids).bind(times);
        self.store
            .connections
            .transaction(move |connection| {
                Box::pin(async move {
                    touch.execute(connection).await.map_err(from_sqlx)?;
                    Ok(())
                })
            })
            .await
    }

    async fn has_ever_held_one(&self) -> Result<bool, RepositoryError> {
        let read = sqlx::query(HAD_KEY);
        let row = self.store.connections.fetch_optional(read).await?;
        let row = row.ok_or_else(|| corrupt("store_state")("there is no row"))?;
        row::scalar("store_state", &row)
    }

    async fn access_version(&self) -> Result<i64, RepositoryError> {
        let read = sqlx::query(ACCESS_VERSION);
        let row = self.store.connections.fetch_optional(read).await?;
        let row = row.ok_or_else(|| corrupt("store_state")("there is no row"))?;
        row::scalar("store_state", &row)
    }
}

/// Notes that the store holds a key; answers whether it never did before.
async fn note_key(connection: &mut PgConnection) -> Result<bool, RepositoryError> {
    let noted = sqlx::query(NOTE_KEY).execute(connection).await;
    Ok(noted.map_err(from_sqlx)?.rows_affected() == 1)
}

async fn insert(connection: &mut PgConnection, key: &ApiKey) -> Result<(), RepositoryError> {
    let previous = key.previous.as_ref();
    sqlx::query(INSERT)
        .bind(key.id.as_str())
        .bind(key.tenant.as_str())
        .bind(&key.name)
        .bind(key.scopes.iter().map(Scope::as_str).collect::<Vec<_>>())
        .bind(key.digest.bytes().as_slice())
        .bind(&key.last4)
        .bind(previous.map(|(digest, _)| digest.bytes().as_slice()))
        .bind(previous.map(|(_, until)| until.date_time()))
        .bind(key.created_at.date_time())
        .bind(key.expires_at.map(Timestamp::date_time))
        .bind(key.last_used_at.map(Timestamp::date_time))
        .bind(key.revoked_at.map(Timestamp::date_time))
        .bind(&key.allowed_origins)
        .bind(Json(&key.limits))
        .execute(connection)
        .await
        .map_err(conflict_on("key"))?;
    Ok(())
}

async fn revoke(
    connection: &mut PgConnection,
    tenant: &TenantId,
    id: &KeyId,
    at: Timestamp,
) -> Result<bool, RepositoryError> {
    let revoked = sqlx::query(REVOKE)
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(at.date_time())
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
