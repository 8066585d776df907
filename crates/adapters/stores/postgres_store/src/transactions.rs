//! The transactions of the store.

use domain::{IdempotencyEntry, IdempotencyRecord, Seq, TenantId};
use ports::RepositoryError;
use ports::write_store::Rows;
use relational::{Store, Work};
use sqlx::{
    PgConnection,
    postgres::{PgArguments, Postgres},
    query::Query,
};

use crate::{PostgresStore, idempotency, rows, store_state, tenants};

impl Store for PostgresStore {
    type Connection = PgConnection;

    async fn transaction<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut PgConnection) -> Work<'c, T> + Send + 'static,
    {
        self.connections.transaction(work).await
    }

    async fn lock_tenant(
        connection: &mut PgConnection,
        tenant: &TenantId,
    ) -> Result<Seq, RepositoryError> {
        tenants::lock(connection, tenant).await
    }

    async fn write(connection: &mut PgConnection, rows: &Rows) -> Result<(), RepositoryError> {
        rows::write(connection, rows).await
    }

    async fn find_record(
        connection: &mut PgConnection,
        tenant: &TenantId,
        idempotency: &IdempotencyEntry,
    ) -> Result<Option<IdempotencyRecord>, RepositoryError> {
        idempotency::find(connection, tenant, idempotency).await
    }

    async fn lock_state(connection: &mut PgConnection) -> Result<(), RepositoryError> {
        store_state::lock(connection).await
    }
}

impl PostgresStore {
    /// Runs one statement as a transaction, and returns the number of rows that it has changed.
    pub(crate) async fn execute(
        &self,
        statement: Query<'static, Postgres, PgArguments>,
        convert: impl Fn(sqlx::Error) -> RepositoryError + Send + 'static,
    ) -> Result<u64, RepositoryError> {
        self.transaction(move |connection| {
            Box::pin(async move {
                let done = statement.execute(connection).await.map_err(convert)?;
                Ok(done.rows_affected())
            })
        })
        .await
    }
}
