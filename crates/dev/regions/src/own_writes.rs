//! R3: clients read what they have just written, in the same region or in another one, while
//! replicas lag.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use dev_load::{
    Credential, Endpoint,
    figures::{Figure, Part, Target},
    http::{ApiClient, Method},
    latencies::Latencies,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{
    client::{CONSISTENCY, expect, request},
    laboratory::Laboratory,
    numbers::count,
    region::Region,
    workload::{Workload, text},
    written::Write,
};

/// The delays of replication in addition to the distance.
const LAGS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(500),
];
/// The number of pairs of a write and a read.
const PAIRS: usize = 10_000;
/// The number of clients at the same time, each with a key of its own.
const CLIENTS: usize = 50;
/// The number of reads without a position, with the longest lag.
const UNPROTECTED: usize = 200;

/// A client that changes its region.
#[derive(Clone)]
struct Traveller {
    workload: Workload,
    /// A client in each region with a node.
    regions: Vec<std::sync::Arc<ApiClient>>,
}

/// The results of some pairs.
#[derive(Default)]
struct Pairs {
    reads: Vec<Duration>,
    stale: Vec<String>,
}

/// Measures all lags, and shows that reads without a position are stale.
pub(crate) async fn measure(laboratory: &Laboratory) -> Result<Vec<Figure>> {
    let travellers = travellers(laboratory).await?;
    let mut figures = Vec::new();
    let (mut stale, mut total) = (Vec::new(), 0);
    let mut parts = Vec::new();
    for (number, lag) in LAGS.into_iter().enumerate() {
        laboratory.set_lag(lag);
        let pairs = share(PAIRS, LAGS.len(), number);
        let result = run(&travellers, pairs, true).await?;
        total += result.reads.len();
        let reads = Latencies::new(result.reads)?;
        for percent in [50, 99] {
            let what = format!("reads, p{percent}, lag {} ms", lag.as_millis());
            parts.push(Part::new(what, reads.percentile(percent), "ms"));
        }
        stale.extend(result.stale);
    }
    for detail in stale.iter().take(3) {
        println!("stale: {detail}");
    }
    let unprotected = run(&travellers, UNPROTECTED, false).await?;
    figures.push(Figure::new(
        ("R3", format!("stale reads of own writes in {total} pairs")),
        Target::AtMost(0.0),
        count(stale.len()),
        "",
        parts,
    ));
    figures.push(Figure::new(
        (
            "R3",
            format!("stale reads of {UNPROTECTED} without a position, as a control"),
        ),
        Target::AtLeast(1.0),
        count(unprotected.stale.len()),
        "",
        Vec::new(),
    ));
    Ok(figures)
}

/// Returns the size of one of several nearly equal shares.
const fn share(total: usize, shares: usize, number: usize) -> usize {
    total / shares + if number < total % shares { 1 } else { 0 }
}

async fn travellers(laboratory: &Laboratory) -> Result<Vec<Traveller>> {
    let home = laboratory.endpoint(Region::HOME)?;
    let admin = ApiClient::new(&home);
    let mut travellers = Vec::new();
    for number in 0..CLIENTS {
        let draft = json!({
            "name": format!("client {number}"),
            "scopes": [
                "agents:read", "agents:write", "chat:write",
                "conversations:read", "conversations:write",
            ],
        });
        let key = admin.call(Method::POST, "/api/keys", Some(&draft)).await?;
        let credential = Credential::Key(text(&key, "secret")?.to_owned());
        let client = |region| {
            let endpoint: Endpoint = laboratory.endpoint(region)?;
            let endpoint = endpoint.with_credential(credential.clone());
            Ok(std::sync::Arc::new(ApiClient::new(&endpoint)))
        };
        let regions = std::iter::once(Region::HOME).chain(Region::FAR);
        travellers.push(Traveller {
            workload: Workload::create(&home).await?,
            regions: regions.map(client).collect::<Result<_>>()?,
        });
    }
    Ok(travellers)
}

/// Runs pairs on all clients at once. An unprotected read is one in another region without the
/// position of the write.
async fn run(travellers: &[Traveller], pairs: usize, is_protected: bool) -> Result<Pairs> {
    let mut clients = JoinSet::new();
    for (number, traveller) in travellers.iter().enumerate() {
        let traveller = traveller.clone();
        let own = share(pairs, travellers.len(), number);
        clients.spawn(async move {
            let mut pairs = Pairs::default();
            for pair in 0..own {
                traveller
                    .run_pair(number + pair, is_protected, &mut pairs)
                    .await?;
            }
            anyhow::Ok(pairs)
        });
    }
    let mut all = Pairs::default();
    while let Some(ended) = clients.join_next().await {
        let pairs = ended??;
        all.reads.extend(pairs.reads);
        all.stale.extend(pairs.stale);
    }
    Ok(all)
}

impl Traveller {
    /// Writes in one region, and reads in another one with the position of the write, or in the same
    /// one without it.
    async fn run_pair(&self, number: usize, is_protected: bool, pairs: &mut Pairs) -> Result<()> {
        let writer = number % self.regions.len();
        let stays = is_protected && (number / self.regions.len()).is_multiple_of(2);
        let step = 1 + number / 3 % (self.regions.len() - 1);
        let reader = if stays {
            writer
        } else {
            (writer + step) % self.regions.len()
        };
        let write = Write::kind(number, &self.workload);
        let (method, path, body) = write.request();
        let written = request(&self.regions[writer], method, &path, Some(&body), None).await?;
        expect(&written.response, write.status()).context(path)?;
        let position = written.response.header(CONSISTENCY);
        ensure!(position.is_some(), "a write without {CONSISTENCY}");
        let seen = position.filter(|_| is_protected && !stays);
        let path = write.path_of_read(&written.response.json())?;
        let read = request(&self.regions[reader], Method::GET, &path, None, seen).await?;
        if !write.is_in(&written.response.json(), &read.response) {
            pairs.stale.push(format!(
                "region {reader} after a write in region {writer}, position {seen:?}: {} {}",
                read.response.status,
                String::from_utf8_lossy(&read.response.body)
            ));
        }
        pairs.reads.push(read.elapsed);
        Ok(())
    }
}
