//! The lifecycle of a serving process: start, serve, drain, stop.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use access::FirstKey;
use actix_web::{App, dev::ServerHandle, middleware::from_fn, web::Data};
use anyhow::{Context, Error, Result, bail};
use domain::{CredentialSecret, TenantId};
use kit::{
    auth::{authenticate, rate_limit, restrict_origins},
    layers::{cors, problem_responses, read_body, security_headers, trace_request},
    state::HttpState,
};
use metrics_exporter_prometheus::PrometheusHandle;
use ports::{Storage, ToolProvider};
use regions::serve_by_region;
use server::Versions;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use writes::{WriteTimeouts, Writes};

use crate::{
    routes,
    settings::Settings,
    wiring::{self, EnginesByName, Parts, Peers, ServerParts, Store, Turns},
};

/// The time for which running turns may continue. Together with the default drain delay before, and
/// the last responses and tool servers afterwards, a shutdown takes less than 35 s.
const TURNS_TIMEOUT: Duration = Duration::from_secs(25);
/// The time after the deadline of the turns in which their last writes and responses must end.
const LAST_RESPONSES_TIMEOUT: Duration = Duration::from_secs(2);
/// The time for which background tasks may continue.
const TASKS_TIMEOUT: Duration = Duration::from_secs(1);
/// The time in which their last writes must be stored.
const LAST_WRITES_TIMEOUT: Duration = Duration::from_secs(1);
/// The time in which tool servers must end, in parallel with the last writes. Then their processes
/// are killed.
const TOOL_SERVERS_TIMEOUT: Duration = Duration::from_millis(2_500);

/// A callback that shows a generated first key, with the URL of the service. Returns true if it was
/// shown.
pub type ShowFirstKey = Box<dyn FnOnce(&CredentialSecret, &str) -> bool + Send>;

/// A running service.
pub struct Service {
    /// The address on which it listens.
    pub address: SocketAddr,
    state: Data<HttpState>,
    turns: Turns,
    handle: ServerHandle,
    listener: TcpListener,
    served: tokio::task::JoinHandle<std::io::Result<()>>,
    store: Store,
    writes: Writes,
    /// The writers of the store, which end after everything that may still write.
    store_tasks: TaskTracker,
    /// The tasks that supervise tool servers, which may take their time: nothing that must be
    /// stored depends on them.
    tool_tasks: TaskTracker,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Service {
    /// Starts a service: opens and migrates the store, listens, stores and shows the first key, and
    /// serves.
    pub async fn start(
        settings: &Settings,
        no_migrate: bool,
        engines: EnginesByName,
        metrics: PrometheusHandle,
        show_first_key: ShowFirstKey,
    ) -> Result<Self> {
        let wrap_storage = |storage| storage;
        Self::start_with_storage(
            settings,
            no_migrate,
            engines,
            Vec::new(),
            metrics,
            show_first_key,
            wrap_storage,
        )
        .await
    }

    /// Starts a service whose use cases reach the store through the result of `wrap_storage`, which
    /// can wrap the ports to count, delay or fail their calls.
    pub async fn start_with_storage(
        settings: &Settings,
        no_migrate: bool,
        engines: EnginesByName,
        tools: Vec<Arc<dyn ToolProvider>>,
        metrics: PrometheusHandle,
        show_first_key: ShowFirstKey,
        wrap_storage: impl FnOnce(Storage) -> Storage,
    ) -> Result<Self> {
        let (store_tasks, tool_tasks) = (TaskTracker::new(), TaskTracker::new());
        let tasks = TaskTracker::new();
        let stop = CancellationToken::new();
        let store = wiring::open_store(settings, no_migrate, &store_tasks).await?;
        let listener = listen(settings.server.address())?;
        let address = listener.local_addr()?;
        let public_url = settings.server.public_url(address);
        if settings.region.home.is_none() {
            write_first_key(settings, &store, public_url.clone(), show_first_key).await?;
        }
        tool_tasks.spawn(wiring::reap_orphans(stop.clone()));
        let storage = wiring::storage_for(&settings.region, wrap_storage(store.storage()));
        let writes = Writes::start(
            Arc::clone(&storage.writes),
            WriteTimeouts::default(),
            &store_tasks,
        );
        let peers = Peers::start(settings, &public_url, &store, &storage, &tasks, &stop);
        let wired = wiring::wire(Parts {
            settings,
            storage: storage.clone(),
            writes: writes.clone(),
            store: &store,
            peers: peers.await?,
            engines,
            tools,
            file_memory: application::FileMemory::default(),
            metrics,
            public_url,
            tasks: tasks.clone(),
            tool_tasks: tool_tasks.clone(),
            stop: stop.clone(),
        });
        // Its future is large.
        let wired = Box::pin(wired).await?;
        let (state, turns) = (wired.state.clone(), wired.turns.clone());
        let listening = listener.try_clone()?;
        let http = start_http(wired, listening, settings)?;
        let handle = http.handle();
        let served = tasks.spawn(http);
        Ok(Self {
            address,
            state,
            turns,
            handle,
            listener,
            served,
            store,
            writes,
            store_tasks,
            tool_tasks,
            tasks,
            stop,
        })
    }

    /// Waits until the server ends by itself, which only happens after an error.
    pub async fn ended(&mut self) -> Result<()> {
        (&mut self.served)
            .await
            .context("the server's task panicked")??;
        bail!("the server ended by itself")
    }

    /// Shuts down in order: waits `delay` until load balancers have noticed, lets requests and
    /// turns end, and closes the store.
    pub async fn drain(self, delay: Duration) {
        self.state.readiness.drain();
        tokio::time::sleep(delay).await;
        // From now on no new requests are accepted; callers that wait for a turn are answered when
        // it ends.
        self.state.closing.cancel();
        // First, since a turn that ends meanwhile must not start a queued one here.
        self.turns.stop_promoting();
        server::refuse_connections(&self.handle, &self.listener).await;
        let turns_deadline = Instant::now() + TURNS_TIMEOUT;
        self.turns.drain(turns_deadline).await;
        // Turns run on the threads of the HTTP server, so it is stopped after them.
        let deadline = turns_deadline + LAST_RESPONSES_TIMEOUT;
        wait_for(deadline, "turns", self.turns.ended()).await;
        wait_for(deadline, "responses", self.handle.stop(true)).await;
        self.stop.cancel();
        self.tool_tasks.close();
        let tools = self.tool_tasks.wait();
        let tools = wait_for(Instant::now() + TOOL_SERVERS_TIMEOUT, "tool servers", tools);
        Box::pin(async { tokio::join!(tools, self.close_store()) }).await;
    }

    /// Lets the last tasks write, and then closes the store, for which time is reserved in any
    /// case.
    async fn close_store(&self) {
        self.tasks.close();
        let tasks = self.tasks.wait();
        wait_for(Instant::now() + TASKS_TIMEOUT, "turns", tasks).await;
        let deadline = Instant::now() + LAST_WRITES_TIMEOUT;
        let close = async {
            self.writes.close().await;
            self.store.close().await;
        };
        wait_for(deadline, "the store", close).await;
        self.store_tasks.close();
        wait_for(deadline, "writes", self.store_tasks.wait()).await;
    }
}

async fn wait_for(deadline: Instant, what: &str, future: impl Future<Output = ()>) {
    if tokio::time::timeout_at(deadline, future).await.is_err() {
        tracing::warn!("{what} did not end in time; continuing without it");
    }
}

/// Listens on an address. The error names the setting to change.
fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => {
                ": another program uses the port; stop it, or set SERVER__PORT to another port"
            }
            ErrorKind::PermissionDenied => ": set SERVER__PORT to a port from 1024",
            ErrorKind::AddrNotAvailable => {
                ": set SERVER__HOST to an address of this machine, or to 0.0.0.0"
            }
            _ => "",
        };
        Error::new(error).context(format!("cannot listen on {address}{remedy}"))
    })
}

