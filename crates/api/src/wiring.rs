//! Builds the whole service. Only this module names adapters.

mod auth;
mod blobs;
mod documents;
mod engines;
mod nodes;
mod rate_limits;
mod realtime;
mod regions;
mod services;
mod startup_summary;
mod states;
mod store;
mod tools;
mod turns;

pub use self::{
    auth::{document_source, signing_keys},
    blobs::{NO_FILES, has_files},
    engines::{EnginesByName, built_in_engines, choose_engines},
    nodes::check_bus,
    regions::{Peers, check_regions, storage_for},
    startup_summary::startup_summary,
    states::SurfaceStates,
    store::{Store, migrate_store, open_store},
    tools::{check_programs, reap_orphans},
    turns::Turns,
};

use std::sync::Arc;

use actix_web::web::Data;
use anyhow::Result;
use application::{
    cache::{CachedPorts, CachedWrites},
    erasure::Eraser,
    expiry::ConversationExpiry,
    files::BlobCleanup,
    followers::{FollowerRunner, FollowerWork},
    node::Node,
    purge::Purge,
    retention::LogRetention,
    search::SearchIndexer,
    titles::TitleWriter,
};
use kit::{
    auth::{SealedServices, seal},
    state::HttpState,
};
use metrics_exporter_prometheus::PrometheusHandle;
use ports::{BlobStore, Clock, IdSource, Storage, ToolProvider};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use writes::Writes;

use self::realtime::Realtime;
use crate::{
    settings::Settings,
    system::{SystemClock, SystemIds},
    telemetry,
};

/// The parts of the HTTP server, and the turns that run beside it.
#[derive(Clone)]
pub struct ServerParts {
    /// The state that the layers and all surfaces share.
    pub state: Data<HttpState>,
    /// The states of the surfaces.
    pub surfaces: SurfaceStates,
    /// The use cases for handlers.
    pub services: SealedServices,
    /// The turns, for an orderly shutdown.
    pub turns: Turns,
}

/// The parameters of the build.
pub struct Parts<'a> {
    /// The configuration.
    pub settings: &'a Settings,
    /// The store.
    pub store: &'a Store,
    /// The store's ports.
    pub storage: Storage,
    /// The writes of this process.
    pub writes: Writes,
    /// The other processes and regions.
    pub peers: Peers,
    /// The engines.
    pub engines: EnginesByName,
    /// Tools of this build, besides the built-in ones. Of two tools with one name, these come first.
    pub tools: Vec<Arc<dyn ToolProvider>>,
    /// The memory for files that are in memory as a whole.
    pub file_memory: application::FileMemory,
    /// The handle that renders the metrics.
    pub metrics: PrometheusHandle,
    /// The URL under which clients reach this server.
    pub public_url: String,
    /// All tasks of the process, except those of tool servers.
    pub tasks: TaskTracker,
    /// The tasks that supervise tool servers.
    pub tool_tasks: TaskTracker,
    /// Stops the background tasks.
    pub stop: CancellationToken,
}

impl Parts<'_> {
    /// Returns the issuer of the tokens of this service.
    fn issuer_url(&self) -> &str {
        let configured = self.settings.auth.issuer_url.as_deref();
        configured.unwrap_or(&self.public_url)
    }
}

/// Returns the real clock and id source.
pub fn system() -> (Arc<dyn Clock>, Arc<dyn IdSource>) {
    (
        Arc::new(SystemClock::default()),
        Arc::new(SystemIds::default()),
    )
}

/// Builds the service and starts its background tasks.
pub async fn wire(parts: Parts<'_>) -> Result<ServerParts> {
    let (clock, ids) = system();
    let node = Arc::new(register_node(&parts, &ids).await?);
    let realtime = realtime::wire(&parts, &clock).await?;
    let blobs = blobs::open(&parts, &ids).await?;
    start_blob_cleanup(&parts, blobs.as_ref(), &clock);
    let cached = services::cached_ports(&parts, blobs, &realtime.caches, &clock, &ids);
    let mut auth = auth::wire(&parts, &node, &clock, &ids).await?;
    auth.checks.extend(blobs::check(parts.settings)?);
    start_maintenance(&parts, &node, &cached.writes);

    let region = regions::own_region(&parts, &realtime.caches, &clock);
    let (state, surfaces) = states::states(&parts, auth, region, &node, ids)?;
    let engines = Arc::new(choose_engines(
        parts.settings,
        parts.engines.clone(),
        &parts.tasks,
    )?);
    let titles = TitleWriter::new(
        Arc::clone(&parts.storage.followers),
        cached.clone(),
        Arc::clone(&engines),
    );
    start_followers(&parts, &node, &realtime, &cached, titles);
    let toolbox = Arc::new(tools::toolbox(
        &parts,
        &clock,
        cached.blobs.as_ref(),
        &state.authenticator,
    )?);
    let turns = Turns::wire(&parts, &cached, &engines, &toolbox, &node, &realtime.caches).await?;
    let services = services::build(parts, &cached, &state, engines, toolbox, &turns, realtime);
    Ok(ServerParts {
        state: Data::new(state),
        surfaces,
        services: seal(services),
        turns,
    })
}

