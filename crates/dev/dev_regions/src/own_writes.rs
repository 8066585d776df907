//! R3: clients read what they have just written, in the same region or in another one, while
//! replicas lag.

use std::{sync::Arc, time::Duration};

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
    client::{expect, request},
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

/// The number of stale or failed reads that are described.
const SHOWN: usize = 5;

/// A client that changes its region.
#[derive(Clone)]
struct Traveller {
    workload: Workload,
    /// A client in each region with a node.
    regions: Vec<Arc<ApiClient>>,
}

/// The results of some pairs.
#[derive(Default)]
struct Pairs {
    reads: Vec<Duration>,
    stale: Vec<String>,
    /// Reads without a result.
    failed: Vec<String>,
}

/// Measures all lags, and shows that reads without a position are stale.
pub(crate) async fn measure(laboratory: &Laboratory) -> Result<Vec<Figure>> {
    let travellers = travellers(laboratory).await?;
    let mut all = Pairs::default();
    let mut parts = Vec::new();
    for (number, lag) in LAGS.into_iter().enumerate() {
        laboratory.set_lag(lag);
        let pairs = share(PAIRS, LAGS.len(), number);
        let pairs = run(&travellers, pairs, true).await?;
        let reads = Latencies::new(pairs.reads.iter().copied())?;
        for percent in [50, 99] {
            let what = format!("reads, p{percent}, lag {} ms", lag.as_millis());
            parts.push(Part::new(what, reads.percentile(percent), "ms"));
        }
        all.extend(pairs);
    }
    for detail in all.stale.iter().chain(&all.failed).take(SHOWN) {
        println!("{detail}");
    }
    let control = run(&travellers, UNPROTECTED, false).await?;
    let total = all.reads.len();
    let none = |work, number, parts| {
        let target = Target::AtMost(0.0);
        Figure::new(("R3", work), target, count(number), "", parts)
    };
    let stale = format!("stale reads of own writes in {total} pairs");
    Ok(vec![
        none(stale, all.stale.len(), parts),
        none("reads that fail".to_owned(), all.failed.len(), Vec::new()),
        Figure::new(
            (
                "R3",
                format!("stale reads of {UNPROTECTED} without a position, as a control"),
            ),
            Target::AtLeast(1.0),
            count(control.stale.len()),
            "",
            Vec::new(),
        ),
    ])
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
            Ok(Arc::new(ApiClient::new(&endpoint)))
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
        all.extend(ended??);
    }
    Ok(all)
}

impl Pairs {
    fn extend(&mut self, others: Self) {
        self.reads.extend(others.reads);
        self.stale.extend(others.stale);
        self.failed.extend(others.failed);
    }
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
        let response = request(&self.regions[writer], method, &path, Some(&body), None).await?;
        let response = response.response;
        expect(&response, write.status()).context(path)?;
        let written = write.written(&response);
        let position = write.position(&response, &written);
        ensure!(position.is_some(), "a write without a position");
        let seen = position.as_deref().filter(|_| is_protected && !stays);
        let path = write.path_of_read(&written)?;
        let read = request(&self.regions[reader], Method::GET, &path, None, seen).await?;
        let describe = || {
            let (status, body) = (read.response.status, &read.response.body);
            let body = String::from_utf8_lossy(body);
            format!("read in node {reader} after a write in node {writer}: {status} {body}")
        };
        if read.response.status >= 500 {
            pairs.failed.push(describe());
        } else if !write.is_in(&written, &read.response) {
            pairs.stale.push(describe());
        }
        pairs.reads.push(read.elapsed);
        Ok(())
    }
}