fn start_http(
    wired: ServerParts,
    listener: TcpListener,
    settings: &Settings,
) -> Result<actix_web::dev::Server> {
    let closing = wired.state.closing.clone();
    // Far regions use HTTP/2; other clients have no advantage from it.
    let versions = match settings.region.far[..] {
        [] => Versions::Http1,
        _ => Versions::Http1And2,
    };
    let server = server::serve(
        listener,
        settings.server.workers,
        TURNS_TIMEOUT + LAST_RESPONSES_TIMEOUT,
        &closing,
        versions,
        move || {
            // The last wrapped layer is the outermost.
            App::new()
                .configure(|config| routes::configure(config, &wired))
                .wrap(from_fn(serve_by_region))
                .wrap(from_fn(read_body))
                .wrap(from_fn(restrict_origins))
                .wrap(from_fn(rate_limit))
                .wrap(from_fn(authenticate))
                .wrap(from_fn(problem_responses))
                .wrap(from_fn(cors))
                .wrap(from_fn(security_headers))
                .wrap(from_fn(trace_request))
        },
    )?;
    Ok(server)
}

/// Stores the first key of a store that has never had one, and shows it if it was generated.
async fn write_first_key(
    settings: &Settings,
    store: &Store,
    public_url: String,
    show: ShowFirstKey,
) -> Result<()> {
    let storage = store.storage();
    // The insertion checks it again, but a read-only store allows no insertion.
    if storage.credentials.has_ever_held_a_key().await? {
        return Ok(());
    }
    let (clock, ids) = wiring::system();
    let first_key = match &settings.auth.first_key {
        Some(first_key) => first_key.clone(),
        None if settings.is_loopback() => FirstKey::Generated,
        None => bail!(
            "the store has no API key yet, and other machines can reach {}: set \
             AUTH__BOOTSTRAP_KEY to a key (`agent-service keys generate` prints one), or to \
             `mint` to generate one and print it here",
            settings.server.address()
        ),
    };
    let tenant: TenantId = TenantId::DEFAULT.parse()?;
    let show = move |key: &CredentialSecret| show(key, &public_url);
    first_key
        .apply(&storage.credentials, &clock, &ids, tenant, show)
        .await
        .context("the first API key cannot be stored")
}
