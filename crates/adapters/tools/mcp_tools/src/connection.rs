//! The connection to a server.

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
    bearers::Bearers,
    connection_error::ConnectionError,
    http::HttpTransport,
    process::EXIT_TIMEOUT,
    request_guard::RequestGuard,
    transport::{McpTransport, Transport},
};

/// The maximum time for closing a connection: a little more than a process may take, and less than
/// the 3 s that a shutdown allows for MCP servers.
const CLOSE_TIMEOUT: Duration = EXIT_TIMEOUT
    .saturating_mul(2)
    .saturating_add(Duration::from_millis(500));

/// Opens connections to one server.
pub(crate) struct Connector {
    server: String,
    transport: Transport,
    tasks: TaskTracker,
}

impl Connector {
    pub(crate) fn new(
        server: String,
        transport: McpTransport,
        bearers: Bearers,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            server,
            transport: Transport::new(transport, bearers),
            tasks,
        }
    }

    /// Connects with the handshake of the protocol's older versions or, if the server does not
    /// support it, without one.
    pub(crate) async fn connect(&mut self) -> Result<Connection, ConnectionError> {
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
            Err(error) => Err(ConnectionError::from_error(&error)),
        }
    }

    async fn open(
        &mut self,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Result<Opened, ClientInitializeError>, ConnectionError> {
        let closing = CancellationToken::new();
        let changed = Arc::new(Notify::new());
        let handler = NotificationHandler(Arc::clone(&changed));
        let running = match &mut self.transport {
            Transport::Http {
                endpoint,
                bearers,
                ready,
            } => {
                let http = match ready {
                    Some(http) => http.clone(),
                    None => ready
                        .insert(HttpTransport::new(endpoint, bearers.clone()).await?)
                        .clone(),
                };
                let transport = RequestGuard::new(http.transport(), self.server.clone());
                serve_client_with_lifecycle_and_ct(handler, transport, lifecycle, closing.clone())
                    .await
            }
            Transport::Process(program) => {
                let started = program.start();
                let (transport, log) =
                    started.map_err(|error| ConnectionError::from_error(&error))?;
                self.tasks.spawn(log.drain(self.server.clone()));
                let transport = RequestGuard::new(transport, self.server.clone());
                serve_client_with_lifecycle_and_ct(handler, transport, lifecycle, closing.clone())
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

/// Handles the notifications of a server.
struct NotificationHandler(Arc<Notify>);

impl ClientHandler for NotificationHandler {
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
    running: RunningService<RoleClient, NotificationHandler>,
    closing: CancellationToken,
    changed: Arc<Notify>,
}

/// A connection to a server. Dropping it closes the connection without waiting.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    changed: Arc<Notify>,
    /// Servers of the newest protocol version report changes only to subscribers.
    subscription: Option<Subscription>,
    ended: Fuse<BoxFuture<'static, ()>>,
    closing: CancellationToken,
}

impl Connection {
    async fn new(opened: Opened) -> Self {
        let peer = opened.running.peer().clone();
        // The list is requested when it may have changed, so a cached response would be wrong.
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

    /// Subscribes to changes of the tool list, if the protocol version requires it.
    pub(crate) async fn subscribe(&mut self) {
        let info = self.peer.peer_info();
        if info.is_some_and(|info| !info.protocol_version.has_initialize()) {
            let mut filter = SubscriptionFilter::new();
            filter.tools_list_changed = Some(true);
            self.subscription = self.peer.listen(filter).await.ok();
        }
    }

    /// Waits until the server reports a change of its tool list. Returns an error once the
    /// connection has ended.
    pub(crate) async fn changed(&mut self) -> Result<(), Ended> {
        tokio::select! {
            () = &mut self.ended => Err(Ended),
            () = self.changed.notified() => Ok(()),
            () = next_change(&mut self.subscription) => Ok(()),
        }
    }

    /// Closes the connection and waits until it is closed.
    pub(crate) async fn close(self) {
        self.closing.cancel();
        if !self.ended.is_terminated() {
            let _ = timeout(CLOSE_TIMEOUT, self.ended).await;
        }
    }
}

/// The connection has ended.
pub(crate) struct Ended;

/// Waits for the next change; forever if there is no subscription.
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
    use crate::HttpEndpoint;

    #[tokio::test]
    async fn the_error_contains_the_reason_and_not_the_address() {
        let url = "http://user:secret@127.0.0.1:1/mcp?key=secret".to_owned();
        let mut endpoint = HttpEndpoint::new(url);
        endpoint.headers.insert("X-Key".to_owned(), "secret".into());
        let mut connector = Connector::new(
            "files".to_owned(),
            McpTransport::Http(endpoint),
            Bearers::default(),
            TaskTracker::new(),
        );
        let connected = connector.connect().await;
        let reason = connected.err().expect("an error");
        assert_eq!(
            reason.to_string(),
            "the MCP server is unreachable: Connection refused (os error 111)"
        );
    }
}
