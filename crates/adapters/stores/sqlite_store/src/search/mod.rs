//! The index of the words in conversations: a full-text table in a file of its own, beside the database, so
//! that its writes delay no other. It can be rebuilt from the database.

mod file;

use std::collections::BTreeMap;

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
use serde::Serialize;
use sqlx::SqliteConnection;

pub(crate) use self::file::SearchFile;
use crate::{SqliteStore, error::from_sqlx};

const POSITIONS: &str =
    "select tenant_id, position, backfilled_to from follower_positions where follower = ?1";

const POSITION: &str = "select tenant_id, position, backfilled_to from follower_positions \
     where follower = ?1 and tenant_id = ?2";

const REMOVE_WORDS: &str = "\
    delete from words where rowid in (select e.sort_key from json_each(?2) r cross join entries e \
        on e.tenant_id = ?1 and e.conversation_id = unhex(r.value ->> 0) \
            and e.message_seq between r.value ->> 1 and r.value ->> 2)";

const REMOVE_ENTRIES: &str = "\
    delete from entries where sort_key in (select e.sort_key from json_each(?2) r cross join entries e \
        on e.tenant_id = ?1 and e.conversation_id = unhex(r.value ->> 0) \
            and e.message_seq between r.value ->> 1 and r.value ->> 2)";

const TAKEN_KEYS: &str = "\
    select e.sort_key from json_each(?1) k cross join entries e on e.sort_key = k.value";

const PUT_ENTRIES: &str = "\
    insert into entries (sort_key, tenant_id, conversation_id, message_seq) \
    select value ->> 0, ?1, unhex(value ->> 1), value ->> 2 from json_each(?2)";

const PUT_WORDS: &str = "\
    insert into words (rowid, scopes, text) \
    select value ->> 0, value ->> 1, value ->> 2 from json_each(?1)";

const OF_CONVERSATION: &str =
    "select sort_key from entries where tenant_id = ?1 and conversation_id = ?2 limit ?3";

const OF_SCOPE: &str = "select rowid from words where words match ?1 limit ?2";

const REMOVE_WORDS_AT: &str = "delete from words where rowid in (select value from json_each(?1))";

const REMOVE_ENTRIES_AT: &str =
    "delete from entries where sort_key in (select value from json_each(?1))";

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
    TAKEN_KEYS,
    PUT_ENTRIES,
    PUT_WORDS,
    OF_CONVERSATION,
    OF_SCOPE,
    REMOVE_WORDS_AT,
    REMOVE_ENTRIES_AT,
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
        if !(removed.is_empty() && entries.is_empty()) {
            remove(connection, &step.tenant, removed, entries).await?;
            put(connection, &step.tenant, entries).await?;
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
        let removed = json(&keys);
        for statement in [REMOVE_WORDS_AT, REMOVE_ENTRIES_AT] {
            let remove = sqlx::query(statement).bind(&removed);
            remove.execute(&mut *transaction).await.map_err(from_sqlx)?;
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

/// Removes messages, and the previous contents of entries.
async fn remove(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    removed: &[RemovedMessages],
    entries: &[SearchEntry],
) -> Result<(), RepositoryError> {
    let removed = removed
        .iter()
        .map(|it| (it.conversation_id, it.from_seq, it.to_seq));
    let previous = entries
        .iter()
        .map(|it| (it.conversation_id, it.message_seq, it.message_seq));
    let ranges = removed
        .chain(previous)
        .map(|(id, from, to)| (id.uuid().simple(), from, to));
    let ranges = json(&ranges.collect::<Vec<_>>());
    for statement in [REMOVE_WORDS, REMOVE_ENTRIES] {
        let remove = sqlx::query(statement).bind(tenant.as_str()).bind(&ranges);
        remove.execute(&mut *connection).await.map_err(from_sqlx)?;
    }
    Ok(())
}

/// Stores entries that are not in the index.
async fn put(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    entries: &[SearchEntry],
) -> Result<(), RepositoryError> {
    let keyed = with_keys(connection, entries).await?;
    let rows = keyed.iter().map(|(key, entry)| {
        let id = entry.conversation_id.uuid().simple();
        (key, id, entry.message_seq)
    });
    let put = sqlx::query(PUT_ENTRIES)
        .bind(tenant.as_str())
        .bind(json(&rows.collect::<Vec<_>>()));
    put.execute(&mut *connection).await.map_err(from_sqlx)?;
    let words = keyed.iter().map(|(key, entry)| {
        let scopes: Vec<_> = entry.scopes.iter().map(SearchScope::as_str).collect();
        (key, scopes.join(" "), &entry.words)
    });
    let put = sqlx::query(PUT_WORDS).bind(json(&words.collect::<Vec<_>>()));
    put.execute(connection).await.map_err(from_sqlx)?;
    Ok(())
}

/// Gives each entry the key of its row: its order, or the next free number. No two rows can have the same.
async fn with_keys<'e>(
    connection: &mut SqliteConnection,
    entries: &'e [SearchEntry],
) -> Result<BTreeMap<i64, &'e SearchEntry>, RepositoryError> {
    let mut keyed = BTreeMap::new();
    let mut unplaced: Vec<_> = entries.iter().map(|entry| (entry.order, entry)).collect();
    while !unplaced.is_empty() {
        let mut placed = Vec::new();
        for (mut key, entry) in unplaced.drain(..) {
            while keyed.contains_key(&key) {
                key += 1;
            }
            keyed.insert(key, entry);
            placed.push(key);
        }
        let taken: Vec<i64> = sqlx::query_scalar(TAKEN_KEYS)
            .bind(json(&placed))
            .fetch_all(&mut *connection)
            .await
            .map_err(from_sqlx)?;
        unplaced.extend(
            taken
                .iter()
                .filter_map(|key| Some((key + 1, keyed.remove(key)?))),
        );
    }
    Ok(keyed)
}

/// Returns the JSON of a parameter.
fn json(rows: &impl Serialize) -> String {
    // Numbers and texts can be serialized.
    serde_json::to_string(rows).unwrap_or_default()
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
