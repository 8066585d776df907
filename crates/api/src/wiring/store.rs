//! The store that the configuration names.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use ports::Storage;
use postgres_store::{NotUsableYet, PostgresOptions, PostgresStore};
use sqlite_store::{SqliteOptions, SqliteStore};
use tokio_util::task::TaskTracker;

use crate::settings::{DatabaseKind, DatabaseSettings, DatabaseUrl, Settings};

/// The round trip to the primary above which the operator is warned.
const MAX_DISTANCE: Duration = Duration::from_millis(10);
/// The interval at which a far node looks for its schema.
const SCHEMA_INTERVAL: Duration = Duration::from_secs(1);
/// The interval at which a start looks for a database that cannot be used yet.
const START_INTERVAL: Duration = Duration::from_millis(500);
/// The time after which the same reason to wait is reported again.
const REPORT_INTERVAL: Duration = Duration::from_secs(20);

/// The store that the configuration names.
pub enum Store {
    /// A SQLite file.
    Sqlite(SqliteStore),
    /// A Postgres server.
    Postgres(PostgresStore),
}

impl Store {
    /// Opens the store. With `exclusive`, as for serving and migrating, a second exclusive opener
    /// is rejected.
    pub async fn open(
        settings: &DatabaseSettings,
        exclusive: bool,
        tasks: &TaskTracker,
    ) -> Result<Self> {
        let url = &settings.url;
        let opened = match url.kind() {
            DatabaseKind::Sqlite => {
                let options = SqliteOptions {
                    exclusive,
                    ..SqliteOptions::default()
                };
                SqliteStore::open(url.reveal(), options, tasks)
                    .await
                    .map(Self::Sqlite)
            }
            DatabaseKind::Postgres => {
                let options = PostgresOptions {
                    max_connections: settings.max_connections,
                    is_replica: false,
                };
                PostgresStore::connect(url.reveal(), options, tasks)
                    .await
                    .map(Self::Postgres)
            }
        };
        opened.with_context(|| format!("the store at {url} cannot be opened"))
    }

    /// Opens a replica of the store of the home region, which is a Postgres server.
    pub async fn open_replica(settings: &DatabaseSettings, tasks: &TaskTracker) -> Result<Self> {
        let url = &settings.url;
        let options = PostgresOptions {
            max_connections: settings.max_connections,
            is_replica: true,
        };
        let opened = PostgresStore::connect(url.reveal(), options, tasks).await;
        let opened = opened.with_context(|| format!("the replica at {url} cannot be opened"));
        opened.map(Self::Postgres)
    }

    /// Returns the absolute path of a store that is a file; `None` for a server.
    pub fn file(url: &DatabaseUrl) -> Result<Option<PathBuf>> {
        match url.kind() {
            DatabaseKind::Sqlite => Ok(Some(sqlite_store::file_of(url.reveal())?)),
            DatabaseKind::Postgres => Ok(None),
        }
    }

    /// Brings the schema up to date, and returns the number of migrations. Fails if a newer program
    /// has migrated the store.
    pub async fn migrate(&self) -> Result<usize> {
        Ok(match self {
            Self::Sqlite(store) => store.migrate().await?,
            Self::Postgres(store) => store.migrate().await?,
        })
    }

    /// Fails if a server grants fewer connections than a process needs to serve.
    async fn require_connections(&self) -> Result<()> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(store) => Ok(store.require_connections().await?),
        }
    }

    /// Returns the number of pending migrations. Fails if a newer program has migrated the store.
    pub async fn pending_migrations(&self) -> Result<usize> {
        Ok(match self {
            Self::Sqlite(store) => store.pending_migrations().await?,
            Self::Postgres(store) => store.pending_migrations().await?,
        })
    }

    /// Returns the ports of the store.
    pub fn storage(&self) -> Storage {
        match self {
            Self::Sqlite(store) => store.storage(),
            Self::Postgres(store) => store.storage(),
        }
    }

    /// Closes the store after its writes have finished.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// Opens the store of this process, with the schema of this version.
