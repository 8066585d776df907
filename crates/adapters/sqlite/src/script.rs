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

/// Statements, each with its parameter: a JSON array.
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
        self.push(statement, &rows)
    }

    /// Adds `statement` that looks for all `keys` at once.
    pub(crate) fn ask<J: Serialize>(
        &mut self,
        statement: &'static str,
        keys: impl Iterator<Item = J>,
    ) -> Result<(), RepositoryError> {
        let keys: Vec<J> = keys.collect();
        self.push(statement, &keys)
    }

    fn push(
        &mut self,
        statement: &'static str,
        parameter: &impl Serialize,
    ) -> Result<(), RepositoryError> {
        self.parameters.push(row::to_json(parameter)?);
        self.sql.push_str(statement);
        self.sql.push(';');
        Ok(())
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

    /// Runs all of them, and answers the rows that each found.
    pub(crate) async fn fetch<const STATEMENTS: usize>(
        self,
        connection: &mut SqliteConnection,
    ) -> Result<[Vec<SqliteRow>; STATEMENTS], RepositoryError> {
        let mut found = [const { Vec::new() }; STATEMENTS];
        let mut statements = found.iter_mut();
        let mut rows = statements.next();
        let mut results = connection.fetch_many(self.query());
        while let Some(result) = results.try_next().await.map_err(from_sqlx)? {
            match (result, &mut rows) {
                (Either::Right(row), Some(rows)) => rows.push(row),
                _ => rows = statements.next(),
            }
        }
        drop(results);
        Ok(found)
    }

    fn query(self) -> Query<'static, Sqlite, SqliteArguments> {
        // All of it was written here: what comes from outside is in the parameters.
        let query = sqlx::query(AssertSqlSafe(self.sql));
        self.parameters.into_iter().fold(query, Query::bind)
    }
}
