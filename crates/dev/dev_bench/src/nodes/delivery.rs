//! N2: the time from a commit on one node to a socket of another node.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use dev_load::{
    Endpoint,
    http::{ApiClient, Method},
    latencies::Latencies,
    runtime,
    socket::{Frame, Socket},
};
use serde_json::json;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{Bus, pair::NodePair};
use crate::{
    environment::Environment,
    figures::{Figure, Part},
    workload::text,
};

/// The number of events.
const EVENTS: u64 = 600;
/// The longest that an event may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The first bytes of an event frame.
const EVENT: &str = r#"{"type":"event""#;

/// A socket that subscribes to all events of the tenant.
struct Subscriber {
    deliveries: UnboundedReceiver<Instant>,
    /// Dropping it closes the socket.
    task: JoinSet<Result<()>>,
}

/// The times of one event, from its request.
struct Delivery {
    /// The first sign of the commit: the response, or the event at a socket of the same node.
    committed: Duration,
    same_node: Duration,
    other_node: Duration,
}

/// Changes an agent on one node, and measures when sockets of both receive the event.
pub(super) fn measure(environment: &Environment, bus: &Bus) -> Result<Vec<Figure>> {
    let pair = NodePair::start(environment, bus, "events", &[])?;
    let deliveries = runtime()?.block_on(deliver(
        &pair.worker.endpoint()?,
        &pair.listener.endpoint()?,
    ))?;
    let latencies = |of: fn(&Delivery) -> Duration| Latencies::new(deliveries.iter().map(of));
    let delay = latencies(|it| it.other_node.saturating_sub(it.committed))?;
    let same = latencies(|it| it.same_node.saturating_sub(it.committed))?;
    let from_request = latencies(|it| it.other_node)?;
    let figures = [50, 99].into_iter().zip(bus.delivery());
    let figure = |(percent, (work, target))| {
        let part = |what, of: &Latencies| Part::new(what, of.percentile(percent), "ms");
        Figure::new(
            ("N2", work),
            target,
            delay.percentile(percent),
            "ms",
            vec![
                part("a socket of the same node", &same),
                part(
                    "another node, from the request of the change",
                    &from_request,
                ),
            ],
        )
    };
    Ok(figures.map(figure).collect())
}

async fn deliver(worker: &Endpoint, listener: &Endpoint) -> Result<Vec<Delivery>> {
    let client = ApiClient::new(worker);
    let draft = json!({"name": "Agent 0"});
    let agent = client.call(Method::POST, "/api/agents", Some(&draft));
    let path = format!("/api/agents/{}", text(&agent.await?, "id")?);
    let mut same = Subscriber::open(worker).await?;
    let mut other = Subscriber::open(listener).await?;
    let mut deliveries = Vec::new();
    for number in 1..=EVENTS {
        // Some changes follow within the bus's interval of 20 ms, most do not.
        sleep(Duration::from_millis(5 + number * 37 % 90)).await;
        let change = json!({"name": format!("Agent {number}")});
        let sent_at = Instant::now();
        let changed = async {
            client.call(Method::PATCH, &path, Some(&change)).await?;
            anyhow::Ok(Instant::now())
        };
        let (changed, same_node, other_node) =
            tokio::try_join!(changed, same.next(), other.next())?;
        deliveries.push(Delivery {
            committed: changed.min(same_node) - sent_at,
            same_node: same_node - sent_at,
            other_node: other_node - sent_at,
        });
    }
    Ok(deliveries)
}

impl Subscriber {
    async fn open(endpoint: &Endpoint) -> Result<Self> {
        let mut socket = Socket::open(endpoint).await?;
        let connect = json!({"id": 1, "type": "connect", "channels": ["tenant"]});
        socket.command(&connect).await?;
        let (sender, deliveries) = unbounded_channel();
        let mut task = JoinSet::new();
        task.spawn(report_events(socket, sender));
        Ok(Self { deliveries, task })
    }

    /// Returns the time at which the next event arrives.
    async fn next(&mut self) -> Result<Instant> {
        match timeout(TIMEOUT, self.deliveries.recv()).await {
            Ok(Some(at)) => Ok(at),
            Ok(None) => {
                let ended = self.task.join_next().await.context("no socket")?;
                ended?.and_then(|()| bail!("a socket has ended"))
            }
            Err(_elapsed) => bail!("an event did not arrive in {TIMEOUT:?}"),
        }
    }
}

/// Sends the arrival time of each event to `sender`.
async fn report_events(mut socket: Socket, sender: UnboundedSender<Instant>) -> Result<()> {
    loop {
        match socket.next().await? {
            Frame::Text(frame) if frame.starts_with(EVENT) => sender.send(Instant::now())?,
            Frame::Text(_) => {}
            end => bail!("the server ended a socket: {end:?}"),
        }
    }
}
