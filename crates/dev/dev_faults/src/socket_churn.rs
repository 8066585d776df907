//! F8: sockets are opened and closed.

use std::{thread, time::Duration};

use anyhow::Result;
use dev_load::{Endpoint, process_stats, socket::Socket};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    environment::{Environment, Store},
    report::Report,
};

/// The number of concurrent clients.
const CLIENTS: usize = 50;
/// The number of waves; the memory after the first is the baseline.
const WAVES: usize = 10;
/// The pause before memory is read.
const REST: Duration = Duration::from_secs(1);
/// The largest allowed ratio of the memory after a later wave to that after the first.
const MEMORY_GROWTH: f64 = 1.1;

/// Opens and closes `cycles` sockets.
pub(super) async fn run(environment: &Environment, store: Store, cycles: usize) -> Result<Report> {
    let mut report = Report::new(
        "F8",
        format!("{cycles} sockets opened and closed, {}", store.name()),
    );
    let (service, _) = environment.start(store, "socket_churn").await?;
    let endpoint = service.endpoint()?;
    let mut resident = Vec::new();
    for _ in 0..WAVES {
        wave(&endpoint, cycles / WAVES, &mut report).await?;
        // No task needs this thread meanwhile.
        thread::sleep(REST);
        resident.push(service.resident()?);
    }
    let baseline = resident.first().copied().unwrap_or_default();
    let peak = resident.into_iter().fold(baseline, f64::max);
    report.add_figure("resident after the first wave", baseline, "MiB");
    report.add_bounded(
        "peak after a later wave",
        peak,
        "MiB",
        baseline * MEMORY_GROWTH,
    );
    report.count(
        "descriptors left",
        process_stats::open_descriptors(service.id()?)?,
    );
    Ok(report)
}

async fn wave(endpoint: &Endpoint, sockets: usize, report: &mut Report) -> Result<()> {
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let endpoint = endpoint.clone();
        let own = sockets / CLIENTS + usize::from(client < sockets % CLIENTS);
        clients.spawn(async move {
            for number in 0..own {
                open_and_close(&endpoint, number).await?;
            }
            anyhow::Ok(own)
        });
    }
    for opened in clients.join_all().await {
        report.count("sockets", opened?);
    }
    Ok(())
}

/// Opens a socket. Every second one sends a command, and half of them a close frame.
async fn open_and_close(endpoint: &Endpoint, number: usize) -> Result<()> {
    let mut socket = Socket::open(endpoint).await?;
    if number.is_multiple_of(2) {
        let connect = json!({"id": 1, "type": "connect", "channels": ["tenant"]});
        socket.command(&connect).await?;
    }
    if number % 4 < 2 {
        socket.close().await?;
    }
    Ok(())
}
