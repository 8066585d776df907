//! Maintenance of the store.

mod statements;

use async_trait::async_trait;
use domain::Timestamp;
use ports::{Maintenance, RepositoryError, RetentionCutoffs};
use relational::{Store as _, column::StoredTime, page_budget, trim_log};
use sqlx::SqliteConnection;

use crate::{SqliteStore, error::from_sqlx};

pub(crate) use statements::STATEMENTS;
use statements::{DELETE_AGENTS, DELETE_CLAIMS, ENDED, MARKS, NOW, PING, REMOVALS};

/// Maintenance of SQLite.
pub(crate) struct StoreMaintenance(pub(crate) SqliteStore);

#[async_trait]
impl Maintenance for StoreMaintenance {
    async fn ping(&self) -> Result<(), RepositoryError> {
        self.0.writer.check()?;
        let pinged = sqlx::query(PING).execute(&self.0.readers).await;
        pinged.map(drop).map_err(from_sqlx)
    }

    async fn now(&self) -> Result<Timestamp, RepositoryError> {
        let now = sqlx::query_scalar(NOW).fetch_one(&self.0.readers).await;
        now.map(|StoredTime(now)| now).map_err(from_sqlx)
    }

    async fn purge(
        &self,
        limit: usize,
        outdated: RetentionCutoffs,
    ) -> Result<u64, RepositoryError> {
        let limit = page_budget::row_count(limit);
        self.0
            .transaction(move |connection| {
                Box::pin(async move {
                    let deleted_before = outdated.deleted_before;
                    let mut left = remove_deleted(connection, limit, deleted_before).await?;
                    left -=
                        remove(connection, DELETE_CLAIMS, left, outdated.records_before).await?;
                    for statement in ENDED {
                        left -= remove(connection, statement, left, outdated.ended_before).await?;
                    }
                    Ok((limit - left).unsigned_abs())
                })
            })
            .await
    }

    async fn compact(&self) -> Result<(), RepositoryError> {
        self.0.truncate_log().await
    }

    async fn trim_log(&self, before: Timestamp, limit: usize) -> Result<u64, RepositoryError> {
        trim_log(&self.0, before, limit).await
    }
}

/// Returns the remaining part of `limit`.
async fn remove_deleted(
    connection: &mut SqliteConnection,
    limit: i64,
    deleted_before: Timestamp,
) -> Result<i64, RepositoryError> {
    let mut left = limit;
    for statement in MARKS {
        let marked = sqlx::query(statement).bind(left).execute(&mut *connection);
        left = left.saturating_sub_unsigned(marked.await.map_err(from_sqlx)?.rows_affected());
        if left <= 0 {
            return Ok(0);
        }
    }
    for statement in REMOVALS {
        if left <= 0 {
            return Ok(0);
        }
        let removal = sqlx::query(statement)
            .bind(left)
            .bind(deleted_before.milliseconds());
        let removal = match statement {
            DELETE_AGENTS => removal,
            _ => removal.bind(limit),
        };
        let removed = removal.execute(&mut *connection).await.map_err(from_sqlx)?;
        left = left.saturating_sub_unsigned(removed.rows_affected());
    }
    Ok(left.max(0))
}

/// Runs `statement` on at most `limit` rows that are older than `before`. Returns the number of
/// removed rows.
async fn remove(
    connection: &mut SqliteConnection,
    statement: &'static str,
    limit: i64,
    before: Timestamp,
) -> Result<i64, RepositoryError> {
    let removed = sqlx::query(statement)
        .bind(limit)
        .bind(before.milliseconds())
        .execute(connection)
        .await
        .map_err(from_sqlx)?;
    Ok(i64::try_from(removed.rows_affected()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use tokio_util::task::TaskTracker;

    use crate::{SqliteOptions, SqliteStore};

    #[tokio::test]
    async fn a_store_without_its_writer_is_not_healthy() {
        let folder = TempDir::new().unwrap();
        let url = format!("sqlite://{}/test.db", folder.path().display());
        let store = SqliteStore::open(&url, SqliteOptions::default(), &TaskTracker::new())
            .await
            .unwrap();
        let maintenance = store.storage().maintenance;
        maintenance.ping().await.unwrap();
        store.writer.close().await;
        assert!(maintenance.ping().await.unwrap_err().is_retryable());
    }
}
