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
    statements: Vec<(&'static str, String)>,
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
        self.statements.push((statement, to_json(&rows)?));
        Ok(())
    }

    /// Runs all statements.
    pub(crate) async fn run(
        self,
        connection: &mut SqliteConnection,
    ) -> Result<(), RepositoryError> {
        if self.statements.is_empty() {
            return Ok(());
        }
        self.query().execute(connection).await.map_err(from_sqlx)?;
        Ok(())
    }

    /// Runs all statements on a connection that needs no round trips.
    pub(crate) fn run_directly(self, connection: &rusqlite::Connection) -> rusqlite::Result<()> {
        for (statement, parameter) in self.statements {
            connection.prepare_cached(statement)?.execute([parameter])?;
        }
        Ok(())
    }

    fn query(self) -> Query<'static, Sqlite, SqliteArguments> {
        let (sql, parameters): (Vec<_>, Vec<_>) = self.statements.into_iter().unzip();
        // The text consists of constants; all values are parameters.
        let query = sqlx::query(AssertSqlSafe(sql.join(";")));
        parameters.into_iter().fold(query, Query::bind)
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
    let script = Script {
        statements: queries
            .map(|BatchQuery(statement, keys)| (statement, keys))
            .into(),
    };
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
