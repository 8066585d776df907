//! Maintenance of the store.

mod statements;

use async_trait::async_trait;
use domain::Timestamp;
use ports::{Maintenance, RepositoryError, RetentionCutoffs};
use relational::{Store as _, column::StoredTime, page_budget, read, trim_log};
use sqlx::{Connection as _, PgConnection};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    PostgresStore,
    error::{ReadOnlySession, from_sqlx, in_table},
};

pub(crate) use statements::STATEMENTS;
use statements::{
    DELETE_AGENT_VERSIONS, DELETE_AGENTS, DELETE_CLAIMS, DELETED_CONVERSATIONS, ENDED, MARK_AGENTS,
    MARK_CONVERSATIONS, NOW, PING, REMOVALS, VACUUM,
};

const WITHOUT_TIMEOUT: &str = "set statement_timeout = 0";

/// Maintenance of PostgreSQL.
pub(crate) struct StoreMaintenance(pub(crate) PostgresStore);

#[async_trait]
impl Maintenance for StoreMaintenance {
    async fn ping(&self) -> Result<(), RepositoryError> {
        self.0.check_writer().await?;
        let is_replica = self.0.is_replica;
        self.0
            .connections
            .run(move |connection| {
                Box::pin(async move {
                    let read = sqlx::query_scalar(PING).fetch_one(connection).await;
                    if read.map_err(from_sqlx)? && !is_replica {
                        let reason = "the session is read-only".to_owned();
                        return Err(RepositoryError::Unavailable(ReadOnlySession(reason).into()));
                    }
                    Ok(())
                })
            })
            .await
    }

    async fn now(&self) -> Result<Timestamp, RepositoryError> {
        let row = self.0.connections.fetch_optional(sqlx::query(NOW)).await?;
        let now = row.map(|row| read::row("the clock", &row)).transpose()?;
        now.map(|(now,): (StoredTime,)| now.0)
            .ok_or_else(|| RepositoryError::Unavailable("the server returned no time".into()))
    }

    async fn purge(
        &self,
        limit: usize,
        outdated: RetentionCutoffs,
    ) -> Result<u64, RepositoryError> {
        let limit = page_budget::row_count(limit);
        let deleted = outdated.deleted_before.date_time();
        let idempotency = outdated.records_before.date_time();
        let ended = outdated.ended_before.date_time();
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let mut left = limit;
                    left -= remove(connection, MARK_CONVERSATIONS, left, None).await?;
                    left -= remove(connection, MARK_AGENTS, left, None).await?;
                    left -= remove_conversations(connection, left, deleted).await?;
                    for statement in [DELETE_AGENT_VERSIONS, DELETE_AGENTS] {
                        left -= remove(connection, statement, left, Some(deleted)).await?;
                    }
                    left -= remove(connection, DELETE_CLAIMS, left, Some(idempotency)).await?;
                    for statement in ENDED {
                        left -= remove(connection, statement, left, Some(ended)).await?;
                    }
                    Ok((limit - left).unsigned_abs())
                })
            })
            .await
    }

    async fn compact(&self) -> Result<(), RepositoryError> {
        // Of its own, because it takes longer than a call.
        let mut connection = self.0.connect_alone().await?;
        sqlx::raw_sql(WITHOUT_TIMEOUT)
            .execute(&mut connection)
            .await
            .map_err(from_sqlx)?;
        let vacuum = sqlx::raw_sql(VACUUM).execute(&mut connection).await;
        vacuum.map_err(from_sqlx)?;
        connection.close().await.map_err(from_sqlx)
    }

    async fn trim_log(&self, before: Timestamp, limit: usize) -> Result<u64, RepositoryError> {
        trim_log(&self.0, before, limit).await
    }
}

/// Runs `statement` on at most `limit` rows, unless the limit is used up. Returns the number of
/// affected rows.
async fn remove(
    connection: &mut PgConnection,
    statement: &'static str,
    limit: i64,
    before: Option<OffsetDateTime>,
) -> Result<i64, RepositoryError> {
    if limit <= 0 {
        return Ok(0);
    }
    let mut removal = sqlx::query(statement).bind(limit);
    if let Some(before) = before {
        removal = removal.bind(before);
    }
    let removed = removal.execute(connection).await.map_err(from_sqlx)?;
    Ok(i64::try_from(removed.rows_affected()).unwrap_or(i64::MAX))
}

/// Removes the rows of conversations deleted before `before`, at most `limit`. Returns their
/// number.
async fn remove_conversations(
    connection: &mut PgConnection,
    limit: i64,
    before: OffsetDateTime,
) -> Result<i64, RepositoryError> {
    let conversations: Vec<(String, Uuid)> = sqlx::query_as(DELETED_CONVERSATIONS)
        .bind(limit.max(0))
        .bind(before)
        .fetch_all(&mut *connection)
        .await
        .map_err(in_table("conversations"))?;
    if conversations.is_empty() {
        return Ok(0);
    }
    let (tenants, ids): (Vec<_>, Vec<_>) = conversations.into_iter().unzip();
    let mut removed = 0;
    for statement in REMOVALS {
        if removed >= limit {
            break;
        }
        let rows: i64 = sqlx::query_scalar(statement)
            .bind(limit - removed)
            .bind(&tenants)
            .bind(&ids)
            .bind(limit)
            .fetch_one(&mut *connection)
            .await
            .map_err(from_sqlx)?;
        removed += rows;
    }
    Ok(removed)
}
