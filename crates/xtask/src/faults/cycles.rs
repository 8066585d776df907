//! F8: sockets come and go.

use std::{thread, time::Duration};

use anyhow::Result;
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    findings::Findings,
    ground::{Ground, Store},
};
use crate::rig::{load::Endpoint, service::Service, socket::Socket};

/// Clients that come and go at once.
const CLIENTS: usize = 50;
/// Waves in which all the sockets come: the first sets the measure.
const WAVES: usize = 10;
/// How long the service rests before its memory is read.
const REST: Duration = Duration::from_secs(1);
/// How much more may be taken after any later wave than after the first.
const PLATEAU: f64 = 1.1;

/// Opens and closes so many sockets.
pub(super) async fn run(ground: &Ground, store: Store, cycles: usize) -> Result<Findings> {
    let mut findings = Findings::of(
        "F8",
        format!("{cycles} sockets come and go, {}", store.name()),
    );
    let (service, _) = ground.start(store, "cycles").await?;
    let endpoint = service.endpoint()?;
    let mut resident = Vec::new();
    for _ in 0..WAVES {
        wave(&endpoint, cycles / WAVES, &mut findings).await?;
        // Nothing else goes on here.
        thread::sleep(REST);
        resident.push(service.resident()?);
    }
    let plateau = resident.first().copied().unwrap_or_default();
    let highest = resident.into_iter().fold(plateau, f64::max);
    findings.tell("resident after the first wave", plateau, "MiB");
    findings.bound(
        "highest after a later wave",
        highest,
        "MiB",
        plateau * PLATEAU,
    );
    findings.count("descriptors left", open_descriptors(&service)?);
    Ok(findings)
}

async fn wave(endpoint: &Endpoint, sockets: usize, findings: &mut Findings) -> Result<()> {
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let endpoint = endpoint.clone();
        let own = sockets / CLIENTS + usize::from(client < sockets % CLIENTS);
        clients.spawn(async move {
            for number in 0..own {
                come_and_go(&endpoint, number).await?;
            }
            anyhow::Ok(own)
        });
    }
    for came in clients.join_all().await {
        findings.count("sockets", came?);
    }
    Ok(())
}

/// Half of the sockets say something, and half say that they go.
async fn come_and_go(endpoint: &Endpoint, number: usize) -> Result<()> {
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

fn open_descriptors(service: &Service) -> Result<usize> {
    super::descriptors::of(service.id()?)
}