pub async fn open_store(
    settings: &Settings,
    no_migrate: bool,
    tasks: &TaskTracker,
) -> Result<Store> {
    if let ignored @ [_, ..] = settings.database.url.ignored_parameters() {
        tracing::info!(
            "parameters of DATABASE_URL without effect: {}",
            ignored.join(", ")
        );
    }
    let seconds = settings.database.start_limit.as_secs();
    let report = |reason: &str| {
        tracing::warn!(reason, "waiting for the database, for at most {seconds} s");
    };
    if settings.region.home.is_some() {
        let open = async || {
            let replica = Store::open_replica(&settings.database, tasks).await?;
            prepared(replica, wait_for_schema).await
        };
        let (replica, ()) = wait_for_database(settings.database.start_limit, report, open).await?;
        return Ok(replica);
    }
    let open = async || {
        let store = Store::open(&settings.database, true, tasks).await?;
        let require_or_migrate = async |store: &Store| {
            store.require_connections().await?;
            if no_migrate {
                return require_schema(store).await;
            }
            store.migrate().await.map(drop)
        };
        prepared(store, require_or_migrate).await
    };
    let (store, ()) = wait_for_database(settings.database.start_limit, report, open).await?;
    warn_of_distance(&store).await;
    Ok(store)
}

/// Opens and migrates the store, and returns the number of migrations.
pub async fn migrate_store(
    settings: &Settings,
    report: impl Fn(&str),
    tasks: &TaskTracker,
) -> Result<usize> {
    let open = async || {
        let store = Store::open(&settings.database, true, tasks).await?;
        prepared(store, Store::migrate).await
    };
    let (store, applied) = wait_for_database(settings.database.start_limit, report, open).await?;
    store.close().await;
    Ok(applied)
}

/// Repeats `open` while its error passes by itself, until `limit` has passed. Passes the reason to
/// `report`, also each time it changes.
async fn wait_for_database<T>(
    limit: Duration,
    report: impl Fn(&str),
    open: impl AsyncFn() -> Result<T>,
) -> Result<T> {
    let began = Instant::now();
    let mut reported: Option<(Instant, String)> = None;
    loop {
        let error = match open().await {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let passes = error
            .chain()
            .any(<dyn std::error::Error>::is::<NotUsableYet>);
        if !passes {
            return Err(error);
        }
        if began.elapsed() >= limit {
            return Err(error.context(format!("gave up after {} s", limit.as_secs())));
        }
        let reason = ports::error::one_line(error.as_ref());
        let is_known =
            |(at, last): &(Instant, String)| *last == reason && at.elapsed() < REPORT_INTERVAL;
        if !reported.as_ref().is_some_and(is_known) {
            report(&reason);
            reported = Some((Instant::now(), reason));
        }
        tokio::time::sleep(START_INTERVAL).await;
    }
}

/// Warns if the database is in another region: every write needs several round trips to it.
async fn warn_of_distance(store: &Store) {
    let Store::Postgres(postgres) = store else {
        return;
    };
    let mut shortest = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        if postgres.id().await.is_ok() {
            shortest = shortest.min(began.elapsed());
        }
    }
    if (MAX_DISTANCE..Duration::MAX).contains(&shortest) {
        tracing::warn!(
            round_trip_ms = shortest.as_millis(),
            "the database is far away, which delays every write several times; run this node near \
             the database, or give it a replica and set REGION__HOME_URL"
        );
    }
}

/// Returns a store with the result of `prepare`, which checks or changes its schema. Closes it if that
/// fails.
async fn prepared<T>(
    store: Store,
    prepare: impl AsyncFnOnce(&Store) -> Result<T>,
) -> Result<(Store, T)> {
    match prepare(&store).await {
        Ok(outcome) => Ok((store, outcome)),
        Err(error) => {
            store.close().await;
            Err(error)
        }
    }
}

async fn require_schema(store: &Store) -> Result<()> {
    match store.pending_migrations().await? {
        0 => Ok(()),
        pending => bail!(
            "the store is {pending} migration(s) behind, and --no-migrate was given: run \
             `agent-service migrate` first"
        ),
    }
}

/// Waits until the replica of a far node has the schema of this version, which the home region
/// creates.
async fn wait_for_schema(store: &Store) -> Result<()> {
    let mut has_logged = false;
    loop {
        let pending = store.pending_migrations().await?;
        if pending == 0 {
            return Ok(());
        }
        if !std::mem::replace(&mut has_logged, true) {
            tracing::info!(
                pending,
                "waiting for the schema: the home region has not migrated to this version yet"
            );
        }
        tokio::time::sleep(SCHEMA_INTERVAL).await;
    }
}