/// Starts the deletion of contents that no file has.
fn start_blob_cleanup(
    parts: &Parts<'_>,
    blobs: Option<&Arc<dyn BlobStore>>,
    clock: &Arc<dyn Clock>,
) {
    if let Some(blobs) = blobs {
        let files = Arc::clone(&parts.storage.files);
        let cleanup = BlobCleanup::new(files, Arc::clone(blobs), Arc::clone(clock));
        parts.tasks.spawn(cleanup.run(parts.stop.clone()));
    }
}

/// Registers this process as a node.
async fn register_node(parts: &Parts<'_>, ids: &Arc<dyn IdSource>) -> Result<Node> {
    let (nodes, bus) = (&parts.storage.nodes, &parts.peers.links.bus);
    let version = env!("CARGO_PKG_VERSION");
    let node = Node::register(Arc::clone(nodes), Arc::clone(ids), Arc::clone(bus), version).await?;
    // A far node is known by the id that `Peers` logs.
    if parts.settings.region.home.is_none() {
        tracing::info!(node = %node.id(), "node started");
    }
    Ok(node)
}

/// Starts the followers of the logs, and the removal of the events that the search has read. Both write, so they run
/// at home.
fn start_followers(
    parts: &Parts<'_>,
    node: &Arc<Node>,
    realtime: &Realtime,
    cached: &CachedPorts,
    titles: TitleWriter,
) {
    if parts.peers.home.is_some() {
        return;
    }
    let (storage, tasks, stop) = (&parts.storage, &parts.tasks, &parts.stop);
    let conversations = Arc::clone(&storage.conversations);
    let indexer = SearchIndexer::new(Arc::clone(&storage.search), conversations);
    let indexer: Arc<dyn FollowerWork> = Arc::new(indexer);
    let retention = LogRetention::new(
        Arc::clone(&storage.maintenance),
        parts.settings.events.retention,
        Arc::clone(&indexer),
        realtime.heads.clone(),
    );
    let eraser = Eraser::new(
        Arc::clone(&storage.erasures),
        Arc::clone(&storage.followers),
        Arc::clone(&storage.conversations),
        cached.writes.clone(),
        Arc::clone(&cached.clock),
    );
    for work in [indexer, Arc::new(eraser), Arc::new(titles)] {
        let runner = FollowerRunner::new(
            work,
            Arc::clone(&storage.followers),
            Arc::clone(&realtime.log),
            Arc::clone(node),
            realtime.heads.clone(),
        );
        tasks.spawn(runner.run(stop.clone()));
    }
    tasks.spawn(retention.run(stop.clone()));
}

/// Starts the tasks that maintain the store, the node's lease and the metrics. A replica is
/// maintained at home.
fn start_maintenance(parts: &Parts<'_>, node: &Arc<Node>, writes: &CachedWrites) {
    let (tasks, stop) = (&parts.tasks, &parts.stop);
    if parts.peers.home.is_none() {
        let maintenance = || Arc::clone(&parts.storage.maintenance);
        let purge = Purge::new(maintenance(), parts.settings.erasure.within);
        let expiry = ConversationExpiry::new(
            Arc::clone(&parts.storage.tenants),
            Arc::clone(&parts.storage.sweep),
            maintenance(),
            writes.clone(),
            parts.settings.conversations.retention,
        );
        tasks.spawn(expiry.run(stop.clone()));
        tasks.spawn(purge.run(stop.clone()));
    }
    let joined = Arc::clone(node).renew_on_join();
    tasks.spawn(stop.clone().run_until_cancelled_owned(joined));
    tasks.spawn(Arc::clone(node).run(stop.clone()));
    tasks.spawn(telemetry::run_upkeep(parts.metrics.clone(), stop.clone()));
}
