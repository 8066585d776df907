//! The task that looks after one server.

use std::{sync::Arc, time::Duration};

use rmcp::{RoleClient, service::Peer};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    connection::{Connection, Connector},
    foreign_text::Told,
    listing,
    offer::{self, LeftOut},
    reason::Unreachable,
    state::State,
    way::McpTransport,
};

/// How long connecting may take: some programs are fetched before they run.
const CONNECT_LIMIT: Duration = Duration::from_mins(1);

/// How long a server may take to tell what it has.
const LIST_LIMIT: Duration = Duration::from_secs(10);

/// However often a server says that its list has changed, it is asked no more often than that.
const SHORTEST_BETWEEN_LISTS: Duration = Duration::from_millis(500);

/// So many of the tools that a listing leaves out are named in the log: some servers have hundreds
/// that do not fit, for one and the same reason.
const MOST_REASONS: usize = 3;

/// When to ask and when to try again.
#[derive(Debug, Clone, Copy)]
pub struct McpTimes {
    /// The time after which an idle server is asked for its tools again. A server that died
    /// unnoticed stays available for that long.
    pub refresh: Duration,
    /// How long to wait before the first time that a lost server is looked for; twice as long
    /// before each further time.
    pub shortest_pause: Duration,
    /// The longest that is waited. A connection that lasted as long was a good one.
    pub longest_pause: Duration,
}

impl Default for McpTimes {
    fn default() -> Self {
        Self {
            refresh: Duration::from_secs(15),
            shortest_pause: Duration::from_secs(1),
            longest_pause: Duration::from_mins(1),
        }
    }
}

/// Connects, keeps what is known up to date, and connects again.
pub(crate) struct Keeper {
    state: Arc<State>,
    connector: Connector,
    times: McpTimes,
    stop: CancellationToken,
    left_out: LeftOut,
    told: Told,
    /// What was told of last, so that a server which stays away is told of once.
    is_known_to_be_away: bool,
}

impl Keeper {
    pub(crate) fn new(
        state: Arc<State>,
        transport: McpTransport,
        times: McpTimes,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let connector = Connector::new(state.name().to_owned(), transport, tasks);
        Self {
            state,
            connector,
            times,
            stop,
            left_out: LeftOut::new(),
            told: Told::default(),
            is_known_to_be_away: false,
        }
    }

    /// Goes on until it is stopped.
    pub(crate) async fn keep(mut self) {
        // It may come after one that has failed.
        self.state.withdraw();
        let stop = self.stop.clone();
        let mut pause = self.times.shortest_pause;
        while let Some(connected) = stop.run_until_cancelled(self.connect()).await {
            let reason = match connected {
                Ok(connection) => {
                    let since = Instant::now();
                    let Some(reason) = self.stay(connection).await else {
                        return;
                    };
                    if since.elapsed() >= self.times.longest_pause {
                        pause = self.times.shortest_pause;
                    }
                    reason
                }
                Err(reason) => reason,
            };
            self.tell_of_loss(&reason);
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return;
            }
            pause = (2 * pause).min(self.times.longest_pause);
        }
    }

    async fn connect(&mut self) -> Result<Connection, Unreachable> {
        let connected = timeout(CONNECT_LIMIT, self.connector.connect()).await;
        connected.unwrap_or_else(|_| Err(Unreachable::since("connecting takes too long")))
    }

    /// Stays connected as long as possible, and says what it was lost by; nothing when stopped.
    async fn stay(&mut self, mut connection: Connection) -> Option<Unreachable> {
        let stop = self.stop.clone();
        let lost = stop.run_until_cancelled(self.serve(&mut connection)).await;
        self.state.withdraw();
        connection.close().await;
        lost
    }

    async fn serve(&mut self, connection: &mut Connection) -> Unreachable {
        if let Err(reason) = self.list(connection.peer()).await {
            return reason;
        }
        // Without it, changes are found when the list is asked for the next time.
        let _ = timeout(LIST_LIMIT, connection.subscribe()).await;
        loop {
            let listed = Instant::now();
            tokio::select! {
                change = connection.changed() => {
                    if change.is_err() {
                        return Unreachable::since("the connection was closed");
                    }
                }
                () = self.state.suspected() => {}
                () = sleep(self.times.refresh) => {}
            }
            sleep_until(listed + SHORTEST_BETWEEN_LISTS).await;
            if let Err(reason) = self.list(connection.peer()).await {
                return reason;
            }
        }
    }

    async fn list(&mut self, peer: &Peer<RoleClient>) -> Result<(), Unreachable> {
        let listed = timeout(LIST_LIMIT, listing::list(peer)).await;
        let listing = match listed {
            Ok(Ok(listing)) => listing,
            Ok(Err(error)) => return Err(Unreachable::because(&error)),
            Err(_) => return Err(Unreachable::since("listing its tools takes too long")),
        };
        let (offer, left_out) = offer::select(self.state.name(), listing);
        self.tell_of_left_out(left_out);
        if std::mem::take(&mut self.is_known_to_be_away) || self.state.is_away() {
            let (server, tools) = (self.state.name(), offer.len());
            tracing::info!(server, tools, "connected to a server of tools");
        }
        let description = offer::describe(peer.peer_info().as_deref());
        self.state.offer(peer, description, offer);
        Ok(())
    }

    fn tell_of_left_out(&mut self, left_out: LeftOut) {
        let news = news(&self.left_out, &left_out);
        if let Some((count, reasons)) = news.filter(|_| self.told.may_tell()) {
            let server = self.state.name();
            tracing::warn!(server, count, reasons, "tools are left out");
        }
        self.left_out = left_out;
    }

    fn tell_of_loss(&mut self, reason: &Unreachable) {
        let server = self.state.name();
        if std::mem::replace(&mut self.is_known_to_be_away, true) {
            tracing::debug!(server, %reason, "a server of tools is still away");
        } else {
            tracing::warn!(server, %reason, "a server of tools is away, and its tools with it");
        }
    }
}

/// How much is left out that was not before, and the first few reasons; nothing when all is known.
fn news(before: &LeftOut, now: &LeftOut) -> Option<(usize, String)> {
    let new: Vec<&str> = now.difference(before).map(String::as_str).collect();
    let first = &new[..new.len().min(MOST_REASONS)];
    (!new.is_empty()).then(|| (new.len(), first.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_much_is_left_out_a_few_reasons_are_told_and_once() {
        let reasons = |range: std::ops::Range<u32>| range.map(|it| format!("{it}: why")).collect();
        let (none, few, many) = (LeftOut::new(), reasons(0..2), reasons(0..9));
        assert_eq!(news(&none, &none), None);
        let told = news(&none, &few).expect("it is new");
        assert_eq!(told, (2, "0: why; 1: why".to_owned()));
        let told = news(&few, &many).expect("it is new");
        assert_eq!(told, (7, "2: why; 3: why; 4: why".to_owned()));
        assert_eq!(news(&many, &many), None);
        assert_eq!(news(&many, &few), None);
    }
}
