//! Everything is put together here, and only here are adapters named.

mod access;
mod engines;
mod limits;
mod realtime;
mod tools;
mod turns;

use self::{access::Access, realtime::Realtime};
pub use self::{
    access::signing_keys,
    engines::{EnginesByName, built_in_engines, choose_engines},
    tools::check_programs,
    turns::Turns,
};

use std::{path::PathBuf, sync::Arc};

use actix_web::web::Data;
use anyhow::{Context, Result, bail};
use application::{
    AgentService, Authenticator, ChatService, ConversationService, CredentialService, Engines,
    EventService, Toolbox, TurnService,
    cache::{CachedAgents, CachedConversations, CachedTurns, Caches},
    chat::ChatPorts,
    node::Node,
    purge::Purge,
    retention::LogRetention,
};
use metrics_exporter_prometheus::PrometheusHandle;
use ports::{Clock, IdSource, Storage};
use postgres_store::{PostgresOptions, PostgresStore};
use sqlite_store::{SqliteOptions, SqliteStore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    access::{SealedServices, seal},
    asyncapi,
    body::Schemas,
    documents::Documents,
    layers::AllowedOrigins,
    oauth::Metadata,
    openapi,
    readiness::Readiness,
    settings::{DatabaseKind, DatabaseUrl, Settings},
    socket::frames,
    state::{ApiState, Services},
    system::{SystemClock, SystemIds},
    telemetry,
};

/// The store that the configuration names.
pub enum Store {
    /// One file.
    Sqlite(SqliteStore),
    /// A server.
    Postgres(PostgresStore),
}

impl Store {
    /// Opens the store. `exclusive` is for who serves or migrates: a second one is refused.
    pub async fn open(url: &DatabaseUrl, exclusive: bool, tasks: &TaskTracker) -> Result<Self> {
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
                let options = PostgresOptions::default();
                PostgresStore::connect(url.reveal(), options, tasks)
                    .await
                    .map(Self::Postgres)
            }
        };
        opened.with_context(|| format!("the store at {url} cannot be opened"))
    }

    /// The file of a store that is one, from the root; none for a server.
    pub fn file(url: &DatabaseUrl) -> Result<Option<PathBuf>> {
        match url.kind() {
            DatabaseKind::Sqlite => Ok(Some(sqlite_store::file_of(url.reveal())?)),
            DatabaseKind::Postgres => Ok(None),
        }
    }

    /// Brings the schema up to date.
    pub async fn migrate(&self) -> Result<()> {
        let migrated = match self {
            Self::Sqlite(store) => store.migrate().await,
            Self::Postgres(store) => store.migrate().await,
        };
        migrated.context("the store cannot be migrated")
    }

    /// How many migrations are still to be carried out.
    pub async fn pending_migrations(&self) -> Result<usize> {
        let pending = match self {
            Self::Sqlite(store) => store.pending_migrations().await,
            Self::Postgres(store) => store.pending_migrations().await,
        };
        pending.context("the store's schema cannot be read")
    }

    /// Its ports.
    pub fn storage(&self) -> Storage {
        match self {
            Self::Sqlite(store) => store.storage(),
            Self::Postgres(store) => store.storage(),
        }
    }

    /// Closes it; writes under way are finished.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close().await,
            Self::Postgres(store) => store.close().await,
        }
    }
}

/// What the HTTP server is built from, and what runs beside it.
#[derive(Clone)]
pub struct Wired {
    /// For the layers and documents.
    pub state: Data<ApiState>,
    /// For handlers.
    pub services: SealedServices,
    /// To end them in order.
    pub turns: Turns,
}

/// What everything is built from.
pub struct Parts<'a> {
    /// The configuration.
    pub settings: &'a Settings,
    /// The store's ports.
    pub storage: Storage,
    /// The engines.
    pub engines: EnginesByName,
    /// Renders metrics.
    pub metrics: PrometheusHandle,
    /// Where clients reach this server.
    pub public_url: String,
    /// Every task of the process.
    pub tasks: TaskTracker,
    /// Ends the tasks in the background.
    pub stop: CancellationToken,
}

/// The real clock and ids.
pub fn system() -> (Arc<dyn Clock>, Arc<dyn IdSource>) {
    (
        Arc::new(SystemClock::default()),
        Arc::new(SystemIds::default()),
    )
}

/// Puts everything together and starts what runs in the background.
pub async fn wire(parts: Parts<'_>) -> Result<Wired> {
    let (clock, ids) = system();
    let storage = &parts.storage;
    let node = Node::register(Arc::clone(&storage.nodes), Arc::clone(&ids)).await?;
    let node = Arc::new(node);
    let realtime = realtime::wire(&parts, &clock).await?;
    let over_caches = cached_ports(storage, &realtime.caches, &clock, &ids);
    let access = access::wire(&parts, &clock, &ids).await?;
    keep_up(&parts, &node, &clock);

    let state = state(&parts, access, ids)?;
    let engines = Arc::new(choose_engines(
        parts.settings,
        parts.engines.clone(),
        &parts.tasks,
    )?);
    let toolbox = Arc::new(tools::toolbox(&parts, &clock)?);
    let turns = Turns::wire(
        &parts,
        &over_caches,
        &engines,
        &toolbox,
        &node,
        &realtime.caches,
    )
    .await?;
    let authenticator = Arc::clone(&state.authenticator);
    let services = services(
        parts,
        &over_caches,
        authenticator,
        engines,
        toolbox,
        &turns,
        realtime,
    );
    Ok(Wired {
        state: Data::new(state),
        services: seal(services),
        turns,
    })
}

