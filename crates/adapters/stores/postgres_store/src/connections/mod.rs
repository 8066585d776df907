//! Calls of the database. Each runs on the main runtime, has a time limit, and never reuses a
//! connection that did not respond.
//!
//! Calls are tasks of their own, because a connection belongs to the runtime that opened it, and
//! because a dropped caller must not leave a connection in the middle of a statement.

mod retired;

use std::{panic::resume_unwind, time::Duration};

use futures::future::try_join_all;
use ports::RepositoryError;
use relational::Work;
use sqlx::{
    Connection, PgConnection,
    pool::{PoolConnection, PoolConnectionMetadata},
    postgres::{PgArguments, PgConnectOptions, PgPool, PgPoolOptions, PgRow, Postgres},
    query::Query,
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout_at},
};
use tokio_util::task::TaskTracker;

use self::retired::Retired;
use crate::{
    error::{ReadOnlySession, from_sqlx, is_full},
    server,
};

/// The time limit of a call; after it, the store counts as unavailable.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_millis(4_500);

/// The idle time after which a connection is tested before its next use: the server, or a pooler in
/// front of it, may have ended it meanwhile. Shorter than any restart, and longer than connections are
/// idle under load.
const MAX_UNTESTED_IDLE: Duration = Duration::from_millis(50);

/// The idle time after which a connection is closed: other processes may need its place.
const MAX_IDLE: Duration = Duration::from_mins(1);

/// The number of connections that the pool keeps: the first key is stored by one while another holds a
/// lock.
pub(crate) const LEAST_POOLED: u32 = 2;

const PAUSE_OF_FULL_SERVER: Duration = Duration::from_millis(20);

/// The settings of every connection.
///
/// Plans must stay good while tables grow from empty to millions of rows during the life of one
/// connection, and every statement here is served by an index. Each statement is therefore planned
/// once for each connection, which takes longer than its execution. For the same reason, statements
/// that read by a key use `num_nonnulls(deleted_at) = 0`: the planner cannot match this condition
/// to a partial index, which it might otherwise prefer to the key's index while both are empty. The
/// timeouts end work that this side has given up even if the server is not informed of it.
pub(crate) const SETTINGS: &str = "\
    set jit = off; \
    set plan_cache_mode = force_generic_plan; \
    set enable_seqscan = off; \
    set enable_bitmapscan = off; \
    set enable_hashjoin = off; \
    set enable_mergejoin = off; \
    set enable_material = off; \
    set statement_timeout = '5s'; \
    set idle_in_transaction_session_timeout = '10s'; \
    set default_transaction_isolation = 'read committed'";

/// The connections of a store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Connections {
    pool: PgPool,
    retired: Retired,
    tasks: TaskTracker,
    runtime: Handle,
}

impl Connections {
    /// Creates a pool that connects on demand. Calls run on the current runtime.
    pub(crate) fn new(
        options: PgConnectOptions,
        max_connections: u32,
        tasks: &TaskTracker,
    ) -> Self {
        let retired = Retired::default();
        let checked = retired.clone();
        let pool = PgPoolOptions::new()
            .min_connections(LEAST_POOLED)
            .max_connections(max_connections)
            .acquire_timeout(CALL_TIMEOUT)
            .idle_timeout(MAX_IDLE)
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
        let deadline = Instant::now() + CALL_TIMEOUT;
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
            // It may still be busy: the server notices the closed socket.
            drop(connection.detach());
        }
        outcome
    }

    /// Runs `work` in a transaction and commits it, or rolls it back if `work` returns an error.
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

    /// Returns the rows of one statement.
    pub(crate) async fn fetch_all(
        &self,
        query: Query<'static, Postgres, PgArguments>,
    ) -> Result<Vec<PgRow>, RepositoryError> {
        self.run(move |connection| {
            Box::pin(async move { query.fetch_all(connection).await.map_err(from_sqlx) })
        })
        .await
    }

    /// Returns the first row of one statement.
    pub(crate) async fn fetch_optional(
        &self,
        query: Query<'static, Postgres, PgArguments>,
    ) -> Result<Option<PgRow>, RepositoryError> {
        self.run(move |connection| {
            Box::pin(async move { query.fetch_optional(connection).await.map_err(from_sqlx) })
        })
        .await
    }

    /// Opens the connections that the pool keeps.
    pub(crate) async fn open_least(&self) -> Result<(), sqlx::Error> {
        let opening = (0..LEAST_POOLED).map(|_| self.pool.acquire());
        try_join_all(opening).await.map(drop)
    }

    /// Opens a connection beside the pool: in the place of an idle one of the pool, if the server admits no
    /// other.
    pub(crate) async fn open_beside(
        &self,
        options: &PgConnectOptions,
    ) -> Result<PgConnection, sqlx::Error> {
        loop {
            match server::connect_and_use(options).await {
                // The server frees the place of a closed connection after a moment.
                Err(error) if is_full(&error) && self.give_up_one().await => {
                    sleep(PAUSE_OF_FULL_SERVER).await;
                }
                connected => return connected,
            }
        }
    }

    /// Closes an idle connection. Returns false if there is none that the pool can do without.
    async fn give_up_one(&self) -> bool {
        if self.pool.size() <= LEAST_POOLED {
            return false;
        }
        let Some(connection) = self.pool.try_acquire() else {
            return false;
        };
        let close = async move { drop(connection.close().await) };
        let closed = self.tasks.spawn_on(close, &self.runtime);
        closed.await.is_ok()
    }

    /// Closes all connections once their calls have ended.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Applies the settings of this crate to a new connection.
pub(crate) async fn prepare(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(SETTINGS).execute(connection).await?;
    Ok(())
}

async fn is_alive(
    connection: &mut PgConnection,
    rest: PoolConnectionMetadata,
) -> Result<bool, sqlx::Error> {
    if rest.idle_for > MAX_UNTESTED_IDLE {
        connection.ping().await?;
    }
    Ok(true)
}
