//! N4: one key asks several nodes for more than its limit.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dev_load::{
    Credential, Endpoint,
    http::{ApiClient, Method, send},
};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    bus::Bus,
    cluster::{Cluster, NODES},
};
use crate::{environment::Environment, report::Report};

/// The limit of the key.
const PER_SECOND: f64 = 50.0;
const BURST: f64 = 100.0;
/// The units that a node takes ahead of need: one second's worth, but at most a tenth of the burst.
const SLICE: f64 = 10.0;
/// The number of clients of each node, and the pause of each between two requests. Together they
/// send several times as much as is admitted.
const CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(10);
/// The time of requests to all nodes, and to those that are left.
const TOGETHER: Duration = Duration::from_secs(15);
const AFTER_KILL: Duration = Duration::from_secs(15);
/// The longest that a response may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// An admitted request.
#[derive(Clone, Copy)]
struct Admitted {
    sent_at: Instant,
    received_at: Instant,
}

/// The responses to one client.
#[derive(Default)]
struct Responses {
    admitted: Vec<Admitted>,
    limited: usize,
    /// Neither, before the node was killed.
    other: Vec<String>,
}

/// Sends more than the limit of a key to all nodes, kills one of them, and counts what is admitted.
pub(crate) async fn run(environment: &Environment, bus: Bus) -> Result<Report> {
    let done = format!("one key asks {NODES} nodes for more than its limit, then one is killed");
    let mut report = Report::new("N4", bus.describe(done));
    report.expect_no(&["above the limit", "other responses"]);
    let settings = bus.settings(environment, "nodes_limits")?;
    let mut cluster = Cluster::start(bus, settings).await?;
    let key = limited_key(&cluster.any_node()?).await?;
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for (number, node) in cluster.nodes.iter().enumerate() {
        let endpoint = node.endpoint()?.with_credential(key.clone());
        // The first node is killed.
        let end = started
            + if number == 0 {
                TOGETHER
            } else {
                TOGETHER + AFTER_KILL
            };
        for _ in 0..CLIENTS {
            clients.spawn(ask(endpoint.clone(), end));
        }
    }
    sleep(TOGETHER).await;
    cluster.kill(0)?;
    let (mut admitted, mut limited) = (Vec::new(), 0);
    for responses in clients.join_all().await {
        admitted.extend(responses.admitted);
        limited += responses.limited;
        report.record_losses("other responses", responses.other);
    }
    report.count("admitted", admitted.len());
    report.count("rate limited", limited);
    judge(admitted, &mut report)?;
    Ok(report)
}

/// Creates a key with the limit.
async fn limited_key(endpoint: &Endpoint) -> Result<Credential> {
    let draft = json!({
        "name": "limited",
        "scopes": ["agents:read"],
        "limits": { "requestsPerMinute": PER_SECOND * 60.0, "requestsBurst": BURST },
    });
    let client = ApiClient::new(endpoint);
    let key = client.call(Method::POST, "/api/keys", Some(&draft)).await?;
    let secret = key["secret"].as_str().context("no key")?;
    Ok(Credential::Key(secret.to_owned()))
}

/// Sends one request after the other until `end`.
async fn ask(endpoint: Endpoint, end: Instant) -> Responses {
    let mut responses = Responses::default();
    while Instant::now() < end {
        let sent_at = Instant::now();
        let request = endpoint.http(Method::GET, "/api/agents?limit=1");
        match send(request, TIMEOUT).await {
            Ok(response) if response.status == 200 => responses.admitted.push(Admitted {
                sent_at,
                received_at: Instant::now(),
            }),
            Ok(response) if response.status == 429 => responses.limited += 1,
            // The node is killed at the end of its requests.
            Err(_) if Instant::now() >= end => {}
            other => responses.other.push(format!("{other:?}")),
        }
        sleep(PAUSE).await;
    }
    responses
}

fn judge(mut admitted: Vec<Admitted>, report: &mut Report) -> Result<()> {
    admitted.sort_by_key(|it| it.received_at);
    let first = admitted.iter().map(|it| it.sent_at).min();
    let first = first.context("no request was admitted")?;
    let last = admitted
        .last()
        .context("no request was admitted")?
        .received_at;
    let excess = highest_excess(&admitted);
    report.add_figure("most above the limit, of all periods", excess, "requests");
    if excess > 0.0 {
        report.record_loss("above the limit", || format!("by {excess:.1} requests"));
    }
    let limit = BURST + PER_SECOND * (last - first).as_secs_f64();
    let shortfall = limit - count(admitted.len());
    let slices = SLICE * count(NODES);
    report.add_figure("the limit of the whole time", limit, "requests");
    report.add_bounded("below it", shortfall, "requests", slices.max(limit / 100.0));
    Ok(())
}

/// Returns the number of requests by which any period exceeds its limit; negative if none does.
/// A period begins when a request is sent, since it may be admitted from then on.
fn highest_excess(by_response: &[Admitted]) -> f64 {
    let mut highest = f64::NEG_INFINITY;
    for begin in by_response {
        let within = by_response.iter().filter(|it| it.sent_at >= begin.sent_at);
        for (number, it) in within.enumerate() {
            let period = (it.received_at - begin.sent_at).as_secs_f64();
            highest = highest.max(count(number + 1) - BURST - PER_SECOND * period);
        }
    }
    highest
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(at: &[u64]) -> Vec<Admitted> {
        let origin = Instant::now();
        let times = at.iter().map(|ms| origin + Duration::from_millis(*ms));
        let admitted = times.map(|at| Admitted {
            sent_at: at,
            received_at: at,
        });
        admitted.collect()
    }

    #[test]
    fn a_burst_within_the_limit_is_not_above_it() {
        let at: Vec<u64> = (0..100).map(|_| 0).chain([20, 40, 60]).collect();
        assert!(highest_excess(&admitted(&at)) <= 0.0);
    }

    #[test]
    fn a_period_above_the_limit_is_found_after_a_quiet_one() {
        let at: Vec<u64> = [0].into_iter().chain((0..103).map(|_| 9_000)).collect();
        let excess = highest_excess(&admitted(&at));
        assert!((excess - 3.0).abs() < 1e-9, "{excess}");
    }
}