/// What the layers need.
fn state(parts: &Parts<'_>, access: Access, ids: Arc<dyn IdSource>) -> Result<ApiState> {
    let settings = parts.settings;
    let document = openapi::document(&settings.limits.sizes, &parts.public_url)?;
    let asyncapi = asyncapi::document(&document, &parts.public_url)?;
    Ok(ApiState {
        authenticator: access.authenticator,
        oauth: access.server,
        oauth_metadata: Metadata::new(
            &parts.public_url,
            settings.auth.issuers.iter().map(|it| it.name.clone()),
        ),
        tickets: access.tickets,
        limits: access.limits,
        #[cfg(feature = "address-guard")]
        address_guard: limits::address_guard(parts),
        address_quota: cfg!(feature = "address-guard").then_some(settings.limits.address),
        ids,
        schemas: schemas(&document)?,
        sizes: settings.limits.sizes.clone(),
        public_url: parts.public_url.clone(),
        allowed_origins: AllowedOrigins::new(&settings.server.allowed_origins),
        body_deadline: settings.limits.body_deadline,
        closing: CancellationToken::new(),
        socket_times: settings.limits.sockets,
        readiness: Readiness::new(Arc::clone(&parts.storage.maintenance)),
        documents: Documents::new(&document, &asyncapi),
        metrics: parts.metrics.clone(),
    })
}

/// Starts what keeps the store, the node's lease and the metrics in order.
fn keep_up(parts: &Parts<'_>, node: &Arc<Node>, clock: &Arc<dyn Clock>) {
    let maintenance = || Arc::clone(&parts.storage.maintenance);
    let purge = Purge::new(maintenance(), Arc::clone(clock));
    let kept_for = parts.settings.events.retention;
    let retention = LogRetention::new(maintenance(), Arc::clone(clock), kept_for);
    let (tasks, stop) = (&parts.tasks, &parts.stop);
    tasks.spawn(purge.run(stop.clone()));
    tasks.spawn(retention.run(stop.clone()));
    tasks.spawn(Arc::clone(node).run(stop.clone()));
    tasks.spawn(telemetry::upkeep(parts.metrics.clone(), stop.clone()));
}

/// Validators of all that clients send.
fn schemas(openapi: &serde_json::Value) -> Result<Schemas> {
    let document = frames::document(openapi)?;
    let names: Vec<&str> = openapi::BODIES
        .iter()
        .copied()
        .chain(frames::components())
        .collect();
    Ok(Schemas::new(&document, &names)?)
}

/// The use cases over cached ports.
fn services(
    parts: Parts<'_>,
    cached: &ChatPorts,
    authenticator: Arc<Authenticator>,
    engines: Arc<Engines>,
    toolbox: Arc<Toolbox>,
    turns: &Turns,
    realtime: Realtime,
) -> Services {
    let Parts {
        settings, storage, ..
    } = parts;
    let runner = || Arc::clone(&turns.runner);
    let (clock, ids) = (Arc::clone(&cached.clock), Arc::clone(&cached.ids));
    let credentials = CredentialService::new(
        storage.credentials,
        Arc::clone(&storage.claims),
        Arc::clone(&clock),
        Arc::clone(&ids),
        settings.limits.sizes.name_characters,
    );
    Services {
        agents: AgentService::new(
            Arc::clone(&cached.agents),
            storage.agents,
            Arc::clone(&storage.claims),
            Arc::clone(&engines),
            Arc::clone(&clock),
            Arc::clone(&ids),
            settings.limits.sizes.clone(),
        ),
        conversations: ConversationService::new(
            Arc::clone(&cached.conversations),
            Arc::clone(&cached.agents),
            storage.claims,
            Arc::clone(&clock),
            Arc::clone(&ids),
        ),
        turns: TurnService::new(Arc::clone(&cached.turns), runner(), clock, ids),
        events: EventService::new(Arc::clone(&realtime.log)),
        log: realtime.log,
        live: realtime.caches.live,
        typing: realtime.typing,
        credentials: credentials.beside(authenticator),
        chat: ChatService::new(runner()),
        engines,
        toolbox,
    }
}

fn cached_ports(
    storage: &Storage,
    caches: &Caches,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> ChatPorts {
    let agents = CachedAgents::new(
        Arc::clone(&storage.agents),
        caches.clone(),
        Arc::clone(clock),
    );
    let conversations = CachedConversations::new(
        Arc::clone(&storage.conversations),
        caches.clone(),
        Arc::clone(clock),
    );
    ChatPorts {
        agents: Arc::new(agents),
        conversations: Arc::new(conversations),
        turns: Arc::new(CachedTurns::new(Arc::clone(&storage.turns), caches.clone())),
        claims: Arc::clone(&storage.claims),
        clock: Arc::clone(clock),
        ids: Arc::clone(ids),
    }
}

/// Migrates the store, or refuses to go on with one that is behind.
pub async fn prepare_schema(store: &Store, no_migrate: bool) -> Result<()> {
    if !no_migrate {
        return store.migrate().await;
    }
    match store.pending_migrations().await? {
        0 => Ok(()),
        pending => bail!(
            "the store is {pending} migration(s) behind, and --no-migrate was given: run \
             `agent-service migrate` first"
        ),
    }
}
