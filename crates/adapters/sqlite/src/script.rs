//! Statements that run in sequence, with one round trip to SQLite's thread.

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

/// A sequence of writing statements. Each has one parameter, a plain `?`: a JSON array.
#[derive(Default)]
pub(crate) struct Script {
    sql: String,
    parameters: Vec<String>,
}

impl Script {
    /// Adds `statement` for all `rows` at once; adds nothing without rows.
    pub(crate) fn add<'r, R, J: Serialize>(
        &mut self,
        statement: &'static str,
        rows: &'r [R],
        json: impl Fn(&'r R) -> Result<J, RepositoryError>,
    ) -> Result<(), RepositoryError> {
        if rows.is_empty() {
            return Ok(());
        }
        let rows: Vec<J> = rows.iter().map(json).collect::<Result<_, _>>()?;
        self.push(statement, to_json(&rows)?);
        Ok(())
    }

    fn push(&mut self, statement: &'static str, parameter: String) {
        self.sql.push_str(statement);
        self.sql.push(';');
        self.parameters.push(parameter);
    }

    /// Runs all statements.
    pub(crate) async fn run(
        self,
        connection: &mut SqliteConnection,
    ) -> Result<(), RepositoryError> {
        if self.parameters.is_empty() {
            return Ok(());
        }
        self.query().execute(connection).await.map_err(from_sqlx)?;
        Ok(())
    }

    fn query(self) -> Query<'static, Sqlite, SqliteArguments> {
        // The text consists of constants; all values are parameters.
        let query = sqlx::query(AssertSqlSafe(self.sql));
        self.parameters.into_iter().fold(query, Query::bind)
    }
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
}

/// Runs all `queries`, and returns the rows of each.
pub(crate) async fn fetch<const N: usize>(
    connection: &mut SqliteConnection,
    queries: [BatchQuery; N],
) -> Result<[Vec<SqliteRow>; N], RepositoryError> {
    let mut script = Script::default();
    for BatchQuery(statement, keys) in queries {
        script.push(statement, keys);
    }
    let mut found = [const { Vec::new() }; N];
    let mut statements = found.iter_mut();
    let mut rows = statements.next();
    let mut results = connection.fetch_many(script.query());
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
