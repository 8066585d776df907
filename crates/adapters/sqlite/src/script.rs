//! Statements that run one behind the other, in one hop to SQLite's thread.

use futures::TryStreamExt as _;
use ports::RepositoryError;
use serde::Serialize;
use sqlx::{
    AssertSqlSafe, Either, Executor as _, SqliteConnection,
    query::Query,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
};

use crate::{error::from_sqlx, row};

/// Statements that write. Each has one parameter, a plain `?`: a JSON array.
#[derive(Default)]
pub(crate) struct Script {
    sql: String,
    parameters: Vec<String>,
}

impl Script {
    /// Adds `statement` for all `rows` at once; not at all without any.
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
        self.push(statement, row::to_json(&rows)?);
        Ok(())
    }

    fn push(&mut self, statement: &'static str, parameter: String) {
        self.sql.push_str(statement);
        self.sql.push(';');
        self.parameters.push(parameter);
    }

    /// Runs all of them.
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
        // All of it was written here: what comes from outside is in the parameters.
        let query = sqlx::query(AssertSqlSafe(self.sql));
        self.parameters.into_iter().fold(query, Query::bind)
    }
}

/// A statement that looks for all keys of its parameter, a plain `?`: a JSON array.
pub(crate) struct Look(&'static str, String);

impl Look {
    /// By `statement` for all `keys` at once.
    pub(crate) fn of<J: Serialize>(
        statement: &'static str,
        keys: impl IntoIterator<Item = J>,
    ) -> Result<Self, RepositoryError> {
        let keys: Vec<J> = keys.into_iter().collect();
        Ok(Self(statement, row::to_json(&keys)?))
    }
}

/// Takes all `looks`, and answers the rows that each found.
pub(crate) async fn fetch<const LOOKS: usize>(
    connection: &mut SqliteConnection,
    looks: [Look; LOOKS],
) -> Result<[Vec<SqliteRow>; LOOKS], RepositoryError> {
    let mut script = Script::default();
    for Look(statement, keys) in looks {
        script.push(statement, keys);
    }
    let mut found = [const { Vec::new() }; LOOKS];
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
