//! N2: the commits of a node while another one listens.

use anyhow::Result;
use dev_load::latencies::median;

use super::{Bus, pair::NodePair};
use crate::{
    environment::Environment,
    figures::{Figure, Part},
    measured_server::{MeasuredServer, ROUNDS, ratio},
    workload::Workload,
};

/// The number of connections; each chat is one commit of several rows.
const CONNECTIONS: usize = 128;

/// Measures chats by rules on one node, in turns with and without a second node that receives its
/// signals.
pub(super) fn measure(environment: &Environment, bus: &Bus) -> Result<Figure> {
    let mut pair = NodePair::start(environment, bus, "commits", &[])?;
    let endpoint = pair.worker.endpoint()?;
    let workload = Workload::prepare(endpoint.clone())?;
    let scripts = workload.chat_scripts(CONNECTIONS)?;
    let process = pair.worker.id()?;
    let warm = || MeasuredServer::warm_up(endpoint.address, process, scripts.clone());
    let (mut beside, mut alone) = (warm()?, warm()?);
    for _ in 0..ROUNDS * 2 {
        beside.run_round()?;
        pair.stop_listener();
        alone.run_round()?;
        pair.restart_listener()?;
    }
    let parts = [("beside a listening node", &beside), ("alone", &alone)];
    let parts = parts.map(|(what, server)| {
        [
            Part::new(format!("chats {what}"), median(server.per_second()), "/s"),
            Part::new(
                format!("a chat {what}, processor"),
                median(server.cpu_per_request()),
                "µs",
            ),
        ]
    });
    let (work, target) = bus.commits();
    Ok(Figure::new(
        ("N2", work),
        target,
        ratio(&beside.per_second(), &alone.per_second()),
        "×",
        parts.into_iter().flatten().collect(),
    ))
}
