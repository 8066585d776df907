//! The task that keeps one server connected.

use std::{sync::Arc, time::Duration};

use rmcp::{RoleClient, service::Peer};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    connection::{Connection, Connector},
    connection_error::ConnectionError,
    foreign_text::LogThrottle,
    listing,
    state::State,
    tool_catalog::{self, SkippedTools},
};

/// The maximum time for connecting: some programs are downloaded before they run.
const CONNECT_TIMEOUT: Duration = Duration::from_mins(1);

/// The maximum time for listing the tools of a server.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// The minimum time between two listings, however often a server reports a change.
const MIN_LIST_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum number of skipped tools that are named in a log line: some servers have hundreds,
/// all with the same reason.
const MAX_LOGGED_REASONS: usize = 3;

/// The intervals and time limits of a connection.
#[derive(Debug, Clone, Copy)]
pub struct McpIntervals {
    /// The time after which the tools of an idle server are listed again. A server that died
    /// unnoticed stays available for that long.
    pub refresh: Duration,
    /// The pause before the first attempt to reconnect. It doubles with each further attempt.
    pub shortest_pause: Duration,
    /// The maximum pause. It is reset by a connection that lasted as long.
    pub longest_pause: Duration,
    /// The time limit of a call, whether or not the server reports progress.
    pub call_timeout: Duration,
}

impl Default for McpIntervals {
    fn default() -> Self {
        Self {
            refresh: Duration::from_secs(15),
            shortest_pause: Duration::from_secs(1),
            longest_pause: Duration::from_mins(1),
            call_timeout: Duration::from_secs(15),
        }
    }
}

/// Connects to a server, keeps its tool list up to date, and reconnects.
pub(crate) struct ConnectionManager {
    state: Arc<State>,
    connector: Connector,
    intervals: McpIntervals,
    stop: CancellationToken,
    skipped: SkippedTools,
    log_throttle: LogThrottle,
    /// The last state that was logged, so that each loss is logged once.
    loss_is_logged: bool,
}

impl ConnectionManager {
    pub(crate) fn new(
        state: Arc<State>,
        connector: Connector,
        intervals: McpIntervals,
        stop: CancellationToken,
    ) -> Self {
        Self {
            state,
            connector,
            intervals,
            stop,
            skipped: SkippedTools::new(),
            log_throttle: LogThrottle::default(),
            loss_is_logged: false,
        }
    }

    /// Runs until it is stopped.
    pub(crate) async fn run(mut self) {
        // A previous run may have panicked with a connection open.
        self.state.disconnect();
        let stop = self.stop.clone();
        let mut pause = self.intervals.shortest_pause;
        while let Some(connected) = stop.run_until_cancelled(self.connect()).await {
            let error = match connected {
                Ok(connection) => {
                    let since = Instant::now();
                    let Some(error) = self.serve_until_lost(connection).await else {
                        return;
                    };
                    if since.elapsed() >= self.intervals.longest_pause {
                        pause = self.intervals.shortest_pause;
                    }
                    error
                }
                Err(error) => error,
            };
            self.log_loss(&error);
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return;
            }
            pause = (2 * pause).min(self.intervals.longest_pause);
        }
    }

    async fn connect(&mut self) -> Result<Connection, ConnectionError> {
        let connected = timeout(CONNECT_TIMEOUT, self.connector.connect()).await;
        connected.unwrap_or_else(|_| Err(ConnectionError::new("connecting takes too long")))
    }

    /// Serves a connection until it is lost, and returns the reason; `None` if stopped.
    async fn serve_until_lost(&mut self, mut connection: Connection) -> Option<ConnectionError> {
        let stop = self.stop.clone();
        let lost = stop.run_until_cancelled(self.serve(&mut connection)).await;
        self.state.disconnect();
        connection.close().await;
        lost
    }

    async fn serve(&mut self, connection: &mut Connection) -> ConnectionError {
        if let Err(error) = self.list(connection.peer()).await {
            return error;
        }
        // Without a subscription, changes are found by the next regular listing.
        let _ = timeout(LIST_TIMEOUT, connection.subscribe()).await;
        loop {
            let listed = Instant::now();
            tokio::select! {
                change = connection.changed() => {
                    if change.is_err() {
                        return ConnectionError::new("the connection was closed");
                    }
                }
                () = self.state.check_requested() => {}
                () = sleep(self.intervals.refresh) => {}
            }
            sleep_until(listed + MIN_LIST_INTERVAL).await;
            if let Err(error) = self.list(connection.peer()).await {
                return error;
            }
        }
    }

    async fn list(&mut self, peer: &Peer<RoleClient>) -> Result<(), ConnectionError> {
        let listed = timeout(LIST_TIMEOUT, listing::list(peer)).await;
        let listing = match listed {
            Ok(Ok(listing)) => listing,
            Ok(Err(error)) => return Err(ConnectionError::from_error(&error)),
            Err(_) => return Err(ConnectionError::new("listing its tools takes too long")),
        };
        let (catalog, skipped) =
            tool_catalog::select(self.state.name(), listing, self.state.hints());
        self.log_skipped(skipped);
        if std::mem::take(&mut self.loss_is_logged) || self.state.is_disconnected() {
            let (server, tools) = (self.state.name(), catalog.len());
            tracing::info!(server, tools, "MCP server connected");
        }
        let description = tool_catalog::describe(peer.peer_info().as_deref());
        self.state.publish(peer, description, catalog);
        Ok(())
    }

    fn log_skipped(&mut self, skipped: SkippedTools) {
        let new = newly_skipped(&self.skipped, &skipped);
        if let Some((count, reasons)) = new.filter(|_| self.log_throttle.allows()) {
            let server = self.state.name();
            tracing::warn!(
                server,
                count,
                reasons,
                "MCP server offers tools that cannot be used; skipping them"
            );
        }
        self.skipped = skipped;
    }

    fn log_loss(&mut self, error: &ConnectionError) {
        let server = self.state.name();
        if std::mem::replace(&mut self.loss_is_logged, true) {
            tracing::debug!(server, reason = %error, "MCP server is still unreachable");
        } else {
            tracing::warn!(server, reason = %error, "MCP server unreachable; its tools are unavailable");
        }
    }
}

/// Returns the number of newly skipped tools and the first few reasons; `None` if there are none.
fn newly_skipped(before: &SkippedTools, now: &SkippedTools) -> Option<(usize, String)> {
    let new: Vec<&str> = now.difference(before).map(String::as_str).collect();
    let first = &new[..new.len().min(MAX_LOGGED_REASONS)];
    (!new.is_empty()).then(|| (new.len(), first.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newly_skipped_tools_are_logged_once_with_a_few_reasons() {
        let reasons = |range: std::ops::Range<u32>| range.map(|it| format!("{it}: why")).collect();
        let (none, few, many) = (SkippedTools::new(), reasons(0..2), reasons(0..9));
        assert_eq!(newly_skipped(&none, &none), None);
        let logged = newly_skipped(&none, &few).expect("it is new");
        assert_eq!(logged, (2, "0: why; 1: why".to_owned()));
        let logged = newly_skipped(&few, &many).expect("it is new");
        assert_eq!(logged, (7, "2: why; 3: why; 4: why".to_owned()));
        assert_eq!(newly_skipped(&many, &many), None);
        assert_eq!(newly_skipped(&many, &few), None);
    }
}
