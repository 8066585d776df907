//! The index of the words in conversations: a full-text table in a file of its own, beside the database, so
//! that its writes delay no other. It can be rebuilt from the database.

mod file;

pub(crate) use self::file::SearchFile;
use crate::{SqliteStore, error::from_sqlx};
use async_trait::async_trait;
use domain::{
    TenantId,
    search::{SearchPhrases, SearchScope},
};
use ports::{
    FollowerPosition, FollowerStep, RemovedEntries, RemovedMessages, RepositoryError,
    SEARCH_FOLLOWER, SearchEntry, SearchIndex, SearchMatch, SearchQuery,
};
use relational::{
    page_budget, read,
    repositories::{StoredPosition, advance_in, position},
    stored::FoundEntry,
};
use sqlx::SqliteConnection;

const POSITIONS: &str =
    "select tenant_id, position, backfilled_to from follower_positions where follower = ?1";

const POSITION: &str = "select tenant_id, position, backfilled_to from follower_positions \
     where follower = ?1 and tenant_id = ?2";

const REMOVE_WORDS: &str = "\
    delete from words where rowid in (select sort_key from entries \
        where tenant_id = ?1 and conversation_id = ?2 and message_seq between ?3 and ?4)";

const REMOVE_ENTRIES: &str = "\
    delete from entries where tenant_id = ?1 and conversation_id = ?2 and message_seq between ?3 and ?4";

/// The next free place. That of an entry is the key of its row, so no two entries can have the same.
const FREE_KEY: &str = "\
    with recursive place (sort_key) as (select ?1 union all select sort_key + 1 from place \
        where exists (select 1 from entries e where e.sort_key = place.sort_key)) \
    select max(sort_key) from place";

const PUT_ENTRY: &str = "\
    insert into entries (sort_key, tenant_id, conversation_id, message_seq) values (?1, ?2, ?3, ?4)";

const PUT_WORDS: &str = "insert into words (rowid, scopes, text) values (?1, ?2, ?3)";

const OF_CONVERSATION: &str =
    "select sort_key from entries where tenant_id = ?1 and conversation_id = ?2 limit ?3";

const OF_SCOPE: &str = "select rowid from words where words match ?1 limit ?2";

const REMOVE_WORDS_AT: &str = "delete from words where rowid = ?1";

const REMOVE_ENTRY_AT: &str = "delete from entries where sort_key = ?1";

const FIND: &str = "\
    with matched as materialized ( \
        select e.conversation_id, e.message_seq, e.sort_key \
        from words cross join entries e on e.sort_key = words.rowid \
        where words match ?2 and e.tenant_id = ?1 and words.rowid < ?3 order by words.rowid desc limit ?4), \
     repeated as materialized ( \
        select c.id from (select distinct conversation_id as id from matched where ?5) c \
        where exists (select 1 from entries e cross join words \
            where e.tenant_id = ?1 and e.conversation_id = c.id and e.sort_key >= ?3 \
                and words.rowid = e.sort_key and words match ?2)) \
     select m.*, m.conversation_id in (select id from repeated) as is_repeated \
     from matched m order by m.sort_key desc";

/// All statements on the file.
#[cfg(test)]
const STATEMENTS: [&str; 12] = [
    POSITIONS,
    POSITION,
    REMOVE_WORDS,
    REMOVE_ENTRIES,
    FREE_KEY,
    PUT_ENTRY,
    PUT_WORDS,
    OF_CONVERSATION,
    OF_SCOPE,
    REMOVE_WORDS_AT,
    REMOVE_ENTRY_AT,
    FIND,
];

/// The index in its file.
pub(crate) struct SqliteSearch(pub(crate) SearchFile);

#[async_trait]
impl SearchIndex for SqliteSearch {
    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        self.checked(self.0.positions().await).await
    }

    async fn position(
        &self,
        tenant: &TenantId,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        self.checked(self.0.position(tenant).await).await
    }

    async fn apply(
        &self,
        step: &FollowerStep,
        removed: &[RemovedMessages],
        entries: &[SearchEntry],
    ) -> Result<bool, RepositoryError> {
        self.checked(self.0.apply(step, removed, entries).await)
            .await
    }

    async fn remove(
        &self,
        tenant: &TenantId,
        entries: &RemovedEntries,
        limit: usize,
    ) -> Result<u64, RepositoryError> {
        self.checked(self.0.remove(tenant, entries, limit).await)
            .await
    }

    async fn find(
        &self,
        tenant: &TenantId,
        query: &SearchQuery,
    ) -> Result<Vec<SearchMatch>, RepositoryError> {
        self.checked(self.0.find(tenant, query).await).await
    }
}

impl SqliteSearch {
    /// Returns the result of a call, after which a damaged file is removed.
    async fn checked<T>(&self, result: Result<T, RepositoryError>) -> Result<T, RepositoryError> {
        if let Err(error) = &result {
            self.0.remove_if_damaged(error).await;
        }
        result
    }
}

