//! The life of a serving process: start, serve, drain, end.

use std::{
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use actix_web::{App, dev::ServerHandle, middleware::from_fn, web::Data};
use anyhow::{Context, Result, bail};
use application::access::Bootstrap;
use domain::{CredentialSecret, TenantId};
use metrics_exporter_prometheus::PrometheusHandle;
use ports::Storage;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    access::{authenticate, confine_to_origins, limit},
    layers::{normalise, observe, receive, secure, share},
    listener, routes,
    settings::Settings,
    state::ApiState,
    wiring::{self, EnginesByName, Parts, Store, Turns, Wired},
};

/// How long turns under way may take to end by themselves: with the default delay before, and the
/// last answers and the servers of tools behind, a shutdown takes less than 35 s.
const GRACE: Duration = Duration::from_secs(25);
/// How long answers may still take once every turn has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// How long tasks in the background may take to end.
const LAST_TASKS: Duration = Duration::from_secs(1);
/// How long what they left may take to be stored.
const LAST_WRITES: Duration = Duration::from_secs(1);
/// How long servers of tools may take to end, beside the last writes. Processes are killed then.
const LAST_TOOLS: Duration = Duration::from_millis(2_500);

/// Shows a minted first key, with the URL of the service; returns whether the operator can read it.
pub type ShowFirstKey = Box<dyn FnOnce(&CredentialSecret, &str) -> bool + Send>;

/// A service that is up.
pub struct Service {
    /// Where it listens.
    pub address: SocketAddr,
    state: Data<ApiState>,
    turns: Turns,
    handle: ServerHandle,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
    store: Store,
    /// The store's writers: they end after everything that may still write.
    store_tasks: TaskTracker,
    /// What looks after servers of tools, which end when they like: nothing waits for them that
    /// is to be stored.
    tool_tasks: TaskTracker,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Service {
    /// Starts a service: opens and migrates the store, binds, writes and shows the first key,
    /// serves.
    pub async fn start(
        settings: &Settings,
        no_migrate: bool,
        engines: EnginesByName,
        metrics: PrometheusHandle,
        show_first_key: ShowFirstKey,
    ) -> Result<Self> {
        let over = |storage| storage;
        Self::start_over(settings, no_migrate, engines, metrics, show_first_key, over).await
    }

    /// Starts a service whose use cases reach the store's ports through what `over` makes of
    /// them: something that counts, delays or fails.
    pub async fn start_over(
        settings: &Settings,
        no_migrate: bool,
        engines: EnginesByName,
        metrics: PrometheusHandle,
        show_first_key: ShowFirstKey,
        over: impl FnOnce(Storage) -> Storage,
    ) -> Result<Self> {
        let (store_tasks, tool_tasks) = (TaskTracker::new(), TaskTracker::new());
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        let store = Store::open(&settings.database, true, &store_tasks).await?;
        wiring::prepare_schema(&store, no_migrate).await?;
        let listener = TcpListener::bind(settings.server.address())
            .with_context(|| format!("cannot listen on {}", settings.server.address()))?;
        let address = listener.local_addr()?;
        let public_url = settings.server.public_url(address);
        write_first_key(settings, &store, public_url.clone(), show_first_key).await?;
        let wired = wiring::wire(Parts {
            settings,
            storage: over(store.storage()),
            engines,
            metrics,
            public_url,
            tasks: tasks.clone(),
            tool_tasks: tool_tasks.clone(),
            stop: stop.clone(),
        })
        .await?;
        let (state, turns) = (wired.state.clone(), wired.turns.clone());
        let http = http_server(wired, listener, settings.server.workers)?;
        let handle = http.handle();
        let served = tasks.spawn(http);
        Ok(Self {
            address,
            state,
            turns,
            handle,
            served,
            store,
            store_tasks,
            tool_tasks,
            tasks,
            stop,
        })
    }

    /// Waits until the server ends by itself: it does so only when something is broken.
    pub async fn ended(&mut self) -> Result<()> {
        (&mut self.served)
            .await
            .context("the server's task panicked")??;
        bail!("the server ended by itself")
    }

    /// Shuts down in order: gives load balancers `delay` to notice, lets requests and turns end,
    /// closes the store.
    pub async fn drain(self, delay: Duration) {
        self.state.readiness.drain();
        tokio::time::sleep(delay).await;
        // From here on nobody new is let in; who waits for a turn is answered when that ends.
        self.state.closing.cancel();
        let stopped = self.handle.stop(true);
        self.turns.drain(Instant::now() + GRACE).await;
        stopped.await;
        self.stop.cancel();
        self.tool_tasks.close();
        let tools = self.tool_tasks.wait();
        let tools = end(Instant::now() + LAST_TOOLS, "servers of tools", tools);
        Box::pin(async { tokio::join!(tools, self.leave_store()) }).await;
    }

    /// Lets the last tasks write, and closes the store, which has its time whatever they do.
    async fn leave_store(&self) {
        self.tasks.close();
        let tasks = self.tasks.wait();
        end(Instant::now() + LAST_TASKS, "turns", tasks).await;
        let deadline = Instant::now() + LAST_WRITES;
        end(deadline, "the store", self.store.close()).await;
        self.store_tasks.close();
        end(deadline, "writes", self.store_tasks.wait()).await;
    }
}

async fn end(deadline: Instant, what: &str, ending: impl Future<Output = ()>) {
    if tokio::time::timeout_at(deadline, ending).await.is_err() {
        tracing::warn!("{what} did not end in time");
    }
}

fn http_server(
    wired: Wired,
    listener: TcpListener,
    workers: usize,
) -> Result<actix_web::dev::Server> {
    let Wired {
        state, services, ..
    } = wired;
    let server = listener::serve(listener, workers, GRACE + LAST_ANSWERS, move || {
        // The layer that is wrapped last is the outermost.
        App::new()
            .app_data(state.clone())
            .app_data(services.clone())
            .configure(routes::configure)
            .wrap(from_fn(receive))
            .wrap(from_fn(confine_to_origins))
            .wrap(from_fn(limit))
            .wrap(from_fn(authenticate))
            .wrap(from_fn(normalise))
            .wrap(from_fn(share))
            .wrap(from_fn(secure))
            .wrap(from_fn(observe))
    })?;
    Ok(server)
}

/// Writes the first key of a store that never held one, and shows it if it was minted.
async fn write_first_key(
    settings: &Settings,
    store: &Store,
    public_url: String,
    show: ShowFirstKey,
) -> Result<()> {
    let storage = store.storage();
    let (clock, ids) = wiring::system();
    let bootstrap = match &settings.auth.bootstrap {
        Some(bootstrap) => bootstrap.clone(),
        None if settings.is_loopback() => Bootstrap::Mint,
        None if storage.credentials.has_ever_held_a_key().await? => return Ok(()),
        None => bail!(
            "the store has no API key yet, and {} can be reached by others: set \
             AUTH__BOOTSTRAP_KEY to a key (`agent-service keys generate` prints one), or to \
             `mint` to have one printed here",
            settings.server.address()
        ),
    };
    let tenant: TenantId = TenantId::DEFAULT.parse()?;
    let show = move |key: &CredentialSecret| show(key, &public_url);
    bootstrap
        .apply(&storage.credentials, &clock, &ids, tenant, show)
        .await?;
    Ok(())
}
