//! Builds the services that run turns, and those that end turns of failed nodes.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use application::{
    Engines, FileService, Toolbox,
    cache::{CachedPorts, Caches},
    chat::{ChatContext, TurnRunner},
    engines::BreakerHints,
    files::FileLinks,
    node::Node,
    remote_turns::{ForwardedReplies, ReplyForwarder, ReplyReceiver},
    sweep::{LocalTurnReconciler, Sweeper},
    turns::CancellationListener,
};
use clamd_scanner::ClamdScanner;
use ports::FileScanner;
use tokio::time::Instant;
use web_documents::{Deadlines, WebDocuments};

use super::Parts;

/// The interval at which a shutdown checks if turns are still running.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time in which a file on the web must be fetched.
const FETCH_TIMEOUT: Duration = Duration::from_secs(20);
/// The time in which the ends of interrupted turns must be stored.
const FINAL_WRITES_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts the tasks that exchange live replies, cancellations and the state of engines with other
/// nodes.
fn start_exchange(
    parts: &Parts<'_>,
    context: &Arc<ChatContext>,
    runner: &Arc<TurnRunner>,
    caches: &Caches,
) {
    let (tasks, stop) = (&parts.tasks, &parts.stop);
    let bus = || Arc::clone(&parts.peers.links.bus);
    let (live, node) = (|| Arc::clone(&context.live), || Arc::clone(&context.node));
    let forwarder = ReplyForwarder::new(live(), Arc::clone(&context.forwarded));
    let turns = Arc::clone(&parts.storage.turns);
    let receiver = ReplyReceiver::new(bus(), live(), turns, Arc::clone(&caches.applied), node());
    let cancellations = CancellationListener::new(Arc::clone(context), Arc::clone(runner), bus());
    let hints = BreakerHints::new(bus(), Arc::clone(&context.engines));
    tasks.spawn(hints.run(stop.clone()));
    tasks.spawn(forwarder.run(stop.clone()));
    tasks.spawn(receiver.run(stop.clone()));
    tasks.spawn(cancellations.run(stop.clone()));
}

/// Builds the use cases of files, which messages may name on the web, too.
fn file_service(parts: &Parts<'_>, cached: &CachedPorts) -> FileService {
    let settings = parts.settings;
    let web = WebDocuments::new(settings.outbound.allowed_hosts.clone());
    let web = web.with_deadlines(Deadlines {
        total: FETCH_TIMEOUT,
        ..Deadlines::default()
    });
    let links = FileLinks::new(parts.public_url.clone(), Arc::clone(&parts.peers.listing));
    let (types, quota) = (settings.files.types.clone(), settings.limits.uploads);
    let scanner = settings.files.scan.clone().map(ClamdScanner);
    FileService::new(cached.clone(), types, quota, links)
        .with_scanner(scanner.map(|it| Arc::new(it) as Arc<dyn FileScanner>))
        .with_web(Arc::new(web), parts.file_memory.clone())
}

/// The turns of this process.
#[derive(Clone)]
pub struct Turns {
    /// The dependencies of turns.
    pub(super) context: Arc<ChatContext>,
    /// Runs the turns.
    pub(super) runner: Arc<TurnRunner>,
    reconciler: Arc<LocalTurnReconciler>,
}

impl Turns {
    /// Builds the turn runner, and starts the tasks that end turns of failed nodes.
    pub(super) async fn wire(
        parts: &Parts<'_>,
        chat: &CachedPorts,
        engines: &Arc<Engines>,
        toolbox: &Arc<Toolbox>,
        node: &Arc<Node>,
        caches: &Caches,
    ) -> Result<Self> {
        let (storage, tasks, stop) = (&parts.storage, &parts.tasks, &parts.stop);
        let bus = Arc::clone(&parts.peers.links.bus);
        let context = ChatContext::new(
            chat.clone(),
            Arc::new(file_service(parts, chat)),
            Arc::clone(engines),
            Arc::clone(node),
            Arc::clone(&caches.live),
            Arc::new(ForwardedReplies::new(bus, Arc::clone(node))),
            tasks.clone(),
        );
        let file_bytes = parts.settings.models.file_bytes;
        let context = Arc::new(context.with_file_bytes(file_bytes));
        let runner = Arc::new(TurnRunner::new(
            Arc::clone(&context),
            Arc::clone(&storage.agents),
            Arc::clone(toolbox),
        ));
        let reconciler = Arc::new(LocalTurnReconciler::new(
            Arc::clone(&storage.sweep),
            Arc::clone(&context),
        ));
        let sweeper = Sweeper::new(
            Arc::clone(&storage.sweep),
            Arc::clone(&context),
            Arc::clone(&runner),
        );
        if storage.sweep.is_single_process() {
            // No other process can run turns of this store: the turns of the previous process are
            // ended now.
            sweeper.sweep_all().await?;
        }
        // All turns run at home, which also ends them.
        if parts.peers.home.is_none() {
            tasks.spawn(sweeper.run(stop.clone()));
            tasks.spawn(Arc::clone(&reconciler).run(stop.clone()));
        }
        start_exchange(parts, &context, &runner, caches);
        Ok(Self {
            context,
            runner,
            reconciler,
        })
    }

    /// Stops promoting queued turns to this process: they are left to others.
    pub fn stop_promoting(&self) {
        self.runner.stop_promoting();
    }

    /// After [`Turns::stop_promoting`]: lets running turns end until `deadline`, then interrupts them.
    /// Queued turns whose callers wait in this process have the same time, or fail at once if there is
    /// no other process.
    pub async fn drain(&self, deadline: Instant) {
        self.wait_until_idle(deadline).await;
        self.wait_for_other_nodes(deadline).await;
        self.runner.close();
        // By now, turns that were about to begin have begun or are queued.
        self.wait_until_idle(Instant::now() + FINAL_WRITES_TIMEOUT)
            .await;
        self.reconciler.fail_queued().await;
        self.context.live.end_remote_waits();
    }

    /// Waits until the tasks of turns on the threads of the HTTP server have ended.
    pub async fn ended(&self) {
        self.context.turn_tasks_ended().await;
    }

    /// Waits until other nodes have ended the queued turns whose callers wait in this process.
    async fn wait_for_other_nodes(&self, deadline: Instant) {
        let live = &self.context.live;
        let membership = self.context.node.watch_membership();
        let is_alone = || membership.borrow().live.count <= 1;
        let is_awaited = || live.in_progress() > 0 || !live.queued().is_empty();
        while is_awaited() && !is_alone() && Instant::now() < deadline {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until no turn is running in this process.
    async fn wait_until_idle(&self, deadline: Instant) {
        while self.context.live.in_progress() > 0 && Instant::now() < deadline {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
