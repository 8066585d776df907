//! Well-behaved clients beside a fault, and their latencies.
//!
//! They use the raw connections of the load generator: their p99 is a few milliseconds, to which a
//! client library would add its own.

use std::time::{Duration, Instant};

use anyhow::Result;
use dev_load::{
    Endpoint,
    generator::{Connection, Expected},
    latencies::Latencies,
};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

use super::{
    chat::{Agent, Chat, ResponseMode},
    environment::Agents,
};

/// The number of connections. Each sends fifty requests a second, so that the load stays far below
/// the capacity of the service.
const CONNECTIONS: usize = 8;
const REQUEST_INTERVAL: Duration = Duration::from_millis(20);
/// The time of one measurement.
pub(super) const WINDOW: Duration = Duration::from_secs(2);

/// Reads an agent and chats, in turn, for one window; returns the latencies.
pub(super) async fn measure(
    endpoint: &Endpoint,
    agents: &Agents,
    name: &str,
) -> Result<Vec<Duration>> {
    let mut clients = JoinSet::new();
    for number in 0..CONNECTIONS {
        let chat = Chat {
            tag: format!("{name}-{number}"),
            agent: Agent::Rules(agents.rules.clone()),
            conversation: None,
            key: None,
            response_mode: ResponseMode::Full,
        };
        let path = format!("/api/agents/{}", agents.rules);
        let requests = [
            endpoint.request("GET", &path, None),
            endpoint.request("POST", "/api/chat", Some(&chat.body())),
        ];
        clients.spawn(send(endpoint.clone(), requests));
    }
    let mut all = Vec::new();
    for latencies in clients.join_all().await {
        all.extend(latencies?);
    }
    Ok(all)
}

async fn send(endpoint: Endpoint, requests: [Vec<u8>; 2]) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(endpoint.address).await?;
    let (mut ticks, end) = (interval(REQUEST_INTERVAL), Instant::now() + WINDOW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut all = Vec::new();
    for request in requests.iter().cycle() {
        ticks.tick().await;
        let sent_at = Instant::now();
        if sent_at >= end {
            break;
        }
        let response = connection.exchange(request).await?;
        response.require(Expected::Success)?;
        all.push(sent_at.elapsed());
    }
    Ok(all)
}

/// The latency in milliseconds that 99 percent do not exceed.
pub(super) fn p99(latencies: Vec<Duration>) -> Result<f64> {
    Ok(Latencies::new(latencies)?.percentile(99))
}
