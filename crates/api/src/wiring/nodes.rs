//! Builds the connections between the processes on one store.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use kit::readiness::Check;
use ports::{EventBus, IdSource};
use postgres_nodes::PostgresBus;
use postgres_store::PostgresStore;
use single_node::bus::{LocalBus, request_fallback};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use super::Store;
use crate::settings::BusSettings;

/// The parts that the processes on one store share.
pub(super) struct NodeLinks {
    /// The event bus.
    pub(super) bus: Arc<dyn EventBus>,
    /// The server between processes, and the id of the store.
    #[cfg(feature = "redis")]
    pub(super) redis: Option<(redis_nodes::RedisServer, Uuid)>,
    /// The connections of the bus besides the store, of which none is required.
    pub(super) checks: Vec<Check>,
}

impl NodeLinks {
    /// Returns the parts of a node of a far region, whose bus leads to the home region. The nodes of
    /// the region count limits together if they have a server between them.
    pub(super) fn in_far_region(
        bus: Arc<dyn EventBus>,
        settings: &BusSettings,
        store_id: Uuid,
    ) -> Result<Self> {
        let links = Self::with_bus(bus);
        check_bus(settings)?;
        #[cfg(feature = "redis")]
        if let Some(server) = redis(settings)? {
            return Ok(Self {
                redis: Some((server, store_id)),
                ..links
            });
        }
        #[cfg(not(feature = "redis"))]
        let _ = store_id;
        Ok(links)
    }

    /// Returns the parts of a process that shares only this bus.
    fn with_bus(bus: Arc<dyn EventBus>) -> Self {
        Self {
            bus,
            #[cfg(feature = "redis")]
            redis: None,
            checks: Vec::new(),
        }
    }

    /// Starts the event bus of a process on this store.
    pub(super) async fn start(
        settings: &BusSettings,
        store: &Store,
        ids: &dyn IdSource,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self> {
        let mut links = Self::with_bus(Arc::new(LocalBus::new()));
        // One process serves a file.
        if let Store::Postgres(store) = store {
            links.connect(settings, store, ids, tasks, stop).await?;
        }
        Ok(links)
    }

    async fn connect(
        &mut self,
        settings: &BusSettings,
        store: &PostgresStore,
        ids: &dyn IdSource,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<()> {
        let id = store.id().await.context("the store's id cannot be read")?;
        let connect = &store.connect_options();
        let bus = PostgresBus::start(connect, id, ids.next_id(), tasks, stop);
        self.bus = Arc::new(bus);
        if settings.url.is_none() {
            // While `BUS__URL` is set or removed on one node after another, others use Redis.
            let requesting = request_fallback(Arc::clone(&self.bus));
            tasks.spawn(stop.clone().run_until_cancelled_owned(requesting));
        }
        #[cfg(feature = "redis")]
        self.add_redis(settings, id, ids, tasks, stop)?;
        #[cfg(not(feature = "redis"))]
        check_bus(settings)?;
        Ok(())
    }

    /// Puts Redis in front of the bus, if it is configured.
    #[cfg(feature = "redis")]
    fn add_redis(
        &mut self,
        settings: &BusSettings,
        store: Uuid,
        ids: &dyn IdSource,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<()> {
        let Some(server) = redis(settings)? else {
            return Ok(());
        };
        let bus = Arc::clone(&self.bus);
        let process = ids.next_id();
        let bus = redis_nodes::RedisBus::start(server.clone(), store, process, bus, tasks, stop);
        self.checks = vec![Check::new("redis_signals", bus.connectivity())];
        self.bus = Arc::new(bus);
        self.redis = Some((server, store));
        Ok(())
    }
}

/// Checks the URL of the server between processes, without connecting.
#[cfg(feature = "redis")]
pub fn check_bus(settings: &BusSettings) -> Result<()> {
    redis(settings).map(drop)
}

/// Rejects a server between processes.
#[cfg(not(feature = "redis"))]
pub fn check_bus(settings: &BusSettings) -> Result<()> {
    anyhow::ensure!(
        settings.url.is_none(),
        "BUS__URL must be absent: this program was built without the feature `redis`"
    );
    Ok(())
}

#[cfg(feature = "redis")]
fn redis(settings: &BusSettings) -> Result<Option<redis_nodes::RedisServer>> {
    let Some(url) = &settings.url else {
        return Ok(None);
    };
    let server = redis_nodes::RedisServer::parse(url.reveal());
    server.context("BUS__URL is not valid").map(Some)
}
