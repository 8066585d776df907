//! Generates load: connections that ask again as soon as they are answered.

mod connection;
mod endpoint;
mod head;
mod latencies;
mod script;

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
    time::timeout,
};

pub(crate) use self::{
    connection::Connection,
    endpoint::{Client, Credential, Endpoint},
    head::{Framing, Head},
    latencies::{Latencies, median},
    script::{Expected, Script},
};

/// How long the last answers of a round may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came of a round of load.
pub(crate) struct Round {
    /// How many answers came.
    pub(crate) answers: f64,
    /// The time in which they came.
    pub(crate) seconds: f64,
    pub(crate) latencies: Latencies,
    /// The same without the time in the store that the answers tell of.
    pub(crate) elsewhere: Latencies,
}

/// A runtime of one thread: the other cores are for the server.
pub(crate) fn runtime() -> Result<Runtime> {
    let built = Builder::new_current_thread().enable_all().build();
    built.context("cannot start a runtime")
}

/// Has each of `scripts` played on a connection of its own for as long as `duration`, or until all
/// are at their end. An answer that a script does not expect fails the round.
pub(crate) fn run(address: SocketAddr, scripts: &[Script], duration: Duration) -> Result<Round> {
    runtime()?.block_on(async {
        let mut connections = Vec::with_capacity(scripts.len());
        for _ in scripts {
            connections.push(Connection::open(address).await?);
        }
        let started = Instant::now();
        let deadline = started + duration;
        let mut playing = JoinSet::new();
        for (connection, script) in connections.into_iter().zip(scripts) {
            playing.spawn(play(connection, script.clone(), deadline));
        }
        let ended = timeout(duration + PATIENCE, collect(playing)).await;
        let took = ended.context("requests were still unanswered long after the round")??;
        #[expect(clippy::cast_precision_loss, reason = "requests of a few seconds")]
        let answers = took.len() as f64;
        Ok(Round {
            answers,
            seconds: started.elapsed().min(duration).as_secs_f64(),
            latencies: Latencies::new(took.iter().map(|answer| answer.took).collect()),
            elsewhere: Latencies::new(took.iter().map(Answered::elsewhere).collect()),
        })
    })
}

/// How long an answer took.
struct Answered {
    took: Duration,
    store: Duration,
}

impl Answered {
    fn elsewhere(&self) -> Duration {
        self.took.saturating_sub(self.store)
    }
}

async fn collect(mut playing: JoinSet<Result<Vec<Answered>>>) -> Result<Vec<Answered>> {
    let mut all = Vec::new();
    while let Some(ended) = playing.join_next().await {
        all.extend(ended.context("a connection's task panicked")??);
    }
    Ok(all)
}

/// How long each answer took that came before the deadline.
async fn play(
    mut connection: Connection,
    script: Script,
    deadline: Instant,
) -> Result<Vec<Answered>> {
    let mut all = Vec::with_capacity(16 * 1024);
    for request in script.play() {
        let asked = Instant::now();
        if asked >= deadline {
            break;
        }
        let response = connection.exchange(request).await?;
        response.must_be(script.expected)?;
        let store = response.store;
        let answered = Instant::now();
        if answered <= deadline {
            let took = answered - asked;
            all.push(Answered { took, store });
        }
    }
    Ok(all)
}
