//! The transactions and reads of the store.

use domain::Timestamp;
use ports::{RepositoryError, write_store::Rows};
use relational::{Parameter, Store, Work};
use sqlx::{
    SqliteConnection,
    query::Query,
    sqlite::{Sqlite, SqliteArguments, SqliteRow},
    types::Json,
};

use crate::{
    SqliteStore,
    error::{conflict_on, from_sqlx},
    rows,
};

impl Store for SqliteStore {
    type Connection = SqliteConnection;
    type Row = SqliteRow;

    /// The transaction itself is the lock.
    const LOCK_TENANT: &'static str = "select head_seq from tenants where id = ?1";

    async fn fetch_all(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<SqliteRow>, RepositoryError> {
        let query = bind(statement, parameters);
        query.fetch_all(&self.readers).await.map_err(from_sqlx)
    }

    async fn fetch_optional(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<SqliteRow>, RepositoryError> {
        let query = bind(statement, parameters);
        query.fetch_optional(&self.readers).await.map_err(from_sqlx)
    }

    async fn fetch_own(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<SqliteRow>, RepositoryError> {
        let query = bind(statement, parameters);
        query.fetch_all(&self.own_reader).await.map_err(from_sqlx)
    }

    async fn fetch_all_in(
        connection: &mut SqliteConnection,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<SqliteRow>, RepositoryError> {
        let query = bind(statement, parameters);
        query.fetch_all(connection).await.map_err(from_sqlx)
    }

    async fn execute(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, RepositoryError> {
        let query = bind(statement, parameters);
        self.execute_query(query).await
    }

    async fn execute_returning(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<SqliteRow>, RepositoryError> {
        let query = bind(statement, parameters);
        self.transaction(move |connection| {
            Box::pin(async move { query.fetch_all(connection).await.map_err(from_sqlx) })
        })
        .await
    }

    async fn execute_in(
        connection: &mut SqliteConnection,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, RepositoryError> {
        let done = bind(statement, parameters).execute(connection).await;
        Ok(done.map_err(from_sqlx)?.rows_affected())
    }

    async fn insert_in(
        connection: &mut SqliteConnection,
        what: &'static str,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<SqliteRow>, RepositoryError> {
        let inserted = bind(statement, parameters).fetch_all(connection).await;
        inserted.map_err(conflict_on(what))
    }

    async fn transaction<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        self.writer.transaction(work).await
    }

    async fn write(connection: &mut SqliteConnection, rows: &Rows) -> Result<(), RepositoryError> {
        rows::write(connection, rows).await
    }

    /// The transaction itself is the lock.
    async fn lock_state(_connection: &mut SqliteConnection) -> Result<(), RepositoryError> {
        Ok(())
    }
}

impl SqliteStore {
    /// Runs one statement as a transaction, and returns the number of rows that it has changed.
    pub(crate) async fn execute_query(
        &self,
        statement: Query<'static, Sqlite, SqliteArguments>,
    ) -> Result<u64, RepositoryError> {
        self.transaction(move |connection| {
            Box::pin(async move {
                let done = statement.execute(connection).await.map_err(from_sqlx)?;
                Ok(done.rows_affected())
            })
        })
        .await
    }
}

/// Returns the statement with its parameters.
fn bind(
    statement: &'static str,
    parameters: &[Parameter<'_>],
) -> Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(statement);
    parameters.iter().fold(query, |query, value| match *value {
        Parameter::Text(text) => query.bind(text),
        Parameter::Id(id) => query.bind(id),
        Parameter::Number(number) => query.bind(number),
        Parameter::Time(time) => query.bind(time.map(Timestamp::milliseconds)),
        Parameter::Flag(flag) => query.bind(flag),
        Parameter::Bytes(bytes) => query.bind(bytes),
        Parameter::Json(document) => query.bind(document.map(Json)),
        Parameter::Texts(texts) => query.bind(texts.map(Json)),
        Parameter::Ids(ids) => {
            let ids = ids.map(|ids| ids.iter().map(|id| id.simple()).collect::<Vec<_>>());
            query.bind(ids.map(Json))
        }
        Parameter::Numbers(numbers) => query.bind(Json(numbers)),
    })
}
