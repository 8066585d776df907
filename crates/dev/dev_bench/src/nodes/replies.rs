//! N3: live replies at sockets of another node.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    client_view::ClientView,
    http::{ApiClient, Method},
    latencies::Latencies,
    runtime,
    socket::{self, Frame},
    upstream::{ResponseMode, Upstream, WORDS},
};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{Instant, timeout},
};

use super::{Bus, pair::NodePair};
use crate::{
    environment::Environment,
    figures::{Figure, Part},
    models,
    workload::Workload,
};

/// The number of replies, and of those at a time.
const REPLIES: usize = 1_000;
const CONCURRENT: usize = 20;
/// The longest that all replies may take.
const TIMEOUT: Duration = Duration::from_mins(3);

/// The parts of all replies that a socket has received.
#[derive(Default)]
struct ReceivedReplies {
    view: ClientView,
    /// The lengths of the text of each turn, and the times at which they were reached.
    arrivals: BTreeMap<String, Vec<(usize, Instant)>>,
}

/// Streams replies on one node, to sockets of both.
pub(super) fn measure(environment: &Environment, bus: &Bus) -> Result<Vec<Figure>> {
    let upstream = Upstream::start()?;
    let pair = NodePair::start(
        environment,
        bus,
        "replies",
        &models::variables(&upstream, ResponseMode::Paced),
    )?;
    let workload = Workload::with_any_reply(pair.worker.endpoint()?, &models::draft())?;
    let chats: Vec<Value> = workload.chats().take(REPLIES).collect::<Result<_>>()?;
    let (same, other) = runtime()?.block_on(async {
        let mut readers = JoinSet::new();
        let endpoints = [pair.worker.endpoint()?, pair.listener.endpoint()?];
        for (number, endpoint) in endpoints.into_iter().enumerate() {
            readers.spawn(async move { anyhow::Ok((number, receive(&endpoint).await?)) });
        }
        chat(&workload.endpoint, &chats).await?;
        let mut all: Vec<(usize, ReceivedReplies)> = Vec::new();
        while let Some(ended) = readers.join_next().await {
            all.push(ended??);
        }
        all.sort_by_key(|(number, _)| *number);
        let [same, other] = all.try_into().ok().context("two readers")?;
        anyhow::Ok((same.1, other.1))
    })?;
    figures(bus, &same, &other)
}

/// Sends the chats, some at a time, each in a conversation of its own.
async fn chat(endpoint: &Endpoint, chats: &[Value]) -> Result<()> {
    let mut clients = JoinSet::new();
    for first in 0..CONCURRENT {
        let own = chats.iter().skip(first).step_by(CONCURRENT);
        let (own, client): (Vec<_>, _) = (own.cloned().collect(), ApiClient::new(endpoint));
        clients.spawn(async move {
            for chat in own {
                client.call(Method::POST, "/api/chat", Some(&chat)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(())
}

/// Reads all replies of the tenant.
async fn receive(endpoint: &Endpoint) -> Result<ReceivedReplies> {
    let mut received = ReceivedReplies::default();
    let mut socket = received.view.connect(endpoint).await?;
    let all = timeout(TIMEOUT, async {
        while received.view.completed.len() < REPLIES {
            match socket.next().await? {
                Frame::Text(frame) => received.apply(&socket::json(&frame)?),
                end => bail!("the server ended a socket: {end:?}"),
            }
        }
        anyhow::Ok(())
    });
    match all.await {
        Ok(read) => read?,
        Err(_elapsed) => bail!(
            "a socket received {} of {REPLIES} replies",
            received.view.completed.len()
        ),
    }
    Ok(received)
}

impl ReceivedReplies {
    fn apply(&mut self, frame: &Value) {
        let now = Instant::now();
        self.view.apply(frame);
        let turn = frame["event"]["turnId"].as_str().unwrap_or_default();
        if let Some(text) = self.view.texts.get(turn) {
            let arrivals = self.arrivals.entry(turn.to_owned()).or_default();
            arrivals.push((text.len(), now));
        }
    }

    /// Returns the time at which the text of a turn had at least this length.
    fn arrival(&self, turn: &str, length: usize) -> Option<Instant> {
        let mut arrivals = self.arrivals.get(turn)?.iter();
        arrivals.find_map(|(received, at)| (*received >= length).then_some(*at))
    }
}

fn figures(bus: &Bus, same: &ReceivedReplies, other: &ReceivedReplies) -> Result<Vec<Figure>> {
    let violations = [same, other].map(|received| received.view.violations.first());
    if let Some(violation) = violations.into_iter().flatten().next() {
        bail!("a socket received another text: {violation}");
    }
    let mut added = Vec::new();
    for (turn, arrivals) in &same.arrivals {
        let pairs = arrivals.iter();
        let pairs = pairs.filter_map(|(length, at)| Some((*at, other.arrival(turn, *length)?)));
        added.extend(pairs.map(|(same, other)| other.saturating_duration_since(same)));
    }
    let added = Latencies::new(added)?;
    if added.count() < u64::try_from(REPLIES * WORDS / 2)? {
        bail!(
            "only {} parts of replies arrived on another node",
            added.count()
        );
    }
    let identical = other.view.completed.iter();
    let identical = identical.filter(|(turn, text)| {
        let same_text = same.view.completed.get(*turn) == Some(*text);
        same_text && other.arrival(turn, text.len()).is_some()
    });
    #[expect(clippy::cast_precision_loss, reason = "a thousand replies")]
    let [identical, streamed] = [identical.count(), same.view.streamed].map(|it| it as f64);
    let (work, target) = bus.identical();
    let texts = Figure::new(
        ("N3", work),
        target,
        identical,
        "",
        vec![Part::new(
            "with the same text on their own node",
            streamed,
            "",
        )],
    );
    let (work, target) = bus.added_delay();
    let delay = Figure::new(
        ("N3", work),
        target,
        added.percentile(50),
        "ms",
        vec![Part::new("p99", added.percentile(99), "ms")],
    );
    Ok(vec![texts, delay])
}
