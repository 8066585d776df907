//! The index of the words in conversations: a table of `tsvector`s.

use std::{collections::BTreeMap, fmt::Write as _};

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
    Store as _, page_budget, read,
    repositories::{advance_in, follower_position, follower_positions},
    stored::FoundEntry,
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{PostgresStore, error::from_sqlx};

/// A plan for any words would be wrong for rare or for frequent ones, and an index of words is read by bitmaps.
const PLAN_FOR_WORDS: &str =
    "set local plan_cache_mode = force_custom_plan; set local enable_bitmapscan = on";

relational::statements! {
    const REMOVE_MESSAGES: &str = "\
        delete from search_entries where ctid = any(array( \
            select e.ctid from unnest($2::uuid[], $3::int8[], $4::int8[]) r (id, first, last) \
            cross join lateral (select e.ctid from search_entries e where e.tenant_id = $1 \
                and e.conversation_id = r.id and e.message_seq between r.first and r.last offset 0) e))";

    const PUT: &str = "\
        insert into search_entries (tenant_id, conversation_id, message_seq, sort_key, words) \
        select $1, id, seq, sort_key, words::tsvector \
        from unnest($2::uuid[], $3::int8[], $4::int8[], $5::text[]) e (id, seq, sort_key, words) \
        on conflict (tenant_id, conversation_id, message_seq) \
            do update set sort_key = excluded.sort_key, words = excluded.words";

    const REMOVE_CONVERSATION: &str = "\
        delete from search_entries where ctid = any(array( \
            select ctid from search_entries where tenant_id = $1 and conversation_id = $2 limit $3))";

    const REMOVE_SCOPE: &str = "\
        delete from search_entries where ctid = any(array( \
            select ctid from search_entries where tenant_id = $1 and words @@ $2::text::tsquery limit $3))";

    const FIND: &str = "\
        with matched as materialized ( \
            select conversation_id, message_seq, sort_key from search_entries \
            where tenant_id = $1 and words @@ $2::text::tsquery and (sort_key, conversation_id) < ($3, $4) \
            order by sort_key desc, conversation_id desc limit $5), \
         repeated as materialized ( \
            select c.id from (select distinct conversation_id as id from matched where $6) c \
            where (select true from search_entries e where e.tenant_id = $1 \
                and e.conversation_id = c.id and e.words @@ $7::text::tsquery \
                and (e.sort_key, e.conversation_id) >= ($3, $4) limit 1)) \
         select m.*, m.conversation_id in (select id from repeated) as is_repeated from matched m \
         order by m.sort_key desc, m.conversation_id desc";
}

/// The index in the tables of the store.
pub(crate) struct PostgresSearch(pub(crate) PostgresStore);

#[async_trait]
impl SearchIndex for PostgresSearch {
    async fn positions(&self) -> Result<Vec<(TenantId, FollowerPosition)>, RepositoryError> {
        follower_positions(&self.0, SEARCH_FOLLOWER).await
    }

    async fn position(
        &self,
        tenant: &TenantId,
    ) -> Result<Option<FollowerPosition>, RepositoryError> {
        follower_position(&self.0, SEARCH_FOLLOWER, tenant).await
    }

    async fn apply(
        &self,
        step: &FollowerStep,
        removed: &[RemovedMessages],
        entries: &[SearchEntry],
    ) -> Result<bool, RepositoryError> {
        let (step, removed, entries) = (step.clone(), removed.to_vec(), entries.to_vec());
        let apply = self.0.transaction(move |connection| {
            Box::pin(async move {
                let follower = SEARCH_FOLLOWER;
                if !advance_in::<PostgresStore>(connection, follower, &step).await? {
                    return Ok(false);
                }
                remove(connection, &step.tenant, &removed).await?;
                put(connection, &step.tenant, &entries).await?;
                Ok(true)
            })
        });
        apply.await
    }

    async fn remove(
        &self,
        tenant: &TenantId,
        entries: &RemovedEntries,
        limit: usize,
    ) -> Result<u64, RepositoryError> {
        let limit = page_budget::row_count(limit);
        let statement = match entries {
            RemovedEntries::Conversation(id) => sqlx::query(REMOVE_CONVERSATION)
                .bind(tenant.as_str().to_owned())
                .bind(id.uuid()),
            RemovedEntries::Scope(scope) => sqlx::query(REMOVE_SCOPE)
                .bind(tenant.as_str().to_owned())
                .bind(lexeme(scope)),
        };
        self.0.execute_query(statement.bind(limit)).await
    }

