//! Those who do nothing wrong, and how long they are kept waiting.

use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

use super::{
    chat::{Chat, Form, Speaker},
    ground::Cast,
};
use crate::rig::load::{Connection, Endpoint, Expected, Latencies};

/// Connections, each of which asks fifty times a second: far from what the service can bear, so that
/// what they wait for is not each other.
const CONNECTIONS: usize = 8;
const BETWEEN: Duration = Duration::from_millis(20);
/// How long they are watched.
pub(super) const WINDOW: Duration = Duration::from_secs(2);

/// Reads an agent and chats, in turn, for as long as the window; answers how long each answer took.
pub(super) async fn wait(endpoint: &Endpoint, cast: &Cast, name: &str) -> Result<Vec<Duration>> {
    let mut asking = JoinSet::new();
    for number in 0..CONNECTIONS {
        let chat = Chat {
            tag: format!("{name}-{number}"),
            speaker: Speaker::Rules(cast.rules.clone()),
            conversation: None,
            key: None,
            form: Form::Whole,
        };
        let path = format!("/api/agents/{}", cast.rules);
        let requests = [endpoint.request("GET", &path, None), chat.request(endpoint)];
        asking.spawn(ask(endpoint.clone(), requests));
    }
    let mut all = Vec::new();
    for took in asking.join_all().await {
        all.extend(took?);
    }
    Ok(all)
}

async fn ask(endpoint: Endpoint, requests: [Vec<u8>; 2]) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(endpoint.address).await?;
    let (mut ticks, end) = (interval(BETWEEN), Instant::now() + WINDOW);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut all = Vec::new();
    for request in requests.iter().cycle() {
        ticks.tick().await;
        let asked = Instant::now();
        if asked >= end {
            break;
        }
        let response = connection.exchange(request).await?;
        response.must_be(Expected::Success)?;
        all.push(asked.elapsed());
    }
    Ok(all)
}

/// What 99 of 100 waited at most, in milliseconds.
pub(super) fn p99(took: Vec<Duration>) -> f64 {
    Latencies::new(took).percentile(99)
}
