//! Statements that run in sequence, with one round trip to SQLite's thread.

use futures::TryStreamExt as _;
use ports::RepositoryError;
use relational::column::corrupt;
use serde::Serialize;
use sqlx::{
    AssertSqlSafe, Either, Executor as _, Row as _, SqliteConnection,
    query::Query,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
};

use crate::{
    error::from_sqlx,
    writer::{BEGIN, WriteError, commit_error},
};

/// Serialises a value as JSON text.
pub(crate) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<String, RepositoryError> {
    serde_json::to_string(value).map_err(corrupt("a value to store"))
}

/// Creates the table of one row that contains the condition of a conditional script.
pub const CREATE_CONDITION: &str = "\
    create temp table if not exists condition (is_met integer not null); \
    insert into temp.condition select 0 where not exists (select 1 from temp.condition)";

/// Prepares a new connection for conditional scripts.
pub(crate) async fn prepare(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(CREATE_CONDITION).execute(connection).await?;
    Ok(())
}

/// The rows of a writing statement: the entries of its parameter, a JSON array.
const ENTRIES: &str = "from json_each(?)";

/// A sequence of writing statements. Each has one parameter, a plain `?`: a JSON array.
#[derive(Default)]
pub(crate) struct Script {
    sql: String,
    parameters: Vec<String>,
    is_conditional: bool,
}

impl Script {
    /// Creates a transaction whose statements change nothing unless the statement `set_condition`
    /// sets `temp.condition` to true for its parameter.
    pub(crate) fn conditional(set_condition: &'static str, parameter: String) -> Self {
        let mut script = Self {
            sql: format!("{BEGIN};"),
            is_conditional: true,
            ..Self::default()
        };
        script.push(set_condition, parameter);
        script
    }

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
        let rows = to_json(&rows)?;
        if self.is_conditional {
            let conditional = format!("{ENTRIES} where (select is_met from temp.condition)");
            self.push(&statement.replacen(ENTRIES, &conditional, 1), rows);
        } else {
            self.push(statement, rows);
        }
        Ok(())
    }

    fn push(&mut self, statement: &str, parameter: String) {
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

    /// Runs a conditional script in one round trip. Returns whether the condition was met.
    pub(crate) async fn commit(
        mut self,
        connection: &mut SqliteConnection,
    ) -> Result<bool, WriteError> {
        self.sql
            .push_str("commit; select is_met from temp.condition");
        let rows = self.query().fetch_all(&mut *connection).await;
        let is_met = rows.and_then(|rows| rows.first().map_or(Ok(false), |row| row.try_get(0)));
        is_met.map_err(commit_error)
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
