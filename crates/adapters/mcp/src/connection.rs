//! Connecting to a server, and what is held of it while it lasts.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Fuse, FusedFuture as _},
};
use rmcp::{
    ClientHandler, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, SubscriptionFilter,
    },
    service::{
        ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer,
        RunningService, Subscription, serve_client_with_lifecycle_and_ct,
    },
};
use tokio::{sync::Notify, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    http::HttpWay,
    process::PATIENCE,
    reason::Unreachable,
    request_guard::RequestGuard,
    way::{McpTransport, Way},
};

/// How long a connection may take to close: a little longer than a process that does not want to,
/// and less than the 3 s that a shutdown has for servers of tools.
const CLOSE_LIMIT: Duration = PATIENCE
    .saturating_mul(2)
    .saturating_add(Duration::from_millis(500));

/// Connects to one server, again and again.
pub(crate) struct Connector {
    server: String,
    way: Way,
    tasks: TaskTracker,
}

impl Connector {
    pub(crate) fn new(server: String, transport: McpTransport, tasks: TaskTracker) -> Self {
        Self {
            server,
            way: Way::by(transport),
            tasks,
        }
    }

    /// Connects, by the handshake of the protocol's older versions or, where a server has none any
    /// more, without.
    pub(crate) async fn connect(&mut self) -> Result<Connection, Unreachable> {
        let connected = match self.open(ClientLifecycleMode::Initialize).await? {
            Err(ClientInitializeError::JsonRpcError(_)) => {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                self.open(ClientLifecycleMode::Discover { preferred_versions })
                    .await?
            }
            connected => connected,
        };
        match connected {
            Ok(opened) => Ok(Connection::new(opened).await),
            Err(error) => Err(Unreachable::because(&error)),
        }
    }

    async fn open(
        &mut self,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Result<Opened, ClientInitializeError>, Unreachable> {
        let closing = CancellationToken::new();
        let changed = Arc::new(Notify::new());
        let listener = Listener(Arc::clone(&changed));
        let running = match &mut self.way {
            Way::Http { url, ready } => {
                let way = match ready {
                    Some(way) => way.clone(),
                    None => ready.insert(HttpWay::new(Arc::clone(url)).await?).clone(),
                };
                let transport = RequestGuard::new(way.transport(), self.server.clone());
                serve_client_with_lifecycle_and_ct(listener, transport, lifecycle, closing.clone())
                    .await
            }
            Way::Process(program) => {
                let started = program.start();
                let (transport, log) = started.map_err(|error| Unreachable::because(&error))?;
                self.tasks.spawn(log.drain(self.server.clone()));
                let transport = RequestGuard::new(transport, self.server.clone());
                serve_client_with_lifecycle_and_ct(listener, transport, lifecycle, closing.clone())
                    .await
            }
        };
        Ok(running.map(|running| Opened {
            running,
            closing,
            changed,
        }))
    }
}

/// Hears what a server says by itself.
struct Listener(Arc<Notify>);

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let product = Implementation::new("agent-service", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), product)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.notify_one();
    }
}

struct Opened {
    running: RunningService<RoleClient, Listener>,
    closing: CancellationToken,
    changed: Arc<Notify>,
}

/// A connection to a server. Dropping this closes it without waiting.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    changed: Arc<Notify>,
    /// Servers of the newest version tell of changes only to those who ask for it.
    subscription: Option<Subscription>,
    ended: Fuse<BoxFuture<'static, ()>>,
    closing: CancellationToken,
}

impl Connection {
    async fn new(opened: Opened) -> Self {
        let peer = opened.running.peer().clone();
        // The list is asked for when it may have changed: what was answered before is no answer.
        peer.set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        Self {
            peer,
            changed: opened.changed,
            subscription: None,
            ended: opened.running.waiting().map(drop).boxed().fuse(),
            closing: opened.closing,
        }
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    /// Asks to be told of changes, if that is necessary.
    pub(crate) async fn subscribe(&mut self) {
        let info = self.peer.peer_info();
        if info.is_some_and(|info| !info.protocol_version.has_initialize()) {
            let mut filter = SubscriptionFilter::new();
            filter.tools_list_changed = Some(true);
            self.subscription = self.peer.listen(filter).await.ok();
        }
    }

    /// Waits until the server says that its list has changed; `Err` once the connection has ended.
    pub(crate) async fn changed(&mut self) -> Result<(), Ended> {
        tokio::select! {
            () = &mut self.ended => Err(Ended),
            () = self.changed.notified() => Ok(()),
            () = next_change(&mut self.subscription) => Ok(()),
        }
    }

    /// Closes it, and waits until that is done.
    pub(crate) async fn close(self) {
        self.closing.cancel();
        if !self.ended.is_terminated() {
            let _ = timeout(CLOSE_LIMIT, self.ended).await;
        }
    }
}

/// A connection has ended by itself.
pub(crate) struct Ended;

/// Waits for ever where nothing is subscribed.
async fn next_change(subscription: &mut Option<Subscription>) {
    if let Some(open) = subscription {
        if let Ok(Some(_)) = open.next().await {
            return;
        }
        *subscription = None;
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn says_why_a_server_cannot_be_reached_and_not_where() {
        let url = "http://user:secret@127.0.0.1:1/mcp?key=secret".to_owned();
        let transport = McpTransport::Http { url };
        let mut connector = Connector::new("files".to_owned(), transport, TaskTracker::new());
        let connected = connector.connect().await;
        let reason = connected.err().expect("nobody listens there");
        assert_eq!(
            reason.to_string(),
            "the server of tools cannot be reached: Connection refused (os error 111)"
        );
    }
}
