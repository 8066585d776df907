//! The transactions of the store.

use domain::Timestamp;
use ports::{RepositoryError, write_store::Rows};
use relational::{Parameter, Store, Work};
use sqlx::{
    PgConnection,
    postgres::{PgArguments, PgRow, Postgres},
    query::Query,
    types::Json,
};

use crate::{
    PostgresStore,
    error::{conflict_on, from_sqlx},
    rows, store_state,
};

impl Store for PostgresStore {
    type Connection = PgConnection;
    type Row = PgRow;

    const LOCK_TENANT: &'static str = "select head_seq from tenants where id = $1 for update";

    async fn fetch_all(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<PgRow>, RepositoryError> {
        let query = bind(statement, parameters);
        self.connections.fetch_all(query).await
    }

    async fn fetch_optional(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<PgRow>, RepositoryError> {
        let query = bind(statement, parameters);
        self.connections.fetch_optional(query).await
    }

    async fn fetch_own(
        &self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<PgRow>, RepositoryError> {
        self.fetch_all(statement, parameters).await
    }

    async fn fetch_all_in(
        connection: &mut PgConnection,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<PgRow>, RepositoryError> {
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
    ) -> Result<Vec<PgRow>, RepositoryError> {
        self.fetch_all(statement, parameters).await
    }

    async fn execute_in(
        connection: &mut PgConnection,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, RepositoryError> {
        let done = bind(statement, parameters).execute(connection).await;
        Ok(done.map_err(from_sqlx)?.rows_affected())
    }

    async fn insert_in(
        connection: &mut PgConnection,
        what: &'static str,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<PgRow>, RepositoryError> {
        let inserted = bind(statement, parameters).fetch_all(connection).await;
        inserted.map_err(conflict_on(what))
    }

    async fn transaction<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut PgConnection) -> Work<'c, T> + Send + 'static,
    {
        self.connections.transaction(work).await
    }

    async fn write(connection: &mut PgConnection, rows: &Rows) -> Result<(), RepositoryError> {
        rows::write(connection, rows).await
    }

    async fn lock_state(connection: &mut PgConnection) -> Result<(), RepositoryError> {
        store_state::lock(connection).await
    }
}

impl PostgresStore {
    /// Runs one statement as a transaction, and returns the number of rows that it has changed.
    pub(crate) async fn execute_query(
        &self,
        statement: Query<'static, Postgres, PgArguments>,
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
) -> Query<'static, Postgres, PgArguments> {
    let query = sqlx::query(statement);
    parameters.iter().fold(query, |query, value| match *value {
        Parameter::Text(text) => query.bind(text),
        Parameter::Id(id) => query.bind(id),
        Parameter::Number(number) => query.bind(number),
        Parameter::Time(time) => query.bind(time.map(Timestamp::date_time)),
        Parameter::Flag(flag) => query.bind(flag),
        Parameter::Bytes(bytes) => query.bind(bytes),
        Parameter::Json(document) => query.bind(document.map(Json)),
        Parameter::Texts(texts) => query.bind(texts),
        Parameter::Ids(ids) => query.bind(ids),
        Parameter::Numbers(numbers) => query.bind(numbers),
    })
}
