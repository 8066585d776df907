//! N1: one of several nodes is killed under load.

use std::time::Duration;

use anyhow::{Context as _, Result};
use dev_load::Endpoint;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::{
    bus::Bus,
    cluster::{Cluster, NODES},
    reader::{Reader, Readers},
};
use crate::{
    acknowledgements::{Acknowledgements, Nodes},
    audit,
    chat_load::ChatLoad,
    environment::Environment,
    event_log::EventLog,
    random::Random,
    report::Report,
};

/// The number of clients with sockets.
const READERS: usize = 24;
/// The longest until a lost socket has resumed.
const RESUMED: Duration = Duration::from_secs(5);
/// The time from a kill to the restart of the node.
const DOWN: Duration = Duration::from_secs(2);
/// The time from a kill to the next: longer than a lease, after which the turns of the killed node fail.
/// Otherwise conversations are blocked more often than they can catch up.
const BETWEEN: Duration = Duration::from_secs(12);
/// The longest until the turns of killed nodes are final.
const FINAL: Duration = Duration::from_secs(20);

/// Kills a random node `kills` times under 200 chats a second, and audits the state afterwards.
pub(crate) async fn run(environment: &Environment, bus: Bus, kills: usize) -> Result<Report> {
    let done = format!("kill -9 of one of {NODES} nodes under 200 chats/s, {kills} times");
    let mut report = Report::new("N1", bus.describe(done));
    let settings = bus.settings(environment, "nodes_kill")?;
    let mut cluster = Cluster::start(bus, settings).await?;
    let mut random = Random::new(environment.seed);
    let nodes = Nodes::default();
    nodes.set(vec![cluster.proxy.endpoint()]);
    let endpoint = cluster.proxy.endpoint();
    let readers = Readers::start(vec![endpoint.clone(); READERS]).await?;
    let chats = ChatLoad::prepare(
        &endpoint,
        &cluster.agents,
        "nodes-kill".to_owned(),
        random.clone(),
    );
    let load = start_load(chats.await?, nodes, BETWEEN * u32::try_from(kills + 1)?);
    let mut next = Instant::now() + BETWEEN;
    for _ in 0..kills {
        sleep_until(next + random.milliseconds(0..1_000)).await;
        next += BETWEEN;
        let victim = usize::try_from(random.number(0..u64::try_from(NODES)?))?;
        let address = cluster.kill(victim)?;
        report.count("kills", 1);
        sleep(DOWN).await;
        cluster.restart(victim, address).await?;
    }
    let all = load.join_all().await.into_iter().flatten().collect();
    judge(&cluster, readers, all, &mut report).await?;
    Ok(report)
}

/// Sends chats for `duration`.
pub(super) fn start_load(
    mut chats: ChatLoad,
    nodes: Nodes,
    duration: Duration,
) -> JoinSet<Vec<Acknowledgements>> {
    let mut load = JoinSet::new();
    load.spawn(async move {
        let mut clients = JoinSet::new();
        chats.run(&nodes, duration, &mut clients).await;
        clients.join_all().await
    });
    load
}

/// Waits until all turns are final, and compares what clients and readers received with the state.
async fn judge(
    cluster: &Cluster,
    readers: Readers,
    mut all: Vec<Acknowledgements>,
    report: &mut Report,
) -> Result<()> {
    let endpoint = cluster.any_node()?;
    report.expect_no(&["rate limited"]);
    for acks in &mut all {
        // All limits are far above the load, whatever killed nodes have taken of them.
        for _ in 0..acks
            .rejections
            .get("rate_limited")
            .copied()
            .unwrap_or_default()
        {
            report.record_loss("rate limited", || acks.chat.tag.clone());
        }
        if acks.chat.key.is_some() && !acks.replied.is_empty() {
            // The same key must give the same reply.
            acks.send(&endpoint).await;
        }
    }
    let log = final_log(&endpoint).await?;
    let readers = readers.end(log.head, report).await?;
    judge_resumes(&readers, report);
    report.count("connections without a ready node", cluster.proxy.unserved());
    let streamed = readers.iter().map(|reader| reader.view.streamed).min();
    report.count(
        "turns streamed completely to each reader",
        streamed.unwrap_or_default(),
    );
    audit::run(&endpoint, &all, report).await
}

/// Checks that sockets were lost, and that each resumed in time.
pub(super) fn judge_resumes(readers: &[Reader], report: &mut Report) {
    report.expect_no(&["no socket lost"]);
    let resumed = readers.iter().flat_map(|reader| &reader.resumed);
    match resumed.max() {
        Some(slowest) => {
            let (slowest, most) = (slowest.as_secs_f64(), RESUMED.as_secs_f64());
            report.add_bounded("slowest socket that resumed", slowest, "s", most);
        }
        None => report.record_loss("no socket lost", || "every socket stayed open".to_owned()),
    }
}

/// Reads the log, once all its turns are final or have had the time for it.
pub(super) async fn final_log(endpoint: &Endpoint) -> Result<EventLog> {
    let (started, mut log) = (Instant::now(), EventLog::default());
    loop {
        log.read_on(endpoint).await.context("cannot read the log")?;
        if log.unfinished().is_empty() || started.elapsed() > FINAL {
            return Ok(log);
        }
        sleep(Duration::from_millis(200)).await;
    }
}