/// The calls of the index, which [`SqliteSearch`] checks.
impl SearchFile {
    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        let statement = sqlx::query(POSITIONS).bind(SEARCH_FOLLOWER);
        let rows = statement.fetch_all(&self.pool().await?).await;
        let rows = rows.map_err(from_sqlx)?;
        read::rows("follower_positions", rows, |row: StoredPosition| {
            position(row)
        })
    }

    async fn position(
        &self,
        tenant: &TenantId,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        let statement = sqlx::query(POSITION)
            .bind(SEARCH_FOLLOWER)
            .bind(tenant.as_str());
        let row = statement.fetch_optional(&self.pool().await?).await;
        let found = read::one("follower_positions", row.map_err(from_sqlx)?, position)?;
        Ok(found.map(|(_, position)| position))
    }

    async fn apply(
        &self,
        step: &FollowerStep,
        removed: &[RemovedMessages],
        entries: &[SearchEntry],
    ) -> Result<bool, RepositoryError> {
        let mut transaction = self.begin().await?;
        let connection = &mut *transaction;
        if !advance_in::<SqliteStore>(connection, SEARCH_FOLLOWER, step).await? {
            return Ok(false);
        }
        for messages in removed {
            remove_messages(connection, &step.tenant, messages).await?;
        }
        for entry in entries {
            put(connection, &step.tenant, entry).await?;
        }
        transaction.commit().await.map_err(from_sqlx)?;
        Ok(true)
    }

    async fn remove(
        &self,
        tenant: &TenantId,
        entries: &RemovedEntries,
        limit: usize,
    ) -> Result<u64, RepositoryError> {
        let limit = page_budget::row_count(limit);
        let mut transaction = self.begin().await?;
        let keys = match entries {
            RemovedEntries::Conversation(id) => sqlx::query_scalar(OF_CONVERSATION)
                .bind(tenant.as_str())
                .bind(id.uuid()),
            RemovedEntries::Scope(scope) => {
                sqlx::query_scalar(OF_SCOPE).bind(of_any(std::slice::from_ref(scope)))
            }
        };
        let keys: Vec<i64> = keys
            .bind(limit)
            .fetch_all(&mut *transaction)
            .await
            .map_err(from_sqlx)?;
        for key in &keys {
            for statement in [REMOVE_WORDS_AT, REMOVE_ENTRY_AT] {
                let remove = sqlx::query(statement).bind(key);
                remove.execute(&mut *transaction).await.map_err(from_sqlx)?;
            }
        }
        transaction.commit().await.map_err(from_sqlx)?;
        Ok(keys.len() as u64)
    }

    async fn find(
        &self,
        tenant: &TenantId,
        query: &SearchQuery,
    ) -> Result<Vec<SearchMatch>, RepositoryError> {
        let statement = sqlx::query(FIND)
            .bind(tenant.as_str())
            .bind(match_query(&query.scopes, &query.phrases))
            .bind(query.after.map_or(i64::MAX, |place| place.order))
            .bind(page_budget::row_count(query.limit))
            .bind(query.after.is_some());
        let rows = statement.fetch_all(&self.pool().await?).await;
        read::rows("entries", rows.map_err(from_sqlx)?, |row: FoundEntry| {
            Ok(row.into())
        })
    }
}

async fn remove_messages(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    messages: &RemovedMessages,
) -> Result<(), RepositoryError> {
    for statement in [REMOVE_WORDS, REMOVE_ENTRIES] {
        let remove = sqlx::query(statement)
            .bind(tenant.as_str())
            .bind(messages.conversation_id.uuid())
            .bind(messages.from_seq)
            .bind(messages.to_seq);
        remove.execute(&mut *connection).await.map_err(from_sqlx)?;
    }
    Ok(())
}

async fn put(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    entry: &SearchEntry,
) -> Result<(), RepositoryError> {
    let SearchEntry {
        conversation_id,
        message_seq,
        ..
    } = *entry;
    let previous = RemovedMessages {
        conversation_id,
        from_seq: message_seq,
        to_seq: message_seq,
    };
    remove_messages(connection, tenant, &previous).await?;
    let key: i64 = sqlx::query_scalar(FREE_KEY)
        .bind(entry.order)
        .fetch_one(&mut *connection)
        .await
        .map_err(from_sqlx)?;
    let put = sqlx::query(PUT_ENTRY)
        .bind(key)
        .bind(tenant.as_str())
        .bind(conversation_id.uuid())
        .bind(message_seq);
    put.execute(&mut *connection).await.map_err(from_sqlx)?;
    let scopes: Vec<_> = entry.scopes.iter().map(SearchScope::as_str).collect();
    let put = sqlx::query(PUT_WORDS)
        .bind(key)
        .bind(scopes.join(" "))
        .bind(&entry.words);
    put.execute(connection).await.map_err(from_sqlx)?;
    Ok(())
}

/// A query for entries in one of these scopes.
fn of_any(scopes: &[SearchScope]) -> String {
    let scopes: Vec<_> = scopes.iter().map(SearchScope::as_str).collect();
    format!("scopes : ({})", scopes.join(" OR "))
}

/// A query of the full-text table. Words contain no quotation marks.
fn match_query(scopes: &[Vec<SearchScope>], phrases: &SearchPhrases) -> String {
    let scopes = scopes.iter().map(|any| of_any(any));
    let phrases = phrases.phrases().iter();
    let phrases = phrases.map(|words| format!("text : \"{}\"", words.join(" ")));
    let all: Vec<_> = scopes.chain(phrases).collect();
    all.join(" AND ")
}

#[cfg(test)]
mod tests {
    use sqlx::{Executor as _, SqlSafeStr as _};
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn every_statement_is_valid() {
        let folder = TempDir::new().unwrap();
        let file = SearchFile::beside(&folder.path().join("test.db"));
        for statement in STATEMENTS {
            let pool = file.pool().await.unwrap();
            let prepared = pool.prepare(statement.into_sql_str());
            prepared.await.unwrap();
        }
    }
}
