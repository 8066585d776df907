//! Builds what the processes on one store share: the event bus, and the rate limiter of Redis.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use local_bus::{LocalBus, request_fallback};
use ports::{EventBus, IdSource, RateLimiter};
use postgres_bus::PostgresBus;
use postgres_store::PostgresStore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::Store;
use crate::{readiness::Check, settings::BusSettings};

/// The parts that the processes on one store share.
pub struct NodeLinks {
    /// The event bus.
    pub bus: Arc<dyn EventBus>,
    /// The rate limiter, unless it is that of the store.
    pub limiter: Option<Arc<dyn RateLimiter>>,
    /// The connections that these use besides the store, of which none is required.
    pub checks: Vec<Check>,
}

impl NodeLinks {
    /// Starts the event bus of a process on this store, and the rate limiter of Redis if it is
    /// configured.
    pub async fn start(
        settings: &BusSettings,
        store: &Store,
        ids: &dyn IdSource,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self> {
        let mut links = Self {
            bus: Arc::new(LocalBus::new()),
            limiter: None,
            checks: Vec::new(),
        };
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
        let connect = store.connect_options();
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

    /// Puts Redis in front of the bus and of the limiter, if it is configured.
    #[cfg(feature = "redis")]
    fn add_redis(
        &mut self,
        settings: &BusSettings,
        store: uuid::Uuid,
        ids: &dyn IdSource,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<()> {
        use local_limiter::LocalRateLimiter;
        use redis_adapter::{RedisBus, RedisLimiter, WhenDown};

        use crate::settings::LimitsWhenDown;

        let Some(server) = redis(settings)? else {
            return Ok(());
        };
        let when_down = match settings.limits_when_down {
            LimitsWhenDown::Local => WhenDown::Local,
            LimitsWhenDown::Refuse => WhenDown::Refuse,
        };
        let local = Arc::new(LocalRateLimiter::new());
        tasks.spawn(Arc::clone(&local).run(stop.clone()));
        let bus = Arc::clone(&self.bus);
        let process = ids.next_id();
        let bus = RedisBus::start(server.clone(), store, process, bus, tasks, stop);
        let limiter = RedisLimiter::start(server, store, process, local, when_down, tasks, stop);
        self.checks = vec![
            Check::new("redis_signals", bus.connectivity()),
            Check::new("redis_limits", limiter.connectivity()),
        ];
        self.bus = Arc::new(bus);
        self.limiter = Some(Arc::new(limiter));
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
fn redis(settings: &BusSettings) -> Result<Option<redis_adapter::RedisServer>> {
    let Some(url) = &settings.url else {
        return Ok(None);
    };
    let server = redis_adapter::RedisServer::parse(url.reveal());
    server.context("BUS__URL is not valid").map(Some)
}
