//! Load: connections that send the next request as soon as the response has arrived.

mod connection;
mod response_head;
mod script;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::{task::JoinSet, time::timeout};

use crate::{latencies::Latencies, runtime};

pub use self::{
    connection::{Connection, RawResponse},
    response_head::{ResponseHead, ServerTiming},
    script::{Expected, Script},
};

/// The longest that the last responses of a round may take.
const LAST_RESPONSES: Duration = Duration::from_secs(30);

/// The result of a round of load.
pub struct Round {
    /// The number of responses.
    pub responses: f64,
    /// The time in which they arrived.
    pub seconds: f64,
    /// The times from request to response.
    pub latencies: Latencies,
    /// The same times without the time in the store that each response reports.
    pub latencies_outside_store: Latencies,
    /// The times in the engine that responses report.
    pub engine_times: Latencies,
}

/// Plays each script on a connection of its own for `duration`, or until all scripts have ended.
/// A response that a script does not expect fails the round.
pub fn run(address: SocketAddr, scripts: &[Script], duration: Duration) -> Result<Round> {
    runtime()?.block_on(async {
        let mut connections = Vec::with_capacity(scripts.len());
        for _ in scripts {
            connections.push(Connection::open(address).await?);
        }
        let started = Instant::now();
        let deadline = started + duration;
        let mut players = JoinSet::new();
        for (connection, script) in connections.into_iter().zip(scripts) {
            players.spawn(play(connection, script.clone(), deadline));
        }
        let ended = timeout(duration + LAST_RESPONSES, collect(players)).await;
        let measured = ended.context("requests had no response long after the round")??;
        #[expect(clippy::cast_precision_loss, reason = "requests of a few seconds")]
        let responses = measured.len() as f64;
        Ok(Round {
            responses,
            seconds: started.elapsed().min(duration).as_secs_f64(),
            latencies: Latencies::new(measured.iter().map(|response| response.latency))?,
            latencies_outside_store: Latencies::new(
                measured.iter().map(Measured::latency_outside_store),
            )?,
            engine_times: Latencies::new(measured.iter().map(|response| response.timing.engine))?,
        })
    })
}

/// The times of one response.
struct Measured {
    latency: Duration,
    timing: ServerTiming,
}

impl Measured {
    fn latency_outside_store(&self) -> Duration {
        self.latency.saturating_sub(self.timing.store)
    }
}

async fn collect(mut players: JoinSet<Result<Vec<Measured>>>) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    while let Some(ended) = players.join_next().await {
        all.extend(ended.context("a connection's task panicked")??);
    }
    Ok(all)
}

/// Plays a script and measures each response that arrives before the deadline.
async fn play(
    mut connection: Connection,
    script: Script,
    deadline: Instant,
) -> Result<Vec<Measured>> {
    let mut all = Vec::with_capacity(16 * 1024);
    for request in script.requests() {
        let sent_at = Instant::now();
        if sent_at >= deadline {
            break;
        }
        let response = connection.exchange(request).await?;
        response.require(script.expected)?;
        let timing = response.timing;
        let received_at = Instant::now();
        if received_at <= deadline {
            all.push(Measured {
                latency: received_at - sent_at,
                timing,
            });
        }
    }
    Ok(all)
}
