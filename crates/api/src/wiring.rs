//! Everything is put together here, and only here are adapters named.

mod access;
mod engines;
mod limits;
mod parties;
mod realtime;
mod services;
mod store;
mod tools;
mod turns;

use self::access::Access;
pub use self::{
    access::signing_keys,
    engines::{EnginesByName, built_in_engines, choose_engines},
    parties::parties,
    store::{Store, prepare_schema},
    tools::check_programs,
    turns::Turns,
};

use std::sync::Arc;

use actix_web::web::Data;
use anyhow::{Context as _, Result};
use application::{node::Node, purge::Purge, retention::LogRetention};
use cpu_pool::CpuPool;
use domain::web_address;
use metrics_exporter_prometheus::PrometheusHandle;
use ports::{Clock, IdSource, Storage};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    access::{LargeAnswers, SealedServices, seal},
    asyncapi,
    body::Schemas,
    documents::Documents,
    layers::AllowedOrigins,
    oauth::Metadata,
    openapi,
    readiness::Readiness,
    request::PagePermit,
    settings::Settings,
    socket::frames,
    state::ApiState,
    system::{SystemClock, SystemIds},
    telemetry,
};

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
    /// Every task of the process, but those of servers of tools.
    pub tasks: TaskTracker,
    /// What looks after servers of tools.
    pub tool_tasks: TaskTracker,
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
    let over_caches = services::cached_ports(storage, &realtime.caches, &clock, &ids);
    let access = access::wire(&parts, &clock, &ids).await?;
    keep_up(&parts, &node);

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
    let services = services::over(
        parts,
        &over_caches,
        &state,
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
    let base_path = web_address::path_of(&parts.public_url);
    domain::problem::set_base_path(base_path);
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
        large_answers: LargeAnswers::default(),
        #[cfg(feature = "address-guard")]
        address_guard: limits::address_guard(parts),
        address_quota: cfg!(feature = "address-guard").then_some(settings.limits.address),
        ids,
        page_permits: PagePermit::of_tenants(),
        cpu_pool: CpuPool::start().context("cannot start threads")?,
        schemas: schemas(&document)?,
        sizes: settings.limits.sizes.clone(),
        public_url: parts.public_url.clone(),
        base_path: base_path.to_owned(),
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
fn keep_up(parts: &Parts<'_>, node: &Arc<Node>) {
    let maintenance = || Arc::clone(&parts.storage.maintenance);
    let purge = Purge::new(maintenance());
    let kept_for = parts.settings.events.retention;
    let retention = LogRetention::new(maintenance(), kept_for);
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