    async fn find(
        &self,
        tenant: &TenantId,
        query: &SearchQuery,
    ) -> Result<Vec<SearchMatch>, RepositoryError> {
        let (order, id) = match query.after {
            Some(place) => (place.order, place.conversation_id.uuid()),
            None => (i64::MAX, Uuid::max()),
        };
        let statement = sqlx::query(FIND)
            .persistent(false)
            .bind(tenant.as_str().to_owned())
            // Without the order of words, of which long texts do not keep all. Others check it.
            .bind(ts_query(&query.scopes, &query.phrases, " & "))
            .bind(order)
            .bind(id)
            .bind(page_budget::row_count(query.limit))
            .bind(query.after.is_some())
            .bind(ts_query(&query.scopes, &query.phrases, " <-> "));
        let find = self.0.transaction(move |connection| {
            Box::pin(async move {
                let plan = sqlx::raw_sql(PLAN_FOR_WORDS);
                plan.execute(&mut *connection).await.map_err(from_sqlx)?;
                statement.fetch_all(connection).await.map_err(from_sqlx)
            })
        });
        read::rows("search_entries", find.await?, |row: FoundEntry| {
            Ok(row.into())
        })
    }
}

async fn remove(
    connection: &mut PgConnection,
    tenant: &TenantId,
    removed: &[RemovedMessages],
) -> Result<(), RepositoryError> {
    if removed.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&RemovedMessages) -> i64| removed.iter().map(of).collect::<Vec<_>>();
    let ids: Vec<_> = removed.iter().map(|it| it.conversation_id.uuid()).collect();
    let statement = sqlx::query(REMOVE_MESSAGES)
        .bind(tenant.as_str())
        .bind(ids)
        .bind(column(|it| it.from_seq))
        .bind(column(|it| it.to_seq));
    statement.execute(connection).await.map_err(from_sqlx)?;
    Ok(())
}

async fn put(
    connection: &mut PgConnection,
    tenant: &TenantId,
    entries: &[SearchEntry],
) -> Result<(), RepositoryError> {
    if entries.is_empty() {
        return Ok(());
    }
    let column = |of: fn(&SearchEntry) -> i64| entries.iter().map(of).collect::<Vec<_>>();
    let ids: Vec<_> = entries.iter().map(|it| it.conversation_id.uuid()).collect();
    let words: Vec<_> = entries.iter().map(ts_vector).collect();
    let statement = sqlx::query(PUT)
        .bind(tenant.as_str())
        .bind(ids)
        .bind(column(|it| it.message_seq))
        .bind(column(|it| it.order))
        .bind(words);
    statement.execute(connection).await.map_err(from_sqlx)?;
    Ok(())
}

/// The lexeme of a scope, quoted. No word contains its first character.
fn lexeme(scope: &SearchScope) -> String {
    format!("'={}'", scope.as_str())
}

/// The words of an entry with their positions, and its scopes. Words contain no characters that need an escape.
fn ts_vector(entry: &SearchEntry) -> String {
    let mut positions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, word) in entry.words.split_whitespace().enumerate() {
        positions.entry(word).or_default().push(place + 1);
    }
    let mut vector = String::with_capacity(2 * entry.words.len() + 128);
    for scope in &entry.scopes {
        let _ = write!(vector, "{} ", lexeme(scope));
    }
    for (word, places) in positions {
        let _ = write!(vector, "'{word}'");
        for (number, place) in places.into_iter().enumerate() {
            let _ = write!(vector, "{}{place}", if number == 0 { ':' } else { ',' });
        }
        vector.push(' ');
    }
    vector
}

fn ts_query(scopes: &[Vec<SearchScope>], phrases: &SearchPhrases, followed_by: &str) -> String {
    let scopes = scopes.iter().map(|any| {
        let any: Vec<_> = any.iter().map(lexeme).collect();
        format!("({})", any.join(" | "))
    });
    let phrases = phrases.phrases().iter().map(|words| {
        let words: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        format!("({})", words.join(followed_by))
    });
    let all: Vec<_> = scopes.chain(phrases).collect();
    all.join(" & ")
}
