//! The bus between nodes.

use std::time::Duration;

use anyhow::{Result, bail};
use dev_load::{Endpoint, service::Settings};
use tokio::time::{Instant, sleep};

use crate::environment::{Environment, Store};

/// The longest until a node is connected to the bus, or notices that it is not.
const CONNECTED: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(50);

/// The gauge of `LISTEN` and `NOTIFY`.
const OF_POSTGRES: &str = "bus_connected";
/// The gauge of the signals over Redis.
const OF_REDIS: &str = "redis_connected{use=\"signals\"}";
/// The gauge of the limits that Redis counts.
const LIMITS_OF_REDIS: &str = "redis_connected{use=\"limits\"}";

/// The bus between the nodes on one Postgres database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bus {
    /// `LISTEN` and `NOTIFY` of the database.
    Postgres,
    /// A Redis server, which also counts limits. The database replaces it while it is unavailable.
    Redis,
}

impl Bus {
    /// Adds the bus to the description of a fault.
    pub(super) fn describe(self, done: String) -> String {
        match self {
            Self::Postgres => done,
            Self::Redis => format!("{done}, Redis between the nodes"),
        }
    }

    /// The name of a database that nodes with this bus use.
    pub(super) fn database(self, name: &str) -> String {
        match self {
            Self::Postgres => name.to_owned(),
            Self::Redis => format!("{name}_redis"),
        }
    }

    /// The settings of nodes on a new database.
    pub(super) fn settings(self, environment: &Environment, name: &str) -> Result<Settings> {
        let mut settings = environment.settings(Store::Postgres, &self.database(name))?;
        if self == Self::Redis {
            let url = environment.redis()?.url();
            settings.variables.push(("BUS__URL".to_owned(), url));
        }
        Ok(settings)
    }

    /// Returns whether a node receives signals over this bus.
    pub(super) async fn is_connected(self, endpoint: &Endpoint) -> Result<bool> {
        match self {
            Self::Postgres => is_set(endpoint, OF_POSTGRES).await,
            Self::Redis => is_set(endpoint, OF_REDIS).await,
        }
    }

    /// Waits until a node receives signals over this bus, or none.
    pub(super) async fn wait_until(self, connected: bool, endpoint: &Endpoint) -> Result<()> {
        let gauge = match self {
            Self::Postgres => OF_POSTGRES,
            Self::Redis => OF_REDIS,
        };
        wait_for(endpoint, gauge, connected).await
    }

    /// Waits until a node uses this bus for everything.
    pub(super) async fn wait_until_used(self, endpoint: &Endpoint) -> Result<()> {
        self.wait_until(true, endpoint).await?;
        if self == Self::Redis {
            wait_for(endpoint, LIMITS_OF_REDIS, true).await?;
        }
        Ok(())
    }
}

async fn is_set(endpoint: &Endpoint, gauge: &str) -> Result<bool> {
    Ok(endpoint.metric(gauge).await? == Some(1.0))
}

async fn wait_for(endpoint: &Endpoint, gauge: &str, value: bool) -> Result<()> {
    let started = Instant::now();
    while is_set(endpoint, gauge).await? != value {
        if started.elapsed() > CONNECTED {
            bail!("{gauge} of a node is still {} after {CONNECTED:?}", !value);
        }
        sleep(POLL).await;
    }
    Ok(())
}
