//! Every call of the database: on the main runtime, within a limit in time, and never again on a
//! connection that did not answer.
//!
//! Calls are tasks of their own because a connection belongs to the runtime that opened it, and
//! because a caller that goes away must not leave one behind in the middle of a statement.

use std::{
    future::Future,
    panic::resume_unwind,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ports::RepositoryError;
use relational::column::corrupt;
use sqlx::{
    Connection, Decode, PgConnection, Row, Type,
    pool::{PoolConnection, PoolConnectionMetadata},
    postgres::{PgArguments, PgConnectOptions, PgPool, PgPoolOptions, PgRow, Postgres},
    query::Query,
};
use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};
use tokio_util::task::TaskTracker;

use crate::error::{ReadOnlySession, from_sqlx, in_table};

/// Within this time a caller gets an answer, if only that the store is unavailable.
pub(crate) const CALL_LIMIT: Duration = Duration::from_millis(4_500);

/// A connection that has rested longer is asked for a sign of life first: the server may have
/// been restarted meanwhile.
const RESTED: Duration = Duration::from_secs(1);

/// Plans must stay good while tables grow from nothing to millions of rows in the life of one
/// connection, and every statement here is served by an index. For the same reason statements that
/// read by a key say `num_nonnulls(deleted_at) = 0`: a partial index cannot promise that, so the
/// planner does not take one for the key's while all of them are empty. The server ends what this side has
/// given up, also when the network does not tell it.
pub(crate) const SETTINGS: &str = "\
    set jit = off; \
    set enable_seqscan = off; \
    set enable_bitmapscan = off; \
    set enable_hashjoin = off; \
    set enable_mergejoin = off; \
    set enable_material = off; \
    set statement_timeout = '5s'; \
    set idle_in_transaction_session_timeout = '10s'; \
    set default_transaction_isolation = 'read committed'";

/// What a call does with its connection.
pub(crate) type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T, RepositoryError>> + Send + 'c>>;

/// The connections of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    pool: PgPool,
    retired: Retired,
    tasks: TaskTracker,
    runtime: Handle,
}

impl Connections {
    /// Connects when first needed. Calls run on the present runtime.
    pub(crate) fn new(options: PgConnectOptions, most: u32, tasks: &TaskTracker) -> Self {
        let retired = Retired::default();
        let checked = retired.clone();
        let pool = PgPoolOptions::new()
            .max_connections(most)
            .acquire_timeout(CALL_LIMIT)
            .test_before_acquire(false)
            .before_acquire(move |connection, rest| {
                let is_retired = checked.includes(rest.age);
                Box::pin(async move { Ok(!is_retired && is_alive(connection, rest).await?) })
            })
            .after_connect(|connection, _| Box::pin(prepare(connection)))
            .connect_lazy_with(options);
        Self {
            pool,
            retired,
            tasks: tasks.clone(),
            runtime: Handle::current(),
        }
    }

    /// Runs `work` on a connection.
    pub(crate) async fn run<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut PgConnection) -> Work<'c, T> + Send + 'static,
    {
        let connections = self.clone();
        let call = self.tasks.spawn_on(
            async move { connections.run_here(work).await },
            &self.runtime,
        );
        match call.await {
            Ok(outcome) => outcome,
            Err(ended) => match ended.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                Err(cancelled) => Err(RepositoryError::Unavailable(cancelled.into())),
            },
        }
    }

    async fn run_here<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        W: for<'c> FnOnce(&'c mut PgConnection) -> Work<'c, T>,
    {
        let deadline = Instant::now() + CALL_LIMIT;
        let elapsed =
            |elapsed: tokio::time::error::Elapsed| RepositoryError::Unavailable(elapsed.into());
        let acquired = timeout_at(deadline, self.pool.acquire())
            .await
            .map_err(elapsed)?;
        let mut connection: PoolConnection<Postgres> = acquired.map_err(from_sqlx)?;
        let outcome = timeout_at(deadline, work(&mut connection))
            .await
            .unwrap_or_else(|late| Err(elapsed(late)));
        if let Err(RepositoryError::Unavailable(source)) = &outcome {
            if source.is::<ReadOnlySession>() {
                self.retired.include_all();
            }
            // It may still be busy: the server sees the socket close.
            drop(connection.detach());
        }
        outcome
    }

    /// Runs `work` in a transaction and commits it; rolls back when it answers an error.
    pub(crate) async fn transaction<T, W>(&self, work: W) -> Result<T, RepositoryError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut PgConnection) -> Work<'c, T> + Send + 'static,
    {
        self.run(move |connection| {
            Box::pin(async move {
                let mut transaction = connection.begin().await.map_err(from_sqlx)?;
                match work(&mut transaction).await {
                    Ok(value) => {
                        transaction.commit().await.map_err(from_sqlx)?;
                        Ok(value)
                    }
                    Err(error) => {
                        transaction.rollback().await.map_err(from_sqlx)?;
                        Err(error)
                    }
                }
            })
        })
        .await
    }

    /// Reads the rows of one statement.
    pub(crate) async fn fetch_all(
        &self,
        query: Query<'static, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, RepositoryError> {
        self.run(move |connection| {
            Box::pin(async move { query.fetch_all(connection).await.map_err(from_sqlx) })
        })
        .await
    }

    /// Reads the first row of one statement.
    pub(crate) async fn fetch_optional(
        &self,
        query: Query<'static, Postgres, PgArguments>,
    ) -> Result<Option<PgRow>, RepositoryError> {
        self.run(move |connection| {
            Box::pin(async move { query.fetch_optional(connection).await.map_err(from_sqlx) })
        })
        .await
    }

    /// Reads the only value of one statement that always has one.
    pub(crate) async fn fetch_value<T>(
        &self,
        table: &'static str,
        query: Query<'static, Postgres, PgArguments>,
    ) -> Result<T, RepositoryError>
    where
        T: for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        let row = self.fetch_optional(query).await?;
        let row = row.ok_or_else(|| corrupt(table)("there is no row"))?;
        row.try_get(0).map_err(in_table(table))
    }

    /// Closes all connections once their calls have ended.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Makes a new connection ready for the statements of this crate.
pub(crate) async fn prepare(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(SETTINGS).execute(connection).await?;
    Ok(())
}

async fn is_alive(
    connection: &mut PgConnection,
    rest: PoolConnectionMetadata,
) -> Result<bool, sqlx::Error> {
    if rest.idle_for > RESTED {
        connection.ping().await?;
    }
    Ok(true)
}

/// The connections that are not used again: those opened before a session refused a write because
/// it is read-only. Sessions keep that setting after the database accepts writes again.
#[derive(Debug, Clone)]
struct Retired {
    begun: Instant,
    /// Microseconds from `begun` to the last refusal.
    opened_before: Arc<AtomicU64>,
}

impl Default for Retired {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            opened_before: Arc::default(),
        }
    }
}

impl Retired {
    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Includes all connections that are open now.
    fn include_all(&self) {
        self.opened_before.fetch_max(self.now(), Ordering::Relaxed);
    }

    /// Returns whether a connection of this age is one of them.
    fn includes(&self, age: Duration) -> bool {
        let age = u64::try_from(age.as_micros()).unwrap_or(u64::MAX);
        self.now().saturating_sub(age) < self.opened_before.load(Ordering::Relaxed)
    }
}
