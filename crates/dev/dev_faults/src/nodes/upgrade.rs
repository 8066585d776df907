//! N7: all nodes are replaced under load, one after the other.

use std::{path::PathBuf, time::Duration};

use anyhow::{Result, bail};
use tokio::time::Instant;

use super::{
    bus::Bus,
    cluster::{Cluster, NODES},
    kill::{final_log, judge_resumes, start_load},
    reader::Readers,
};
use crate::{
    acknowledgements::{Acknowledgements, Nodes},
    audit,
    chat_load::ChatLoad,
    environment::Environment,
    random::Random,
    report::Report,
    terminate::terminate_and_wait,
};

/// The number of clients with sockets.
const READERS: usize = 24;
/// The time of chats, which must be longer than the upgrade.
const LOAD: Duration = Duration::from_secs(40);
/// Seconds for which a node accepts requests after `SIGTERM`: longer than the proxy needs to notice.
const DRAIN_SECONDS: &str = "2";

/// Replaces all nodes, which run the previous program if one is given.
pub(crate) async fn run(
    environment: &Environment,
    bus: Bus,
    previous: Option<PathBuf>,
) -> Result<Report> {
    let from = match previous {
        Some(_) => "of another program ",
        None => "",
    };
    let done = format!("{NODES} nodes {from}replaced under 200 chats/s");
    let mut report = Report::new("N7", bus.describe(done));
    report.expect_no(&["requests lost", "requests rejected"]);
    let mut settings = bus.settings(environment, "nodes_upgrade")?;
    let drain = ["SERVER__DRAIN_SECONDS", DRAIN_SECONDS].map(str::to_owned);
    settings.variables.push(drain.into());
    let program = settings.program.clone();
    settings.program = previous.unwrap_or_else(|| program.clone());
    let mut cluster = Cluster::start(bus, settings).await?;
    cluster.set_program(program);
    let endpoint = cluster.proxy.endpoint();
    let nodes = Nodes::default();
    nodes.set(vec![endpoint.clone()]);
    let readers = Readers::start(vec![endpoint.clone(); READERS]).await?;
    let random = Random::new(environment.seed);
    let name = "nodes-upgrade".to_owned();
    let mut chats = ChatLoad::prepare(&endpoint, &cluster.agents, name, random).await?;
    // Short scripts: no conversation has as many waiting turns as are rejected.
    chats.script = 20..100;
    let started = Instant::now();
    let load = start_load(chats, nodes, LOAD);
    for _ in 0..NODES {
        cluster.add().await?;
        let mut old = cluster.nodes.remove(0);
        let address = old.endpoint()?.address;
        // This thread blocks; the load runs on other threads.
        terminate_and_wait(&mut old, &mut report)?;
        cluster.proxy.remove(address);
        report.count("nodes replaced", 1);
    }
    if started.elapsed() > LOAD {
        bail!("the upgrade took longer than the load of {LOAD:?}");
    }
    let all: Vec<_> = load.join_all().await.into_iter().flatten().collect();
    report.count("connections without a ready node", cluster.proxy.unserved());
    judge_requests(&all, &mut report);
    let endpoint = cluster.any_node()?;
    let log = final_log(&endpoint).await?;
    let readers = readers.end(log.head, &mut report).await?;
    judge_resumes(&readers, &mut report);
    audit::run(&endpoint, &all, &mut report).await?;
    Ok(report)
}

/// Counts every request that had no response, or a problem as its response.
fn judge_requests(all: &[Acknowledgements], report: &mut Report) {
    for acks in all {
        report.count("requests", acks.attempts);
        for (error, number) in &acks.failures {
            for _ in 0..*number {
                report.record_loss("requests lost", || format!("{error}: {acks:?}"));
            }
        }
    }
    for acks in all {
        for (code, number) in &acks.rejections {
            for _ in 0..*number {
                report.record_loss("requests rejected", || format!("{code}: {}", acks.chat.tag));
            }
        }
    }
}
