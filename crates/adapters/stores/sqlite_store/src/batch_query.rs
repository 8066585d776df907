//! Queries that run in sequence, with one round trip to SQLite's thread.

use futures::TryStreamExt as _;
use ports::RepositoryError;
use relational::column::corrupt;
use serde::Serialize;
use sqlx::{
    AssertSqlSafe, Either, Executor as _, SqliteConnection,
    query::Query,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
};

use crate::error::from_sqlx;

/// Serialises a value as JSON text.
pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, RepositoryError> {
    serde_json::to_string(value).map_err(corrupt("a value to store"))
}

/// A statement that looks up all keys of its parameter, a plain `?`: a JSON array.
pub(crate) struct BatchQuery(&'static str, String);

impl BatchQuery {
    /// Builds the query of `statement` for all `keys` at once.
    pub(crate) fn new<J: Serialize>(
        statement: &'static str,
        keys: impl IntoIterator<Item = J>,
    ) -> Result<Self, RepositoryError> {
        let keys: Vec<J> = keys.into_iter().collect();
        Ok(Self(statement, to_json(&keys)?))
    }

    fn has_no_keys(&self) -> bool {
        self.1 == "[]"
    }
}

/// Runs all `queries` unless none has keys, and returns the rows of each.
pub(crate) async fn fetch<const N: usize>(
    connection: &mut SqliteConnection,
    queries: [BatchQuery; N],
) -> Result<[Vec<SqliteRow>; N], RepositoryError> {
    let mut found = [const { Vec::new() }; N];
    if queries.iter().all(BatchQuery::has_no_keys) {
        return Ok(found);
    }
    let (statements, keys): (Vec<_>, Vec<_>) = queries
        .map(|BatchQuery(statement, keys)| (statement, keys))
        .into_iter()
        .unzip();
    // The text consists of constants; all values are parameters.
    let query = sqlx::query(AssertSqlSafe(statements.join(";")));
    let query: Query<'_, Sqlite, SqliteArguments> = keys.into_iter().fold(query, Query::bind);
    let mut statements = found.iter_mut();
    let mut rows = statements.next();
    let mut results = connection.fetch_many(query);
    while let Some(result) = results.try_next().await.map_err(from_sqlx)? {
        match (result, &mut rows) {
            (Either::Right(row), Some(rows)) => rows.push(row),
            // A statement has ended.
            _ => rows = statements.next(),
        }
    }
    drop(results);
    Ok(found)
}
