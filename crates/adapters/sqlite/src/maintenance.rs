//! Maintenance of the store.

use async_trait::async_trait;
use domain::Timestamp;
use ports::{Maintenance, RepositoryError, RetentionCutoffs};
use relational::{Store as _, column::StoredTime, page_budget};
use sqlx::SqliteConnection;

use crate::{SqliteStore, error::from_sqlx, log_trim};

/// The conversations to remove next, the same ones in every statement of a transaction.
macro_rules! deleted_conversations {
    () => {
        "with doomed as materialized (select tenant_id, id from conversations \
         where deleted_at < ?2 order by deleted_at, rowid limit ?3) "
    };
}

/// The messages of these conversations, up to the limit.
macro_rules! deleted_messages {
    () => {
        concat!(
            deleted_conversations!(),
            ", chosen as materialized (select m.tenant_id, m.conversation_id, m.seq, m.turn_id \
             from doomed cross join messages m \
             on m.tenant_id = doomed.tenant_id and m.conversation_id = doomed.id limit ?3) "
        )
    };
}

const PING: &str = "select 1";
const NOW: &str = concat!("select ", now!());

/// Deleted agents whose conversations may not all be marked yet. New ones cannot be added to them.
macro_rules! unmarked_agents {
    ($columns:literal) => {
        concat!(
            "(select ",
            $columns,
            " from agents where deleted_at is not null and conversations_marked = 0 \
             order by deleted_at limit ?1) a "
        )
    };
}

const MARK_CONVERSATIONS: &str = concat!(
    "update conversations set deleted_at = ( \
        select a.deleted_at from agents a \
        where a.tenant_id = conversations.tenant_id and a.id = conversations.agent_id) \
    where rowid in ( \
        select c.rowid from ",
    unmarked_agents!("tenant_id, id"),
    "cross join conversations c \
        on c.tenant_id = a.tenant_id and c.agent_id = a.id and c.deleted_at is null limit ?1)"
);
const MARK_AGENTS: &str = concat!(
    "update agents set conversations_marked = 1 where rowid in ( \
        select a.rowid from ",
    unmarked_agents!("rowid, tenant_id, id"),
    "where not exists ( \
        select 1 from conversations c \
        where c.tenant_id = a.tenant_id and c.agent_id = a.id and c.deleted_at is null))"
);
/// Turns with a reply are found by their messages.
const DELETE_TURNS_OF_MESSAGES: &str = concat!(
    deleted_messages!(),
    "delete from turns where (tenant_id, id) in ( \
        select tenant_id, turn_id from chosen where turn_id is not null limit ?1)"
);
const DELETE_MESSAGES: &str = concat!(
    deleted_messages!(),
    "delete from messages where (tenant_id, conversation_id, seq) in ( \
        select tenant_id, conversation_id, seq from chosen limit ?1)"
);
const DELETE_UNANSWERED_TURNS: &str = concat!(
    deleted_conversations!(),
    "delete from turns where (tenant_id, id) in ( \
        select r.tenant_id, r.id from doomed cross join turns r \
        on r.tenant_id = doomed.tenant_id and r.conversation_id = doomed.id and r.status <> 'completed' \
        limit ?1)"
);
const DELETE_CONVERSATIONS: &str = concat!(
    deleted_conversations!(),
    "delete from conversations where (tenant_id, id) in ( \
        select tenant_id, id from doomed limit ?1)"
);
const DELETE_AGENTS: &str = "\
    delete from agents where rowid in ( \
        select rowid from agents where deleted_at < ?2 limit ?1)";
const DELETE_CLAIMS: &str = "\
    delete from idempotency_records where (tenant_id, principal, operation, key) in ( \
        select tenant_id, principal, operation, key from idempotency_records \
        where created_at < ?2 limit ?1)";
const DELETE_REVOKED_TOKENS: &str = "\
    delete from revoked_tokens where id in ( \
        select id from revoked_tokens where ends_at < ?2 limit ?1)";
const DELETE_USED_ASSERTIONS: &str = "\
    delete from used_assertions where digest in ( \
        select digest from used_assertions where ends_at < ?2 limit ?1)";
const DELETE_TICKETS: &str = "\
    delete from tickets where digest in ( \
        select digest from tickets where ends_at < ?2 limit ?1)";
const DELETE_SIGNING_KEYS: &str = "\
    delete from signing_keys where kid in ( \
        select kid from signing_keys where valid_until < ?2 limit ?1)";

/// The statements of this file.
pub(crate) const STATEMENTS: &[&str] = &[
    PING,
    NOW,
    MARK_CONVERSATIONS,
    MARK_AGENTS,
    DELETE_TURNS_OF_MESSAGES,
    DELETE_MESSAGES,
    DELETE_UNANSWERED_TURNS,
    DELETE_CONVERSATIONS,
    DELETE_AGENTS,
    DELETE_CLAIMS,
    DELETE_REVOKED_TOKENS,
    DELETE_USED_ASSERTIONS,
    DELETE_TICKETS,
    DELETE_SIGNING_KEYS,
];

/// The statements that mark rows after the deletion of an agent, in this order.
const MARKS: [&str; 2] = [MARK_CONVERSATIONS, MARK_AGENTS];

/// The statements that remove deleted entities, in this order. Each runs only when the one before
/// has nothing left to remove: a conversation is removed after its messages and turns, an agent
/// after all of its conversations (which are marked with its time, or were deleted before it).
const REMOVALS: [&str; 5] = [
    DELETE_TURNS_OF_MESSAGES,
    DELETE_MESSAGES,
    DELETE_UNANSWERED_TURNS,
    DELETE_CONVERSATIONS,
    DELETE_AGENTS,
];

/// The statements that remove rows whose end has passed.
const ENDED: [&str; 4] = [
    DELETE_REVOKED_TOKENS,
    DELETE_USED_ASSERTIONS,
    DELETE_TICKETS,
    DELETE_SIGNING_KEYS,
];

/// Maintenance of SQLite.
pub(crate) struct StoreMaintenance(pub(crate) SqliteStore);

#[async_trait]
impl Maintenance for StoreMaintenance {
    async fn ping(&self) -> Result<(), RepositoryError> {
        self.0.group.check()?;
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
                    left -= remove(connection, DELETE_CLAIMS, left, outdated.claims_before).await?;
                    for statement in ENDED {
                        left -= remove(connection, statement, left, outdated.ended_before).await?;
                    }
                    Ok((limit - left).unsigned_abs())
                })
            })
            .await
    }

    async fn trim_log(&self, before: Timestamp, limit: usize) -> Result<u64, RepositoryError> {
        log_trim::trim(&self.0, before, limit).await
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
        store.group.close().await;
        assert!(maintenance.ping().await.unwrap_err().is_retryable());
    }
}
